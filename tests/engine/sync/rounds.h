// Runs of the mode abs as they record themselves, and their replay after the fact.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/reduction/reduce.h"
#include "engine/comm/reduction/shard_tree.h"
#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/micro_batches.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine::test::rounds {

using jobspec::Map;

inline Case abs_case(const char* optimizer, int passes = 0, int steps = 9) {
  Case c = batch_norm_and_dropout();
  c.optimizer = Map{{"name", optimizer}};
  c.sync = Map{{"mode", "abs"}, {"passes", passes}, {"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
  c.steps = steps;
  c.noise_every = 0;
  return c;
}

/// What a rank asks for out of the samples of a step that all ranks know, one shard after another.
class Samples final : public SampleSource {
 public:
  /// `every`: a rank that has all shards.
  /// `here`: the rank that takes them.
  Samples(const TestRank& every, int shards, const TestRank& here)
      : every_(every), here_(here), shards_(shards) {}

  void want(const std::vector<std::int64_t>& shards) override { wanted_.push_back(shards); }
  void next(StepInput& input) override {
    ASSERT_FALSE(wanted_.empty());
    put(wanted_.front(), input);
    taken.push_back(wanted_.front());
    wanted_.pop_front();
  }
  void put(const std::vector<std::int64_t>& shards, StepInput& input) {
    inputs_.clear();
    labels_.clear();
    const auto samples = static_cast<std::ptrdiff_t>(kBatch / shards_);
    for (const std::int64_t shard : shards) {
      // Another global batch: the same samples, turned by so many shards.
      const StepInput all = every_.host_input(static_cast<int>(shard / shards_));
      const auto at = (shard % shards_ + shard / shards_) % shards_ * samples;
      const auto floats = static_cast<std::ptrdiff_t>(all.sample_floats);
      inputs_.insert(inputs_.end(), all.inputs + at * floats, all.inputs + (at + samples) * floats);
      labels_.insert(labels_.end(), all.labels + at, all.labels + at + samples);
    }
    input.inputs = inputs_.data();
    input.labels = labels_.data();
    input = here_.pinned(input);
  }
  std::vector<std::vector<std::int64_t>> taken;

 private:
  const TestRank& every_;
  const TestRank& here_;
  int shards_;
  std::deque<std::vector<std::int64_t>> wanted_;
  std::vector<float> inputs_;
  std::vector<std::int32_t> labels_;
};

/// Holds the samples of a whole batch: a rank of its own, alone.
template <class Body>
void with_all_samples(const Case& c, const Body& body) {
  Case alone = c;
  alone.firsts.clear();
  on_ranks(1, [&](comm::Group& group) { body(TestRank(alone, group, 1)); });
}

inline std::vector<std::int64_t> own_shards(const Sharding& sharding, std::int64_t step) {
  std::vector<std::int64_t> shards(static_cast<std::size_t>(sharding.mine()));
  std::iota(shards.begin(), shards.end(), step * sharding.shards + sharding.first);
  return shards;
}

struct Curve {
  std::vector<float> parameters, running;
  std::vector<double> losses;
  bool operator==(const Curve&) const = default;
};

struct Record {
  Curve curve;
  std::vector<Round> rounds;
  std::vector<std::vector<std::vector<std::int64_t>>> taken;  ///< by rank: shards of each pass
  std::vector<std::pair<const char*, double>> measured;
  std::vector<double> wait_ms;    ///< by rank, in the second half of the steps
  std::vector<std::int64_t> end;  ///< by rank: steps, where the trial has a length
};

/// `passes` by round and rank; empty: as the options say. `total`: SyncParts::total_steps.
inline Record run(const Case& c, int ranks, const std::vector<std::vector<int>>& passes = {},
                  int settles = 100, std::int64_t total = 0) {
  Record result;
  result.taken.resize(static_cast<std::size_t>(ranks));
  result.wait_ms.resize(static_cast<std::size_t>(ranks));
  result.end.resize(static_cast<std::size_t>(ranks));
  with_all_samples(c, [&](const TestRank& every) {
    on_ranks(ranks, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      SyncParts parts = here.parts();
      parts.total_steps = total;
      const auto rank = static_cast<std::size_t>(group.rank());
      if (!passes.empty())
        parts.passes = [&](std::int64_t round) {
          return passes.at(static_cast<std::size_t>(round))[rank];
        };
      if (rank == 0) parts.on_round = [&](const Round& round) { result.rounds.push_back(round); };
      const auto mode = make_sync_mode(c.sync, parts);
      Samples samples(every, c.shards, here);
      std::vector<double> losses;
      std::int64_t told = 0;
      const auto take = [&](const std::optional<StepOutcome>& outcome) {
        if (!outcome) return;
        EXPECT_EQ(outcome->step, told++);
        losses.push_back(outcome->loss);
        if (outcome->step >= c.steps / 2) result.wait_ms[rank] += outcome->wait_ms;
      };
      int step = 0;
      for (; step < c.steps && !mode->ends(); ++step) {
        StepInput input = here.input(step);
        if (takes_on_demand(c.sync))
          input.source = &samples;
        else
          samples.put(own_shards(here.sharding, step), input);
        take(mode->step(input));
        if ((step + 1) % settles == 0) take(mode->settle());
      }
      take(mode->settle());
      take(mode->settle());
      EXPECT_EQ(told, step);
      result.end[rank] = step;
      result.taken[rank] = samples.taken;
      const auto measured = mode->measured();
      if (rank > 0) return;
      result.measured = measured;
      result.curve = {here.plain_parameters(), here.replica->running.read(), losses};
    });
  });
  return result;
}

/// A run after the fact, one thing after another: the gradients of a round at the weights that it
/// has seen, pass by pass, then the update of the round before.
class Offline {
 public:
  Offline(const Case& c, TestRank& here)
      : c_(c),
        here_(here),
        samples_(here, c.shards, here),
        runner_(*here.model, here.executors->executor(0), nullptr, ranges_, {1, false}) {}

  /// `hands`: by rank, of all its passes; `firsts`: who owns which leaves.
  void round(const Round& round, const std::vector<std::vector<std::vector<std::int64_t>>>& hands,
             const std::vector<int>& firsts) {
    // Each leaf is the sum over its owner's passes; then comes the tree over the leaves.
    std::vector<std::vector<float>> gradients(static_cast<std::size_t>(c_.shards));
    std::vector<std::vector<float>> more = gradients;
    input_ = here_.input(static_cast<int>(round.number));
    next_.resize(hands.size());
    std::int64_t micro_batches = 0;
    for (std::size_t rank = 0; rank < hands.size(); ++rank)
      for (int pass = 0; pass < round.passes[rank]; ++pass) {
        const std::vector<std::int64_t>& hand = hands[rank].at(next_[rank]++);
        samples_.put(hand, input_);
        for (std::size_t i = 0; i < hand.size(); ++i, ++micro_batches) {
          const std::size_t leaf = static_cast<std::size_t>(firsts[rank]) + i;
          compute(hand[i], i, gradients[leaf], more[leaf]);
        }
      }
    const std::vector<float> told = sum(more);
    here_.model->update_running(told.data(), static_cast<int>(micro_batches),
                                here_.replica->running.floats());
    curve_.losses.push_back(static_cast<double>(told[here_.model->statistics() + stat_loss]) /
                            static_cast<double>(round.samples));
    if (!waiting_.empty()) update();
    waiting_ = sum(gradients);
    waiting_samples_ = round.samples;
  }
  void update() {
    const auto factor = static_cast<float>(kBatch / static_cast<double>(waiting_samples_));
    for (float& value : waiting_)
      value *= factor;
    StepContext context = input_.context;
    context.step = updates_++;
    context.samples = waiting_samples_;
    const OptimizerMemory<float> memory = here_.replica->memory(waiting_.data());
    for (int n = 0; n < static_cast<int>(here_.model->parameters().size()); ++n) {
      const ParameterInfo& info = here_.model->parameters()[static_cast<std::size_t>(n)];
      here_.optimizer->update(context, {n, info.offset, info.count}, memory);
    }
    here_.optimizer->finish(context, memory);
  }
  Curve curve() {
    curve_.parameters = here_.plain_parameters();
    curve_.running = here_.replica->running.read();
    return curve_;
  }

 private:
  /// Shard number i of a pass, added to what its leaf has.
  void compute(std::int64_t number, std::size_t i, std::vector<float>& gradient,
               std::vector<float>& stats) {
    std::vector<float> one(here_.model->parameter_floats());
    std::vector<float> told(here_.model->statistics() + step_stats);
    ShardRunner::Task task;
    task.sums = {one.data(), told.data()};
    task.batch = [&](std::size_t) {
      Shard shard;
      shard.parameters = here_.replica->parameters.floats();
      shard.scale = 1.0f / kBatch;
      shard.batch.samples = kBatch / c_.shards;
      const std::size_t at = i * static_cast<std::size_t>(shard.batch.samples);
      shard.batch.inputs = input_.inputs + at * input_.sample_floats;
      shard.batch.labels = input_.labels + at;
      shard.batch.seed = here_.parts().seed;
      shard.batch.round = here_.executors->round();
      shard.batch.step = static_cast<std::uint32_t>(number / c_.shards);
      shard.batch.first_sample =
          static_cast<std::uint64_t>(number % c_.shards * shard.batch.samples);
      return shard;
    };
    here_.executors->run(1, [&](int, Executor&) { runner_.run(task); });
    add(gradient, one);
    add(stats, told);
  }
  static void add(std::vector<float>& into, const std::vector<float>& from) {
    if (into.empty()) return void(into = from);
    for (std::size_t i = 0; i < from.size(); ++i)
      into[i] += from[i];
  }
  std::vector<float> sum(std::vector<std::vector<float>>& leaves) const {
    std::vector<float*> pointers;
    for (std::vector<float>& leaf : leaves)
      pointers.push_back(leaf.data());
    comm::run(comm::ShardTree(0, 1, c_.shards).local, pointers.data(), leaves[0].size());
    return leaves[0];
  }

  const Case& c_;
  TestRank& here_;
  Samples samples_;
  std::vector<GradientRange> ranges_ = ranges_of(here_.model->parameters());
  ShardRunner runner_;
  StepInput input_;
  std::vector<std::size_t> next_;
  std::vector<float> waiting_;
  std::int64_t waiting_samples_ = 0, updates_ = 0;
  Curve curve_;
};

/// Of what a run has recorded. `drains`: the last round is applied too.
inline Curve replay(const Case& c, const Record& of, bool drains = false) {
  Curve result;
  const int ranks = static_cast<int>(of.taken.size());
  std::vector<int> firsts = c.firsts;
  for (int rank = 0; c.firsts.empty() && rank <= ranks; ++rank)
    firsts.push_back(comm::Group::first_shard(rank, ranks, c.shards));
  Case alone = c;
  alone.firsts.clear();
  on_ranks(1, [&](comm::Group& group) {
    TestRank here(alone, group, 1);
    Offline offline(alone, here);
    for (const Round& round : of.rounds)
      offline.round(round, of.taken, firsts);
    if (drains) offline.update();
    result = offline.curve();
  });
  return result;
}

inline std::vector<std::vector<int>> passes_of(const std::vector<Round>& rounds) {
  std::vector<std::vector<int>> passes;
  for (const Round& round : rounds)
    passes.push_back(round.passes);
  return passes;
}

}  // namespace thalweg::engine::test::rounds
