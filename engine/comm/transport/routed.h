// The transport of a job's ranks: picks one of UCX, sockets and reads of a peer's memory for every
// message.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/transport/host.h"
#include "engine/comm/transport/peer_info.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

class Peers;
class SharedTransport;
class SocketTransport;

/// Messages to a peer take, by what both sides know of each other,
///   from a GPU's memory       UCX;
///   sockets reach the peer    sockets (socket/transport.h says between whom there are any);
///   long, on one machine      reads of its memory, where the kernel lets both
///   (shared/transport.h); else                      UCX,
/// which also carries hellos, liveness probes and news of losses. Used by one thread at a time,
/// except wake().
class RoutedTransport final : public Transport, private TransportHost {
 public:
  /// Starts UCX, and listens where the environment wants sockets. Throws std::runtime_error.
  RoutedTransport();
  ~RoutedTransport() override;
  RoutedTransport(const RoutedTransport&) = delete;
  RoutedTransport& operator=(const RoutedTransport&) = delete;

  /// For the others' connect().
  PeerInfo self() const;
  /// Collective: `peers` by rank. Throws CommError that names who has not said hello within
  /// `timeout`.
  void connect(int rank, std::vector<PeerInfo> peers, std::chrono::milliseconds timeout);
  /// For wake() before connect(). UCX must not see a peer's request meanwhile: it would make the
  /// endpoint by itself, with only those transports that the peer's own uses, and memory of the
  /// others could not be attached.
  void await_wake(std::chrono::milliseconds limit);
  void wake();  ///< from any thread: lets rest() return

  // See MessageTransport.
  using Transport::receive;
  using Transport::send;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes,
                                MessageMemory where) override;
  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes,
                                   MessageMemory where) override;
  bool supports(MessageMemory where) const override;
  void progress() override;
  std::uint64_t completed() const override;
  // See MappedMemory.
  bool same_machine(int peer) const override;
  std::unique_ptr<Exposed> expose(std::size_t bytes) override;
  std::unique_ptr<Attached> attach(int peer, const std::string& token) override;
  // See LivenessProbe.
  std::uint32_t probe_peers(const std::string& question) override;
  std::optional<std::string> answer_of(int rank, std::uint32_t since) const override;
  void on_probe(std::function<std::string(const std::string&)> answer) override;
  void give_up(const CommError& why) override;
  // See Transport.
  int rank() const override;
  int size() const override;
  const std::string& node_of(int rank) const override;
  std::string route_to(int peer) const override;
  void rest(std::chrono::milliseconds limit) override;

  // The end of a job.
  /// Until everything sent over UCX has left this process; `idle` progresses, and may throw.
  void flush(const std::function<void()>& idle);
  /// From now on peers may leave: they have agreed to (see Wireup::finalize).
  void expect_departures();
  bool somebody_left() const;
  /// They did not leave, they died.
  [[noreturn]] void fail_for_lost_ranks();
  /// After that nothing may be called.
  void close();

 private:
  /// What carries messages in host memory.
  struct Route {
    MessageTransport* brief;  ///< those shorter than SharedTransport::kFrom
    MessageTransport* long_send;
    MessageTransport* long_receive;
  };
  [[noreturn]] void lost(int rank, const std::string& how) override;
  [[noreturn]] void wrong_length(int rank, std::size_t sent, std::size_t expected) override;
  void choose_routes();

  std::unique_ptr<Peers> peers_;
  std::unique_ptr<MessageTransport> ucx_;
  std::unique_ptr<SharedTransport> shared_;
  std::unique_ptr<SocketTransport> sockets_;
  std::vector<Route> routes_;   ///< by peer
  std::vector<bool> may_read_;  ///< by peer: this process, its memory
  unsigned rounds_ = 0;
  std::vector<pollfd> interests_;
};

}  // namespace thalweg::engine::comm
