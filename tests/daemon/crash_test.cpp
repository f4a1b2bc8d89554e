// A controller that ends at any point of its work, and another that takes over: nothing runs twice,
// nothing is lost or doubled.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <algorithm>

#include <random>
#include <set>

#include "daemon/controller/fault.h"
#include "daemon/state/actions.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

using test::FakeJob;
using test::Killed;
using test::submit;
using test::World;

constexpr int trials = 3, steps = 4;

struct Handler {
  explicit Handler(std::function<void(std::string_view)> handler) {
    fault::set_handler(std::move(handler));
  }
  ~Handler() { fault::set_handler({}); }
};

/// What must hold however often the controller ended on the way.
void expect_exactly_once(World& world, std::int64_t sweep) {
  World::Life life(world);
  EXPECT_EQ(life.store->sweep(sweep)->state, SweepPhase::finished);
  std::set<std::string> ran;
  for (const auto& [handle, job] : world.cluster.jobs) {
    EXPECT_LE(job.runs, 1) << handle;
    if (job.runs > 0) {
      EXPECT_TRUE(ran.insert(job.id.to_string()).second) << job.id.to_string() << " ran twice";
    }
  }
  const auto rows = life.store->trials(sweep);
  ASSERT_EQ(rows.size(), static_cast<std::size_t>(trials));
  for (const auto& row : rows) {
    EXPECT_EQ(row.state, TrialPhase::finished) << row.id.to_string();
    EXPECT_EQ(row.attempts, 1) << row.id.to_string();
    const auto attempt = life.store->attempt({sweep, row.id.trial, 1});
    EXPECT_EQ(attempt->journal_lines, 1 + 2 * steps + 1) << "start, metrics and checkpoints, end";
    EXPECT_EQ(life.store->curve(row.id, "train/loss").size(), static_cast<std::size_t>(steps));
    const auto counted =
        life.store->query(fmt::format("SELECT count(*), count(DISTINCT step) FROM metrics WHERE "
                                      "trial = {} AND metric = 'train/loss'",
                                      row.id.trial),
                          1, 5);
    EXPECT_EQ(counted.rows[0][0].as_int(), steps);
    EXPECT_EQ(counted.rows[0][1].as_int(), steps);
  }
}

class CrashAt : public testing::TestWithParam<std::string> {};

/// Ends at this point each of the first four times that it is passed by a new controller.
TEST_P(CrashAt, NothingIsLostOrDoubled) {
  World world;
  world.cluster.steps = steps;
  std::int64_t sweep = 0;
  int kills = 0;
  {
    const Handler handler([&](std::string_view point) {
      if (point == GetParam() && kills < 4) {
        ++kills;
        throw Killed{};
      }
    });
    while (sweep == 0) {
      try {
        World::Life life(world);
        // A sender without an answer asks what is there before it sends again.
        const auto known = life.store->sweeps();
        sweep = known.empty() ? submit(*life.controller, test::sweep_of(trials)) : known.front().id;
      } catch (const Killed&) {
      }
    }
    ASSERT_TRUE(world.run_to_the_end());
  }
  EXPECT_GE(kills, 1) << "the point is never passed";
  expect_exactly_once(world, sweep);
}

std::vector<std::string> all_points() {
  std::vector<std::string> names;
  for (const auto& point : fault::points())
    if (point.name.find("cancel") == std::string_view::npos &&
        point.name.find("extension") == std::string_view::npos &&
        point.name.find("import") == std::string_view::npos &&
        point.name.find("choice") == std::string_view::npos &&
        point.name.find("look") == std::string_view::npos &&
        point.name.find("remov") == std::string_view::npos &&
        point.name.find("prun") == std::string_view::npos &&
        point.name.find("thin") == std::string_view::npos)
      names.emplace_back(point.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Point, CrashAt, testing::ValuesIn(all_points()),
                         [](const auto& name) { return name.param; });

/// Calls on behalf of a user, which looks of the backend do not wait for.
TEST(Crash, AtAThirdOfAllPassagesWhileAUsersCallsAreUnderWay) {
  World world;
  world.options = [](ControllerOptions& options) { options.calls_s = 0.001; };
  world.cluster.steps = steps;
  std::minstd_rand dice(11);
  world.cluster.call_s = [&](std::uint32_t) { return 0.001 * (dice() % 10); };
  std::int64_t sweep = 0;
  {
    World::Life life(world);
    sweep = submit(*life.controller, test::sweep_of(trials), Owner{1001, 1001, "alice", "grant"});
  }
  int kills = 0;
  {
    const Handler handler([&](std::string_view) {
      if (dice() % 3 != 0) return;
      ++kills;
      throw Killed{};
    });
    ASSERT_TRUE(world.run_to_the_end(std::chrono::seconds(60)));
  }
  EXPECT_GT(kills, 4);
  expect_exactly_once(world, sweep);
}

class CrashWhileCancelling : public testing::TestWithParam<std::string> {};

TEST_P(CrashWhileCancelling, TheCancelIsNotForgotten) {
  World world;
  world.cluster.steps = 100000;
  std::int64_t sweep = 0;
  {
    World::Life life(world);
    sweep = submit(*life.controller, test::sweep_of(trials));
    ASSERT_TRUE(life.run_until(
        [&] { return life.controller->state().sweeps.at(sweep).live.size() == trials; }));
  }
  int kills = 0;
  {
    const Handler handler([&](std::string_view point) {
      if (point == GetParam() && kills < 3) {
        ++kills;
        throw Killed{};
      }
    });
    {
      World::Life life(world);
      life.controller->cancel({sweep, 0, 0}, "me");
    }
    ASSERT_TRUE(world.run_to_the_end());
  }
  EXPECT_EQ(kills, 3);
  World::Life life(world);
  EXPECT_EQ(life.store->sweep(sweep)->state, SweepPhase::cancelled);
  for (const auto& row : life.store->trials(sweep))
    EXPECT_EQ(row.state, TrialPhase::cancelled);
  for (const auto& [handle, job] : world.cluster.jobs)
    EXPECT_EQ(job.phase, JobPhase::ended);
}

INSTANTIATE_TEST_SUITE_P(Point, CrashWhileCancelling,
                         testing::Values("before_cancel", "after_cancel"),
                         [](const auto& name) { return name.param; });

class CrashWhileExtending : public testing::TestWithParam<std::string> {};

TEST_P(CrashWhileExtending, TheTrialsAreAddedOnceOrNotAtAll) {
  World world;
  world.cluster.steps = steps;
  std::int64_t sweep = 0;
  {
    World::Life life(world);
    sweep = submit(*life.controller, test::sweep_of(trials - 1));
    ASSERT_TRUE(world.run_to_the_end());
  }
  int kills = 0;
  {
    const Handler handler([&](std::string_view point) {
      if (point == GetParam() && kills < 2) {
        ++kills;
        throw Killed{};
      }
    });
    for (bool added = false; !added;) {
      try {
        World::Life life(world);
        // Who gets no answer looks before asking again.
        added = life.store->trials(sweep).size() == trials;
        if (!added) test::extend(*life.controller, sweep, test::sweep_of(trials));
      } catch (const Killed&) {
      }
    }
    ASSERT_TRUE(world.run_to_the_end());
  }
  EXPECT_GE(kills, 1);
  expect_exactly_once(world, sweep);
}

INSTANTIATE_TEST_SUITE_P(Point, CrashWhileExtending,
                         testing::Values("in_extension", "after_extension"),
                         [](const auto& name) { return name.param; });

class CrashWhileImporting : public testing::TestWithParam<std::string> {};

TEST_P(CrashWhileImporting, TheRunsAreThereOnceOrNotAtAll) {
  World world;
  Import import;
  import.name = "old";
  import.metric.name = "loss";
  for (const char* name : {"a", "b"})
    import.runs.push_back({name, R"({"lr":0.1})", {}, {
                             { "loss",
                               { {1, 0.5, 10},
                                 { 2,
                                   0.25,
                                   20 } } }
                           }});
  int kills = 0;
  {
    const Handler handler([&](std::string_view point) {
      if (point == GetParam() && kills < 2) {
        ++kills;
        throw Killed{};
      }
    });
    for (bool there = false; !there;) {
      try {
        World::Life life(world);
        there = !life.store->sweeps().empty();
        if (!there) life.controller->import_runs(import);
      } catch (const Killed&) {
      }
    }
  }
  EXPECT_GE(kills, 1);
  World::Life life(world);
  ASSERT_EQ(life.store->sweeps().size(), 1u);
  EXPECT_EQ(life.store->attempts(life.store->sweeps()[0].id).size(), 2u);
  const SweepState& sweep = life.controller->state().sweeps.begin()->second;
  EXPECT_EQ(sweep.finished, 2);
  for (const std::int64_t trial : {1, 2})
    EXPECT_EQ(life.store->curve({sweep.id, trial, 0}, "loss").size(), 2u);
  EXPECT_EQ(life.store->trial({sweep.id, 1, 0})->seed, 1u);
  EXPECT_EQ(life.store->trial({sweep.id, 2, 0})->seed, 2u);
  EXPECT_TRUE(world.cluster.jobs.empty());
}

INSTANTIATE_TEST_SUITE_P(Point, CrashWhileImporting, testing::Values("in_import", "after_import"),
                         [](const auto& name) { return name.param; });

class CrashWhileChoosing : public testing::TestWithParam<std::string> {};

/// As the server does it, which asks the controller what waits for a configuration.
void choose_what_waits(Controller& controller, std::int64_t sweep) {
  if (const auto trial = next_choice(controller.state().sweeps.at(sweep)))
    controller.choose({{{sweep, *trial, 0},
                        fmt::format(R"({{"chosen":{}}})", *trial),
                        R"({"steps":4})",
                        "fedcba9876543210fedcba9876543210",
                        "by the test"}});
}

TEST_P(CrashWhileChoosing, EachConfigurationIsChosenOnce) {
  World world;
  world.cluster.steps = steps;
  jobspec::Sweep wanted = test::sweep_of(trials);
  wanted.learning = jobspec::Learning{1, 2, 1};
  int kills = 0;
  std::int64_t sweep = 0;
  {
    const Handler handler([&](std::string_view point) {
      if (point == GetParam() && ++kills % 2 == 1) throw Killed{};
    });
    {
      World::Life life(world);
      sweep = submit(*life.controller, wanted);
    }
    for (bool over = false; !over;) {
      try {
        World::Life life(world);
        over = life.run_until([&] {
          choose_what_waits(*life.controller, sweep);
          return life.controller->state().sweeps.at(sweep).phase != SweepPhase::active;
        });
      } catch (const Killed&) {
      }
    }
  }
  EXPECT_GE(kills, trials - 1);
  expect_exactly_once(world, sweep);
  World::Life life(world);
  for (const auto& row : life.store->trials(sweep)) {
    const auto events = life.store->events_of(row.id);
    const auto chosen = std::count_if(events.begin(), events.end(),
                                      [](const db::Event& e) { return e.kind == "chosen"; });
    EXPECT_EQ(chosen, row.id.trial == 1 ? 0 : 1) << row.id.to_string();
    if (row.id.trial > 1) {
      EXPECT_EQ(row.parameters, fmt::format(R"({{"chosen":{}}})", row.id.trial));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Point, CrashWhileChoosing,
                         testing::Values("before_choice", "after_choice"),
                         [](const auto& name) { return name.param; });

class CrashWhileRemoving : public testing::TestWithParam<std::string> {};

TEST_P(CrashWhileRemoving, EverythingGoesAllTheSame) {
  World world;
  world.cluster.steps = steps;
  std::int64_t sweep = 0, other = 0;
  {
    World::Life life(world);
    sweep = submit(*life.controller, test::sweep_of(trials));
    other = submit(*life.controller, test::sweep_of(trials));
  }
  ASSERT_TRUE(world.run_to_the_end());
  // What is outside stays, whatever links to it.
  const auto outside = world.dir.path() / "outside";
  std::filesystem::create_directory(outside);
  test::write_file(outside / "kept", "x");
  const auto folder = world.home().runs() / std::to_string(sweep);
  std::filesystem::create_directory_symlink(outside, folder / "1/1/link");
  int kills = 0;
  {
    const Handler handler([&](std::string_view point) {
      if (point == GetParam() && kills < 2) {
        ++kills;
        throw Killed{};
      }
    });
    {
      World::Life life(world);
      life.controller->remove(sweep, "me");
    }
    for (bool gone = false; !gone;) {
      try {
        World::Life life(world);
        gone = life.run_until([&] { return life.controller->state().sweeps.count(sweep) == 0; });
      } catch (const Killed&) {
      }
    }
  }
  EXPECT_EQ(kills, 2);
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(std::filesystem::exists(outside / "kept"));
  {
    World::Life life(world);
    EXPECT_FALSE(life.store->sweep(sweep));
    EXPECT_TRUE(life.store->trials(sweep).empty());
    EXPECT_FALSE(life.store->events_of({sweep, 0, 0}).empty()) << "its history stays";
    const auto rows = life.store->query("SELECT count(*) FROM metrics WHERE sweep = 1", 1, 5);
    EXPECT_EQ(rows.rows[0][0].as_int(), 0);
  }
  expect_exactly_once(world, other);
}

INSTANTIATE_TEST_SUITE_P(Point, CrashWhileRemoving, testing::Values("in_removal", "before_removed"),
                         [](const auto& name) { return name.param; });

// Between a folder and the intent that names it: nobody knows whose it is, and it goes with its
// sweep.
TEST(Crash, AFolderThatNobodyNotedGoesWithItsSweep) {
  World world;
  std::int64_t sweep = 0;
  {
    int passes = 0;
    const Handler handler([&](std::string_view point) {
      if (point == "before_intent" && ++passes == 2) throw Killed{};
    });
    World::Life life(world);
    sweep = submit(*life.controller, test::sweep_of(trials));
    EXPECT_THROW(life.run_until([] { return false; }), Killed);
  }
  const auto folder = world.home().runs() / std::to_string(sweep);
  ASSERT_TRUE(std::filesystem::exists(folder / "1/1"));
  World::Life life(world);
  life.controller->cancel({sweep, 0, 0}, "me");
  life.controller->remove(sweep, "me");
  ASSERT_TRUE(life.run_until([&] { return life.controller->state().sweeps.count(sweep) == 0; }));
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(Crash, AfterALostAnswerTheHeldJobIsTaken) {
  // The worst case: the answer to the submission is lost and the controller ends before it can
  // look.
  World world;
  world.cluster.on_submit = [](const LaunchRequest&) { return SubmitOutcome::unknown; };
  std::int64_t sweep = 0;
  int kills = 0;
  {
    const Handler handler([&](std::string_view point) {
      if (point == "after_submit" && kills < 1) {
        ++kills;
        throw Killed{};
      }
    });
    {
      World::Life life(world);
      sweep = submit(*life.controller, test::sweep_of(trials));
    }
    ASSERT_TRUE(world.run_to_the_end());
  }
  EXPECT_EQ(kills, 1);
  expect_exactly_once(world, sweep);
}

}  // namespace
}  // namespace thalweg::daemon
