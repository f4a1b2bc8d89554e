// Synchronous data-parallel training: every step sums the gradients of all shards, every rank makes
// the same update.
#include "engine/sync/synchronous.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/nn/lane.h"
#include "engine/optim/norm.h"
#include "engine/sync/compress/table.h"
#include "engine/sync/finite.h"
#include "engine/sync/gpu_synchronous.h"
#include "engine/sync/gradient_path.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

class Synchronous : public SyncMode {
 public:
  Synchronous(const SyncParts& parts, const SyncOptions& options, float scale,
              std::unique_ptr<BucketSum> sum)
      : p_(parts), sum_(std::move(sum)), path_(parts, options, scale, sum_.get()) {}

  StepOutcome step(const StepInput& input) override {
    StepOutcome outcome;
    outcome.step = input.context.step;
    const StepContext context = global_context(input, p_.sharding);
    path_.run(input, outcome);
    const OptimizerMemory<float> memory = p_.replica.memory(path_.gradient());
    if (p_.clip_norm > 0) {
      path_.wait_for_all();
      outcome.optimizer_ms += timed([&] {
        if (path_.measures_noise()) note_all_squares();
        if (p_.clip_value > 0)
          clip_values(path_.gradient(), p_.model.parameter_floats(), p_.clip_value);
        clip(path_.gradient(), p_.model.parameter_floats(), p_.clip_norm);
      });
    }
    // The optimizer takes each bucket while others are still on their way.
    for (const std::size_t bucket : path_.order()) {
      path_.wait(bucket);
      outcome.optimizer_ms += timed([&] { update(bucket, context, memory, outcome); });
    }
    outcome.optimizer_ms += timed([&] { p_.optimizer.finish(context, memory); });
    path_.finish(outcome);
    if (p_.optimizer.curvature_due(context.step))
      observe_curvature(input, context, memory, outcome);
    return outcome;
  }

  const float* evaluated() override { return p_.replica.evaluated(p_.optimizer); }

  bool same_on_any_ranks() const override { return sum_ == nullptr; }

  std::vector<SyncState> states() override {
    return sum_ ? sum_->states() : std::vector<SyncState>();
  }

 private:
  /// A second backward pass, for labels that the model itself draws.
  void observe_curvature(StepInput input, const StepContext& context,
                         const OptimizerMemory<float>& memory, StepOutcome& outcome) {
    input.draw_labels = true;
    StepOutcome second;
    path_.run(input, second);
    path_.wait_for_all();
    outcome.compute_ms += second.compute_ms;
    const std::vector<ParameterInfo>& infos = p_.model.parameters();
    outcome.optimizer_ms += timed([&] {
      for (int number = 0; number < static_cast<int>(infos.size()); ++number) {
        const ParameterInfo& info = infos[static_cast<std::size_t>(number)];
        if (path_.present(number))
          p_.optimizer.observe_curvature(context, {number, info.offset, info.count}, memory);
      }
    });
  }

  /// Sums of squares are finite where all elements are: in such a step one pass tells both.
  bool finite(int number, const ParameterInfo& info) {
    const float* gradient = path_.gradient() + info.offset;
    if (!path_.measures_noise() || p_.clip_norm > 0) return all_finite(gradient, info.count);
    const double squares = optim::sum_of_squares(info.count, gradient);
    path_.note_squares(number, squares);
    return std::isfinite(squares);
  }

  void note_all_squares() {
    for (int number = 0; number < static_cast<int>(p_.model.parameters().size()); ++number) {
      const ParameterInfo& info = p_.model.parameters()[static_cast<std::size_t>(number)];
      path_.note_squares(number, optim::sum_of_squares(info.count, path_.gradient() + info.offset));
    }
  }

  /// Threads share the bucket; the bits do not depend on how many there are.
  void update(std::size_t bucket, const StepContext& context, const OptimizerMemory<float>& memory,
              StepOutcome& outcome) {
    segments_.clear();
    std::size_t floats = 0;
    for (const int number : path_.buckets()[bucket].parameters) {
      // Nobody used it: its value and its state stay as they are.
      if (!path_.present(number)) continue;
      const ParameterInfo& info = p_.model.parameters()[static_cast<std::size_t>(number)];
      // The check costs little: it brings the gradient into the cache for the update.
      if (!finite(number, info)) {
        if (outcome.not_finite.empty()) outcome.not_finite = info.name;
        continue;
      }
      floats += info.count;
      const std::size_t part = p_.optimizer.elementwise(number) ? kPart : info.count;
      for (std::size_t at = 0; at < info.count; at += part)
        segments_.push_back({number, info.offset + at, std::min(part, info.count - at)});
    }
    const auto one = [&](const Segment& segment) {
      if (p_.clip_value > 0 && p_.clip_norm == 0)
        clip_values(path_.gradient() + segment.offset, segment.count, p_.clip_value);
      p_.optimizer.update(context, segment, memory);
    };
    if (p_.lanes.threads() > 1 && floats > kWorthWaking) {
      p_.lanes.run(static_cast<int>(segments_.size()),
                   [&](int task, Lane&) { one(segments_[static_cast<std::size_t>(task)]); });
      return;
    }
    for (const Segment& segment : segments_)
      one(segment);
  }

  // Parts fit a core's cache; fewer floats than the second are updated sooner than a thread wakes.
  static constexpr std::size_t kPart = std::size_t{1} << 16;
  static constexpr std::size_t kWorthWaking = std::size_t{1} << 15;

  template <class F>
  static double timed(const F& f) {
    const Stopwatch watch;
    f();
    return watch.ms();
  }

  SyncParts p_;
  std::unique_ptr<BucketSum> sum_;
  GradientPath path_;
  std::vector<Segment> segments_;  ///< of the bucket under way
};

void require(const SyncConfig& config, const SyncFacts&) {
  if (config.mode.text("sum") == "shards" && config.compresses())
    throw std::invalid_argument(std::string("sync.compress: ") + config.compress.name +
                                " works on the sum of a rank's shards; set sync.sum to ranks, or "
                                "leave it out");
}

std::unique_ptr<SyncMode> make(const SyncConfig& config, const SyncParts& parts) {
  std::unique_ptr<BucketSum> combine;
  if (config.mode.text("sum") == "ranks" || config.compresses())
    combine = config.compress.make(config.compression, {parts.group, parts.model, parts.seed});
  // The mean over the global batch: each sample's gradient is scaled, then all are summed.
  return make_synchronous(parts, config.common,
                          1.0f / static_cast<float>(parts.sharding.global_batch),
                          std::move(combine));
}

}  // namespace

std::unique_ptr<SyncMode> make_synchronous(const SyncParts& parts, const SyncOptions& options,
                                           float scale, std::unique_ptr<BucketSum> sum) {
  if (parts.model.gpu() != nullptr)
    return make_gpu_synchronous(parts, options, scale, std::move(sum));
  return std::make_unique<Synchronous>(parts, options, scale, std::move(sum));
}

void clip(float* gradient, std::size_t count, double longest) {
  const double norm = optim::norm(count, gradient);
  if (!(norm > longest) || !std::isfinite(norm)) return;
  const double factor = longest / norm;
  for (std::size_t i = 0; i < count; ++i)
    gradient[i] = static_cast<float>(static_cast<double>(gradient[i]) * factor);
}

void clip_values(float* gradient, std::size_t count, double largest) {
  const auto limit = static_cast<float>(largest);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    const float size = std::abs(gradient[i]);
    // Not true of NaN either.
    if (size > limit && size < infinity) gradient[i] = std::copysign(limit, gradient[i]);
  }
}

SyncRow synchronous_row() {
  return {
      "sync",
      "every step sums the gradients of all ranks before the update",
      {jobspec::choice_option(
          "sum", {"auto", "shards", "ranks"},
          "shards: over all shards of all ranks in one fixed tree, the same bits on any number "
          "of ranks; ranks: each rank's own shards first, then over the ranks as sync.allreduce "
          "says, bits that depend on the number of ranks; auto = shards, or ranks where "
          "sync.compress is set")},
      require,
      make};
}

}  // namespace thalweg::engine
