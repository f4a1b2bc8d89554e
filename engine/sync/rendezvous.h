// The shards of one step exchange numbers in the middle of a pass: on a rank the last one to come
// sums for all.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/executor.h"
#include "engine/nn/model.h"

namespace thalweg::engine {

/// sum() is for one thread per local shard. While shards are under way, the group is this object's.
class Rendezvous final : public Meeting {
 public:
  /// `local` of the `shards` are this rank's.
  Rendezvous(comm::Group& group, int shards, int local);

  int shards() const override { return shards_; }
  void sum(int shard, float* values, std::size_t count) override;
  /// A shard has failed: whoever waits here gives up.
  void abandon();
  /// Before the shards of a step start.
  void reset();

 private:
  comm::Group& group_;
  const int shards_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<float>> copies_;  ///< by local shard: what the sum may overwrite
  std::vector<float*> leaves_;
  std::vector<float> result_;  ///< until all have come again
  int here_ = 0;
  std::uint64_t round_ = 0;  ///< sums done
  bool failed_ = false;
};

}  // namespace thalweg::engine
