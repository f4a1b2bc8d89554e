// The mode adasum: each rank's gradient, or the change that its optimizer makes of it, is combined
// by Adasum. Maleki et al., arXiv:2006.02924; the second form is what Horovod does.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/comm/algorithms/table.h"
#include "engine/sync/adasum_sum.h"
#include "engine/sync/compress/table.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/finite.h"
#include "engine/sync/mode.h"
#include "engine/sync/synchronous.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

/// Every rank's optimizer makes its own step from the same weights w; then
///   w = w + Adasum of all ranks' changes.
/// The optimizers' states differ between ranks. The changes are combined in the host's memory, also
/// where the model is in a GPU's.
class AdasumOfChanges : public SyncMode {
 public:
  AdasumOfChanges(const SyncParts& parts, const SyncOptions& options, float scale,
                  comm::Adasum pairs)
      : p_(parts),
        device_(make_step_device(parts, options, scale, &none_)),
        buckets_(
            plan_buckets(parts.model.parameters(), parts.model.ready_order(), options.buckets)),
        adasum_(parts.group, parts.model, pairs),
        before_(Buffer::of_floats(parts.model.parameter_floats())),
        finite_(parts.model.parameters().size()) {
    if (on_host()) return;
    after_ = Buffer::of_floats(parts.model.parameter_floats());
    change_ = Buffer::of_floats(parts.model.parameter_floats());
  }

  std::optional<StepOutcome> step(const StepInput& input) override {
    StepContext context = input.context;
    context.samples = static_cast<std::int64_t>(p_.sharding.mine()) * p_.sharding.shard_batch() *
                      static_cast<std::int64_t>(std::max<std::size_t>(1, input.sample_labels));
    p_.replica.parameters.read(before_.floats());
    const std::size_t place = device_->begin(input, context);
    device_->run(input, [&] { finish_step(*device_, p_, context); });
    device_->end();
    StepOutcome outcome;
    outcome.step = context.step;
    const StepReport report = device_->read(place, outcome);
    tell_sums(report, p_, input.stop, outcome);
    Stopwatch watch;
    take_changes(report);
    outcome.optimizer_ms += watch.ms();
    watch = {};
    for (const Bucket& bucket : buckets_)
      combine(bucket, context.step);
    if (outcome.comm_before) {
      outcome.comm_before->comm_ms += last_combine_ms_;
      outcome.comm_before->exposed_ms += last_combine_ms_;
    }
    last_combine_ms_ = watch.ms();
    outcome.wait_ms += last_combine_ms_;
    watch = {};
    for (std::size_t number = 0; number < finite_.size(); ++number)
      finite_[number] = apply(p_.model.parameters()[number]);
    if (!on_host()) {
      p_.replica.parameters.write(after_.floats());
      device_->parameters_written();
    }
    outcome.not_finite = first_not_finite(p_.model, [&](std::size_t n) { return finite_[n]; });
    outcome.optimizer_ms += watch.ms();
    return outcome;
  }

  const float* evaluated() override { return p_.replica.evaluated(p_.optimizer); }
  std::string note() const override { return device_->note(); }

  std::vector<SyncState> states() override { return states_of_ranks(p_.replica, p_.model); }

 private:
  bool on_host() const { return p_.replica.parameters.on_host(); }
  /// Of all parameters, in the host's memory: on the host in the gradient's place.
  float* change() { return on_host() ? device_->gradient() : change_.floats(); }
  /// The weights that are to be, in the host's memory.
  float* weights() { return on_host() ? p_.replica.parameters.floats() : after_.floats(); }

  /// What this rank's own step has changed; NaN where its gradient was not finite, for all ranks to
  /// see: it stays so in the combination.
  void take_changes(const StepReport& report) {
    if (!on_host()) p_.replica.parameters.read(after_.floats());
    const float* const w = weights();
    float* const to = change();
    for (std::size_t number = 0; number < report.squares.size(); ++number) {
      const ParameterInfo& info = p_.model.parameters()[number];
      const bool finite = std::isfinite(report.squares[number]);
      for (std::size_t i = info.offset; i < info.offset + info.count; ++i)
        to[i] = finite ? w[i] - before_.floats()[i] : std::numeric_limits<float>::quiet_NaN();
    }
  }

  void combine(const Bucket& bucket, std::int64_t step) {
    GradientPart part;
    part.leaves = {change() + bucket.offset};
    part.offset = bucket.offset;
    part.count = bucket.count;
    part.parameters = bucket.parameters;
    part.label = "changes of weights";
    if (const auto request = adasum_.start(part, step)) request->wait();
  }

  /// Whether the combined change is finite; else the weights stay as they were.
  bool apply(const ParameterInfo& info) {
    const float* combined = change() + info.offset;
    const float* before = before_.floats() + info.offset;
    float* w = weights() + info.offset;
    const bool finite = all_finite(combined, info.count);
    for (std::size_t i = 0; i < info.count; ++i)
      w[i] = finite ? before[i] + combined[i] : before[i];
    return finite;
  }

  SyncParts p_;
  NoSum none_;
  std::unique_ptr<StepDevice> device_;
  std::vector<Bucket> buckets_;
  AdasumSum adasum_;
  Buffer before_;
  Buffer after_, change_;       ///< where the model is in a GPU's memory
  std::vector<bool> finite_;    ///< by parameter: what was combined
  double last_combine_ms_ = 0;  ///< of the step before; nothing hides it
};

bool over_machines(const SyncConfig& config) {
  return config.mode.text("pairs") == "machines";
}

bool combines_changes(const SyncConfig& config) {
  return config.mode.text("form") == "change";
}

void require_adasum(const SyncConfig& config, const SyncFacts& facts) {
  require_shards_everywhere(facts, "sync.mode adasum");
  const bool machines = over_machines(config);
  const int units = machines ? facts.machines : facts.ranks;
  if (!std::has_single_bit(static_cast<unsigned>(units)))
    throw std::invalid_argument(
        std::string("sync.mode: adasum combines ") + (machines ? "machines" : "ranks") +
        " in pairs: it needs a power of two of them, not " + std::to_string(units));
  if (config.compresses())
    throw std::invalid_argument(std::string("sync.compress: ") + config.compress.name +
                                " does not go with sync.mode adasum");
  if (!combines_changes(config)) return;
  if (config.common.compare_every > 0)
    throw std::invalid_argument(
        "sync.compare_every: with form change the ranks' optimizers have states of their own; set "
        "it to 0, or use form gradient");
  if (facts.has_eval_weights)
    throw std::invalid_argument(
        "sync.form: change leaves each rank's optimizer its own state, and this optimizer keeps "
        "the weights to validate in it; use form gradient, or another optimizer");
  if (facts.observes_curvature)
    throw std::invalid_argument(
        "sync.form: change makes every rank's own update, and this optimizer needs the curvature "
        "over all ranks; use form gradient, or another optimizer");
}

std::unique_ptr<SyncMode> make_adasum(const SyncConfig& config, const SyncParts& parts) {
  const comm::Adasum pairs =
      over_machines(config) ? comm::Adasum::over_machines : comm::Adasum::over_ranks;
  // Each rank brings the mean over its own samples.
  const float scale =
      1.0f / static_cast<float>(parts.sharding.mine() * parts.sharding.shard_batch());
  if (!combines_changes(config))
    return make_synchronous(parts, config.common, scale,
                            std::make_unique<AdasumSum>(parts.group, parts.model, pairs));
  return std::make_unique<AdasumOfChanges>(parts, config.common, scale, pairs);
}

}  // namespace

SyncRow adasum_row() {
  return {
      "adasum",
      "gradients that are parallel are averaged, orthogonal ones added; the learning rate "
      "needs no scaling with the ranks",
      {jobspec::choice_option("form", {"gradient", "change"},
                              "gradient: the ranks' gradients are combined, then comes one "
                              "update; change: every rank makes its own update, and the changes "
                              "are combined"),
       jobspec::choice_option("pairs", {"ranks", "machines"},
                              "what is combined: every rank's, or every machine's average; a "
                              "power of two of them either way")},
      require_adasum,
      make_adasum};
}

}  // namespace thalweg::engine
