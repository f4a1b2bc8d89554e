// Elastic trials through the controller: attempts of other sizes, in the record and after a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/state/events.h"
#include "jobspec/trial.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

using test::FakeJob;
using test::World;
using testing::HasSubstr;

jobspec::Sweep elastic_sweep() {
  jobspec::Sweep sweep = test::sweep_of(1, 6);
  sweep.resources.nodes = 8;
  sweep.resources.min_nodes = 2;
  return sweep;
}

/// The first two attempts lose their nodes after two steps, and what is there changes: 8, 3, 6.
struct Losses {
  World world;
  std::vector<int> free{8, 3, 6};
  std::size_t attempts = 0;
  std::vector<std::string> asked;  ///< of the backend

  Losses() {
    world.cluster.steps = 6;
    world.cluster.on_submit = [this](const LaunchRequest& request) {
      asked.push_back(std::to_string(request.resources.required_nodes()) + "-" +
                      std::to_string(request.resources.nodes));
      return SubmitOutcome::accepted;
    };
    world.cluster.on_release = [this](FakeJob& job) {
      job.nodes = free.at(attempts++);
      job.started = 1000;
      std::filesystem::create_directories(job.folder / "checkpoints");
      job.resumed = job.step = 2 * (static_cast<int>(job.id.attempt) - 1);
    };
    world.cluster.on_step = [](FakeJob& job) {
      if (job.id.attempt > 2 || job.step < 2 * job.id.attempt) return;
      job.phase = JobPhase::ended;
      job.node_failed = true;
    };
  }
};

void expect_sizes(db::Store& store, std::int64_t sweep) {
  const std::pair<int, const char*> expected[] = {
      {8, ""},
      {3, "8 -> 3 nodes: the attempt before was lost (node failure); the backend gave 3 of 2 to 8"},
      {6, "3 -> 6 nodes: the attempt before was lost (node failure); the backend gave 6 of 2 to 8"},
  };
  for (int number = 1; number <= 3; ++number) {
    const auto row = store.attempt({sweep, 1, number});
    ASSERT_TRUE(row) << number;
    EXPECT_EQ(row->nodes, expected[number - 1].first) << number;
    EXPECT_EQ(row->ranks, expected[number - 1].first) << number;
    EXPECT_EQ(row->size_reason, expected[number - 1].second) << number;
  }
  EXPECT_EQ(store.attempt({sweep, 1, 3})->state, db::AttemptState::finished);
}

TEST(Elastic, AnAttemptThatLostItsNodesGoesOnWithThoseThatAreThere) {
  Losses losses;
  std::int64_t id = 0;
  {
    World::Life life(losses.world);
    id = test::submit(*life.controller, elastic_sweep());
  }
  ASSERT_TRUE(losses.world.run_to_the_end());
  World::Life life(losses.world);
  expect_sizes(*life.store, id);
  EXPECT_EQ(losses.asked, (std::vector<std::string>{"2-8", "2-8", "2-8"}));
  EXPECT_EQ(life.store->curve({id, 1, 0}, "train/loss").size(), 6u);
  const auto trial = jobspec::read_trial(losses.world.dir.path() / "runs/1/1/3/trial.yaml");
  EXPECT_EQ(trial.resources.nodes, 8) << "shards are those of the most ranks, whatever it got";
  EXPECT_EQ(trial.resources.min_nodes, 2);
  EXPECT_EQ(trial.sweep_ranks, 8);
  ASSERT_FALSE(trial.resume.empty()) << "from the checkpoints of the attempts before";
  EXPECT_EQ(jobspec::read_trial(losses.world.dir.path() / "runs/1/1/1/trial.yaml").node_failure_s,
            3.6e6);
  double cost = 0, cost_of_losses = 0;
  for (int number = 1; number <= 3; ++number) {
    const auto row = life.store->attempt({id, 1, number});
    cost += static_cast<double>(row->nodes) * (row->ended - row->started);
    if (number == 2) cost_of_losses = cost;
  }
  EXPECT_NEAR(trial.node_failure_s, (3.6e6 + cost_of_losses) / 3, 1e-6 * cost)
      << "two failures, and the one that is taken for granted";
  EXPECT_NEAR(life.controller->state().sweeps.at(id).node_seconds, cost, 1e-6 * cost);
}

TEST(Elastic, SizesSurviveControllersThatAreKilled) {
  Losses losses;
  std::int64_t id = 0;
  {
    World::Life life(losses.world);
    id = test::submit(*life.controller, elastic_sweep());
  }
  // A new controller after every change of what is live.
  for (int lives = 0; lives < 60; ++lives) {
    World::Life life(losses.world);
    const auto& sweep = life.controller->state().sweeps.at(id);
    if (sweep.phase != SweepPhase::active) break;
    const auto before = life.controller->state().last_event;
    ASSERT_TRUE(life.run_until([&] { return life.controller->state().last_event > before; }));
    for (const auto& [number, attempt] : sweep.live) {
      if (attempt.phase != AttemptPhase::running) continue;
      EXPECT_EQ(attempt.size, losses.free.at(static_cast<std::size_t>(attempt.id.attempt - 1)));
    }
  }
  World::Life life(losses.world);
  expect_sizes(*life.store, id);
}

TEST(Elastic, OfABackendThatCannotChooseTheControllerChooses) {
  World world;
  world.cluster.steps = 2;
  world.cluster.nodes = 5;
  World::Life life(world);
  jobspec::Sweep sweep = elastic_sweep();
  const auto id = test::submit(*life.controller, sweep);
  ASSERT_TRUE(life.run_until(
      [&] { return life.controller->state().sweeps.at(id).phase != SweepPhase::active; }));
  const auto row = life.store->attempt({id, 1, 1});
  EXPECT_EQ(row->ranks, 5);
  EXPECT_THAT(row->size_reason, HasSubstr("5 nodes: the backend has room for 5 of 2 to 8"));
}

}  // namespace
}  // namespace thalweg::daemon
