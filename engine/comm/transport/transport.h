// Messages and memory between ranks: what collectives stand on.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/comm/transport/error.h"

namespace thalweg::engine::comm {

/// An operation under way. Dropping it without wait() is a bug that the destructor reports on
/// stderr.
class Request {
 public:
  virtual ~Request() = default;
  virtual bool test() = 0;  ///< makes progress; true when done; throws CommError
  virtual void wait() = 0;  ///< throws CommError
};

/// What a message is stored in.
enum class MessageMemory { host, cuda };

/// Messages between ranks. UCX, sockets and reads of a peer's memory (ucx/, socket/, shared/) each
/// are one, for the peers that they reach; so is the whole (Transport), for all peers. Used by one
/// thread at a time.
class MessageTransport {
 public:
  virtual ~MessageTransport() = default;
  /// Non-blocking, matched by (peer, tag) in order; tags below 2^40. The memory must stay until the
  /// request is done; that of a receive keeps what it holds until its message is there. nullptr:
  /// already done. A message of another length than the receiver expects is a CommError at the
  /// receiver. `where` is the same on both sides; not host: only where supports() says so.
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
  /// Whether messages may be stored in such memory.
  virtual bool supports(MessageMemory where) const { return where == MessageMemory::host; }
  /// Moves what can be moved. Throws CommError once a peer is known to be gone.
  virtual void progress() = 0;
  /// Messages (or parts of them) sent or received so far: unchanged for long means a stall.
  virtual std::uint64_t completed() const = 0;
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

/// Memory that ranks of one machine load and store directly.
class MappedMemory {
 public:
  virtual ~MappedMemory() = default;
  /// Whether `peer` runs on this machine, so that attach() is worth trying.
  virtual bool same_machine(int peer) const = 0;
  /// `bytes` zero bytes, aligned to 4 KiB. nullptr: there is no such memory, or no more.
  virtual std::unique_ptr<Exposed> expose(std::size_t bytes) = 0;
  /// nullptr: it cannot be reached from here.
  virtual std::unique_ptr<Attached> attach(int peer, const std::string& token) = 0;
};

/// Who is there: what a wait needs to name those who are missing (liveness/).
class LivenessProbe {
 public:
  virtual ~LivenessProbe() = default;
  /// Asks every peer; a peer answers from inside its own waits. Returns the number of this probe.
  virtual std::uint32_t probe_peers(const std::string& question) = 0;
  /// The last answer of `rank` to a probe of number `since` or later, where one has come.
  virtual std::optional<std::string> answer_of(int rank, std::uint32_t since) const = 0;
  /// How this rank answers, called from inside progress(); {}: without words. Short.
  virtual void on_probe(std::function<std::string(const std::string& question)> answer) = 0;
  /// Tells the peers, as well as it can, why this rank gives up: their waits throw the same
  /// rank that failed.
  virtual void give_up(const CommError& why) = 0;
};

/// All that a Group stands on, one per rank: messages to every peer (routed.h in a job), memory of
/// the machine, signs of life.
class Transport : public MessageTransport, public MappedMemory, public LivenessProbe {
 public:
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& node_of(int rank) const = 0;
  /// How messages get to `peer`, for people: "sockets", "UCX (sysv/memory, cma/memory)". Empty:
  /// there is nothing to tell.
  virtual std::string route_to(int /*peer*/) const { return {}; }
  /// Gives the core away until something may have happened, at most `limit`.
  virtual void rest(std::chrono::milliseconds limit) = 0;
  /// Whether rest() is all that a wait needs: nothing comes to who spins, and silence means nothing
  /// (time is not the machine's).
  virtual bool only_rests() const { return false; }
};

}  // namespace thalweg::engine::comm
