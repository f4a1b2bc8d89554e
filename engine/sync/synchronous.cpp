// Synchronous data-parallel training: every step sums the gradients of all shards, every rank makes
// the same update.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "engine/sync/finite.h"
#include "engine/sync/gradient_path.h"
#include "engine/sync/mode.h"

namespace thalweg::engine {
namespace {

class Synchronous : public SyncMode {
 public:
  Synchronous(const SyncParts& parts, const SyncOptions& options)
      // The mean over the global batch: each sample's gradient is scaled, then all are summed.
      : p_(parts), path_(parts, options, 1.0f / static_cast<float>(parts.sharding.global_batch)) {}

  StepOutcome step(const StepInput& input) override {
    StepOutcome outcome;
    StepContext context = input.context;
    context.samples = p_.sharding.global_batch *
                      static_cast<std::int64_t>(std::max<std::size_t>(1, input.sample_labels));
    path_.run(input, outcome);
    const OptimizerMemory<float> memory = p_.replica.memory(path_.gradient());
    if (p_.clip_norm > 0) {
      path_.wait_for_all();
      outcome.optimizer_ms += timed([&] { clip(); });
    }
    // The optimizer takes each bucket while others are still on their way.
    for (const std::size_t bucket : path_.order()) {
      path_.wait(bucket);
      outcome.optimizer_ms += timed([&] { update(bucket, context, memory, outcome); });
    }
    outcome.optimizer_ms += timed([&] { p_.optimizer.finish(context, memory); });
    path_.finish(outcome);
    if (const int every = p_.optimizer.curvature_every();
        every > 0 && (context.step + 1) % every == 0)
      observe_curvature(input, context, memory, outcome);
    return outcome;
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

  void update(std::size_t bucket, const StepContext& context, const OptimizerMemory<float>& memory,
              StepOutcome& outcome) {
    for (const int number : path_.buckets()[bucket].parameters) {
      // Nobody used it: its value and its state stay as they are.
      if (!path_.present(number)) continue;
      const ParameterInfo& info = p_.model.parameters()[static_cast<std::size_t>(number)];
      // The check costs little: it brings the gradient into the cache for the update.
      if (!all_finite(path_.gradient() + info.offset, info.count)) {
        if (outcome.not_finite.empty()) outcome.not_finite = info.name;
        continue;
      }
      p_.optimizer.update(context, {number, info.offset, info.count}, memory);
    }
  }

  /// Scales the summed gradient down to norm clip_norm where it is longer (Pascanu et al.,
  /// arXiv:1211.5063). The sum runs in memory order in double on every rank: the same bits
  /// everywhere.
  void clip() {
    float* gradient = path_.gradient();
    double squares = 0;
    for (std::size_t i = 0; i < p_.model.parameter_floats(); ++i)
      squares += static_cast<double>(gradient[i]) * gradient[i];
    const double norm = std::sqrt(squares);
    if (!(norm > p_.clip_norm) || !std::isfinite(norm)) return;
    const auto factor = static_cast<float>(p_.clip_norm / norm);
    for (std::size_t i = 0; i < p_.model.parameter_floats(); ++i)
      gradient[i] *= factor;
  }

  template <class F>
  static double timed(const F& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }

  SyncParts p_;
  GradientPath path_;
};

std::unique_ptr<SyncMode> make(const jobspec::Value& options, const SyncParts& parts) {
  return std::make_unique<Synchronous>(parts, read_sync_options(options));
}

}  // namespace

SyncRow synchronous_row() {
  return {"sync", "every step sums the gradients of all ranks before the update", {}, make};
}

}  // namespace thalweg::engine
