// The mode lag: the gradient of step t - lag is applied in step t, so that its sums over the ranks
// run while the next step is computed:
//   w(t+1) = w(t) - OPT(gradient at w(t - lag))
// The first `lag` steps change nothing. Kurth et al., arXiv:1810.01993 ("gradient lag", lag 1).
// Synchronous steps before and after are those of Cray's ML plugin (Mathuriya et al.,
// arXiv:1808.04728).
#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/optim/norm.h"
#include "engine/sync/finite.h"
#include "engine/sync/gradient_path.h"
#include "engine/sync/host_update.h"
#include "engine/sync/late_step.h"
#include "engine/sync/mode.h"
#include "engine/sync/step_device.h"
#include "engine/sync/synchronous.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

struct LagOptions {
  std::int64_t lag = 1;          ///< steps
  std::int64_t synchronous = 0;  ///< steps at the start
  std::int64_t cooldown = 0;     ///< steps at the end
};

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
        measures_(can_measure_noise(p_, sum_.get())),
        path_(parts, common, 1.0f / static_cast<float>(parts.sharding.global_batch), sum_.get(),
              static_cast<int>(options.lag) + 1),
        update_(parts),
        squares_(parts.model.parameters().size()) {}

  StepOutcome step(const StepInput& input) override {
    restore();
    const StepContext context = global_context(input, p_.sharding);
    StepOutcome passes;
    path_.run(input, passes);
    if (path_.held()) {
      collect();
      path_.start_held();
    }
    under_way_ = {context.step, input.stop, passes.compute_ms, 0};
    const bool synchronous = is_synchronous(context.step);
    if (synchronous) collect();
    const std::size_t left = synchronous ? 0 : static_cast<std::size_t>(o_.lag);
    double& spent = synchronous ? told_.back().optimizer_ms : under_way_.optimizer_ms;
    const Stopwatch watch;
    while (waiting_.size() + (path_.summing() ? 1 : 0) > left) {
      apply(waiting_.front(), context);
      waiting_.pop_front();
    }
    spent += watch.ms();
    return take_outcome(told_);
  }

  StepOutcome settle() override {
    if (path_.summing()) collect();
    return take_outcome(told_);
  }

  const float* evaluated() override { return p_.replica.evaluated(p_.optimizer); }
  bool same_on_any_ranks() const override { return sum_ == nullptr; }
  std::string note() const override {
    return "sync.mode lag: each gradient is applied " + std::to_string(o_.lag) +
           (o_.lag == 1 ? " step" : " steps") +
           " late; large momentum may want a lower learning rate";
  }

  /// The gradients that are still to be applied, and how many updates there were.
  std::vector<SyncState> states() override {
    const std::size_t floats = p_.model.parameter_floats();
    while (saved_.size() < static_cast<std::size_t>(o_.lag))
      saved_.push_back(Buffer::of_floats(floats));
    for (std::size_t i = 0; i < waiting_.size(); ++i)
      std::copy_n(path_.gradient(waiting_[i].set), floats, saved_[i].floats());
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
  /// A summed gradient that is not applied yet.
  struct Waiting {
    std::size_t set = 0;       ///< of path_
    std::vector<bool> finite;  ///< by parameter
  };

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
    path_.prepare();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t set = path_.take_set();
      std::copy_n(saved_[i].floats(), p_.model.parameter_floats(), path_.gradient(set));
      waiting_.push_back({set, std::vector<bool>(squares_.size(), true)});
    }
  }

  /// Waits for the sums under way, and tells what became of their step.
  void collect() {
    StepOutcome outcome = wait_for_sums(path_, under_way_);
    const bool measured = measures_ && path_.measures_noise();
    std::vector<bool> finite(squares_.size());
    for (std::size_t i = 0; i < squares_.size(); ++i) {
      const ParameterInfo& info = p_.model.parameters()[i];
      const float* const gradient = path_.gradient() + info.offset;
      squares_[i] = measured                           ? optim::sum_of_squares(info.count, gradient)
                    : all_finite(gradient, info.count) ? 0
                                                       : std::numeric_limits<double>::quiet_NaN();
      finite[i] = std::isfinite(squares_[i]);
    }
    const StepReport report{path_.summed_extras(), squares_};
    tell_sums(report, p_, under_way_.stop, outcome);
    outcome.not_finite =
        first_not_finite(p_.model, [&](std::size_t parameter) { return finite[parameter]; });
    if (measured) outcome.noise = noise_pair(p_.sharding, report.extras[extra_squares], squares_);
    waiting_.push_back({path_.set(), std::move(finite)});
    told_.push_back(std::move(outcome));
  }

  void apply(const Waiting& waiting, StepContext context) {
    context.step = updates_++;
    update_at_once(p_, update_, path_.gradient(waiting.set), waiting.finite, context);
  }

  SyncParts p_;
  LagOptions o_;
  std::unique_ptr<BucketSum> sum_;
  bool measures_;
  GradientPath path_;
  HostUpdate update_;
  std::vector<double> squares_;   ///< of the gradient that was summed last
  std::deque<Waiting> waiting_;   ///< the oldest first
  std::deque<StepOutcome> told_;  ///< what step() has not returned yet
  StepUnderWay under_way_;        ///< the step whose sums are
  std::int64_t updates_ = 0;
  bool restored_ = false;
  std::vector<Buffer> saved_;             ///< of states()
  std::vector<double> counts_{0.0, 0.0};  ///< gradients in saved_, updates_
};

void require(const SyncConfig& config, const SyncFacts& facts) {
  require_sum(config);
  if (sums_by_ranks(config))
    require_shards_everywhere(facts, "a sum by ranks (sync.sum, compress)");
  if (facts.on_gpu)
    throw std::invalid_argument(
        "sync.mode: lag works in the host's memory; use mode sync, or device cpu");
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

std::unique_ptr<SyncMode> make(const SyncConfig& config, const SyncParts& parts) {
  return std::make_unique<Lag>(parts, config.common, lag_options(config), make_sum(config, parts));
}

/// Gradients that wait, once to be applied and once for checkpoints.
std::int64_t vectors(const SyncConfig& config, const Sharding& sharding, int) {
  return config.mode.integer("lag") * (sharding.mine() + 1);
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
          require,
          make,
          vectors};
}

}  // namespace thalweg::engine
