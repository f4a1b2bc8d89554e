// The other ranks as UCX knows them: connections, signs of life, and who was lost first.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/transport/error.h"
#include "engine/comm/transport/peer_info.h"
#include "engine/comm/transport/process_watch.h"
#include "engine/comm/transport/ucx/worker.h"

namespace thalweg::engine::comm {

/// Used by one thread at a time, except wake().
///
/// When a rank is lost, its peers fail too, and their peers see *them* go: so whoever gives up
/// first tells all others which rank it holds for the cause, and a loss is put down to the lost
/// rank only if that had not reported another before it went.
class Peers {
 public:
  Peers();
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  std::string address() const { return worker_->address(); }
  /// Creates the connections and waits until every peer has said hello: then all of them stand.
  /// `hello(r)` is a number that rank r gets with it. Throws CommError that names who has not
  /// within `timeout`.
  void connect(int rank, std::vector<PeerInfo> peers,
               const std::function<std::uint32_t(int rank)>& hello,
               std::chrono::milliseconds timeout);
  std::uint32_t hello_of(int rank) const { return peers_[index(rank)].hello; }

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(peers_.size()); }
  const std::string& node_of(int rank) const { return peers_[index(rank)].info.node; }
  ucp_worker_h worker() const { return worker_->get(); }
  const std::shared_ptr<UcxWorker>& shared_worker() const { return worker_; }
  bool same_machine(int rank) const {
    return peers_[index(rank)].info.machine == peers_[index(rank_)].info.machine;
  }
  /// "Your message `number` has been read": what the peer's `on_taken` is called with.
  void tell_taken(int rank, std::uint32_t number) { say(rank, kTaken, number, -1, {}); }
  void on_taken(std::function<void(std::uint32_t number)> call) { on_taken_ = std::move(call); }
  /// See UcxEndpoint.
  std::string transports_of(int rank) const { return peers_[index(rank)].endpoint.transports(); }
  ucp_ep_h endpoint(int rank) const { return peers_[index(rank)].endpoint.get(); }

  /// Throws CommError once a peer is lost. Where nobody waits for messages of UCX, `poll` may be
  /// false most of the time: it is a system call or two.
  void progress(bool poll = true);
  void throw_if_failed() const {
    if (failure_) throw CommError(*failure_);
  }
  /// Messages under way over UCX have become more or fewer by that many.
  void add_messages(int change) { messages_ += change; }
  bool has_messages() const { return messages_ > 0; }
  /// Sleeps until something comes from UCX or a process has ended, or one of `others` is ready.
  void rest(std::chrono::milliseconds limit, const std::vector<pollfd>& others = {});
  void wake() { watch_.wake(); }
  /// For wake() before connect(). UCX must not see a peer's request meanwhile: it would make the
  /// endpoint by itself, with only those transports that the peer's own uses, and memory of the
  /// others could not be attached.
  void await_wake(std::chrono::milliseconds limit);
  /// A process of this machine that UCX must not be asked about any more: its 1.13 crashes where
  /// the owner of a memory to attach is gone.
  bool has_ended(int rank);

  // See LivenessProbe.
  std::uint32_t probe_peers(const std::string& question);
  std::optional<std::string> answer_of(int rank, std::uint32_t since) const;
  void on_probe(std::function<std::string(const std::string&)> answer) {
    answer_ = std::move(answer);
  }
  void give_up(const CommError& why);
  /// A message to or from `rank` failed: settles which rank is the cause and throws.
  [[noreturn]] void lost(int rank, const std::string& how);
  [[noreturn]] void wrong_length(int rank, std::size_t sent, std::size_t expected);

  /// Until everything sent has left this process; `idle` progresses, and may throw.
  void flush(const std::function<void()>& idle);
  /// From now on peers may leave: they have agreed to (see Wireup::finalize).
  void expect_departures() { departing_ = true; }
  bool somebody_left() const { return !lost_.empty(); }
  /// They did not leave, they died.
  [[noreturn]] void fail_for_lost_ranks() { settle(); }
  /// Closes all connections; after that nothing may be called. After a failure UCX is left as it
  /// is: its operations under way must not touch memory that the caller has given up.
  void close();

 private:
  struct Argument;
  struct Outgoing;
  struct Peer {
    PeerInfo info;
    UcxEndpoint endpoint;
    std::string lost;            ///< how it was lost; empty: it was not
    bool greeted = false;        ///< it has said hello
    std::uint32_t hello = 0;     ///< the number that came with it
    std::uint32_t answered = 0;  ///< the last probe it answered
    std::string answer;
  };
  enum Kind : std::uint32_t { kHello, kCall, kHere, kGiveUp, kTaken };  ///< of control messages
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  static void on_error(void* argument, ucp_ep_h endpoint, ucs_status_t status);
  static ucs_status_t on_message(void* self, const void* header, std::size_t header_bytes,
                                 void* data, std::size_t bytes, const ucp_am_recv_param_t* params);
  void note_message(const void* data, std::size_t bytes);
  void note_hello(int from, std::uint32_t number);
  [[noreturn]] void miss_hellos();
  void note_ended(const std::vector<int>& ranks);
  void say(int to, Kind kind, std::uint32_t number, int failed_rank, const std::string& text);
  void answer_calls();
  [[noreturn]] void settle();
  [[noreturn]] void fail(const CommError& error);

  std::shared_ptr<UcxWorker> worker_;
  ProcessWatch watch_;
  int rank_ = 0;
  std::vector<Peer> peers_;
  std::vector<std::unique_ptr<Argument>> arguments_;
  std::uint32_t probes_ = 0;
  struct Call {
    int from;
    std::uint32_t number;
    std::string question;
  };
  std::vector<Call> unanswered_;
  int missing_hellos_ = 0;
  std::vector<int> lost_;              ///< in the order in which it was noticed
  std::optional<CommError> reported_;  ///< what another rank told
  std::optional<CommError> failure_;
  bool departing_ = false;
  int outgoing_ = 0;
  unsigned rounds_ = 0;
  int messages_ = 0;
  std::vector<pollfd> interests_;
  std::function<void(std::uint32_t)> on_taken_;
  std::function<std::string(const std::string&)> answer_;
};

}  // namespace thalweg::engine::comm
