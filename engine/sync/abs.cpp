// The mode abs: while the gradients of the last round are summed over the ranks, each rank goes on
// with forward and backward passes and adds up their gradients; when the sum is there it is
// applied, divided by all of its samples, and what was added up meanwhile is summed:
//   w(t+1) = w(t) - OPT(sum of the gradients at w(t - 1) / their samples)
// A fast rank makes more passes in a round than a slow one, and none waits (ABS-SGD,
// arXiv:2308.15164). With one pass of each rank in every round it is the mode lag, of one step.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/sync/compress/table.h"
#include "engine/sync/device/late_step.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/mode.h"
#include "engine/sync/round_samples.h"
#include "engine/sync/sample_deal.h"
#include "engine/sync/synchronous.h"
#include "jobspec/metric_names.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

namespace metric = jobspec::metric;

SyncParts without_noise(SyncParts parts) {
  parts.noise_every = 0;
  return parts;
}

/// Shards that a rank computes in a pass, by rank.
std::vector<int> hands_of(const SyncParts& parts) {
  const std::vector<int> first = parts.group.first_shards(parts.sharding.shards);
  std::vector<int> hands;
  for (std::size_t rank = 0; rank + 1 < first.size(); ++rank)
    hands.push_back(first[rank + 1] - first[rank]);
  return hands;
}

/// What a mode has measured since it was asked last.
struct Measured {
  std::int64_t rounds = 0, samples = 0;
  std::vector<std::int64_t> passes;  ///< by rank
  std::int64_t updates[2] = {0, 0};  ///< by staleness

  std::vector<double> state() const {
    std::vector<double> state;
    for (const std::int64_t number : {updates[0], updates[1], rounds, samples})
      state.push_back(static_cast<double>(number));
    state.insert(state.end(), passes.begin(), passes.end());
    return state;
  }
  /// Other ranks' passes say nothing of these.
  void restore(const std::vector<double>& state, std::size_t at, std::size_t ranks) {
    if (state.size() < at + 4) return;
    const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(state[at + i]); };
    updates[0] = number(0), updates[1] = number(1);
    if (state.size() != at + 4 + ranks) return;
    rounds = number(2), samples = number(3);
    for (std::size_t rank = 0; rank < ranks; ++rank)
      passes.push_back(number(4 + rank));
  }
};

class Abs final : public SyncMode {
 public:
  Abs(const SyncParts& parts, const SyncOptions& common, int passes)
      : p_(without_noise(parts)),
        passes_(passes),
        hands_(hands_of(parts)),
        step_(make_late_step(
            p_, common,
            {1.0f / static_cast<float>(parts.sharding.global_batch), nullptr, 2, true})),
        rounds_(parts.sharding.global_batch) {}

  std::optional<StepOutcome> step(const StepInput& input) override {
    restore();
    if (!deal_) begin(input.context.step);
    source_ = input.source;
    const std::int64_t updates = updates_;
    compute(input);
    if (step_->summing()) collect();
    // Every rank knows now of all rounds but this one.
    const bool last = is_reached(rounds_.total() + least());
    step_->start_held();
    under_way_ = {input.stop, updates, 0};
    apply_waiting(input.context, under_way_.optimizer_ms);
    if (last) {
      collect();
      apply_waiting(input.context, told_.back().optimizer_ms);
    }
    return take_outcome(told_);
  }

  std::optional<StepOutcome> settle() override {
    if (step_->summing()) collect();
    step_->finish();
    return take_outcome(told_);
  }

  double base_steps(std::int64_t step) override {
    restore();
    if (step <= 0) return 0;
    const auto batch = static_cast<double>(p_.sharding.global_batch);
    if (ends() && step == rounds_.rounds()) return static_cast<double>(rounds_.total()) / batch;
    // Of the last round some ranks may not know yet: it counts as what it has at least.
    return static_cast<double>(rounds_.up_to(step - 2) + least()) / batch;
  }

  bool ends() override {
    restore();
    return !step_->summing() && waiting_.empty() && rounds_.rounds() > 0 &&
           is_reached(rounds_.total());
  }

  const float* evaluated() override { return step_->evaluated(); }
  void replica_written() override { step_->parameters_written(); }
  bool same_on_any_ranks() const override { return passes_ > 0; }
  std::string note() const override {
    const std::string of_step = step_->note();
    return "sync.mode abs: each gradient is applied one round late, as its sum runs behind the "
           "passes of the next; large momentum may need a lower learning rate" +
           (of_step.empty() ? "" : "; " + of_step);
  }

  std::vector<std::pair<const char*, double>> measured() override {
    const Measured m = std::exchange(measured_, {});
    if (m.rounds == 0) return {};
    const auto rounds = static_cast<double>(m.rounds);
    const auto [least, most] = std::minmax_element(m.passes.begin(), m.passes.end());
    std::vector<std::pair<const char*, double>> all{
        {metric::round_size, static_cast<double>(m.samples) / rounds},
        {metric::passes_min, static_cast<double>(*least) / rounds},
        {metric::passes_max, static_cast<double>(*most) / rounds}};
    const std::int64_t updates = m.updates[0] + m.updates[1];
    if (updates == 0) return all;
    const auto stale = static_cast<double>(m.updates[1]) / static_cast<double>(updates);
    all.insert(all.end(), {{metric::staleness_mean, stale},
                           {metric::staleness_p50, stale >= 0.5 ? 1 : 0},
                           {metric::staleness_p99, stale >= 0.01 ? 1 : 0},
                           {metric::staleness_max, stale > 0 ? 1 : 0}});
    return all;
  }

  /// The gradient that is still to be applied, the account of rounds and samples, and what was
  /// measured up to now.
  std::vector<SyncState> states() override {
    const std::size_t floats = p_.model.parameter_floats();
    if (saved_.bytes() == 0) saved_ = Buffer::of_floats(floats);
    if (!waiting_.empty())
      std::copy_n(step_->on_host(waiting_.front().set), floats, saved_.floats());
    if (restored_ && deal_) write_account();
    return {
        {"gradient1", SyncState::Ranks::equal, {saved_.floats(), floats}, {}, true},
        {"account", SyncState::Ranks::equal, {}, {}, false, &account_},
    };
  }

 private:
  /// A summed gradient that is not applied yet.
  struct Waiting {
    std::size_t set = 0;  ///< of step_
    std::int64_t samples = 0;
    std::int64_t updates = 0;  ///< before its passes
  };
  /// Of the round whose sums are.
  struct UnderWay {
    bool stop = false;         ///< this rank's wish
    std::int64_t updates = 0;  ///< before its passes
    double optimizer_ms = 0;
  };

  int rank() const { return p_.group.rank(); }
  /// Samples that a round has.
  std::int64_t least() const {
    return std::int64_t{std::max(1, passes_)} * p_.sharding.global_batch;
  }
  bool is_reached(std::int64_t samples) const {
    return p_.total_steps > 0 && samples >= p_.total_steps * p_.sharding.global_batch;
  }

  void begin(std::int64_t round) {
    rounds_.begin_at(round);
    deal_.emplace(hands_, std::max(1, passes_), round * p_.sharding.shards);
  }

  /// What a checkpoint has brought, before the first step.
  void restore() {
    if (std::exchange(restored_, true) || account_.empty()) return;
    const auto number = [&](std::size_t i) { return static_cast<std::int64_t>(account_.at(i)); };
    updates_ = number(0);
    rounds_.restore(account_, 4);
    begin(rounds_.rounds());
    const std::size_t end = deal_->restore(account_, 4 + 1 + RoundSamples::kept);
    measured_.restore(account_, end, hands_.size());
    if (number(1) == 0) return;
    step_->prepare();
    waiting_.push_back({step_->restore(saved_.floats()), number(2), number(3)});
  }

  void write_account() {
    const Waiting none, &waiting = waiting_.empty() ? none : waiting_.front();
    account_ = {static_cast<double>(updates_), static_cast<double>(waiting_.size()),
                static_cast<double>(waiting.samples), static_cast<double>(waiting.updates)};
    for (const std::vector<double>& part : {rounds_.state(), deal_->state(), measured_.state()})
      account_.insert(account_.end(), part.begin(), part.end());
  }

  /// The passes of a round.
  void compute(const StepInput& input) {
    int made = 0;
    do {
      want();
      StepInput pass = input;
      if (source_ != nullptr) {
        pass.shards = deal_->of(rank())[used_].data();
        source_->next(pass);
      }
      labels_ = std::max<std::int64_t>(1, static_cast<std::int64_t>(pass.sample_labels));
      ++used_;
      if (made++ == 0)
        step_->run(pass);
      else
        step_->run_more(pass);
    } while (goes_on(input.context.step, made));
  }

  bool goes_on(std::int64_t round, int made) {
    if (p_.passes) return made < p_.passes(round);
    if (passes_ > 0) return made < passes_;
    return p_.group.size() > 1 && made < deal_->most(rank()) && used_ < deal_->of(rank()).size() &&
           step_->summing() && !step_->is_summed();
  }

  /// All that this rank was dealt, so that it is prepared in time.
  void want() {
    const std::deque<SampleDeal::Hand>& own = deal_->of(rank());
    if (used_ >= own.size())
      throw std::logic_error("sync.mode abs: more passes than samples were dealt for");
    for (; source_ != nullptr && wanted_ < own.size(); ++wanted_)
      source_->want(own[wanted_]);
  }

  /// Waits for the sums under way, and tells what became of their round.
  void collect() {
    StepOutcome outcome;
    const LateStep::Summed summed = step_->collect(outcome);
    outcome.optimizer_ms += under_way_.optimizer_ms;
    outcome.samples = note_round(outcome.step);
    const float* const told = summed.report.stats;
    outcome.loss = static_cast<double>(told[stat_loss]) / static_cast<double>(outcome.samples);
    outcome.stop = p_.group.size() > 1 ? told[stat_stop] > 0 : under_way_.stop;
    outcome.passes = step_->passes()[static_cast<std::size_t>(rank())];
    outcome.not_finite = first_not_finite(p_.model, [&](std::size_t parameter) {
      return std::isfinite(summed.report.squares[parameter]);
    });
    waiting_.push_back({summed.set, outcome.samples, under_way_.updates});
    told_.push_back(std::move(outcome));
  }

  /// How many samples it had.
  std::int64_t note_round(std::int64_t round) {
    const std::vector<int>& passes = step_->passes();
    std::int64_t shards = 0;
    measured_.passes.resize(passes.size());
    for (std::size_t i = 0; i < passes.size(); ++i) {
      shards += std::int64_t{passes[i]} * hands_[i];
      measured_.passes[i] += passes[i];
    }
    const std::int64_t samples = shards * p_.sharding.shard_batch();
    ++measured_.rounds;
    measured_.samples += samples;
    rounds_.add(samples);
    deal_->used(passes);
    const auto own = static_cast<std::size_t>(passes[static_cast<std::size_t>(rank())]);
    used_ -= own;
    wanted_ -= std::min(wanted_, own);
    if (p_.on_round) p_.on_round({round, passes, samples});
    return samples;
  }

  void apply_waiting(const StepContext& context, double& spent) {
    for (; !waiting_.empty(); waiting_.pop_front())
      spent += apply(waiting_.front(), context);
  }

  double apply(const Waiting& waiting, StepContext context) {
    ++measured_.updates[std::min<std::int64_t>(1, updates_ - waiting.updates)];
    context.step = updates_++;
    context.samples = waiting.samples * labels_;
    // The passes have scaled for one of each rank.
    const auto factor = static_cast<float>(static_cast<double>(p_.sharding.global_batch) /
                                           static_cast<double>(waiting.samples));
    return step_->apply(waiting.set, context, factor);
  }

  SyncParts p_;
  int passes_;              ///< of each rank in every round; 0: as many as fit
  std::vector<int> hands_;  ///< hands_of()
  std::unique_ptr<LateStep> step_;
  RoundSamples rounds_;
  std::optional<SampleDeal> deal_;
  SampleSource* source_ = nullptr;
  std::size_t used_ = 0;          ///< of this rank's hands, by rounds that not all know yet
  std::size_t wanted_ = 0;        ///< of this rank's hands
  std::int64_t labels_ = 1;       ///< of a sample
  std::deque<Waiting> waiting_;   ///< the oldest first
  std::deque<StepOutcome> told_;  ///< what step() has not returned yet
  UnderWay under_way_;
  Measured measured_;
  std::int64_t updates_ = 0;
  bool restored_ = false;
  Buffer saved_;                 ///< of states()
  std::vector<double> account_;  ///< of states()
};

void require_abs(const SyncConfig& config, const SyncFacts& facts) {
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("sync.mode: abs " + why);
  };
  require_shards_everywhere(facts, "sync.mode abs");
  if (facts.joins_shards)
    refuse(
        "has ranks at passes of their own, and model.sync_batch_norm needs all at once; set it to "
        "false, or use mode sync");
  if (!facts.touches_all) refuse("needs a model of which every step uses all; use mode sync");
  if (facts.observes_curvature)
    refuse(
        "has no second pass for an optimizer that looks at curvature; use another one, or mode "
        "sync");
  if (config.compresses())
    refuse("sums gradients as they are; leave sync.compress out, or use mode lag");
}

std::unique_ptr<SyncMode> make_abs(const SyncConfig& config, const SyncParts& parts) {
  return std::make_unique<Abs>(parts, config.common,
                               static_cast<int>(config.mode.integer("passes")));
}

std::int64_t abs_vectors(const SyncConfig&, const Sharding& sharding, int, bool on_gpu) {
  return late_vectors(sharding, 2, true, on_gpu) + (on_gpu ? 0 : 1);  // a checkpoint's
}

}  // namespace

SyncRow abs_row() {
  return {"abs",
          "ranks make passes and add up gradients until the sum of the round before is there, so "
          "that a fast one makes more of them and none waits",
          {jobspec::int_option("passes", 0, 0, 65536,
                               "forward and backward passes of each rank in a round; 0 = as many "
                               "as fit in while the gradients of the round before are summed, at "
                               "least one")},
          require_abs,
          make_abs,
          abs_vectors,
          true};
}

}  // namespace thalweg::engine
