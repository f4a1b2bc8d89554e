// The mode lag: the gradient of step t - lag is applied in step t, so that its sums over the ranks
// run while the next step is computed:
//   w(t+1) = w(t) - OPT(gradient at w(t - lag))
// The first `lag` steps change nothing. Kurth et al., arXiv:1810.01993 ("gradient lag", lag 1).
// Synchronous steps before and after are those of Cray's ML plugin (Mathuriya et al.,
// arXiv:1808.04728).
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/sync/device/late_step.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"
#include "engine/sync/synchronous.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

struct LagOptions {
  std::int64_t lag = 1;          ///< steps
  std::int64_t synchronous = 0;  ///< steps at the start
  std::int64_t cooldown = 0;     ///< steps at the end
};

/// Gradients that wait, and one that is summed.
int sets_of(std::int64_t lag) {
  return static_cast<int>(lag) + 1;
}

LagOptions lag_options(const SyncConfig& config) {
  return {config.mode.integer("lag"), config.mode.integer("synchronous_steps"),
          config.mode.integer("cooldown_steps")};
}

class Lag final : public SyncMode {
 public:
  Lag(const SyncParts& parts, const SyncOptions& common, const LagOptions& options,
      std::unique_ptr<BucketSum> sum)
      : p_(parts),
        o_(options),
        sum_(std::move(sum)),
        step_(make_late_step(parts, common,
                             {1.0f / static_cast<float>(parts.sharding.global_batch), sum_.get(),
                              sets_of(options.lag)})) {}

  std::optional<StepOutcome> step(const StepInput& input) override {
    restore();
    const StepContext context = global_context(input, p_.sharding);
    step_->run(input);
    if (step_->held()) {
      if (step_->summing()) collect();
      step_->start_held();
    }
    stop_ = input.stop;
    const bool synchronous = is_synchronous(context.step);
    if (synchronous) collect();
    const std::size_t left = synchronous ? 0 : static_cast<std::size_t>(o_.lag);
    double& spent = synchronous ? told_.back().optimizer_ms : optimizer_ms_;
    for (; waiting_.size() + (step_->summing() ? 1 : 0) > left; waiting_.pop_front())
      spent += apply(waiting_.front(), context);
    return take_outcome(told_);
  }

  std::optional<StepOutcome> settle() override {
    if (step_->summing()) collect();
    step_->finish();
    return take_outcome(told_);
  }

  const float* evaluated() override { return step_->evaluated(); }
  void replica_written() override { step_->parameters_written(); }
  bool same_on_any_ranks() const override { return sum_ == nullptr; }
  std::string note() const override {
    const std::string of_step = step_->note();
    return "sync.mode lag: each gradient is applied " + std::to_string(o_.lag) +
           (o_.lag == 1 ? " step" : " steps") +
           " late; large momentum may need a lower learning rate" +
           (of_step.empty() ? "" : "; " + of_step);
  }

  /// The gradients that are still to be applied, and how many updates there were.
  std::vector<SyncState> states() override {
    const std::size_t floats = p_.model.parameter_floats();
    while (saved_.size() < static_cast<std::size_t>(o_.lag))
      saved_.push_back(Buffer::of_floats(floats));
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      std::copy_n(step_->on_host(waiting_[i]), floats, saved_[i].floats());
    if (restored_) {
      counts_[0] = static_cast<double>(waiting_.size());
      counts_[1] = static_cast<double>(updates_);
    }
    std::vector<SyncState> states;
    for (std::size_t i = 0; i < saved_.size(); ++i)
      states.push_back({"gradient" + std::to_string(i + 1),
                        SyncState::Ranks::equal,
                        {saved_[i].floats(), floats},
                        {},
                        true});
    states.push_back({"counts", SyncState::Ranks::equal, {}, counts_, false});
    if (sum_)
      for (SyncState& state : sum_->states())
        states.push_back(std::move(state));
    return states;
  }

 private:
  bool is_synchronous(std::int64_t step) const {
    return o_.lag == 0 || step < o_.synchronous ||
           (p_.total_steps > 0 && step >= p_.total_steps - o_.cooldown);
  }

  /// What a checkpoint has brought, before the first step.
  void restore() {
    if (std::exchange(restored_, true)) return;
    updates_ = static_cast<std::int64_t>(counts_[1]);
    const auto count = static_cast<std::size_t>(counts_[0]);
    if (count > saved_.size()) throw std::runtime_error("sync.mode lag: impossible checkpoint");
    step_->prepare();
    for (std::size_t i = 0; i < count; ++i)
      waiting_.push_back(step_->restore(saved_[i].floats()));
  }

  /// Waits for the sums under way, and tells what became of their step.
  void collect() {
    StepOutcome outcome;
    const LateStep::Summed summed = step_->collect(outcome);
    outcome.optimizer_ms += std::exchange(optimizer_ms_, 0);
    const std::span<const double> squares = summed.report.squares;
    tell_sums(summed.report, p_, stop_, outcome);
    outcome.not_finite = first_not_finite(
        p_.model, [&](std::size_t parameter) { return std::isfinite(squares[parameter]); });
    if (summed.measured)
      outcome.noise = noise_pair(p_.sharding, summed.report.stats[stat_squares], squares);
    waiting_.push_back(summed.set);
    told_.push_back(std::move(outcome));
  }

  double apply(std::size_t set, StepContext context) {
    context.step = updates_++;
    return step_->apply(set, context);
  }

  SyncParts p_;
  LagOptions o_;
  std::unique_ptr<BucketSum> sum_;
  std::unique_ptr<LateStep> step_;
  std::deque<std::size_t> waiting_;  ///< sets whose gradient is not applied yet, the oldest first
  std::deque<StepOutcome> told_;     ///< what step() has not returned yet
  bool stop_ = false;                ///< this rank's wish, in the step whose sums are under way
  double optimizer_ms_ = 0;          ///< spent since these sums began
  std::int64_t updates_ = 0;
  bool restored_ = false;
  std::vector<Buffer> saved_;             ///< of states()
  std::vector<double> counts_{0.0, 0.0};  ///< gradients in saved_, updates_
};

void require_lag(const SyncConfig& config, const SyncFacts& facts) {
  require_sum(config);
  if (sums_by_ranks(config))
    require_shards_everywhere(facts, "a sum by ranks (sync.sum, compress)");
  if (facts.joins_shards)
    throw std::invalid_argument(
        "sync.mode: lag sums one step while the next is computed, and batch normalisation over "
        "the whole batch needs the messages meanwhile; set model.sync_batch_norm to false");
  if (!facts.touches_all)
    throw std::invalid_argument("sync.mode: lag needs a model of which every step uses all");
  if (facts.observes_curvature)
    throw std::invalid_argument(
        "sync.mode: lag has no second pass for an optimizer that looks at curvature; use mode "
        "sync, or another optimizer");
}

std::unique_ptr<SyncMode> make_lag(const SyncConfig& config, const SyncParts& parts) {
  return std::make_unique<Lag>(parts, config.common, lag_options(config), make_sum(config, parts));
}

std::int64_t lag_vectors(const SyncConfig& config, const Sharding& sharding, int, bool on_gpu) {
  const std::int64_t lag = config.mode.integer("lag");
  return late_vectors(sharding, sets_of(lag), false, on_gpu) + (on_gpu ? 0 : lag);  // checkpoints'
}

}  // namespace

SyncRow lag_row() {
  return {"lag",
          "the gradient of some steps ago is applied while the ranks' sums of the present one run "
          "behind the computation of the next",
          {jobspec::int_option("lag", 1, 0, 64,
                               "steps between computing a gradient and applying it; the first "
                               "ones change nothing"),
           jobspec::int_option("synchronous_steps", 0, 0, 1'000'000'000,
                               "steps at the start that are synchronous"),
           jobspec::int_option("cooldown_steps", 0, 0, 1'000'000'000,
                               "steps at the end that are synchronous; the first of them applies "
                               "all gradients that wait"),
           sum_option()},
          require_lag,
          make_lag,
          lag_vectors};
}

}  // namespace thalweg::engine
