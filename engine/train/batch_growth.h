// A global batch that grows while training, and what that makes of a run's epochs. A step takes
// more micro-batches then, each as large as before, and its gradient is the mean over all samples.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/schedule/schedule.h"
#include "engine/sync/mode.h"
#include "engine/train/noise_scale.h"
#include "jobspec/fwd.h"
#include "jobspec/options.h"
#include "jobspec/schema.h"

namespace thalweg::engine {

struct Settings;

/// The section `batch_growth` of `train`.
jobspec::Section batch_growth_section();

/// The keys that decide where the parameters go; an empty map where the batch does not grow.
jobspec::Value batch_growth_identity(const jobspec::Value& complete);

/// What a rule looks at, after a step.
struct GrowthFacts {
  std::int64_t step = 0;
  double epochs = 0;               ///< gone through
  std::optional<double> b_simple;  ///< as measured up to now
};

/// When the batch grows. Immutable.
class GrowthRule {
 public:
  virtual ~GrowthRule() = default;
  /// Whether the rule wants to be asked after this step.
  virtual bool looks(std::int64_t /*step*/) const { return true; }
  /// How many times batch.global a step is to take; less than now: as now.
  virtual std::int64_t multiple(const GrowthFacts& facts) const = 0;
  /// The largest that it may ask for.
  virtual std::int64_t most() const = 0;
  /// Whether it needs GrowthFacts::b_simple.
  virtual bool measures() const { return false; }
};

/// What a rule is made for.
struct GrowthPlan {
  std::int64_t global_batch = 1;
  std::int64_t training = 1;  ///< samples
  std::int64_t epochs = 1;
};

/// A row of the table: one function and one file each.
struct GrowthRow {
  const char* name;
  const char* doc;
  std::vector<jobspec::Option> options;
  /// Null: the batch stays. Throws std::invalid_argument.
  std::unique_ptr<GrowthRule> (*maker)(const jobspec::Options& options, const GrowthPlan& plan);
};
GrowthRow growth_at_epochs_row();
GrowthRow growth_by_noise_row();

/// Where a run stands in its epochs, with a batch that may have grown. An epoch ends where less
/// than a batch is left of it. The same on every rank. Not thread-safe.
class BatchGrowth {
 public:
  BatchGrowth() = default;
  /// `complete`: the tree; `length`: of a run whose batch stays. Throws std::invalid_argument where
  /// the rule does not fit the run.
  BatchGrowth(const jobspec::Value& complete, const RunLength& length, std::int64_t training);

  /// Whether the batch stays as it is for the whole run.
  bool idle() const { return rule_ == nullptr; }
  int multiple() const { return static_cast<int>(now_.multiple); }
  std::int64_t largest() const { return rule_ ? rule_->most() : 1; }
  bool measures() const { return rule_ && rule_->measures(); }

  /// Asks the rule after `step` steps. Collective where it goes by what was measured: rank 0's
  /// counts. Whether the batch has grown.
  bool grow(std::int64_t step, const NoiseScale& noise, comm::Group& group);

  // After `step` steps, as the batch was in the last of them; not before it grew the time before.
  double epochs(std::int64_t step) const;
  /// How many steps of batch.global make as many epochs: what schedules and periods go by.
  double base_steps(std::int64_t step) const;
  std::int64_t samples(std::int64_t step) const;  ///< trained on
  /// The run's last step if the batch stays as it is now.
  std::int64_t end_step() const;

  /// Where batches of the present size begin: LoaderPlan's.
  struct Start {
    std::int64_t step = 0, epoch = 0, place = 0;
  };
  Start start() const { return {now_.step, now_.epoch, now_.place}; }

  /// For a checkpoint; empty: as at the start.
  std::vector<double> state() const;
  /// Throws std::invalid_argument.
  void restore(const std::vector<double>& state);

 private:
  /// Since the batch last grew.
  struct Phase {
    std::int64_t step = 0;              ///< steps before
    std::int64_t epoch = 0, place = 0;  ///< of the first sample of its first batch
    std::int64_t samples = 0;           ///< trained on before
    std::int64_t multiple = 1;
    double epochs = 0;  ///< gone through before
  };

  std::int64_t batch(const Phase& of) const { return of.multiple * length_.global_batch; }
  std::int64_t steps_per_epoch(const Phase& of) const { return training_ / batch(of); }
  std::int64_t steps_of_first_epoch(const Phase& of) const {
    return (training_ - of.place) / batch(of);
  }
  const Phase& phase_at(std::int64_t step) const { return step < now_.step ? before_ : now_; }
  void move(std::int64_t step, std::int64_t multiple);

  std::shared_ptr<const GrowthRule> rule_;
  RunLength length_;
  std::int64_t training_ = 1, epochs_ = 1;
  Phase now_, before_;
};

/// Throws std::invalid_argument where the batch cannot grow in such a run; nothing where it stays.
void require_growth(const BatchGrowth& growth, const jobspec::Value& complete,
                    const Settings& settings, const SyncFacts& facts, std::int64_t small_batches);

}  // namespace thalweg::engine
