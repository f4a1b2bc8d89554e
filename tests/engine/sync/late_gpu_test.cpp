// The modes lag and abs on a GPU; without one on the emulated machine, whose streams do their work
// at once or whenever events allow it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <tuple>

#include "engine/gpu/gpu.h"
#include "engine/optim/on_gpu.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/micro_batches.h"
#include "tests/engine/sync/arrivals.h"
#include "tests/engine/sync/rounds.h"
#include "tests/engine/sync/support.h"
#include "tests/support/distance.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;
using rounds::Curve;
using rounds::Record;

Case late(const char* mode, Map more = {}) {
  Case c = batch_norm_and_dropout();
  c.device = "cuda";
  c.optimizer = Map{{"name", "adam"}};
  c.sync = Map{{"mode", mode}, {"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
  for (auto& [key, value] : more)
    c.sync.set(key, value);
  c.steps = 9;
  c.noise_every = 0;
  return c;
}

void expect_near(const Curve& here, const Curve& truth) {
  ASSERT_EQ(here.losses.size(), truth.losses.size());
  for (std::size_t i = 0; i < truth.losses.size(); ++i)
    thalweg::test::expect_near(here.losses[i], truth.losses[i], 1e-4 * truth.losses[i], i);
  for (std::size_t i = 0; i < truth.parameters.size(); ++i)
    thalweg::test::expect_near(here.parameters[i], truth.parameters[i], 1e-4f, i);
  for (std::size_t i = 0; i < truth.running.size(); ++i)
    thalweg::test::expect_near(here.running[i], truth.running[i], 1e-4f, i);
}

/// The formula of lag on one rank and its GPU, one thing after another.
Curve replay_lag(const Case& c, std::size_t lag) {
  Curve result;
  on_ranks(1, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const SyncParts parts = rank.parts();
    gpu::Gpu& machine = *rank.model->gpu();
    const auto device = make_step_device(parts, {}, 1.0f / kBatch, nullptr);
    const auto optimizer = rank.optimizer->on_gpu({machine, rank.model->parameters()});
    const auto stream = machine.stream();
    const std::size_t floats = rank.model->parameter_floats();
    rounds::Samples samples(rank, c.shards, rank);
    std::deque<FlatVector> waiting;
    std::int64_t updates = 0;
    for (int step = 0; step < c.steps; ++step) {
      StepInput input = rank.input(step);
      samples.put(rounds::own_shards(rank.sharding, step), input);
      const StepContext context = global_context(input, rank.sharding);
      const std::size_t place = device->begin(input, context);
      device->run(input, [&] { device->report(); });
      device->end();
      StepOutcome outcome;
      const StepReport report = device->read(place, outcome);
      result.losses.push_back(static_cast<double>(report.stats[stat_loss]) / kBatch);
      machine.copy(waiting.emplace_back(&machine, floats, "a gradient").floats(),
                   device->gradient(), floats * sizeof(float));
      for (; waiting.size() > lag; waiting.pop_front()) {
        StepContext of_update = context;
        of_update.step = updates++;
        optimizer->update(*stream, of_update, rank.replica->memory(waiting.front().floats()), {});
        stream->wait();
        device->parameters_written();
      }
    }
    result.parameters = rank.plain_parameters();
    result.running = rank.replica->running.read();
  });
  return result;
}

class LateOnGpu : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  void SetUp() override {
    if (std::get<1>(GetParam()) || gpu::gpu_count() == 0)
      machine_ = std::make_unique<Emulated>(std::get<1>(GetParam()));
    if (!gpu::gpu(0).info().emulated) GTEST_SKIP() << "ranks as threads have one GPU in common";
  }
  Case case_of(const char* mode, Map more = {}) const {
    more.emplace_back("gpu_exchange", std::get<0>(GetParam()));
    return late(mode, std::move(more));
  }

 private:
  std::unique_ptr<Emulated> machine_;
};

TEST_P(LateOnGpu, LagIsItsReplayOnAnyNumberOfRanks) {
  for (const int lag : {0, 1, 2, 4}) {
    const Case c = case_of("lag", Map{{"lag", lag}});
    const Curve expected = replay_lag(c, static_cast<std::size_t>(lag));
    for (const int ranks : {1, 2, 3})
      for (const int settles : {1, 4, 100})
        EXPECT_EQ(rounds::run(c, ranks, {}, settles).curve, expected)
            << "lag " << lag << ", " << ranks << " ranks, settled every " << settles;
  }
}

TEST_P(LateOnGpu, LagIsAsOnTheHost) {
  Case c = case_of("lag", Map{{"lag", 2}, {"synchronous_steps", 2}, {"cooldown_steps", 2}});
  c.clip_norm = 0.1;
  c.clip_value = 0.02;
  const Curve here = rounds::run(c, 2, {}, 100, c.steps).curve;
  c.device = "reference";
  c.sync.set("gpu_exchange", "auto");
  expect_near(here, rounds::run(c, 2, {}, 100, c.steps).curve);
}

TEST_P(LateOnGpu, AbsOfOnePassInEachRoundIsLag) {
  const Curve expected = rounds::run(case_of("lag"), 1).curve;
  for (const int ranks : {1, 2, 3})
    for (const int settles : {1, 4})
      EXPECT_EQ(rounds::run(case_of("abs", Map{{"passes", 1}}), ranks, {}, settles).curve, expected)
          << ranks << " ranks, settled every " << settles;
}

TEST_P(LateOnGpu, AbsIsAsOnTheHostWithTheSamePasses) {
  Case c = case_of("abs");
  const std::vector<std::vector<int>> passes{{1, 1}, {1, 2}, {2, 1}, {1, 3}, {1, 1},
                                             {2, 2}, {1, 1}, {3, 1}, {1, 1}};
  const Record here = rounds::run(c, 2, passes);
  EXPECT_EQ(rounds::passes_of(here.rounds), passes);
  EXPECT_EQ(rounds::run(c, 2, passes, 3).curve, here.curve) << "settling changes nothing";
  c.device = "reference";
  c.sync.set("gpu_exchange", "auto");
  const Record there = rounds::run(c, 2, passes);
  EXPECT_EQ(here.taken, there.taken);
  expect_near(here.curve, there.curve);
}

TEST_P(LateOnGpu, AbsMakesAsManyPassesAsFitInAndTakesAllSamples) {
  Case c = case_of("abs");
  c.steps = 40;
  const std::int64_t total = 12;
  const Record found = rounds::run(c, 2, {}, 100, total);
  std::int64_t samples = 0;
  for (const Round& round : found.rounds)
    samples += round.samples;
  EXPECT_GE(samples, total * kBatch);
  for (const double loss : found.curve.losses)
    EXPECT_TRUE(std::isfinite(loss));
  EXPECT_EQ(rounds::run(c, 2, rounds::passes_of(found.rounds), 100, total).curve, found.curve);
}

TEST_P(LateOnGpu, GoesOnFromACheckpoint) {
  for (const char* mode : {"lag", "abs"})
    for (const int at : {1, 2, 5}) {
      const bool lags = mode == std::string("lag");
      const Case c = case_of(mode, lags ? Map{{"lag", 3}} : Map{{"passes", 2}});
      const Curve expected = rounds::run(c, 2).curve;
      rounds::with_all_samples(c, [&](const TestRank& every) {
        on_ranks(2, [&](comm::Group& group) {
          TestRank before(c, group, 1), after(c, group, 1);
          const auto train = [&](TestRank& rank, SyncMode& sync, int first, int end) {
            rounds::Samples samples(every, c.shards, rank);
            for (int step = first; step < end; ++step) {
              StepInput input = rank.input(step);
              if (!lags) input.source = &samples;
              if (lags) samples.put(rounds::own_shards(rank.sharding, step), input);
              sync.step(input);
            }
            sync.settle();
          };
          const auto first = make_sync_mode(c.sync, before.parts());
          train(before, *first, 0, at);
          const auto second = make_sync_mode(c.sync, after.parts());
          go_on(before, *first, after, *second);
          train(after, *second, at, c.steps);
          EXPECT_EQ(after.plain_parameters(), expected.parameters) << mode << " at " << at;
        });
      });
    }
}

TEST_P(LateOnGpu, NamesWhatIsNotFinite) {
  Case c = case_of("lag", Map{{"lag", 2}});
  c.poisoned_from = 4;
  for (const int ranks : {1, 2})
    for (const Trained& trained : train(c, ranks, 1)) {
      EXPECT_EQ(trained.not_finite_step, 4);
      EXPECT_NE(trained.not_finite, "");
    }
}

TEST_P(LateOnGpu, WishesToStopAreHeard) {
  for (const int ranks : {1, 2})
    for (const Trained& trained : train(case_of("lag"), ranks, 1, ranks - 1))
      EXPECT_TRUE(trained.stopped);
}

Trained on_reference(Case c) {
  c.device = "reference";
  c.sync.set("gpu_exchange", "auto");
  return train(c, 1, 1).front();
}

TEST_P(LateOnGpu, AsyncOfOneWorkerIsSynchronousWhateverServes) {
  const Case c = case_of("async");
  const Trained alone = train(c, 1, 1).front(), truth = on_reference(c);
  expect_near({alone.parameters, alone.running, {alone.losses.begin(), alone.losses.end()}},
              {truth.parameters, truth.running, {truth.losses.begin(), truth.losses.end()}});
  for (const int servers : {1, 2})
    for (const Trained& rank : train(with_servers(c, 1 + servers, servers), 1 + servers, 1)) {
      EXPECT_EQ(rank.parameters, alone.parameters) << servers;
      EXPECT_EQ(rank.running, alone.running);
    }
}

TEST_P(LateOnGpu, HybridOfOneGroupIsSynchronousOnAnyNumberOfRanks) {
  Case c = case_of("hybrid", Map{{"groups", 1}});
  if (std::get<0>(GetParam()) == std::string("nccl")) c.sync.set("gpu_exchange", "auto");
  const Trained alone = train(c, 1, 1).front();
  for (const int ranks : {2, 3})
    for (const Trained& rank : train(c, ranks, 1)) {
      EXPECT_EQ(rank.parameters, alone.parameters) << ranks;
      EXPECT_EQ(rank.running, alone.running) << ranks;
    }
}

TEST_P(LateOnGpu, EveryGradientOfEveryGroupIsTaken) {
  for (const auto& [mode, groups] : {std::pair{"async", 4}, std::pair{"hybrid", 2}}) {
    Case c = case_of(mode, groups == 2 ? Map{{"groups", 2}} : Map{});
    if (std::get<0>(GetParam()) == std::string("nccl")) c.sync.set("gpu_exchange", "auto");
    c.steps = 12;
    const Trace found = run(c, 4);
    for (const auto& order : found.arrivals) {
      if (order.empty()) continue;  // it has no parameters
      EXPECT_EQ(order.size(), static_cast<std::size_t>(groups * c.steps)) << mode;
    }
    for (const auto& parameters : found.parameters) {
      EXPECT_EQ(parameters, found.parameters[0]) << "all have the same after they have met";
      for (const float weight : parameters)
        ASSERT_TRUE(std::isfinite(weight));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, LateOnGpu,
                         testing::Combine(testing::Values("host", "nccl", "ucx"), testing::Bool()),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param)) +
                                  (std::get<1>(of.param) ? "_late" : "");
                         });

}  // namespace
}  // namespace thalweg::engine::test
