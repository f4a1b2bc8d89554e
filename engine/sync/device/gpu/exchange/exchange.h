// The way of gradients from a GPU to the other ranks' and back, while backward goes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/sync/bucket_reducer.h"
#include "engine/sync/bucket_sum.h"
#include "engine/sync/device/gpu/shards.h"
#include "engine/sync/options.h"

namespace thalweg::engine {

/// What an exchange is made of. The references, and `sum`, must outlive it.
struct ExchangeParts {
  const SyncParts& parts;
  const SyncOptions& options;
  GpuShards& shards;
  const std::vector<Bucket>& buckets;
  BucketSum* sum = nullptr;    ///< combines the ranks' sums; null: the sum over all shards
  BucketReducer::Wait wait{};  ///< LateOptions::wait
};

/// For one thread and more than one rank. The bits are the same by every way. Throws CommError.
class GpuExchange {
 public:
  virtual ~GpuExchange() = default;

  /// After shards.run() (and stage()): what follows in the shards' sums_stream() sees the sums in
  /// gradient(0) and stats(0). `stop`: this rank's wish. `slot`: where times() of this run are
  /// found; nothing: they are not wanted. A slot is free again when its run is done.
  void run(std::int64_t step, bool stop, std::optional<std::size_t> slot) {
    begin(step, stop, slot);
    end();
  }
  /// The halves of run(): begin() waits until what is to be summed is ready, if at all, end() for
  /// the sums, if at all.
  virtual void begin(std::int64_t step, bool stop, std::optional<std::size_t> slot) = 0;
  virtual void end() = 0;
  /// Between them: whether the sums are there.
  virtual bool is_done() = 0;

  struct Times {
    double waited_ms = 0;  ///< for sums, after backward had ended
    CommTimes comm;        ///< skew between ranks counts as communication
  };
  /// Of the last run with that slot, which is done. `begun` and `computed`: events of the shards'
  /// stream(), before and after the shards.
  virtual Times times(std::size_t slot, const gpu::Event& begun, const gpu::Event& computed) = 0;

  /// Blocks until `done`, an event of the shards' sums_stream() behind the run with that slot.
  virtual void wait(const gpu::Event& done, std::size_t slot) = 0;

  /// "through the host's memory"
  virtual std::string way() const = 0;

  /// Slots for times.
  static constexpr std::size_t slots = 2;
};

}  // namespace thalweg::engine
