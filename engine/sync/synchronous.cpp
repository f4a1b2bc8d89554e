// Synchronous data-parallel SGD: every step sums the gradients of all shards, every rank makes the
// same update.
#include <chrono>
#include <cmath>
#include <cstring>
#include <utility>

#include "engine/sync/bucket_reducer.h"
#include "engine/sync/buckets.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {
namespace {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration d) {
  return std::chrono::duration<double, std::milli>(d).count();
}

class Synchronous : public SyncMode {
 public:
  Synchronous(const SyncParts& parts, const BucketSizes& sizes)
      : p_(parts),
        buckets_(plan_buckets(p_.model.parameters(), p_.model.ready_order(), sizes)),
        bucket_of_(p_.model.parameters().size()) {
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      for (const int number : buckets_[b].parameters)
        bucket_of_[static_cast<std::size_t>(number)] = b;
    for (int shard = 0; shard < p_.sharding.mine(); ++shard) {
      gradients_.push_back(Buffer::of_floats(p_.model.parameter_floats()));
      extras_.push_back(Buffer::of_floats(p_.model.statistics() + kExtras));
    }
    memory_ = p_.replica.memory(gradients_[0].floats());
    reducer_ = std::make_unique<BucketReducer>(p_.group, p_.sharding.shards, reducer_parts());
  }

  StepOutcome step(const StepInput& input) override {
    StepOutcome outcome;
    StepContext context = input.context;
    context.samples = p_.sharding.global_batch;
    const Clock::time_point start = Clock::now();
    reducer_->begin();
    p_.lanes.run(p_.sharding.mine(), [&](int shard, Lane& lane) { run_shard(shard, lane, input); });
    outcome.compute_ms = milliseconds(Clock::now() - start);
    reducer_->hurry();

    if (p_.clip_norm > 0) {
      outcome.comm_exposed_ms += timed([&] { wait_for_all(); });
      outcome.optimizer_ms += timed([&] { clip(); });
    }
    // The optimizer takes each bucket while later ones are still on their way.
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      outcome.comm_exposed_ms += timed([&] { reducer_->wait(b); });
      outcome.optimizer_ms += timed([&] { update(buckets_[b], context); });
    }
    outcome.optimizer_ms += timed([&] { p_.optimizer.finish(context, memory_); });
    outcome.comm_exposed_ms += timed([&] { reducer_->wait(buckets_.size()); });
    const float* extra = extras_[0].floats();
    p_.model.update_running(extra, p_.sharding.shards, p_.replica.running.floats());
    outcome.loss =
        static_cast<double>(extra[p_.model.statistics() + kLoss]) / p_.sharding.global_batch;
    outcome.stop = extra[p_.model.statistics() + kStop] > 0;
    return outcome;
  }

 private:
  // The last part of a step's sums: the model's statistics, then these.
  enum Extra : std::size_t { kLoss, kStop, kExtras };

  std::vector<BucketReducer::Part> reducer_parts() {
    std::vector<BucketReducer::Part> parts;
    for (const Bucket& bucket : buckets_) {
      BucketReducer::Part part;
      for (Buffer& gradient : gradients_)
        part.leaves.push_back(gradient.floats() + bucket.offset);
      part.count = bucket.count;
      part.marks = static_cast<int>(bucket.parameters.size() * gradients_.size());
      parts.push_back(std::move(part));
    }
    BucketReducer::Part last;
    for (Buffer& extra : extras_)
      last.leaves.push_back(extra.floats());
    last.count = p_.model.statistics() + kExtras;
    last.marks = static_cast<int>(extras_.size());
    parts.push_back(std::move(last));
    return parts;
  }

  void run_shard(int shard, Lane& lane, const StepInput& input) {
    const auto i = static_cast<std::size_t>(shard);
    const auto samples = static_cast<std::size_t>(p_.sharding.shard_batch());
    Batch batch;
    batch.inputs = input.inputs + i * samples * input.sample_floats;
    batch.labels = input.labels + i * samples * input.sample_labels;
    batch.targets = input.targets + i * samples * input.sample_targets;
    batch.samples = p_.sharding.shard_batch();
    batch.seed = p_.seed;
    batch.step = static_cast<std::uint32_t>(input.context.step);
    batch.first_sample =
        static_cast<std::uint64_t>(p_.sharding.first + shard) * static_cast<std::uint64_t>(samples);
    // The mean over the global batch: each shard's gradient is scaled, then the shards are summed.
    const float scale = 1.0f / static_cast<float>(p_.sharding.global_batch);
    float* extra = extras_[i].floats();
    const ShardResult result = lane.train(
        p_.replica.parameters.floats(), batch, scale, gradients_[i].floats(), extra,
        [&](int parameter) { reducer_->mark(bucket_of_[static_cast<std::size_t>(parameter)]); });
    extra[p_.model.statistics() + kLoss] = static_cast<float>(result.loss_sum);
    extra[p_.model.statistics() + kStop] = input.stop ? 1.0f : 0.0f;
    reducer_->mark(buckets_.size());
  }

  void update(const Bucket& bucket, const StepContext& context) {
    for (const int number : bucket.parameters) {
      const ParameterInfo& info = p_.model.parameters()[static_cast<std::size_t>(number)];
      p_.optimizer.update(context, {number, info.offset, info.count}, memory_);
    }
  }

  void wait_for_all() {
    for (std::size_t b = 0; b <= buckets_.size(); ++b)
      reducer_->wait(b);
  }

  /// Scales the summed gradient down to norm clip_norm where it is longer (Pascanu et al.,
  /// arXiv:1211.5063). The sum runs in memory order in double on every rank: the same bits
  /// everywhere.
  void clip() {
    float* gradient = gradients_[0].floats();
    double squares = 0;
    for (std::size_t i = 0; i < p_.model.parameter_floats(); ++i)
      squares += static_cast<double>(gradient[i]) * gradient[i];
    const double norm = std::sqrt(squares);
    if (!(norm > p_.clip_norm)) return;
    const auto factor = static_cast<float>(p_.clip_norm / norm);
    for (std::size_t i = 0; i < p_.model.parameter_floats(); ++i)
      gradient[i] *= factor;
  }

  template <class F>
  static double timed(const F& f) {
    const Clock::time_point start = Clock::now();
    f();
    return milliseconds(Clock::now() - start);
  }

  SyncParts p_;
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> bucket_of_;
  std::vector<Buffer> gradients_;  ///< one flat memory per local shard
  std::vector<Buffer> extras_;     ///< statistics, loss sum, stop flag per local shard
  OptimizerMemory<float> memory_;
  std::unique_ptr<BucketReducer> reducer_;  // last: its thread ends before the memory goes
};

constexpr double kMiB = 1 << 20;

jobspec::Option mebibytes(const char* name, const char* doc, double fallback) {
  jobspec::Option o;
  o.name = name;
  o.type = jobspec::OptionType::real;
  o.doc = doc;
  o.fallback = fallback;
  o.min = 0;
  o.max = 4096;
  return o;
}

std::size_t bytes(const jobspec::Value& options, const char* name, std::size_t fallback) {
  const jobspec::Value* given = options.find(name);
  return given == nullptr ? fallback : static_cast<std::size_t>(given->as_double() * kMiB);
}

std::unique_ptr<SyncMode> make(const jobspec::Value& options, const SyncParts& parts) {
  BucketSizes sizes;
  sizes.first_bytes = bytes(options, "first_bucket_mib", sizes.first_bytes);
  sizes.bytes = bytes(options, "bucket_mib", sizes.bytes);
  return std::make_unique<Synchronous>(parts, sizes);
}

}  // namespace

SyncRow synchronous_row() {
  const BucketSizes sizes;
  return {"sync",
          "every step sums the gradients of all ranks before the update",
          {mebibytes("first_bucket_mib", "size of the first message of gradients, in MiB",
                     static_cast<double>(sizes.first_bytes) / kMiB),
           mebibytes("bucket_mib", "size of the other messages of gradients, in MiB",
                     static_cast<double>(sizes.bytes) / kMiB)},
          make};
}

}  // namespace thalweg::engine
