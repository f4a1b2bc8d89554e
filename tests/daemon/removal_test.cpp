// Sweeps are removed as their owners, in turns: what one user made, or how he keeps calls on his
// behalf waiting, is in nobody else's way.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;

using test::World;
using testing::ElementsAre;
using testing::HasSubstr;

struct RemovalTest : testing::Test {
  static inline const Owner alice{1001, 1001, "alice", "alices-grant"},
      bob{1002, 1002, "bob", "bobs-grant"};
  World world;
  double ahead = 0;  ///< of the machine's clock
  std::unique_ptr<World::Life> life;
  std::vector<std::vector<fs::path>> asked;  ///< folders that were to be emptied, by call

  void SetUp() override {
    world.options = [this](ControllerOptions& options) {
      options.steady = [this] {
        const auto now = std::chrono::steady_clock::now().time_since_epoch();
        return std::chrono::duration<double>(now).count() + ahead;
      };
    };
    life = std::make_unique<World::Life>(world);
  }
  std::int64_t ended(const Owner& owner, int trials) {
    const auto id = test::submit(*life->controller, test::sweep_of(trials), owner);
    EXPECT_TRUE(life->run_until(
        [&] { return life->controller->state().sweeps.at(id).phase != SweepPhase::active; }));
    return id;
  }
  bool gone(std::int64_t id) {
    return life->run_until([&] { return life->controller->state().sweeps.count(id) == 0; });
  }
  fs::path folder(std::int64_t sweep, int trial) const {
    return world.home().runs() / std::to_string(sweep) / std::to_string(trial) / "1";
  }
  static void empty(const fs::path& folder) {
    for (const auto& each : fs::directory_iterator(folder))
      fs::remove_all(each.path());
  }
};

TEST_F(RemovalTest, TheOwnerEmptiesWhatIsThere) {
  const auto hers = ended(alice, 3);
  fs::remove_all(folder(hers, 2));
  world.cluster.on_empty = [&](const std::vector<fs::path>& folders) {
    asked.push_back(folders);
    empty(folders.front());
    return Emptying{1, {}, ""};  // his time is over after each
  };
  life->controller->remove(hers, "alice");
  ASSERT_TRUE(gone(hers));
  EXPECT_THAT(asked, ElementsAre(ElementsAre(folder(hers, 1), folder(hers, 3)),
                                 ElementsAre(folder(hers, 3))));
  EXPECT_FALSE(fs::exists(world.home().runs() / std::to_string(hers)));
  EXPECT_THAT(world.cluster.on_behalf, testing::Contains("empty 1001 alices-grant"));
}

TEST_F(RemovalTest, AJobThatItsBackendBringsBackIsEndedBeforeTheSweepIsForgotten) {
  const auto hers = ended(alice, 1);
  const std::string attempt = std::to_string(hers) + ".1.1";
  world.cluster.reachable = false;
  life->controller->remove(hers, "alice");
  ASSERT_TRUE(life->run_until([&] { return !fs::exists(folder(hers, 1)); }));
  ahead += 5;
  EXPECT_FALSE(life->run_until([&] { return life->controller->state().sweeps.count(hers) == 0; },
                               test::Deadline(std::chrono::milliseconds(300))))
      << "nobody knows yet whether its job is there";
  // A scheduler that has come back with an older state.
  test::FakeJob& job = *world.cluster.job_of(attempt);
  job.phase = JobPhase::held;
  world.cluster.reachable = true;
  ASSERT_TRUE(life->run_until([&] {
    ahead += 0.01;
    return life->controller->state().sweeps.count(hers) == 0;
  }));
  EXPECT_EQ(job.phase, JobPhase::ended);
  EXPECT_GT(job.cancels, 0);
}

TEST_F(RemovalTest, WithoutTheAgentTheControllerRemovesWhatItCan) {
  const auto hers = ended(alice, 2);
  world.cluster.on_empty = [](const auto&) { return Emptying{0, {}, "the grant has expired"}; };
  life->controller->remove(hers, "alice");
  ASSERT_TRUE(gone(hers));
  EXPECT_FALSE(fs::exists(world.home().runs() / std::to_string(hers)));
}

TEST_F(RemovalTest, WhatTheOwnerCannotRemoveIsToldOfHisSweepAlone) {
  const auto hers = ended(alice, 2), his = ended(bob, 1);
  // Nothing is found in a file that is in the place of a folder.
  fs::remove_all(folder(hers, 1).parent_path());
  test::write_file(folder(hers, 1).parent_path(), "");
  life->controller->remove(hers, "alice");
  life->controller->remove(his, "bob");
  ASSERT_TRUE(gone(his));
  ASSERT_TRUE(life->run_until([&] { return life->controller->troubles_of_sweeps().count(hers); }));
  EXPECT_THAT(life->controller->troubles_of_sweeps().at(hers),
              testing::AllOf(HasSubstr("tried again in 1 min"),
                             HasSubstr(folder(hers, 1).parent_path().string())));
  EXPECT_FALSE(fs::exists(folder(hers, 2))) << "the rest is gone";
  // Out of the way, and asked for again: at once.
  fs::remove(folder(hers, 1).parent_path());
  life->controller->remove(hers, "alice");
  EXPECT_TRUE(gone(hers));
}

TEST_F(RemovalTest, WhoKeepsCallsWaitingIsPassedOver) {
  const auto first = ended(alice, 1), second = ended(alice, 1), his = ended(bob, 1);
  int calls_of_alice = 0;
  const auto is_alices = [&](const fs::path& each) {
    return each == folder(first, 1) || each == folder(second, 1);
  };
  world.cluster.on_empty = [&](const std::vector<fs::path>& folders) {
    if (!is_alices(folders.front())) return Emptying{0, {}, "not asked to"};
    if (++calls_of_alice <= 1) {
      ahead += 15;  // she stopped the process that worked as her
      return Emptying{0, {}, ""};
    }
    return Emptying{folders.size(), {}, ""};
  };
  for (const auto id : {first, second, his})
    life->controller->remove(id, "its owner");
  ASSERT_TRUE(gone(his));
  EXPECT_EQ(calls_of_alice, 1) << "her second sweep waits, too";
  ahead += 61;
  const auto another = ended(bob, 1);
  life->controller->remove(another, "bob");
  EXPECT_TRUE(gone(first));
  EXPECT_TRUE(gone(second));
}

TEST_F(RemovalTest, CheckpointsThatCannotBePrunedAreTold) {
  world.cluster.on_step = [](test::FakeJob& job) {
    // A folder that is not empty, in the place of a checkpoint.
    fs::create_directories(job.folder / "checkpoints/step-000000000001.ckpt/in");
  };
  jobspec::Sweep sweep = test::sweep_of(1);
  sweep.keep.checkpoints = jobspec::KeepCheckpoints::none;
  const auto id = test::submit(*life->controller, sweep, alice);
  ASSERT_TRUE(life->run_until([&] { return life->controller->troubles_of_sweeps().count(id); }));
  const fs::path checkpoints = folder(id, 1) / "checkpoints";
  EXPECT_THAT(life->controller->troubles_of_sweeps().at(id),
              HasSubstr("the checkpoints of sweep 1 cannot be pruned yet, tried again in 1 min: "
                        "cannot remove " +
                        (checkpoints / "step-000000000001.ckpt").string()));
  fs::remove_all(checkpoints);
  life = std::make_unique<World::Life>(world);
  EXPECT_TRUE(life->run_until([&] { return !life->controller->state().sweeps.at(id).to_prune; }));
}

}  // namespace
}  // namespace thalweg::daemon
