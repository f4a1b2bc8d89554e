// Messages and memory between ranks: what collectives stand on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace thalweg::engine::comm {

/// A collective did not complete: a peer died, stalled past the deadline, or called something else.
/// rank() is the first culprit seen (-1 unknown), node() the host it ran on.
class CommError : public std::runtime_error {
 public:
  CommError(const std::string& message, int rank, std::string node)
      : std::runtime_error(message), rank_(rank), node_(std::move(node)) {}
  int rank() const { return rank_; }
  const std::string& node() const { return node_; }

 private:
  int rank_;
  std::string node_;
};

/// An operation under way. Dropping it without wait() is a bug that the destructor reports on
/// stderr.
class Request {
 public:
  virtual ~Request() = default;
  virtual bool test() = 0;  ///< makes progress; true when done; throws CommError
  virtual void wait() = 0;  ///< throws CommError
};

/// Memory of this rank that other processes of this machine can map, by its token.
class Exposed {
 public:
  virtual ~Exposed() = default;
  virtual std::byte* data() const = 0;
  virtual std::size_t bytes() const = 0;
  virtual const std::string& token() const = 0;
};

/// A peer's exposed memory in this rank's address space, until destroyed.
class Attached {
 public:
  virtual ~Attached() = default;
  virtual std::byte* data() const = 0;
};

/// What a message stands in.
enum class MessageMemory { host, cuda };

/// Point-to-point over which algorithms are written: UCX between processes, memory between threads
/// (tests). One Transport per rank; used by one thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& node_of(int rank) const = 0;
  /// Non-blocking, matched by (peer, tag) in order; tags below 2^40. The memory must stay until the
  /// request is done; that of a receive keeps what it holds until its message is there. nullptr:
  /// already done. A message of another length than the receiver expects is a CommError at the
  /// receiver. `where` is the same on both sides; not host: only where carries() says so.
  virtual std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data,
                                        std::size_t bytes, MessageMemory where) = 0;
  virtual std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data,
                                           std::size_t bytes, MessageMemory where) = 0;
  std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data, std::size_t bytes) {
    return send(peer, tag, data, bytes, MessageMemory::host);
  }
  std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data, std::size_t bytes) {
    return receive(peer, tag, data, bytes, MessageMemory::host);
  }
  /// Whether messages may stand in such memory.
  virtual bool carries(MessageMemory where) const { return where == MessageMemory::host; }
  /// Moves what can be moved. Throws CommError once a peer is known to be gone.
  virtual void progress() = 0;

  // Memory that ranks of one machine load and store directly.
  /// Whether `peer` runs on this machine, so that attach() is worth trying.
  virtual bool same_machine(int /*peer*/) const { return false; }
  /// `bytes` zero bytes, aligned to 4 KiB. nullptr: this transport has no such memory, or no more.
  virtual std::unique_ptr<Exposed> expose(std::size_t /*bytes*/) { return nullptr; }
  /// nullptr: it cannot be reached from here.
  virtual std::unique_ptr<Attached> attach(int /*peer*/, const std::string& /*token*/) {
    return nullptr;
  }

  // What the wait loop (patience.h) needs to rest, and to name who is missing.
  /// Messages sent or received so far: unchanged for long means a stall.
  virtual std::uint64_t completed() const = 0;
  /// Gives the core away until something may have happened, at most `limit`.
  virtual void rest(std::chrono::milliseconds limit) = 0;
  /// Asks every peer; a peer answers from inside its own waits. Returns the number of this call.
  virtual std::uint32_t call_roll(const std::string& question) = 0;
  /// The last answer of `rank` to a call of number `since` or later, where one has come.
  virtual std::optional<std::string> answer_of(int rank, std::uint32_t since) const = 0;
  /// How this rank answers, called from inside progress(); {}: without words. Short.
  virtual void on_roll_call(std::function<std::string(const std::string& question)> answer) = 0;
  /// Tells the peers, as well as it can, why this rank gives up: their waits throw the same
  /// culprit.
  virtual void give_up(const CommError& why) = 0;
};

/// What wire-up (PMIx) tells a process about itself and its peers.
struct World {
  int rank = 0;
  int size = 1;
  int local_rank = 0;
  int local_size = 1;
  std::string node;
};

/// Connects to PMIx (the launcher's or Slurm's server), exchanges UCX addresses, connects the
/// endpoints. Without a PMIx server in the environment: a world of one. Throws CommError or
/// std::runtime_error.
class Wireup {
 public:
  /// `patience`: how long it waits for a rank that gives no sign of life, here, in fence() and in
  /// finalize(); then a CommError names it (a std::runtime_error before they are connected).
  static std::unique_ptr<Wireup> connect(std::chrono::milliseconds patience = kPatience);
  static constexpr std::chrono::minutes kPatience{5};
  virtual ~Wireup() = default;
  virtual const World& world() const = 0;
  virtual std::unique_ptr<Transport> transport() = 0;  ///< once
  /// Collective over PMIx with data collection (a plain fence is no barrier on small Slurm steps).
  virtual void fence() = 0;
  /// Tells the server we are leaving in good order.
  virtual void finalize() = 0;
};

/// n in-memory transports joined to each other, for ranks as threads.
std::vector<std::unique_ptr<Transport>> memory_transports(int ranks);
/// The same for ranks that play several machines: rank r is on machine machine_of[r].
std::vector<std::unique_ptr<Transport>> memory_transports(std::vector<int> machine_of);

}  // namespace thalweg::engine::comm
