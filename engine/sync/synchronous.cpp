// Synchronous data-parallel training: every step sums the gradients of all shards, every rank makes
// the same update.
#include "engine/sync/synchronous.h"

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/sync/compress/table.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/micro_batches.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

class Synchronous final : public SyncMode {
 public:
  Synchronous(const SyncParts& parts, const SyncOptions& options, float scale,
              std::unique_ptr<BucketSum> sum)
      : p_(parts),
        sum_(std::move(sum)),
        measures_(can_measure_noise(p_, sum_.get())),
        device_(make_step_device(parts, options, scale, sum_.get())) {}

  std::optional<StepOutcome> step(const StepInput& input) override {
    const StepContext context = global_context(input, p_.sharding);
    const UnderWay mine{device_->begin(input, context), context.step, input.stop};
    device_->run(input, [&] { finish_step(*device_, p_, context); });
    if (p_.optimizer.curvature_due(context.step)) {
      // A second backward pass, for labels that the model itself draws.
      StepInput again = input;
      again.draw_labels = true;
      device_->run(again, [&] { device_->observe_curvature(context); });
    }
    device_->end();
    if (!device_->later()) return told(mine);
    std::optional<StepOutcome> before = settle();
    under_way_ = mine;
    return before;
  }

  std::optional<StepOutcome> settle() override {
    if (!under_way_) return {};
    return told(*std::exchange(under_way_, std::nullopt));
  }

  const float* evaluated() override { return device_->evaluated(); }
  const float* gradient() override {
    return p_.replica.parameters.on_host() ? device_->gradient() : nullptr;
  }
  void replica_written() override { device_->parameters_written(); }
  bool same_on_any_ranks() const override { return sum_ == nullptr; }
  std::vector<SyncState> states() override {
    return sum_ ? sum_->states() : std::vector<SyncState>();
  }
  std::string note() const override { return device_->note(); }

 private:
  /// A step that was not yet told.
  struct UnderWay {
    std::size_t place = 0;
    std::int64_t step = 0;
    bool stop = false;  ///< this rank's wish
  };

  StepOutcome told(const UnderWay& of) {
    StepOutcome outcome;
    outcome.step = of.step;
    const StepReport report = device_->read(of.place, outcome);
    tell_sums(report, p_, of.stop, outcome);
    outcome.not_finite = first_not_finite(
        p_.model, [&](std::size_t parameter) { return std::isfinite(report.squares[parameter]); });
    if (measures_ && of.step % p_.noise_every == 0)
      outcome.noise = noise_pair(p_.sharding, report.stats[stat_squares], report.squares);
    return outcome;
  }

  SyncParts p_;
  std::unique_ptr<BucketSum> sum_;
  bool measures_;
  std::unique_ptr<StepDevice> device_;
  std::optional<UnderWay> under_way_;
};

void require_synchronous(const SyncConfig& config, const SyncFacts& facts) {
  require_sum(config);
  if (sums_by_ranks(config))
    require_shards_everywhere(facts, "a sum by ranks (sync.sum, compress)");
}

std::unique_ptr<SyncMode> make_synchronous(const SyncConfig& config, const SyncParts& parts) {
  // The mean over the global batch: each sample's gradient is scaled, then all are summed.
  return make_synchronous(parts, config.common,
                          1.0f / static_cast<float>(parts.sharding.global_batch),
                          make_sum(config, parts));
}

}  // namespace

std::unique_ptr<SyncMode> make_synchronous(const SyncParts& parts, const SyncOptions& options,
                                           float scale, std::unique_ptr<BucketSum> sum) {
  return std::make_unique<Synchronous>(parts, options, scale, std::move(sum));
}

jobspec::Option sum_option() {
  return jobspec::choice_option(
      "sum", {"auto", "shards", "ranks"},
      "shards: over all shards of all ranks in one fixed tree, the same bits on any number of "
      "ranks. ranks: each rank's own shards first, then over the ranks as sync.allreduce says; the "
      "bits depend on the number of ranks. auto = shards, or ranks where sync.compress is set");
}

void require_shards_everywhere(const SyncFacts& facts, const std::string& what) {
  if (facts.min_shards > 0) return;
  throw std::invalid_argument("batch.shares: some rank has no shard, and " + what +
                              " needs one on each; give every rank a share, or more batch.shards");
}

bool sums_by_ranks(const SyncConfig& config) {
  return config.mode.text("sum") == "ranks" || config.compresses();
}

void require_sum(const SyncConfig& config) {
  if (config.mode.text("sum") == "shards" && config.compresses())
    throw std::invalid_argument(std::string("sync.compress: ") + config.compress.name +
                                " works on the sum of a rank's shards; set sync.sum to ranks, or "
                                "leave it out");
}

std::unique_ptr<BucketSum> make_sum(const SyncConfig& config, const SyncParts& parts) {
  if (!sums_by_ranks(config)) return nullptr;
  return config.compress.make(config.compression, {parts.group, parts.model, parts.seed});
}

SyncRow synchronous_row() {
  return {"sync",
          "every step sums the gradients of all ranks before the update",
          {sum_option()},
          require_synchronous,
          make_synchronous};
}

}  // namespace thalweg::engine
