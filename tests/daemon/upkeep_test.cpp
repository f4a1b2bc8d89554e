// What becomes of checkpoints when a sweep has ended, and of weights that another trial waits for.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>

#include "daemon/controller/fault.h"
#include "daemon/controller/init_from.h"
#include "daemon/state/events.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;

using jobspec::Keep;
using jobspec::KeepCheckpoints;
using test::FakeJob;
using test::Killed;
using test::submit;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Upkeep : testing::Test {
  World world;

  Upkeep() {
    world.cluster.steps = 3;
    world.cluster.on_step = [](FakeJob& job) {
      // The higher the trial's number, the better it is at first; the last value says nothing.
      test::write_line(job, fmt::format(R"("type":"metrics","points":[["val/score",{},{}]])",
                                        job.step, job.step == 2 ? 10 - job.id.trial : 50));
      fs::create_directories(job.folder / "checkpoints");
      test::write_file(job.folder / fmt::format("checkpoints/step-{:012}.ckpt", job.step),
                       std::string(9000, 'x'));
      if (job.step == 2)
        test::write_line(job, R"("type":"checkpoint","step":2,"best":true,"file":"x")");
      if (job.id.trial == 4 && job.step == 3) {  // before its end record
        job.phase = JobPhase::ended;
        job.exit_code = 1;
      }
    };
  }

  static jobspec::Sweep sweep(int trials, const Keep& keep) {
    jobspec::Sweep sweep = test::sweep_of(trials);
    sweep.metric.name = "val/score";
    sweep.keep = keep;
    sweep.limits.max_retries = 0;
    return sweep;
  }
  std::int64_t run(const jobspec::Sweep& sweep) {
    World::Life life(world);
    const auto id = submit(*life.controller, sweep);
    EXPECT_TRUE(life.run_until([&] {
      const auto& state = life.controller->state().sweeps.at(id);
      return state.phase != SweepPhase::active && !state.to_prune;
    }));
    return id;
  }
  /// "123": the steps of the trial's checkpoints.
  std::string left(std::int64_t sweep, int trial) const {
    std::string steps;
    for (char step = '1'; step <= '3'; ++step)
      if (fs::exists(world.home().runs() / std::to_string(sweep) / std::to_string(trial) / "1" /
                     "checkpoints" / fmt::format("step-00000000000{}.ckpt", step)))
        steps += step;
    return steps;
  }
  std::vector<event::Pruned> prunings(std::int64_t sweep) const {
    std::vector<event::Pruned> found;
    const auto store = db::ReadStore::open(world.home().database());
    for (const db::Event& e : store->events_of({sweep, 0, 0}))
      if (is<event::Pruned>(e))
        found.push_back(from_json<event::Pruned>(nlohmann::json::parse(e.data)));
    return found;
  }
};

TEST_F(Upkeep, KeepsWhatTheSweepSays) {
  const auto all = run(sweep(2, {}));
  EXPECT_EQ(left(all, 1), "123");
  EXPECT_THAT(prunings(all), IsEmpty());

  const auto last = run(sweep(2, {KeepCheckpoints::last, 0}));
  EXPECT_EQ(left(last, 1), "23") << "the newest, and the best";
  const auto best = run(sweep(4, {KeepCheckpoints::best, 0}));
  EXPECT_EQ(left(best, 1), "2");
  EXPECT_EQ(left(best, 4), "23") << "it failed: retry goes on from its newest";
  const auto none = run(sweep(2, {KeepCheckpoints::none, 0}));
  EXPECT_EQ(left(none, 2), "");

  const auto told = prunings(best);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_TRUE(told[0].policy);
  EXPECT_GT(told[0].freed_bytes, 7 * 9000);
  EXPECT_THAT(told[0].keep, HasSubstr("the best validation"));
}

TEST_F(Upkeep, ThinsCurvesWhereTheSweepSaysSo) {
  world.cluster.steps = 40;
  const auto whole = run(sweep(2, {}));
  const auto thin = run(sweep(2, {KeepCheckpoints::all, 0, 10}));
  const auto store = db::ReadStore::open(world.home().database());
  const auto points = [&](std::int64_t id, const char* metric) {
    return store->curve({id, 2, 0}, metric, 0).size();
  };
  EXPECT_EQ(points(whole, "train/loss"), 40u);
  EXPECT_GE(points(thin, "train/loss"), 10u);
  EXPECT_LE(points(thin, "train/loss"), 12u);
  EXPECT_EQ(points(thin, "val/error"), points(whole, "val/error"));
  EXPECT_EQ(left(thin, 1), left(whole, 1));
  const auto told = prunings(thin);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_GE(told[0].removed_points, 2 * 28);
  EXPECT_THAT(told[0].keep, HasSubstr("of each curve about 10 points"));
  EXPECT_EQ(told[0].freed_bytes, 0);
}

TEST_F(Upkeep, KeepsThoseOfTheBestTrials) {
  const auto id = run(sweep(3, {KeepCheckpoints::best, 2}));
  EXPECT_EQ(left(id, 1), "") << "its best value is 9";
  EXPECT_EQ(left(id, 2), "2");
  EXPECT_EQ(left(id, 3), "2");
  jobspec::Sweep largest = sweep(3, {KeepCheckpoints::all, 1});
  largest.metric.goal = jobspec::Goal::maximize;
  largest.metric.name = "val/error";  // equal in all: the first counts
  const auto second = run(largest);
  EXPECT_EQ(left(second, 1), "123");
  EXPECT_EQ(left(second, 2), "");
  largest.metric.name = "val/unknown";
  EXPECT_EQ(left(run(largest), 2), "123") << "nothing says which are not needed";
}

TEST_F(Upkeep, IsDoneAgainAfterACrash) {
  std::int64_t id = 0;
  int kills = 0, thinning = 0;
  {
    World::Life life(world);
    id = submit(*life.controller, sweep(3, {KeepCheckpoints::none, 0, 10}));
  }
  fault::set_handler([&](std::string_view point) {
    if (point == "in_pruning" && kills++ < 2) throw Killed{};
    if (point == "in_thinning" && thinning++ < 2) throw Killed{};
  });
  bool done = false;
  while (!done) {
    try {
      World::Life life(world);
      done = life.run_until([&] {
        const auto& state = life.controller->state().sweeps.at(id);
        return state.phase != SweepPhase::active && !state.to_prune;
      });
      ASSERT_TRUE(done);
    } catch (const Killed&) {
    }
  }
  fault::set_handler({});
  EXPECT_GE(kills, 3);
  EXPECT_GE(thinning, 4);
  for (int trial = 1; trial <= 3; ++trial)
    EXPECT_EQ(left(id, trial), "");
  EXPECT_EQ(prunings(id).size(), 1U);
}

TEST_F(Upkeep, SparesWeightsThatOthersBeginWith) {
  const auto source = run(sweep(2, {}));
  jobspec::Sweep second = sweep(1, {});
  second.train.set("init_from.trial", fmt::format("{}.1", source));
  World::Life life(world);
  world.cluster.steps = 100'000;
  const auto by = submit(*life.controller, second);
  ASSERT_TRUE(
      life.run_until([&] { return life.controller->state().sweeps.at(by).live.count(1) == 1; }));
  const auto needs = weights_needed(*life.store);
  ASSERT_EQ(needs.size(), 1U);
  EXPECT_EQ(needs[0].by.to_string(), fmt::format("{}.1", by));
  const auto needed = [&](int trial, KeepCheckpoints keep) {
    return need_of(needs, {source, trial, 0}, {}, keep) != nullptr;
  };
  EXPECT_TRUE(needed(1, KeepCheckpoints::none));
  EXPECT_TRUE(needed(1, KeepCheckpoints::best)) << "it begins with the newest";
  EXPECT_FALSE(needed(1, KeepCheckpoints::last));
  EXPECT_FALSE(needed(2, KeepCheckpoints::none));
}

TEST_F(Upkeep, NothingIsStartedWithoutSpace) {
  fs::create_directories(world.home().runs());
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  world.options = [&](ControllerOptions& options) { options.min_free_bytes = least; };
  std::int64_t id = 0;
  {
    World::Life life(world);
    id = submit(*life.controller, sweep(2, {}));
    ASSERT_TRUE(life.run_until([&] { return !life.controller->troubles().empty(); }));
    EXPECT_THAT(life.controller->troubles()[0], HasSubstr("(min_free: "));
    EXPECT_THAT(life.controller->view(id).waiting_for, HasSubstr("free space with"));
    EXPECT_THAT(world.cluster.submissions, IsEmpty());
  }
  least = 1;
  ASSERT_TRUE(world.run_to_the_end());
  EXPECT_EQ(world.cluster.submissions.size(), 2U);
}

TEST_F(Upkeep, SparesAFileInTheRunFolder) {
  const fs::path folder = "/runs/1/2/1";
  const std::vector<WeightsNeed> needs{{{7, 1, 0}, std::nullopt, folder / "checkpoints", false}};
  EXPECT_NE(need_of(needs, {1, 2, 0}, {folder}, KeepCheckpoints::last), nullptr);
  EXPECT_EQ(need_of(needs, {1, 2, 0}, {folder}, KeepCheckpoints::all), nullptr);
  EXPECT_EQ(need_of(needs, {1, 1, 0}, {"/runs/1/1/1"}, KeepCheckpoints::none), nullptr);
  EXPECT_EQ(need_of(needs, {1, 2, 0}, {"/runs/1/2/10"}, KeepCheckpoints::none), nullptr);
}

TEST_F(Upkeep, ASweepThatSparesSaysSo) {
  // The second trial begins with the first, while the first's sweep ends.
  jobspec::Sweep first = sweep(1, {KeepCheckpoints::none, 0});
  World::Life life(world);
  const auto source = submit(*life.controller, first);
  jobspec::Sweep second = sweep(1, {});
  second.train.set("init_from.trial", fmt::format("{}.1", source));
  const auto by = submit(*life.controller, second);
  world.cluster.on_release = [&](FakeJob& job) {
    if (job.id.sweep == by) job.phase = JobPhase::held;  // it waits
  };
  ASSERT_TRUE(life.run_until([&] {
    const auto& state = life.controller->state().sweeps.at(source);
    return state.phase != SweepPhase::active && !state.to_prune;
  }));
  EXPECT_EQ(left(source, 1), "123");
  const auto told = prunings(source);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].spared, ElementsAre(fmt::format("{}.1", source)));
}

}  // namespace
}  // namespace thalweg::daemon
