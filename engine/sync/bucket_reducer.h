// Sums parts of the gradients over all shards of all ranks, in a thread of its own, while backward
// still runs.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/comm/group.h"

namespace thalweg::engine {

/// Between begin() and the return of wait() for every part, the group belongs to this object's
/// thread; at other times others may use it.
class BucketReducer {
 public:
  struct Part {
    std::vector<float*> leaves;  ///< one vector per local shard; the sum ends in leaves[0]
    std::size_t count = 0;       ///< floats in each
    int marks = 0;               ///< mark() calls that complete the part on this rank
  };

  BucketReducer(comm::Group& group, int shards, std::vector<Part> parts);
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;
  ~BucketReducer();

  void begin();
  /// One contribution to a part is complete. Any thread. Parts are started strictly in order on
  /// every rank.
  void mark(std::size_t part);
  /// Backward has ended: the thread need no longer leave the processor to it.
  void hurry();
  /// Until the sum of `part` is there. Rethrows what communication threw.
  void wait(std::size_t part);

 private:
  void serve();
  void reduce_all();
  bool may_start(std::size_t part) const { return part < parts_.size() && left_[part] == 0; }

  comm::Group& group_;
  const int shards_;
  std::vector<Part> parts_;
  std::unique_ptr<std::atomic<int>[]> left_;  ///< marks still missing
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> done_;
  bool active_ = false;
  bool hurry_ = false;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

}  // namespace thalweg::engine
