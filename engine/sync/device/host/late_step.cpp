// A late step on the host: the sums of a step have a thread of their own, and the update is made by
// all threads at once.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/optim/norm.h"
#include "engine/sync/clip.h"
#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/device/host/update.h"
#include "engine/sync/device/late_step.h"
#include "engine/sync/finite.h"

namespace thalweg::engine {
namespace {

class LateOnHost final : public LateStep {
 public:
  LateOnHost(const SyncParts& parts, const SyncOptions& options, const LateOptions& late)
      : p_(parts),
        measures_(can_measure_noise(parts, late.sum)),
        waits_(late.wait != nullptr),
        path_(parts, options, late.scale, late.sum, late.sets),
        update_(parts),
        squares_(parts.model.parameters().size()),
        finite_(static_cast<std::size_t>(late.sets)) {
    if (late.accumulates) path_.accumulate();
    if (waits_) path_.hold_sums(late.wait);
  }

  void prepare() override { path_.prepare(); }

  void run(const StepInput& input) override {
    passes_ = {};
    passes_.step = input.context.step;
    path_.run(input, passes_);
    if (!path_.held()) begin();
    hurried_ = !path_.held() && !waits_;
  }

  void run_more(const StepInput& input) override { path_.run_more(input, passes_); }

  void wait_for_passes() override {
    if (!waits_ && path_.summing()) path_.wait_for_all();
  }

  bool held() const override { return path_.held(); }
  void start_held() override {
    path_.start_held();
    hurried_ = false;
    begin();
  }

  bool summing() const override { return path_.summing(); }
  bool is_summed() override { return path_.is_summed(); }

  Summed collect(StepOutcome& outcome) override {
    outcome = std::move(under_way_);
    if (!hurried_) path_.hurry();
    path_.wait_for_all();
    path_.finish(outcome);
    const bool measured = measures_ && path_.measures_noise();
    std::vector<bool>& finite = finite_[path_.set()];
    finite.assign(squares_.size(), true);
    for (std::size_t i = 0; i < squares_.size(); ++i) {
      const ParameterInfo& info = p_.model.parameters()[i];
      const float* const gradient = path_.gradient() + info.offset;
      squares_[i] = measured                           ? optim::sum_of_squares(info.count, gradient)
                    : all_finite(gradient, info.count) ? 0
                                                       : std::numeric_limits<double>::quiet_NaN();
      finite[i] = std::isfinite(squares_[i]);
    }
    return {path_.set(), {path_.summed_stats(), squares_}, measured};
  }

  const std::vector<int>& passes() const override { return path_.passes(); }

  /// Cutting single elements is left to the update, which has them in the cache, but where the norm
  /// has to be taken of what is left.
  double apply(std::size_t set, const StepContext& context, float factor) override {
    const Stopwatch watch;
    float* const gradient = path_.gradient(set);
    const std::size_t floats = p_.model.parameter_floats();
    for (std::size_t i = 0; factor != 1 && i < floats; ++i)
      gradient[i] *= factor;
    const OptimizerMemory<float> memory = p_.replica.memory(gradient);
    double cut = p_.clip_value;
    if (p_.clip_norm > 0) {
      if (cut > 0) clip_values(gradient, floats, std::exchange(cut, 0));
      clip(gradient, floats, p_.clip_norm);
    }
    for (std::size_t i = 0; i < squares_.size(); ++i)
      if (finite_[set][i]) update_.add(static_cast<int>(i));
    update_.run(context, memory, cut);
    p_.optimizer.finish(context, memory);
    return watch.ms();
  }

  float* on_host(std::size_t set) override { return path_.gradient(set); }

  std::size_t restore(const float* gradient) override {
    const std::size_t set = path_.take_set();
    std::copy_n(gradient, p_.model.parameter_floats(), path_.gradient(set));
    finite_[set].assign(squares_.size(), true);
    return set;
  }

  const float* evaluated() override { return p_.replica.evaluated(p_.optimizer); }

 private:
  void begin() { under_way_ = std::exchange(passes_, {}); }

  SyncParts p_;
  bool measures_;
  bool waits_;            ///< LateOptions::wait
  bool hurried_ = false;  ///< sums under way have the processor since their passes were made
  GradientPath path_;
  HostUpdate update_;
  std::vector<double> squares_;            ///< of the gradient that was summed last
  std::vector<std::vector<bool>> finite_;  ///< by set and parameter
  StepOutcome passes_;                     ///< of the last run()
  StepOutcome under_way_;                  ///< of the step whose sums are
};

}  // namespace

std::unique_ptr<LateStep> late_step_on_host(const SyncParts& parts, const SyncOptions& options,
                                            const LateOptions& late) {
  return std::make_unique<LateOnHost>(parts, options, late);
}

}  // namespace thalweg::engine
