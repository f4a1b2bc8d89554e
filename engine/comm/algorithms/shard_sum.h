// Sum over logical shards, in a tree that does not depend on the ranks; never blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/comm/group.h"
#include "engine/comm/shard_tree.h"

namespace thalweg::engine::comm {

/// One sum under way. Every rank adds up the subtrees it owns; then each rank gets everybody's
/// partial sums of its slice of the vector, adds them in tree order, and sends the slice to all.
/// Short vectors take one step less: everybody sends everything to all, and all add everything.
/// Reusable: after advance() has said true, start() may be called again; its memory is kept.
class ShardSum {
 public:
  /// Uses tags `tag` and `tag + 1`. `tree` must stay. See Group::start_shard_sum.
  void start(Transport& transport, std::uint64_t tag, std::shared_ptr<const ShardTree> tree,
             std::span<float* const> mine, std::size_t count);
  /// Does what the messages that have arrived allow; true when the sum stands in mine[0].
  bool advance();
  bool done() const { return stage_ == Stage::done; }
  /// Forgets unfinished messages (after a CommError).
  void abandon();

 private:
  enum class Stage { gather_partials, gather_slices, done };
  struct Slice {
    std::size_t begin;
    std::size_t count;
  };
  Slice slice_of(int rank) const;
  void exchange_partials();
  void add_slice();
  void exchange_slices();
  bool all_arrived();
  void track(std::unique_ptr<Request> request);

  Transport* transport_ = nullptr;
  std::uint64_t tag_ = 0;
  std::shared_ptr<const ShardTree> tree_;
  std::vector<float*> mine_;
  std::size_t count_ = 0;
  bool sliced_ = false;
  Stage stage_ = Stage::done;
  std::vector<std::unique_ptr<Request>> pending_;
  std::vector<std::unique_ptr<Request>> slices_;  ///< receives posted early, for the last stage
  std::vector<float> scratch_;                    ///< others' partials of this rank's slice
  std::vector<float*> places_;                    ///< of the partials, at the start of the slice
};

}  // namespace thalweg::engine::comm
