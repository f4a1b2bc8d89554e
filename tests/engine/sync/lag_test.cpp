// The mode lag against a replay of its formula: gradients of one rank, a stream, the optimizer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>

#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/micro_batches.h"
#include "jobspec/option.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using test::Case;
using test::on_ranks;
using test::TestRank;
using testing::HasSubstr;

Case lagging(int lag, Map more = {}) {
  Case c = test::batch_norm_and_dropout();
  c.sync = Map{{"mode", "lag"}, {"lag", lag}, {"first_bucket_mib", 0.0}, {"bucket_mib", 0.0}};
  for (auto& [key, value] : more)
    c.sync.set(key, value);
  c.steps = 9;
  return c;
}

/// Parameters and losses of all steps.
struct Curve {
  std::vector<float> parameters, running;
  std::vector<double> losses;
  bool operator==(const Curve&) const = default;
};

/// Settles every `settles` steps, as validation does.
Curve train_lagging(const Case& c, int ranks, int threads, int settles, std::int64_t total = 0) {
  Curve result;
  on_ranks(ranks, [&](comm::Group& group) {
    TestRank rank(c, group, threads);
    SyncParts parts = rank.parts();
    parts.total_steps = total;
    const auto mode = make_sync_mode(c.sync, parts);
    std::vector<double> losses;
    std::int64_t told = 0;
    const auto take = [&](const std::optional<StepOutcome>& outcome) {
      if (!outcome) return;
      EXPECT_EQ(outcome->step, told++);
      losses.push_back(outcome->loss);
    };
    for (int step = 0; step < c.steps; ++step) {
      take(mode->step(rank.input(step)));
      if ((step + 1) % settles == 0) take(mode->settle());
    }
    take(mode->settle());
    EXPECT_EQ(told, c.steps);
    if (group.rank() == 0) result = {rank.plain_parameters(), rank.replica->running.read(), losses};
  });
  return result;
}

/// The formula on one rank, one thing after another. `synchronous(step)`: all that waits is
/// applied.
template <class Synchronous>
Curve replay(const Case& c, int lag, const Synchronous& synchronous) {
  Curve result;
  on_ranks(1, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const SyncParts parts = rank.parts();
    GradientPath path(parts, {}, 1.0f / test::kBatch);
    const std::size_t floats = rank.model->parameter_floats();
    std::deque<std::vector<float>> waiting;
    std::int64_t updates = 0;
    for (int step = 0; step < c.steps; ++step) {
      const StepInput input = rank.input(step);
      StepOutcome outcome;
      path.run(input, outcome);
      path.wait_for_all();
      path.finish(outcome);
      result.losses.push_back(static_cast<double>(path.summed_stats()[stat_loss]) / test::kBatch);
      waiting.emplace_back(path.gradient(), path.gradient() + floats);
      while (waiting.size() > (synchronous(step) ? 0U : static_cast<std::size_t>(lag))) {
        StepContext context = global_context(input, rank.sharding);
        context.step = updates++;
        const OptimizerMemory<float> memory = rank.replica->memory(waiting.front().data());
        for (int n = 0; n < static_cast<int>(rank.model->parameters().size()); ++n) {
          const ParameterInfo& info = rank.model->parameters()[static_cast<std::size_t>(n)];
          rank.optimizer->update(context, {n, info.offset, info.count}, memory);
        }
        rank.optimizer->finish(context, memory);
        waiting.pop_front();
      }
    }
    result.parameters = rank.plain_parameters();
    result.running = rank.replica->running.read();
  });
  return result;
}

TEST(Lag, IsItsReplayOnAnyNumberOfRanks) {
  for (const char* optimizer : {"sgd", "momentum", "adam"})
    for (const int lag : {1, 2, 4}) {
      Case c = lagging(lag);
      c.optimizer = Map{{"name", optimizer}};
      const Curve expected = replay(c, lag, [](int) { return false; });
      for (const int ranks : {1, 2, 3})
        for (const int settles : {1, 4, 100})
          EXPECT_EQ(train_lagging(c, ranks, ranks == 1 ? 2 : 1, settles), expected)
              << optimizer << ", lag " << lag << ", " << ranks << " ranks, settled every "
              << settles;
    }
}

TEST(Lag, OfNothingIsSynchronous) {
  const Case c = lagging(0);
  Case plain = c;
  plain.sync = Map{};
  const auto expected = test::train(plain, 2, 1);
  const Curve found = train_lagging(c, 2, 1, 100);
  EXPECT_EQ(found.parameters, expected[0].parameters);
  EXPECT_EQ(found.running, expected[0].running);
}

TEST(Lag, IsSynchronousAtTheStartAndAtTheEnd) {
  const Case c = lagging(2, Map{{"synchronous_steps", 3}, {"cooldown_steps", 2}});
  const Curve expected = replay(c, 2, [](int step) { return step < 3 || step >= 7; });
  EXPECT_NE(expected, replay(c, 2, [](int) { return false; }));
  for (const int ranks : {1, 2})
    EXPECT_EQ(train_lagging(c, ranks, 1, 100, 9), expected) << ranks;
}

TEST(Lag, ClipsWhatItApplies) {
  Case c = lagging(0);
  c.clip_norm = 0.1;
  c.clip_value = 0.02;
  Case plain = c;
  plain.sync = Map{};
  EXPECT_EQ(train_lagging(c, 1, 1, 100).parameters, test::train(plain, 1, 1)[0].parameters);
  c.sync.set("lag", 1);
  Case free = c;
  free.clip_norm = free.clip_value = 0;
  EXPECT_NE(train_lagging(c, 1, 1, 100), train_lagging(free, 1, 1, 100));
}

// Gradients that wait, momentum and the count of updates go through a checkpoint.
TEST(Lag, GoesOnFromACheckpoint) {
  for (const int at : {1, 2, 5}) {
    Case c = lagging(3);
    c.optimizer = Map{{"name", "adam"}};
    const Curve expected = train_lagging(c, 2, 1, 100);
    on_ranks(2, [&](comm::Group& group) {
      TestRank before(c, group, 1), after(c, group, 1);
      const auto first = make_sync_mode(c.sync, before.parts());
      for (int step = 0; step < at; ++step)
        first->step(before.input(step));
      first->settle();
      const auto second = make_sync_mode(c.sync, after.parts());
      test::go_on(before, *first, after, *second);
      for (int step = at; step < c.steps; ++step)
        second->step(after.input(step));
      second->settle();
      EXPECT_EQ(after.plain_parameters(), expected.parameters) << at;
    });
  }
}

TEST(Lag, SaysWhatItCannotDo) {
  const auto refusal = [](const auto& change) {
    return test::refusal_of(Map{{"mode", "lag"}}, change);
  };
  EXPECT_EQ(refusal([](SyncFacts&) {}), "");
  EXPECT_EQ(refusal([](SyncFacts& f) { f.on_gpu = true; }), "");
  EXPECT_THAT(refusal([](SyncFacts& f) { f.joins_shards = true; }), HasSubstr("sync_batch_norm"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.observes_curvature = true; }), HasSubstr("curvature"));
  EXPECT_THAT(refusal([](SyncFacts& f) { f.touches_all = false; }), HasSubstr("uses all"));
}

TEST(Lag, NamesWhatIsNotFinite) {
  Case c = lagging(2);
  c.poisoned_from = 4;
  on_ranks(1, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    int found = -1;
    for (int step = 0; step < c.steps && found < 0; ++step)
      if (const auto outcome = mode->step(rank.input(step));
          outcome && !outcome->not_finite.empty())
        found = static_cast<int>(outcome->step);
    EXPECT_EQ(found, 4);
  });
}

}  // namespace
}  // namespace thalweg::engine
