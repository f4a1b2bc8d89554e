// Forward and backward of a shard on any device: its micro-batches one after another, their sums,
// and when which part of its gradient is complete.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/nn/executor.h"
#include "engine/nn/model.h"
#include "engine/sync/buckets.h"
#include "engine/sync/device/flat_vector.h"

namespace thalweg::engine {

namespace optim {
class GradientSums;
}

/// Where a shard, or a partial sum of its micro-batches, is computed. The device's memory.
struct ShardSums {
  float* gradient = nullptr;  ///< Model::parameter_floats()
  float* stats = nullptr;     ///< the model's statistics, then `step_stats`
};

/// A part of the gradient, that is added up and told of at once.
struct GradientRange {
  std::size_t offset = 0, count = 0;  ///< in floats
  std::vector<int> parameters;        ///< ascending
};

/// A range for each parameter: as soon as possible, and while it is in the cache.
std::vector<GradientRange> ranges_of(const std::vector<ParameterInfo>& infos);
/// A range for each bucket: as little work for a stream as possible.
std::vector<GradientRange> ranges_of(const std::vector<Bucket>& buckets);

/// For one thread. Nothing is allocated in run().
class ShardRunner {
 public:
  struct Options {
    int micro_batches = 1;  ///< of a shard
    bool measures = false;  ///< squares may be wanted
  };
  /// What is done with one shard.
  struct Task {
    ShardSums sums;          ///< overwritten, but for stat_stop
    std::size_t number = 0;  ///< of its first micro-batch among this rank's
    int measured = -1;       ///< micro-batch whose squares go into stat_squares; else that is 0
    /// What an executor reads of a micro-batch, by number; on a GPU also puts into the stream what
    /// makes it.
    std::function<Shard(std::size_t number)> batch;
    /// A range is complete, as soon as its last gradient is: in the last micro-batch. What has
    /// been told may be overwritten with its sum from then on. Empty: nobody wants to know.
    std::function<void(std::size_t range)> complete;
  };

  /// `stream`: of the model's GPU; null: the host. The references must outlive this.
  ShardRunner(const Model& model, Executor& executor, gpu::Stream* stream,
              const std::vector<GradientRange>& ranges, const Options& options);
  ~ShardRunner();

  void run(const Task& task);
  /// By parameter: whether the shard of the last run() touched it.
  const std::vector<char>& touched() const { return touched_; }

 private:
  void compute(const Task& task, int micro, std::size_t top);
  void join(std::size_t into, const GradientRange& what);
  void measure(const GradientRange& what, const float* gradient);
  double* squares() { return reinterpret_cast<double*>(squares_.floats()); }

  const Model& model_;
  Executor& executor_;
  gpu::Stream* stream_;
  const std::vector<GradientRange>& ranges_;
  Options options_;
  GradientRange all_;
  std::vector<std::size_t> range_of_;            ///< by parameter
  std::vector<std::size_t> left_;                ///< by range: parameters that are missing
  std::vector<char> here_, touched_;             ///< by parameter: by this micro-batch; by any
  std::vector<FlatVector> memory_;               ///< of partial sums
  std::vector<ShardSums> open_;                  ///< the shard's own, then partial sums
  FlatVector result_;                            ///< a ShardResult
  FlatVector squares_;                           ///< doubles, by parameter, of what is measured
  std::unique_ptr<optim::GradientSums> on_gpu_;  ///< of squares
};

}  // namespace thalweg::engine
