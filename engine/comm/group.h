// All ranks of an attempt, or some of them: the collectives that training needs.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/algorithms/sum_elsewhere.h"
#include "engine/comm/reduction/types.h"
#include "engine/comm/transport/limited.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

enum class Collective;
struct Layout;

/// "thalweg: " and the text.
void warn_on_stderr(const std::string& text);

struct GroupOptions {
  std::chrono::milliseconds stall_timeout{
      60000};                      ///< no progress for this long inside a wait: CommError
  std::string allreduce = "auto";  ///< see Group::use
  /// The ranks compare what they call before each collective (the same choice on all ranks; the
  /// environment's THALWEG_COMM_CHECK=1 turns it on as well). Costs a message to every rank per
  /// call.
  bool checked = false;
  /// To play a slower network: a link of each rank. Empty: as they are.
  std::vector<LinkLimit> links{};
  /// Told once when a wait has lasted for half the stall time.
  std::function<void(const std::string&)> warn = warn_on_stderr;
};

/// over_machines: first the average over the ranks of each machine.
enum class Adasum { over_ranks, over_machines };

/// Memory from Group::allocate, until destroyed.
class Memory {
 public:
  virtual ~Memory() = default;
  virtual std::byte* data() const = 0;
  virtual std::size_t bytes() const = 0;
};

/// Collectives block; their start_ twins return at once. All ranks must call the same operations in
/// the same order with the same lengths. Lengths count elements; 0 is allowed. Same input and group
/// shape: same bits. CommError when a rank is lost or calls something else; after that the group is
/// of no use.
///
/// Any number of operations may be under way; each wait advances all of them. A Request outlives
/// neither its Group nor the vectors. Used by one thread at a time, together with the groups split
/// from it.
class Group {
 public:
  /// Throws std::invalid_argument where `options` names no algorithm.
  explicit Group(std::shared_ptr<Transport> transport, GroupOptions options = {});
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  int rank() const;
  int size() const;
  const std::string& node_of(int rank) const;
  /// How this rank's messages get to the others (Transport::route_to), each way once.
  std::vector<std::string> routes() const;
  const Layout& layout() const;  ///< which ranks share a machine (algorithms/table.h)

  /// From now on told what GroupOptions::warn was, by the thread that waits; of all groups over one
  /// transport together.
  void on_warning(std::function<void(const std::string&)> warn);

  /// The algorithm from the next call on, the same on all ranks: "auto", a name from the table of
  /// algorithms, or names by size (algorithms/choice.h). Throws std::invalid_argument.
  void use(Collective collective, std::string_view choice);
  void use_allreduce(std::string_view choice);

  /// In place. Throws std::invalid_argument for an average of integers.
  void allreduce(void* data, std::size_t count, Type type, Op op);
  /// `label` names the vector in messages about stalls.
  std::unique_ptr<Request> start_allreduce(void* data, std::size_t count, Type type, Op op,
                                           std::string_view label = {});
  /// The same for vectors of f32 that travel as `wire`, f16 or bf16 (f32: as above): every rank's
  /// vector is rounded once, added up in f32 in the order of the ranks, and the result rounded once
  /// for everybody, so all ranks have the same bits. average divides before that rounding; sums in
  /// f16 end at 65,504. A group of one rank leaves the vector alone.
  void allreduce_as(Type wire, float* data, std::size_t count, Op op);
  std::unique_ptr<Request> start_allreduce_as(Type wire, float* data, std::size_t count, Op op,
                                              std::string_view label = {});
  /// In place, of floating point types: ranks' vectors are added where they are orthogonal and
  /// averaged where they are parallel, tensor by tensor (algorithms/adasum.h). tensor_ends: where
  /// each tensor ends, ascending to `count`. Throws std::invalid_argument unless the number of
  /// ranks (over_machines: of machines) is a power of two. Norms are f64: beyond 1e154 they
  /// overflow.
  void adasum(void* data, std::size_t count, Type type, std::span<const std::size_t> tensor_ends,
              Adasum form = Adasum::over_ranks);
  std::unique_ptr<Request> start_adasum(void* data, std::size_t count, Type type,
                                        std::span<const std::size_t> tensor_ends,
                                        Adasum form = Adasum::over_ranks,
                                        std::string_view label = {});
  /// In place: rank r ends with segment r (see segment()); the rest of the vector is overwritten.
  void reduce_scatter(void* data, std::size_t count, Type type, Op op);
  std::unique_ptr<Request> start_reduce_scatter(void* data, std::size_t count, Type type, Op op,
                                                std::string_view label = {});
  /// Rank r's bytes end at all + r * bytes_each. `mine` may be its place there.
  void allgather(const void* mine, void* all, std::size_t bytes_each);
  std::unique_ptr<Request> start_allgather(const void* mine, void* all, std::size_t bytes_each,
                                           std::string_view label = {});
  /// In place: segment r of `count` elements is there on rank r, and ends on every rank.
  void allgather_segments(void* data, std::size_t count, Type type);
  std::unique_ptr<Request> start_allgather_segments(void* data, std::size_t count, Type type,
                                                    std::string_view label = {});
  void broadcast(void* data, std::size_t bytes, int root);
  std::unique_ptr<Request> start_broadcast(void* data, std::size_t bytes, int root,
                                           std::string_view label = {});
  /// Block s of rank r's `out` ends as block r of rank s's `in`; they must not overlap.
  void all_to_all(const void* out, void* in, std::size_t bytes_each);
  std::unique_ptr<Request> start_all_to_all(const void* out, void* in, std::size_t bytes_each,
                                            std::string_view label = {});
  void barrier();
  std::unique_ptr<Request> start_barrier();

  struct Segment {
    std::size_t begin;
    std::size_t count;
  };
  /// Elements of a vector of `count` that belong to `rank`: [count * r / W, count * (r + 1) / W).
  Segment segment(std::size_t count, int rank) const;

  /// Sum over logical shards in a fixed binary tree, so that the bits do not depend on the number
  /// of ranks. There are `shards` leaves in all; rank r owns leaves [first_shard(r),
  /// first_shard(r+1)), contiguous, any rank count 1..shards. `mine[i]` is the vector of this
  /// rank's i-th leaf, `count` floats each (overwritten); the sum ends in mine[0] on every rank.
  /// The tree over n leaves splits at the largest power of two below n: tree(n) = tree(p) + tree(n
  /// - p). A rank without leaves (own_shards) brings one vector all the same, for the sum.
  std::unique_ptr<Request> start_shard_sum(std::span<float* const> mine, std::size_t count,
                                           int shards, std::string_view label = {});
  static int first_shard(int rank, int ranks, int shards);  ///< rank * shards / ranks
  /// From now on rank r owns leaves [first[r], first[r + 1]), perhaps none, of sums over
  /// first.back() leaves: unequal ranks, the same bits. The same table on every rank, with no such
  /// sum under way. Throws std::invalid_argument where it is no table of these ranks.
  void own_shards(const std::vector<int>& first);
  /// Who owns what of a sum over so many leaves: by rank, then `shards`.
  std::vector<int> first_shards(int shards) const;
  /// The same for vectors elsewhere: the messages are this group's, the additions the caller's. It
  /// has done those of ShardTree::local. Throws std::invalid_argument where supports() says no.
  std::unique_ptr<Request> start_shard_sum_elsewhere(std::span<float* const> mine,
                                                     std::size_t count, int shards,
                                                     SumElsewhere& where,
                                                     std::string_view label = {});
  /// Whether messages may be stored in such memory.
  bool supports(MessageMemory where) const;
  /// For one who waits for something else than this group: advances what is under way, answers
  /// peers. Throws CommError where a rank is known to be lost.
  void look_round();

  /// Collective: the ranks that give the same colour become a group, ordered by (key, rank).
  /// nullptr for a negative colour. Shares the transport with this group, and may outlive it.
  std::unique_ptr<Group> split(int color, int key);

  /// Collective: `bytes` zero bytes, aligned to 64, which ranks of the same machine reach directly
  /// where that is possible: collectives on vectors in such memory copy less. `bytes` may differ
  /// between ranks. Must go before the group.
  std::unique_ptr<Memory> allocate(std::size_t bytes);

 private:
  friend class Mailbox;
  struct Impl;
  explicit Group(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace thalweg::engine::comm
