// The mode local against a replay of its formula: each rank's steps alone, then the mean.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/micro_batches.h"
#include "tests/engine/sync/support.h"
#include "tests/support/distance.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Case;
using test::on_ranks;
using test::TestRank;
using test::Trained;
using testing::HasSubstr;

Case local(int period, const char* optimizer, const char* state = "average") {
  Case c = test::batch_norm_and_dropout();
  c.optimizer = Map{{"name", optimizer}};
  c.sync = Map{{"mode", "local"}, {"period", period}, {"optimizer_state", state}};
  c.steps = 9;
  c.noise_every = 0;
  return c;
}

/// A rank of several, alone.
struct Alone {
  Alone(const Case& c, comm::Group& group, int rank, int ranks) : here(c, group, 1) {
    here.sharding.first = comm::Group::first_shard(rank, ranks, c.shards);
    here.sharding.end = comm::Group::first_shard(rank + 1, ranks, c.shards);
    const int samples = here.sharding.mine() * here.sharding.shard_batch();
    path = std::make_unique<GradientPath>(here.parts(), SyncOptions{},
                                          1.0f / static_cast<float>(samples));
    share = static_cast<float>(here.sharding.mine()) / static_cast<float>(c.shards);
  }
  void step(int number) {
    const StepInput input = here.input(number);
    StepOutcome outcome;
    path->run(input, outcome);
    path->wait_for_all();
    path->finish(outcome);
    const OptimizerMemory<float> memory = here.replica->memory(path->gradient());
    for (int n = 0; n < static_cast<int>(here.model->parameters().size()); ++n) {
      const ParameterInfo& info = here.model->parameters()[static_cast<std::size_t>(n)];
      here.optimizer->update(input.context, {n, info.offset, info.count}, memory);
    }
    here.optimizer->finish(input.context, memory);
  }
  TestRank here;
  std::unique_ptr<GradientPath> path;
  float share = 1;
};

template <class Of>
void take_mean(std::vector<std::unique_ptr<Alone>>& ranks, const Of& of) {
  std::vector<float> sum(of(*ranks[0]).count());
  for (const auto& rank : ranks) {
    const std::vector<float> mine = of(*rank).read();
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += mine[i] * rank->share;
  }
  for (const auto& rank : ranks)
    of(*rank).write(sum.data());
}

std::vector<float> replay(const Case& c, int ranks, int period, bool averages_states) {
  std::vector<float> result;
  on_ranks(1, [&](comm::Group& group) {
    std::vector<std::unique_ptr<Alone>> all;
    for (int rank = 0; rank < ranks; ++rank)
      all.push_back(std::make_unique<Alone>(c, group, rank, ranks));
    for (int step = 0; step < c.steps; ++step) {
      for (const auto& rank : all)
        rank->step(step);
      if ((step + 1) % period != 0) continue;
      take_mean(all, [](Alone& a) -> FlatVector& { return a.here.replica->parameters; });
      for (std::size_t i = 0; averages_states && i < all[0]->here.replica->states.size(); ++i)
        take_mean(all, [&](Alone& a) -> FlatVector& { return a.here.replica->states[i]; });
    }
    result = all[0]->here.plain_parameters();
  });
  return result;
}

TEST(Local, IsItsReplay) {
  for (const char* optimizer : {"sgd", "momentum", "adam"})
    for (const char* state : {"average", "keep"})
      for (const int ranks : {1, 2, 4}) {
        const Case c = local(3, optimizer, state);
        const std::vector<float> expected = replay(c, ranks, 3, state[0] == 'a');
        const auto trained = test::train(c, ranks, 1);
        for (const Trained& rank : trained)
          EXPECT_EQ(rank.parameters, trained[0].parameters) << "after the mean";
        for (std::size_t i = 0; i < expected.size(); ++i)
          if (ranks <= 2)
            ASSERT_EQ(trained[0].parameters[i], expected[i])
                << optimizer << " " << state << " " << i;
          else  // the order of the sum is another
            thalweg::test::expect_near(trained[0].parameters[i], expected[i], 1e-5f, i);
      }
}

TEST(Local, WithAMeanInEveryStepIsSynchronous) {
  for (const int ranks : {1, 2, 3}) {
    Case plain = local(1, "momentum");
    plain.sync = Map{};
    const Trained expected = test::train(plain, ranks, 1)[0];
    EXPECT_EQ(test::train(local(1, "momentum"), ranks, 1)[0], expected) << ranks;
    Case later = local(4, "momentum");
    later.sync.set("synchronous_steps", 9);
    EXPECT_EQ(test::train(later, ranks, 1)[0], expected) << ranks;
    later.sync.set("synchronous_steps", 5);
    EXPECT_EQ(test::train(later, ranks, 1)[0] == expected, ranks == 1) << ranks;
  }
}

// In the middle of a period, where every rank has weights of its own.
TEST(Local, GoesOnFromACheckpointAndTellsOneModel) {
  const Case c = local(4, "adam", "keep");
  const auto expected = test::train(c, 2, 1);
  std::vector<std::vector<float>> means(2), own(2);
  on_ranks(2, [&](comm::Group& group) {
    TestRank before(c, group, 1), after(c, group, 1);
    const auto first = make_sync_mode(c.sync, before.parts());
    for (int step = 0; step < 6; ++step)
      first->step(before.input(step));
    const auto rank = static_cast<std::size_t>(group.rank());
    own[rank] = before.plain_parameters();
    means[rank].assign(first->parameters(), first->parameters() + before.model->parameter_floats());
    const auto second = make_sync_mode(c.sync, after.parts());
    const auto from = first->states(), to = second->states();
    ASSERT_EQ(from.size(), to.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
      std::copy(from[i].floats.begin(), from[i].floats.end(), to[i].floats.begin());
      std::copy(from[i].doubles.begin(), from[i].doubles.end(), to[i].doubles.begin());
    }
    for (int step = 6; step < c.steps; ++step)
      second->step(after.input(step));
    EXPECT_EQ(after.plain_parameters(), expected[rank].parameters);
  });
  EXPECT_EQ(means[0], means[1]);
  EXPECT_NE(own[0], own[1]);
}

TEST(Local, SaysOfAnyRankWhatIsNotFinite) {
  Case c = local(3, "sgd");
  c.poisoned_from = 4;
  c.poisoned = 20;  // of the last rank
  for (const Trained& rank : test::train(c, 2, 1)) {
    EXPECT_EQ(rank.not_finite_step, 5) << "at the mean";
    EXPECT_FALSE(rank.not_finite.empty());
  }
}

TEST(Local, WorksOnAGpu) {
  if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  for (const int synchronous : {0, 4}) {
    Case c{Map{{"name", "mlp"}, {"hidden", jobspec::List{8, 5}}}};
    c.sync = Map{{"mode", "local"}, {"period", 3}, {"synchronous_steps", synchronous}};
    c.steps = 10;
    c.noise_every = 0;
    const Trained host = test::train(c, 2, 1)[0];
    c.device = "cuda";
    const auto here = test::train(c, 2, 1);
    for (std::size_t i = 0; i < host.losses.size(); ++i)
      thalweg::test::expect_near(here[0].losses[i], host.losses[i], 1e-4f * host.losses[i], i);
    c.precision = Precision::bf16;
    const auto narrow = test::train(c, 2, 1);
    for (std::size_t i = 0; i < host.losses.size(); ++i)
      thalweg::test::expect_near(narrow[0].losses[i], host.losses[i], 3e-2f * host.losses[i], i);
  }
}

TEST(Local, SaysWhatItCannotDo) {
  const auto refusal = [](const auto& change, Map sync = {{"mode", "local"}}) {
    return test::refusal_of(sync, change);
  };
  const auto nothing = [](SyncFacts&) {};
  EXPECT_EQ(refusal(nothing), "");
  EXPECT_THAT(refusal(nothing, {{"mode", "local"}, {"compress", "bf16"}}), HasSubstr("sends no"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.joins_shards = true; }), HasSubstr("sync_batch_norm"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.observes_curvature = true; }), HasSubstr("curvature"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.has_eval_weights = true; }), HasSubstr("the mean"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.touches_all = false; }), HasSubstr("uses all"));
}

}  // namespace
}  // namespace thalweg::engine
