// All ranks of an attempt, or some of them: the collectives that training needs.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
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

enum class Type { f32, f64, i32, i64 };
enum class Op { sum, min, max };

std::size_t size_of(Type type);
const char* name_of(Type type);
const char* name_of(Op op);

/// An operation under way. Dropping it without wait() is a bug that the destructor reports on
/// stderr.
class Request {
 public:
  virtual ~Request() = default;
  virtual bool test() = 0;  ///< makes progress; true when done; throws CommError
  virtual void wait() = 0;  ///< throws CommError
};

/// Point-to-point over which algorithms are written: UCX between processes, memory between threads
/// (tests). One Transport per rank; used by one thread at a time.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& node_of(int rank) const = 0;
  /// Non-blocking, matched by (peer, tag) in order; tags below 2^40. The memory must stay until the
  /// request is done. nullptr: already done. A message of another length than the receiver expects
  /// is a CommError at the receiver.
  virtual std::unique_ptr<Request> send(int peer, std::uint64_t tag, const void* data,
                                        std::size_t bytes) = 0;
  virtual std::unique_ptr<Request> receive(int peer, std::uint64_t tag, void* data,
                                           std::size_t bytes) = 0;
  /// Moves what can be moved. Throws CommError once a peer is known to be gone.
  virtual void progress() = 0;

  // What the wait loop (patience.h) needs to rest, and to name who is missing.
  /// Messages sent or received so far: unchanged for long means a stall.
  virtual std::uint64_t completed() const = 0;
  /// Gives the core away until something may have happened, at most `limit`.
  virtual void rest(std::chrono::milliseconds limit) = 0;
  /// Asks every peer for a sign of life; a peer answers from inside its own waits.
  virtual void call_roll() = 0;
  /// Peers that have not answered the last call.
  virtual std::vector<int> absent() const = 0;
  /// Tells the peers, as well as it can, why this rank gives up: their waits throw the same
  /// culprit.
  virtual void give_up(const CommError& why) = 0;
};

struct GroupOptions {
  std::chrono::milliseconds stall_timeout{
      60000};                      ///< no progress for this long inside a wait: CommError
  std::string allreduce = "auto";  ///< or an algorithm's name from its table
};

/// Names that GroupOptions::allreduce takes: "auto" and the rows of the algorithm table.
std::vector<std::string> allreduce_names();

/// Collectives block unless they return a Request. All ranks must call the same operations in the
/// same order with the same lengths. Lengths count elements; 0 is allowed. Same input and group
/// shape: same bits. Not thread-safe; `start_*` lets several operations be in flight, progressed by
/// test()/wait() of any of them.
class Group {
 public:
  /// Throws std::invalid_argument where `options` names no algorithm.
  explicit Group(std::unique_ptr<Transport> transport, GroupOptions options = {});
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  int rank() const;
  int size() const;
  const std::string& node_of(int rank) const;

  /// As GroupOptions::allreduce, from the next call on; the same on all ranks.
  void use_allreduce(const std::string& name);
  void allreduce(void* data, std::size_t count, Type type, Op op);
  void broadcast(void* data, std::size_t bytes, int root);
  void allgather(const void* mine, void* all, std::size_t bytes_each);
  void barrier();

  /// Sum over logical shards in a fixed binary tree, so that the bits do not depend on the number
  /// of ranks. There are `shards` leaves in all; rank r owns leaves [first_shard(r),
  /// first_shard(r+1)), contiguous, any rank count 1..shards. `mine[i]` is the vector of this
  /// rank's i-th leaf, `count` floats each (overwritten); the sum ends in mine[0] on every rank.
  /// The tree over n leaves splits at the largest power of two below n: tree(n) = tree(p) + tree(n
  /// - p). A Request outlives neither its Group nor the vectors.
  std::unique_ptr<Request> start_shard_sum(std::span<float* const> mine, std::size_t count,
                                           int shards);
  static int first_shard(int rank, int ranks, int shards);  ///< rank * shards / ranks

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
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
  static std::unique_ptr<Wireup> connect();
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

}  // namespace thalweg::engine::comm
