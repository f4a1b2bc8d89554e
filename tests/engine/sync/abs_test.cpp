// The mode abs: the replay of its recorded passes, lag where every rank makes one pass a round, and
// the account of samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "engine/comm/reduction/reduce.h"
#include "engine/comm/reduction/shard_tree.h"
#include "engine/sync/emulate.h"
#include "engine/sync/gradient_path.h"
#include "engine/sync/micro_batches.h"
#include "engine/sync/sample_deal.h"
#include "engine/tensor/random.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Case;
using test::on_ranks;
using test::TestRank;
using testing::HasSubstr;

Case abs_case(const char* optimizer, int passes = 0, int steps = 9) {
  Case c = test::batch_norm_and_dropout();
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
  explicit Samples(const TestRank& every, int shards) : every_(every), shards_(shards) {}

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
    const auto samples = static_cast<std::ptrdiff_t>(test::kBatch / shards_);
    for (const std::int64_t shard : shards) {
      // Another global batch: the same samples, turned by so many shards.
      const StepInput all = every_.input(static_cast<int>(shard / shards_));
      const auto at = (shard % shards_ + shard / shards_) % shards_ * samples;
      const auto floats = static_cast<std::ptrdiff_t>(all.sample_floats);
      inputs_.insert(inputs_.end(), all.inputs + at * floats, all.inputs + (at + samples) * floats);
      labels_.insert(labels_.end(), all.labels + at, all.labels + at + samples);
    }
    input.inputs = inputs_.data();
    input.labels = labels_.data();
  }
  std::vector<std::vector<std::int64_t>> taken;

 private:
  const TestRank& every_;
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

std::vector<std::int64_t> own_shards(const Sharding& sharding, std::int64_t step) {
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
Record run(const Case& c, int ranks, const std::vector<std::vector<int>>& passes = {},
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
      Samples samples(every, c.shards);
      std::vector<double> losses;
      std::int64_t told = 0;
      const auto take = [&](const StepOutcome& outcome) {
        if (!outcome.here) return;
        EXPECT_EQ(outcome.step, told++);
        losses.push_back(outcome.loss);
        if (outcome.step >= c.steps / 2) result.wait_ms[rank] += outcome.wait_ms;
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
        samples_(here, c.shards),
        runner_(*here.model, here.executors->executor(0), nullptr, stretches_, {1, false}) {}

  /// `hands`: by rank, of all its passes; `firsts`: who owns which leaves.
  void round(const Round& round, const std::vector<std::vector<std::vector<std::int64_t>>>& hands,
             const std::vector<int>& firsts) {
    // Each leaf is the sum over its owner's passes; then comes the tree over the leaves.
    std::vector<std::vector<float>> gradients(static_cast<std::size_t>(c_.shards));
    std::vector<std::vector<float>> more = gradients;
    input_ = here_.input(static_cast<int>(round.number));
    next_.resize(hands.size());
    std::int64_t pieces = 0;
    for (std::size_t rank = 0; rank < hands.size(); ++rank)
      for (int pass = 0; pass < round.passes[rank]; ++pass) {
        const std::vector<std::int64_t>& hand = hands[rank].at(next_[rank]++);
        samples_.put(hand, input_);
        for (std::size_t i = 0; i < hand.size(); ++i, ++pieces) {
          const std::size_t leaf = static_cast<std::size_t>(firsts[rank]) + i;
          compute(hand[i], i, gradients[leaf], more[leaf]);
        }
      }
    const std::vector<float> told = sum(more);
    here_.model->update_running(told.data(), static_cast<int>(pieces),
                                here_.replica->running.floats());
    curve_.losses.push_back(static_cast<double>(told[here_.model->statistics() + extra_loss]) /
                            static_cast<double>(round.samples));
    if (!waiting_.empty()) update();
    waiting_ = sum(gradients);
    waiting_samples_ = round.samples;
  }
  void update() {
    const auto factor = static_cast<float>(test::kBatch / static_cast<double>(waiting_samples_));
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
               std::vector<float>& extra) {
    std::vector<float> one(here_.model->parameter_floats());
    std::vector<float> told(here_.model->statistics() + extras);
    ShardRunner::Task task;
    task.sums = {one.data(), told.data()};
    task.batch = [&](std::size_t) {
      Shard shard;
      shard.parameters = here_.replica->parameters.floats();
      shard.scale = 1.0f / test::kBatch;
      shard.batch.samples = test::kBatch / c_.shards;
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
    add(extra, told);
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
  std::vector<Stretch> stretches_ = stretches_of(here_.model->parameters());
  ShardRunner runner_;
  StepInput input_;
  std::vector<std::size_t> next_;
  std::vector<float> waiting_;
  std::int64_t waiting_samples_ = 0, updates_ = 0;
  Curve curve_;
};

/// Of what a run has recorded. `drains`: the last round is applied too.
Curve replay(const Case& c, const Record& of, bool drains = false) {
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

std::vector<std::vector<int>> passes_of(const std::vector<Round>& rounds) {
  std::vector<std::vector<int>> passes;
  for (const Round& round : rounds)
    passes.push_back(round.passes);
  return passes;
}

/// Not more than have been dealt: at most 2 where there was 1 before.
std::vector<std::vector<int>> some_passes(int ranks, int rounds) {
  std::vector<std::vector<int>> passes;
  for (int round = 0; round < rounds; ++round) {
    auto& row = passes.emplace_back();
    for (int rank = 0; rank < ranks; ++rank)
      row.push_back(1 + (round * (rank + 2) + rank) % 3 / (round == 0 ? 3 : 1) % 2);
  }
  return passes;
}

TEST(Abs, OnePassInEachRoundIsLag) {
  for (const char* optimizer : {"sgd", "momentum", "adam"}) {
    const Case c = abs_case(optimizer, 1);
    Case lag = c;
    lag.sync.set("mode", "lag");
    const Curve expected = run(lag, 1).curve;
    for (const int ranks : {1, 2, 3})
      for (const int settles : {1, 4, 100})
        EXPECT_EQ(run(c, ranks, {}, settles).curve, expected)
            << optimizer << ", " << ranks << " ranks, settled every " << settles;
  }
  Case unequal = abs_case("momentum", 1);
  Case lag = unequal;
  lag.sync.set("mode", "lag");
  const Curve expected = run(lag, 1).curve;
  unequal.firsts = {0, 1, 4};
  EXPECT_EQ(run(unequal, 2).curve, expected);
}

TEST(Abs, ClipsAsLagDoes) {
  Case c = abs_case("momentum", 1);
  c.clip_norm = 0.1;
  c.clip_value = 0.02;
  Case lag = c;
  lag.sync.set("mode", "lag");
  const Curve clipped = run(c, 2).curve;
  EXPECT_EQ(clipped, run(lag, 2).curve);
  c.clip_norm = c.clip_value = 0;
  EXPECT_NE(run(c, 2).curve, clipped);
}

TEST(Abs, IsTheReplayOfItsPasses) {
  for (const int ranks : {1, 2, 3, 4})
    for (const char* optimizer : {"momentum", "adam"}) {
      const Case c = abs_case(optimizer);
      const auto passes = some_passes(ranks, c.steps);
      const Record found = run(c, ranks, passes);
      EXPECT_EQ(passes_of(found.rounds), passes);
      EXPECT_EQ(found.curve, replay(c, found)) << optimizer << " on " << ranks;
      EXPECT_EQ(run(c, ranks, passes, 3).curve, found.curve) << "settling changes nothing";
    }
  Case unequal = abs_case("momentum");
  unequal.firsts = {0, 1, 4};
  const Record found = run(unequal, 2, some_passes(2, unequal.steps));
  EXPECT_EQ(found.curve, replay(unequal, found));
}

/// Rank 0 pauses in every round.
Emulation slow_rank() {
  Emulation emulation;
  emulation.pause_every = 1;
  emulation.pause_ms = 10;
  emulation.pauses = {1, 0};
  return emulation;
}

TEST(Abs, IsTheReplayOfWhatItHasRecorded) {
  const Emulation emulation = slow_rank();
  Case c = abs_case("momentum", 0, 12);
  c.emulation = &emulation;
  const Record found = run(c, 2);
  int most = 0;
  for (const Round& round : found.rounds)
    most = std::max(most, round.passes[1]);
  EXPECT_GT(most, 1) << "nothing is unequal";
  EXPECT_EQ(found.curve, replay(c, found));
  c.emulation = nullptr;
  EXPECT_EQ(run(c, 2, passes_of(found.rounds)).curve, found.curve);
}

TEST(Abs, AFastRankDoesNotWaitForASlowOne) {
  const Emulation emulation = slow_rank();
  Case c = abs_case("sgd", 0, 60);
  c.emulation = &emulation;
  const Record free = run(c, 2);
  c.sync.set("passes", 1);
  const Record equal = run(c, 2);
  EXPECT_GT(equal.wait_ms[1], 30 * 10 * 0.8) << "one pass of each: rank 1 is idle";
  EXPECT_LT(free.wait_ms[1], equal.wait_ms[1] / 2);
  const auto number = [&](const Record& of, const std::string& name) {
    for (const auto& [metric, value] : of.measured)
      if (metric == name) return value;
    return -1.0;
  };
  EXPECT_EQ(number(free, "sync/staleness_max"), 1);
  EXPECT_EQ(number(free, "sync/staleness_p50"), 1);
  EXPECT_LT(number(free, "sync/passes_min"), 2);
  EXPECT_GT(number(free, "sync/passes_max"), 4);
  EXPECT_EQ(number(equal, "sync/passes_max"), 1);
  EXPECT_EQ(number(equal, "sync/round_size"), test::kBatch);
  EXPECT_GT(number(free, "sync/round_size"), 2 * test::kBatch);
}

TEST(Abs, TakesEachSampleOnce) {
  const Emulation emulation = slow_rank();
  Case c = abs_case("sgd", 0, 20);
  c.emulation = &emulation;
  const Record found = run(c, 2);
  std::vector<std::int64_t> taken;
  for (const auto& rank : found.taken)
    for (const auto& hand : rank)
      taken.insert(taken.end(), hand.begin(), hand.end());
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(std::adjacent_find(taken.begin(), taken.end()), taken.end()) << "none twice";
  std::int64_t samples = 0;
  for (const Round& round : found.rounds)
    samples += round.samples;
  EXPECT_EQ(samples, static_cast<std::int64_t>(taken.size()) * test::kBatch / c.shards);
}

TEST(SampleDeal, DealsEachShardOnce) {
  SampleDeal deal({1, 3, 2}, 1, 12);
  std::vector<std::int64_t> used;
  for (std::uint32_t round = 0; round < 190; ++round) {
    std::vector<int> passes;
    for (int rank = 0; rank < 3; ++rank) {
      const auto& own = deal.of(rank);
      const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(own.size(), 6));
      const int made = 1 + static_cast<int>(philox(1, Stream::noise, round, 7)[rank] % most);
      for (int i = 0; i < made; ++i) {
        const SampleDeal::Hand& hand = own[static_cast<std::size_t>(i)];
        used.insert(used.end(), hand.begin(), hand.end());
      }
      passes.push_back(made);
    }
    deal.used(passes);
    if (round % 50 == 49) {
      // On with three other ranks; then with these again.
      SampleDeal other({2, 2, 2}, 1, 0), back({1, 3, 2}, 1, 0);
      other.restore(deal.state(), 0);
      back.restore(other.state(), 0);
      deal = back;
    }
  }
  for (int rank = 0; rank < 3; ++rank)
    for (const SampleDeal::Hand& hand : deal.of(rank))
      used.insert(used.end(), hand.begin(), hand.end());
  std::sort(used.begin(), used.end());
  EXPECT_GT(used.size(), 1000u);
  EXPECT_EQ(std::adjacent_find(used.begin(), used.end()), used.end()) << "none twice";
  EXPECT_EQ(used.front(), 12);
  EXPECT_EQ(used.back(), 12 + static_cast<std::int64_t>(used.size()) - 1) << "none left out";
}

TEST(SampleDeal, RefusesACutOffAccount) {
  SampleDeal deal({1, 1}, 1, 0);
  std::vector<double> state = deal.state();
  state.pop_back();
  EXPECT_THROW(deal.restore(state, 0), std::invalid_argument);
  EXPECT_THROW(deal.used({1, 5}), std::logic_error);
}

/// As a checkpoint does.
void copy_states(SyncMode& from, SyncMode& to) {
  const auto a = from.states(), b = to.states();
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].name, b[i].name);
    std::copy(a[i].floats.begin(), a[i].floats.end(), b[i].floats.begin());
    if (a[i].list != nullptr) *b[i].list = *a[i].list;
  }
}

void copy_replica(TestRank& from, TestRank& to) {
  const auto copy = [](FlatVector& a, FlatVector& b) { b.write(a.read().data()); };
  copy(from.replica->parameters, to.replica->parameters);
  copy(from.replica->running, to.replica->running);
  for (std::size_t i = 0; i < from.replica->states.size(); ++i)
    copy(from.replica->states[i], to.replica->states[i]);
}

// The gradient that waits, the account of samples, momentum and the count of updates go through it.
TEST(Abs, GoesOnFromACheckpoint) {
  const Case c = abs_case("adam");
  const auto passes = some_passes(2, c.steps);
  const Record expected = run(c, 2, passes);
  for (const int at : {1, 2, 5})
    with_all_samples(c, [&](const TestRank& every) {
      on_ranks(2, [&](comm::Group& group) {
        const auto rank = static_cast<std::size_t>(group.rank());
        TestRank before(c, group, 1), after(c, group, 1);
        const auto make = [&](TestRank& of) {
          SyncParts parts = of.parts();
          parts.passes = [&](std::int64_t round) {
            return passes[static_cast<std::size_t>(round)][rank];
          };
          return make_sync_mode(c.sync, parts);
        };
        Samples first_samples(every, c.shards), second_samples(every, c.shards);
        const auto first = make(before);
        for (int step = 0; step < at; ++step) {
          StepInput input = before.input(step);
          input.source = &first_samples;
          first->step(input);
        }
        first->settle();
        const auto second = make(after);
        copy_states(*first, *second);
        copy_replica(before, after);
        for (int step : {at - 1, at, at + 1})
          EXPECT_EQ(second->base_steps(step), first->base_steps(step));
        for (int step = at; step < c.steps; ++step) {
          StepInput input = after.input(step);
          input.source = &second_samples;
          second->step(input);
        }
        second->settle();
        auto taken = first_samples.taken;
        taken.insert(taken.end(), second_samples.taken.begin(), second_samples.taken.end());
        EXPECT_EQ(taken, expected.taken[rank]);
        if (rank == 0) {
          EXPECT_EQ(after.plain_parameters(), expected.curve.parameters) << at;
        }
      });
    });
}

TEST(Abs, FixedPassesHaveTheSameBitsOnAnyRanks) {
  const Case c = abs_case("momentum", 3);
  const Curve expected = run(c, 1).curve;
  for (const int ranks : {2, 3, 4})
    EXPECT_EQ(run(c, ranks).curve, expected) << ranks;
  EXPECT_NE(run(abs_case("momentum", 1), 1).curve, expected);
}

// The trial ends where its samples are used up, and applies the last round too.
TEST(Abs, EndsByItsSamples) {
  const Case one = abs_case("momentum", 1, 100);
  Case lag = one;
  lag.sync = Map{{"mode", "lag"}, {"cooldown_steps", 1}};
  lag.steps = 7;
  const Record found = run(one, 2, {}, 100, 7);
  EXPECT_EQ(found.end, (std::vector<std::int64_t>{7, 7}));
  EXPECT_EQ(found.curve, run(lag, 1, {}, 100, 7).curve);

  Case c = abs_case("momentum", 0, 100);
  const std::vector<std::vector<int>> passes{{1, 1}, {1, 3}, {2, 1}, {1, 2}, {1, 4}, {1, 1}};
  const Record shorter = run(c, 2, passes, 100, 7);
  // 1 + 2 + 1.5 global batches are known in step 3, 6 in step 4, where there is one more at least.
  EXPECT_EQ(shorter.end, (std::vector<std::int64_t>{5, 5}));
  EXPECT_EQ(shorter.rounds.size(), 5u);
  EXPECT_EQ(shorter.curve, replay(c, shorter, true));
}

TEST(Abs, OneRanksWishToStopReachesAllInTheSameStep) {
  Case c = abs_case("sgd", 0, 30);
  std::vector<int> ends(3, -1);
  with_all_samples(c, [&](const TestRank& every) {
    on_ranks(3, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      Samples samples(every, c.shards);
      const auto mode = make_sync_mode(c.sync, here.parts());
      for (int step = 0; step < c.steps; ++step) {
        StepInput input = here.input(step);
        input.source = &samples;
        input.stop = group.rank() == 2 && step == 5;
        if (!mode->step(input).stop) continue;
        mode->settle();
        ends[static_cast<std::size_t>(group.rank())] = step;
        return;
      }
    });
  });
  EXPECT_EQ(ends, std::vector<int>(3, 6));
}

TEST(Abs, NamesWhatIsNotFinite) {
  Case c = abs_case("sgd", 1);
  c.poisoned_from = 4;
  std::vector<std::int64_t> found(2, -1);
  with_all_samples(c, [&](const TestRank& every) {
    on_ranks(2, [&](comm::Group& group) {
      TestRank here(c, group, 1);
      Samples samples(every, c.shards);
      const auto mode = make_sync_mode(c.sync, here.parts());
      std::int64_t& at = found[static_cast<std::size_t>(group.rank())];
      for (int step = 0; step < c.steps && at < 0; ++step) {
        StepInput input = here.input(step);
        input.source = &samples;
        if (const StepOutcome outcome = mode->step(input); !outcome.not_finite.empty())
          at = outcome.step;
      }
      mode->settle();
    });
  });
  EXPECT_EQ(found, (std::vector<std::int64_t>{4, 4}));
}

TEST(Abs, SaysWhatItCannotDo) {
  const auto refusal = [](const auto& change, Map more = {}) {
    more.emplace_back("mode", "abs");
    return test::refusal_of(more, change);
  };
  const auto nothing = [](SyncFacts&) {};
  EXPECT_EQ(refusal(nothing), "");
  EXPECT_THAT(refusal([](SyncFacts& f) { f.on_gpu = true; }), HasSubstr("host's memory"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.joins_shards = true; }), HasSubstr("sync_batch_norm"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.observes_curvature = true; }), HasSubstr("curvature"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.touches_all = false; }), HasSubstr("uses all"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.fewest_shards = 0; }), HasSubstr("batch.shares"));
  EXPECT_THAT(refusal(nothing, Map{{"compress", "bf16"}}), HasSubstr("sync.compress"));
}

}  // namespace
}  // namespace thalweg::engine
