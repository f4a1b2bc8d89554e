// Sums parts of the gradients over all ranks, in a thread of its own, while backward still runs.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/sync/buckets.h"
#include "engine/sync/overlap.h"
#include "engine/threads/threads.h"

namespace thalweg::engine {

/// What is summed at once.
struct GradientPart {
  std::vector<float*> leaves;   ///< one vector per local shard; the sum ends in leaves[0]
  std::size_t number = 0;       ///< its place among the parts
  std::size_t offset = 0;       ///< of the leaves in the flat memory of gradients
  std::size_t count = 0;        ///< floats in each
  std::vector<int> parameters;  ///< whose gradients they are; none: not gradients
  int marks = 0;                ///< mark() calls that complete the part on this rank
  std::string label;            ///< "bucket 2: fc1.weight, fc1.bias"
};

/// The buckets, then the stats, of shards whose memory these are; marks are left to the caller.
std::vector<GradientPart> gradient_parts(const std::vector<Bucket>& buckets,
                                         const std::vector<ParameterInfo>& infos,
                                         const std::vector<float*>& gradients,
                                         const std::vector<float*>& stats, std::size_t stat_count);

/// Between begin() and the return of wait() for every part, the group belongs to this object's
/// thread; at other times others may use it.
class BucketReducer {
 public:
  /// Starts the sum of a part; null where it is already done. Called in the order of the parts, in
  /// the reducer's thread.
  using Start = std::function<std::unique_ptr<comm::Request>(const GradientPart& part)>;
  struct Options {
    bool overlap = true;      ///< start sums while backward runs
    bool last_first = false;  ///< finish later parts before earlier ones that are under way
  };

  /// Until done(), which is asked again and again meanwhile. Throws CommError as Request::wait.
  using Wait = std::function<void(const std::function<bool()>& done)>;

  BucketReducer(Start start, const Options& options);
  BucketReducer(const BucketReducer&) = delete;
  BucketReducer& operator=(const BucketReducer&) = delete;
  ~BucketReducer();

  /// From the next begin() on.
  void set_parts(std::vector<GradientPart> parts);
  /// How its thread waits for sums once backward has ended; before the first begin().
  void wait_by(Wait wait) { wait_ = std::move(wait); }

  void begin();
  /// One contribution to a part is complete. Any thread. Parts are started strictly in order on
  /// every rank.
  void mark(std::size_t part);
  /// Backward has ended: the thread need no longer leave the processor to it.
  void hurry();
  /// Whether wait() would return, or throw, at once for every part.
  bool is_done();
  /// Until the sum of `part` is there. Rethrows what communication threw.
  void wait(std::size_t part);

  /// When each part was under way, since begin(); after all have been waited for.
  const std::vector<PartTime>& times() const { return times_; }

 private:
  void serve();
  void reduce_all();
  void look_after(bool to_the_end);
  void finish(std::size_t part);
  bool may_start(std::size_t part) const {
    return part < parts_.size() && (options_.overlap || hurry_) && left_[part] == 0;
  }

  const Start start_;
  const Options options_;
  Wait wait_;  ///< empty: as the requests do
  std::vector<GradientPart> parts_;
  std::vector<std::unique_ptr<comm::Request>> open_;  ///< sums that were started; null: done
  std::unique_ptr<std::atomic<int>[]> left_;          ///< marks still missing
  std::vector<PartTime> times_;
  Stopwatch since_begin_;
  threads::Mutex mutex_;
  threads::Condition changed_;
  std::vector<bool> done_;
  std::size_t undone_ = 0;
  bool active_ = false;
  std::atomic<bool> hurry_{false};
  bool stop_ = false;
  std::exception_ptr error_;
  threads::Thread thread_;
};

}  // namespace thalweg::engine
