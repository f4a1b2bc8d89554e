// The mode local: each rank's optimizer makes its own steps, and every `period` steps the weights
// become the mean of all ranks'. Stich, arXiv:1805.09767; after synchronous steps at the start it
// is post-local SGD (Lin et al., arXiv:1808.07217).
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/sync/compress/table.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"
#include "engine/sync/synchronous.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

struct LocalOptions {
  std::int64_t period = 8;       ///< steps
  std::int64_t synchronous = 0;  ///< steps at the start
  bool averages_states = true;   ///< of the optimizer, with the weights
};

LocalOptions local_options(const SyncConfig& config) {
  return {config.mode.integer("period"), config.mode.integer("synchronous_steps"),
          config.mode.text("optimizer_state") == "average"};
}

class Local final : public SyncMode {
 public:
  Local(const SyncParts& parts, const SyncOptions& common, const LocalOptions& options)
      : p_(parts),
        o_(options),
        share_(static_cast<float>(parts.sharding.mine()) /
               static_cast<float>(parts.sharding.shards)),
        not_finite_(parts.model.parameters().size()),
        mean_(FlatVector::of(parts.model, parts.model.parameter_floats(),
                             "the mean of the ranks' weights")),
        here_(Buffer::of_floats(parts.model.parameter_floats())) {
    const int own = p_.sharding.mine() * p_.sharding.shard_batch();
    if (is_local(std::numeric_limits<std::int64_t>::max()))
      alone_ = make_step_device(parts, common, 1.0f / static_cast<float>(own), &none_);
    if (!is_local(0))
      together_ = make_step_device(parts, common,
                                   1.0f / static_cast<float>(p_.sharding.global_batch), nullptr);
  }

  std::optional<StepOutcome> step(const StepInput& input) override {
    StepContext context = global_context(input, p_.sharding);
    const bool local = is_local(context.step);
    if (local) context.samples = context.samples / p_.sharding.shards * p_.sharding.mine();
    StepDevice& device = local ? *alone_ : *together_;
    const std::size_t place = device.begin(input, context);
    device.run(input, [&] { finish_step(device, p_, context); });
    device.end();
    StepOutcome outcome;
    outcome.step = context.step;
    const StepReport report = device.read(place, outcome);
    tell_sums(report, p_, input.stop, outcome);
    for (std::size_t i = 0; i < not_finite_.size(); ++i)
      if (!std::isfinite(report.squares[i])) not_finite_[i] = 1;
    differ_ = local;
    if (local && is_due(context.step)) {
      const Stopwatch watch;
      average();
      outcome.wait_ms += watch.ms();
      alone_->parameters_written();
    }
    if (StepDevice* const other = (local ? together_ : alone_).get()) other->parameters_written();
    // Between two means some ranks alone may know.
    if (!differ_)
      outcome.not_finite =
          first_not_finite(p_.model, [&](std::size_t i) { return not_finite_[i] == 0; });
    return outcome;
  }

  const float* evaluated() override { return parameters(); }

  const float* parameters() override {
    if (!differ_) return p_.replica.parameters.floats();
    p_.replica.parameters.read(here_.floats());
    take_mean(here_.floats(), mean_.count());
    mean_.write(here_.floats());
    return mean_.floats();
  }

  std::string note() const override { return (alone_ ? alone_ : together_)->note(); }

  std::vector<SyncState> states() override {
    std::vector<SyncState> states = states_of_ranks(p_.replica, p_.model);
    states.push_back({"weights",
                      SyncState::Ranks::averaged,
                      {p_.replica.parameters.floats(), p_.model.parameter_floats()},
                      {},
                      true});
    return states;
  }

 private:
  bool is_local(std::int64_t step) const { return o_.period > 1 && step >= o_.synchronous; }
  bool is_due(std::int64_t step) const {
    return (step - o_.synchronous + 1) % o_.period == 0 || step + 1 == p_.total_steps;
  }

  /// Over the ranks, each as much as it has samples.
  void take_mean(float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      values[i] *= share_;
    p_.group.allreduce(values, count, comm::Type::f32, comm::Op::sum);
  }

  void average(FlatVector& vector) {
    vector.read(here_.floats());
    take_mean(here_.floats(), vector.count());
    vector.write(here_.floats());
  }

  void average() {
    average(p_.replica.parameters);
    p_.group.allreduce(not_finite_.data(), not_finite_.size(), comm::Type::f32, comm::Op::max);
    differ_ = false;
    if (!o_.averages_states) return;
    for (FlatVector& state : p_.replica.states)
      average(state);
    take_mean(p_.replica.own.data(), p_.replica.own.size());
    for (double& scalar : p_.replica.scalars)
      scalar *= static_cast<double>(share_);
    p_.group.allreduce(p_.replica.scalars.data(), p_.replica.scalars.size(), comm::Type::f64,
                       comm::Op::sum);
  }

  SyncParts p_;
  LocalOptions o_;
  float share_;  ///< of the global batch
  NoSum none_;
  std::unique_ptr<StepDevice> alone_;     ///< null: no step is local
  std::unique_ptr<StepDevice> together_;  ///< null: all are
  std::vector<float> not_finite_;         ///< by parameter, since the last mean: some gradient was
  bool differ_ = false;                   ///< the ranks' weights
  FlatVector mean_;
  Buffer here_;  ///< a vector on its way
};

void require_local(const SyncConfig& config, const SyncFacts& facts) {
  require_shards_everywhere(facts, "sync.mode local");
  if (config.common.compare_every > 0)
    throw std::invalid_argument(
        "sync.compare_every: between two means of mode local the ranks' weights differ as they "
        "should; set it to 0, or use mode sync");
  if (config.compresses())
    throw std::invalid_argument(std::string("sync.compress: ") + config.compress.name +
                                " does not go with sync.mode local, which sends no gradients");
  if (facts.joins_shards)
    throw std::invalid_argument(
        "sync.mode: local gives each rank weights of its own, and batch normalisation over the "
        "whole batch joins all shards; set model.sync_batch_norm to false");
  if (!facts.touches_all)
    throw std::invalid_argument("sync.mode: local needs a model of which every step uses all");
  if (facts.has_eval_weights)
    throw std::invalid_argument(
        "sync.mode: local validates at the mean of the ranks' weights, and this optimizer at "
        "weights of its own; use mode sync, or another optimizer");
  if (facts.observes_curvature)
    throw std::invalid_argument(
        "sync.mode: local makes every rank's own update, and this optimizer needs the curvature "
        "over all ranks; use mode sync, or another optimizer");
}

std::unique_ptr<SyncMode> make_local(const SyncConfig& config, const SyncParts& parts) {
  return std::make_unique<Local>(parts, config.common, local_options(config));
}

/// The mean and a vector on its way; gradients of the synchronous steps.
std::int64_t local_vectors(const SyncConfig& config, const Sharding& sharding, int, bool) {
  return 2 + (config.mode.integer("synchronous_steps") > 0 ? sharding.mine() : 0);
}

}  // namespace

SyncRow local_row() {
  return {"local",
          "each rank's optimizer makes its own steps, and now and then the ranks take the mean of "
          "their weights",
          {jobspec::int_option("period", 8, 1, 1'000'000, "steps from mean to mean; 1 = mode sync"),
           jobspec::int_option("synchronous_steps", 0, 0, 1'000'000'000,
                               "steps at the start that are synchronous"),
           jobspec::choice_option(
               "optimizer_state", {"average", "keep"},
               "what becomes of momentum and other states of the optimizer where the mean of the "
               "weights is taken: their mean too, or each rank keeps its own")},
          require_local,
          make_local,
          local_vectors};
}

}  // namespace thalweg::engine
