// The controller against a scripted backend and a real database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "base/machine.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"
#include "db/sqlite/connection.h"
#include "db/store.h"
#include "jobspec/trial.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

using test::FakeJob;
using test::submit;
using test::World;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct ControllerTest : testing::Test {
  World world;
  std::unique_ptr<World::Life> life = std::make_unique<World::Life>(world);

  Controller& controller() { return *life->controller; }
  void restart() {
    life.reset();
    life = std::make_unique<World::Life>(world);
  }
  /// Of intervals: 2 ms from one look at the backend to the next, however long that takes.
  void time_is_looks() {
    world.options = [this](ControllerOptions& options) {
      options.steady = [this] { return 500 + 0.002 * world.cluster.looks; };
    };
  }
  bool over(std::int64_t sweep) {
    return controller().state().sweeps.at(sweep).phase != SweepPhase::active;
  }
  bool run_to_end(std::int64_t sweep) {
    return life->run_until([&] { return over(sweep); });
  }
  db::TrialRow trial(std::int64_t sweep, std::int64_t number) {
    return life->store->trials(sweep).at(static_cast<std::size_t>(number - 1));
  }
  std::string sweep_state(std::int64_t sweep) {
    return std::string(name_of(life->store->sweep(sweep)->state));
  }
};

TEST_F(ControllerTest, RunsASweepToItsEnd) {
  const auto id = submit(controller(), test::sweep_of(3));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "finished");
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(trial(id, i).state, TrialPhase::finished);
    const auto attempt = life->store->attempt({id, i, 1});
    ASSERT_TRUE(attempt);
    EXPECT_EQ(attempt->state, db::AttemptState::finished);
    EXPECT_EQ(attempt->node_list, "n1");
    EXPECT_GT(attempt->ended, 0);
    EXPECT_EQ(life->store->curve({id, i, 0}, "train/loss").size(), 4u);
  }
}

TEST_F(ControllerTest, AnAttemptThatSharesAJobIsKnownByItsStep) {
  world.cluster.on_release = [](FakeJob& job) {
    job.job_step = "4711." + std::to_string(job.id.trial);
  };
  const auto id = submit(controller(), test::sweep_of(2));
  const auto runs = [&] {
    const auto attempt = life->store->attempt({id, 1, 1});
    return attempt && attempt->state == db::AttemptState::running;
  };
  ASSERT_TRUE(life->run_until(runs));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->handle, "4711.1");
  restart();
  ASSERT_TRUE(run_to_end(id)) << "to the backend it is what it was";
  EXPECT_EQ(life->store->attempt({id, 1, 1})->handle, "4711.1");
  EXPECT_EQ(life->store->attempt({id, 2, 1})->handle, "4711.2");
  EXPECT_EQ(trial(id, 1).attempts, 1);
}

TEST_F(ControllerTest, AddedTrialsRunInASweepThatHadEnded) {
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(run_to_end(id));
  auto wide = test::sweep_of(3);
  wide.resources.nodes = 8;
  test::extend(controller(), id, wide);
  EXPECT_EQ(sweep_state(id), "active");
  EXPECT_EQ(life->store->sweep(id)->ended, 0);
  EXPECT_EQ(life->store->sweep(id)->text, "name: test\nmore: true");
  restart();
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 3).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 1).attempts, 1);
  EXPECT_EQ(jobspec::read_trial(world.dir.path() / "runs/1/3/1/trial.yaml").sweep_ranks, 8);
  controller().retry({id, 1, 0}, {TrialPhase::finished}, "me");
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(jobspec::read_trial(world.dir.path() / "runs/1/1/2/trial.yaml").sweep_ranks, 1)
      << "a wider trial changes nothing for those that were there";
}

TEST_F(ControllerTest, TheAttemptFolderIsWholeAndPrivate) {
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  const auto file = world.dir.path() / "runs/1/1/1/trial.yaml";
  const auto trial = jobspec::read_trial(file);
  EXPECT_EQ(trial.id, (Id{id, 1, 1}));
  EXPECT_EQ(trial.token, life->store->attempt({id, 1, 1})->token);
  EXPECT_EQ(trial.train.find("steps")->as_int(), 4);
  EXPECT_THAT(trial.resume, IsEmpty());
  EXPECT_EQ(std::filesystem::status(file).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(ControllerTest, AFailedAttemptIsRetriedFromItsCheckpoint) {
  world.cluster.on_step = [](FakeJob& job) {
    if (job.id.attempt != 1 || job.step != 2) return;
    std::filesystem::create_directories(job.folder / "checkpoints");
    std::ofstream(job.folder / "failure.launch.json")
        << R"x({"time":5,"rank":1,"node":"n2","message":"rank 1 was killed by signal 9 (Killed)"})x";
    job.phase = JobPhase::ended;
    job.exit_code = 137;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "finished");
  const auto first = life->store->attempt({id, 1, 1});
  EXPECT_EQ(first->state, db::AttemptState::failed);
  EXPECT_EQ(first->failed_rank, 1);
  EXPECT_EQ(first->failed_node, "n2");
  EXPECT_THAT(first->reason, HasSubstr("killed by signal 9"));
  const auto second = jobspec::read_trial(world.dir.path() / "runs/1/1/2/trial.yaml");
  EXPECT_THAT(second.resume, ElementsAre(world.dir.path() / "runs/1/1/1/checkpoints"));
  EXPECT_NE(second.token, first->token);
}

/// Three nodes, of which n2 fails each attempt at once.
TEST_F(ControllerTest, ANodeThatFailsTrialsInARowIsLeftOut) {
  world.cluster.room = 3;
  std::map<std::string, std::string> excluded;  // by attempt
  world.cluster.on_submit = [&](const LaunchRequest& request) {
    const auto exclude = request.slurm.options.find("exclude");
    excluded[request.id.to_string()] =
        exclude == request.slurm.options.end() ? "" : exclude->second;
    return SubmitOutcome::accepted;
  };
  int on_bad = 0;
  world.cluster.on_release = [&](FakeJob& job) {
    std::set<std::string> idle{"n1", "n2", "n3"};
    for (const auto& [handle, other] : world.cluster.jobs)
      if (other.phase == JobPhase::running && other.handle != job.handle) idle.erase(other.node);
    if (excluded[job.id.to_string()] == "n9,n2") idle.erase("n2");
    job.node = idle.count("n2") != 0 ? "n2" : idle.empty() ? "n1" : *idle.begin();
    on_bad += job.node == "n2" ? 1 : 0;
  };
  world.cluster.on_step = [](FakeJob& job) {
    if (job.node != "n2") return;
    std::ofstream(job.folder / "stderr.log") << "CUDA error: out of memory\n";
    job.phase = JobPhase::ended;
    job.exit_code = 1;
  };
  auto sweep = test::sweep_of(60);
  sweep.slurm.options["exclude"] = "n9";
  sweep.limits.max_retries = 5;
  const auto id = submit(controller(), sweep);
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "finished");
  EXPECT_LT(on_bad, 20);
  const auto last = life->store->attempt({id, 60, trial(id, 60).attempts});
  EXPECT_THAT(last->size_reason, HasSubstr("n2 is left out: "));
  restart();
  EXPECT_EQ(controller().state().sweeps.at(id).nodes.at("n2").finished, 0);
}

/// The same of GPUs of one machine, of which two are known as soon as both have been used.
TEST_F(ControllerTest, AGpuThatFailsTrialsInARowIsLeftOut) {
  for (const int gpus : {2, 4}) {
    world.cluster.room = gpus;
    std::map<std::string, std::vector<std::string>> without;  // by attempt
    world.cluster.on_submit = [&](const LaunchRequest& request) {
      EXPECT_EQ(request.slurm.options.count("exclude"), 0u);
      without[request.id.to_string()] = request.without_gpus;
      return SubmitOutcome::accepted;
    };
    int on_bad = 0, without_bad = 0;
    world.cluster.on_release = [&](FakeJob& job) {
      std::set<std::string> idle;
      for (int i = 0; i < gpus; ++i)
        idle.insert(std::to_string(i));
      for (const auto& [handle, other] : world.cluster.jobs)
        if (other.phase == JobPhase::running && other.handle != job.handle)
          for (const std::string& gpu : other.gpus)
            idle.erase(gpu);
      const auto& left_out = without[job.id.to_string()];
      EXPECT_LE(left_out.size(), 1u);
      if (left_out == std::vector<std::string>{"1"}) {
        idle.erase("1");
        ++without_bad;
      }
      job.gpus = {idle.count("1") != 0 ? "1" : idle.empty() ? "0" : *idle.begin()};
      on_bad += job.gpus[0] == "1" ? 1 : 0;
    };
    world.cluster.on_step = [](FakeJob& job) {
      if (job.gpus != std::vector<std::string>{"1"}) return;
      std::ofstream(job.folder / "stderr.log") << "CUDA error: out of memory\n";
      job.phase = JobPhase::ended;
      job.exit_code = 1;
    };
    auto sweep = test::sweep_of(60);
    sweep.limits.max_retries = 5;
    for (auto& resources : {&sweep.resources})
      resources->gpus_per_node = 1;
    const auto id = submit(controller(), sweep);
    ASSERT_TRUE(run_to_end(id));
    EXPECT_EQ(sweep_state(id), "finished");
    EXPECT_LT(on_bad, 30);
    EXPECT_GT(without_bad, 20);
    const auto last = life->store->attempt({id, 60, trial(id, 60).attempts});
    EXPECT_THAT(last->size_reason, HasSubstr("GPU 1 is left out: "));
    restart();
    EXPECT_EQ(controller().state().sweeps.at(id).nodes.at("GPU 1").finished, 0);
  }
}

TEST_F(ControllerTest, BadInputIsNotRetried) {
  world.cluster.on_step = [](FakeJob& job) {
    std::ofstream(job.folder / "stderr.log") << "trial.yaml:3: model: no such model\n";
    job.phase = JobPhase::ended;
    job.exit_code = 2;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::failed);
  EXPECT_EQ(trial(id, 1).attempts, 1);
  EXPECT_THAT(trial(id, 1).reason, HasSubstr("no such model"));
}

TEST_F(ControllerTest, AFailureStormStopsTheSweep) {
  world.cluster.room = 2;
  world.cluster.on_step = [](FakeJob& job) {
    job.phase = JobPhase::ended;
    job.exit_code = 2;
  };
  const auto id = submit(controller(), test::sweep_of(50));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "failed");
  EXPECT_LT(world.cluster.submissions.size(), 10u);
  EXPECT_THAT(trial(id, 50).reason, HasSubstr("failed in the same way"));
}

TEST_F(ControllerTest, RefusedIsFinalLaterIsNot) {
  int later = 3;
  world.cluster.on_submit = [&](const LaunchRequest& request) {
    if (request.id.trial == 1) return SubmitOutcome::refused;
    return later-- > 0 ? SubmitOutcome::retry_later : SubmitOutcome::accepted;
  };
  // Pauses between postponed submissions are seconds: a clock of our own goes faster.
  double now = 1000;
  world.options = [&](ControllerOptions& options) { options.now = [&] { return now += 0.05; }; };
  restart();
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::failed);
  EXPECT_EQ(trial(id, 1).reason, "as scripted");
  EXPECT_EQ(trial(id, 2).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 2).attempts, 1) << "the same attempt was submitted again";
}

TEST_F(ControllerTest, ALostAnswerToASubmissionMakesNoSecondRun) {
  bool lose = true;
  world.cluster.on_submit = [&](const LaunchRequest&) {
    return std::exchange(lose, false) ? SubmitOutcome::unknown : SubmitOutcome::accepted;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "finished");
  EXPECT_EQ(world.cluster.submissions.size(), 1u) << "the held job was found and taken";
}

// Somebody was quicker than we: the job has no token, but it works in the attempt's folder.
TEST_F(ControllerTest, AJobWhoseCommentWasChangedBeforeWeHeardOfItIsFound) {
  world.cluster.comments_changed = true;
  bool lose = true;
  world.cluster.on_submit = [&](const LaunchRequest&) {
    return std::exchange(lose, false) ? SubmitOutcome::unknown : SubmitOutcome::accepted;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "finished");
  EXPECT_EQ(world.cluster.submissions.size(), 1u);
}

TEST_F(ControllerTest, WhatIsLeftOfASweepThatHasEndedIsEndedByTheNextController) {
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  restart();
  FakeJob& rest = *world.cluster.job_of("1.1.1");
  rest.phase = JobPhase::running;
  world.cluster.steps = 1000000;
  ASSERT_TRUE(life->run_until([&] { return rest.phase == JobPhase::ended; }));
  EXPECT_EQ(rest.cancels, 1);
}

// Its token went with its comment: the folder it works in says whose it is.
TEST_F(ControllerTest, AHeldJobOfAnEndedAttemptIsCancelledWhateverItsCommentIs) {
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  restart();
  FakeJob& rest = *world.cluster.job_of("1.1.1");
  rest.phase = JobPhase::held;
  world.cluster.comments_changed = true;
  FakeJob strange = rest;
  strange.handle = "9000";
  strange.folder = world.dir.path() / "elsewhere" / "1" / "1" / "1";
  world.cluster.jobs["9000"] = strange;
  ASSERT_TRUE(life->run_until([&] { return rest.phase == JobPhase::ended; }));
  EXPECT_EQ(world.cluster.jobs["9000"].phase, JobPhase::held) << "a job of somebody else";
}

TEST_F(ControllerTest, AHeldDoubleIsCancelledAndNeverRuns) {
  world.cluster.steps = 30;
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] { return world.cluster.job_of("1.1.1") != nullptr; }));
  FakeJob twin = *world.cluster.job_of("1.1.1");
  twin.handle = "9000";
  twin.phase = JobPhase::held;
  twin.runs = 0;
  world.cluster.jobs["9000"] = twin;
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(world.cluster.jobs["9000"].phase, JobPhase::ended);
  EXPECT_EQ(world.cluster.jobs["9000"].runs, 0);
  EXPECT_EQ(trial(id, 1).attempts, 1);
}

TEST_F(ControllerTest, WhatIsLeftOverIsAskedToEndEveryFiveSecondsAndLoggedOnce) {
  double now = 1000;
  world.options = [&](ControllerOptions& options) { options.now = [&] { return now; }; };
  restart();
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] {
    now += 0.01;
    return over(id);
  }));
  const auto file = world.dir.path() / "controller.log";
  log::open(file, false);
  FakeJob& rest = *world.cluster.job_of("1.1.1");
  rest.phase = JobPhase::running;
  rest.deaf = true;
  world.cluster.steps = 1000000;
  const auto look = [&](int times) {
    const int until = world.cluster.looks + times;
    return life->run_until([&] {
      world.cluster.tell_end();  // idle as it is, it would take its time
      return world.cluster.looks >= until;
    });
  };
  ASSERT_TRUE(look(5));
  EXPECT_EQ(rest.cancels, 1);
  now += 4.9;
  ASSERT_TRUE(look(5));
  EXPECT_EQ(rest.cancels, 1);
  now += 0.2;
  ASSERT_TRUE(look(5));
  EXPECT_EQ(rest.cancels, 2);
  const std::string log = test::read_file(file);
  EXPECT_THAT(log, HasSubstr("left over from an attempt that has ended: cancelled"));
  EXPECT_THAT(log, HasSubstr(" 1.1.1 ending "));
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 2) << log;
}

TEST_F(ControllerTest, AStopAfterTheBackendsWarningIsOneAtTheTimeLimit) {
  world.cluster.on_step = [](FakeJob& job) {
    if (job.id.attempt != 1 || job.step != 2) return;
    write_line(job, R"("type":"end","status":"stopped","step":2,"reason":"asked to stop")");
    job.phase = JobPhase::ended;
    job.exit_code = 75;
    job.warned = true;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::stopped);
  EXPECT_EQ(life->store->attempt({id, 1, 1})->reason, "stopped at its time limit");
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
}

TEST_F(ControllerTest, JobsOfOtherControllersAreLeftAlone) {
  world.cluster.jobs["7"] = {
      "7", "a token of somebody else", world.dir.path(), {}, JobPhase::held, 0, 0, false, {}, 0};
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(world.cluster.jobs["7"].phase, JobPhase::held);
}

TEST_F(ControllerTest, AReusedNumberIsNotOurJob) {
  bool reused = false;
  world.cluster.steps = 30;
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.step != 3 || std::exchange(reused, true)) return;
    job.token = "of another user";
    job.folder = world.dir.path();
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::lost);
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 1).attempts, 2);
}

TEST_F(ControllerTest, AVanishedJobIsLostAndRunAgain) {
  world.cluster.steps = 100000;
  bool begun = false;
  world.cluster.on_step = [&](FakeJob& job) { begun = begun || job.step == 2; };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] { return begun; }));
  world.cluster.steps = 4;
  world.cluster.jobs.clear();
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::lost);
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
}

TEST_F(ControllerTest, WhatWasLostBeforeItStartedHasEndedAllTheSame) {
  world.cluster.on_release = [](FakeJob& job) { job.forgotten = job.mute = job.id.attempt == 1; };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  const auto first = life->store->attempt({id, 1, 1});
  EXPECT_EQ(first->state, db::AttemptState::lost);
  EXPECT_EQ(first->started, 0);
  EXPECT_GE(first->ended, first->launched);
}

// The controller's clock is a day behind the backend's.
TEST_F(ControllerTest, NoAttemptEndsBeforeItStarted) {
  world.options = [](ControllerOptions& options) { options.now = [] { return 100'000.0; }; };
  restart();
  world.cluster.on_step = [](FakeJob& job) { job.started = 186'400; };
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(run_to_end(id));
  for (const auto& attempt : life->store->attempts(id)) {
    EXPECT_EQ(attempt.started, 186'400);
    EXPECT_GE(attempt.ended, attempt.started);
  }
}

TEST_F(ControllerTest, AClockThatIsSetOnCostsNothing) {
  constexpr double day = 86'400;
  const double begun = unix_now();
  double set = 0;
  const auto steady = [begun] { return unix_now() - begun + 1; };
  world.options = [&](ControllerOptions& options) {
    options.now = [&set] { return unix_now() + set; };
    options.steady = steady;
  };
  world.cluster.here = true;
  restart();
  for (const double by : {day, -day}) {
    world.cluster.on_step = [&](FakeJob& job) {
      if (job.step == 2 && job.id.trial == 1) set += by;
    };
    jobspec::Sweep sweep = test::sweep_of(3);
    sweep.limits.node_hours = 1;
    const auto id = submit(controller(), sweep);
    ASSERT_TRUE(run_to_end(id));
    EXPECT_EQ(life->store->sweep(id)->state, SweepPhase::finished);
    EXPECT_LT(controller().state().sweeps.at(id).node_seconds, 3600);
    const auto events = life->store->events_of({id, 1, 1});
    EXPECT_TRUE(std::any_of(events.begin(), events.end(),
                            [](const db::Event& e) { return e.kind == "clock_set"; }));
  }
}

TEST_F(ControllerTest,
       ACancellationFromOutsideIsRespectedButNotOneOfAJobThatRanAndSupposedlyDidNot) {
  const double started_as_told[] = {0, 1};
  const TrialPhase ends_as[] = {TrialPhase::finished, TrialPhase::cancelled};
  for (int i = 0; i < 2; ++i) {
    bool first = true;
    world.cluster.on_step = [&](FakeJob& job) {
      if (job.step != 2 || !std::exchange(first, false)) return;
      job.phase = JobPhase::ended;
      job.cancelled = true;
      job.started = started_as_told[i];
    };
    const auto id = submit(controller(), test::sweep_of(1));
    ASSERT_TRUE(run_to_end(id));
    EXPECT_EQ(trial(id, 1).state, ends_as[i]);
    EXPECT_EQ(trial(id, 1).attempts, 2 - i);
  }
}

TEST_F(ControllerTest, AJobCancelledBeforeItsEngineStartedIsRunAgainAndTheSweepIsNoSuccess) {
  // A failing prolog: Slurm gives nodes, then calls it cancelled. Each time for the second trial.
  world.options = [](ControllerOptions& options) { options.policy.max_backoff_s = 0.02; };
  restart();
  int cut = 0;
  world.cluster.on_release = [&](FakeJob& job) {
    if (job.id.trial == 1 && job.id.attempt > 1) return;
    ++cut;
    job.phase = JobPhase::ended;
    job.cancelled = true;
    job.started = 1;
  };
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(cut, 1 + 5);
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::lost);
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 2).state, TrialPhase::failed);
  EXPECT_THAT(trial(id, 2).reason, HasSubstr("ended it before the engine had started"));
  EXPECT_EQ(sweep_state(id), "failed");
}

// slurmctld, back with an older state, holds the job (JobHeldUser) that has run to its end.
TEST_F(ControllerTest, AnEndRecordCountsWhateverTheBackendTakesTheJobFor) {
  world.options = [](ControllerOptions& options) { options.settle_s = 0.05; };
  restart();
  const JobPhase phases[] = {JobPhase::held, JobPhase::queued, JobPhase::running};
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.step != world.cluster.steps) return;
    write_line(job, R"("type":"end","status":"finished","step":4,"reason":"")");
    job.phase = phases[job.id.trial - 1];
    job.lingers = true;
  };
  const auto id = submit(controller(), test::sweep_of(3));
  ASSERT_TRUE(run_to_end(id));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(trial(id, i).state, TrialPhase::finished) << i;
    EXPECT_EQ(trial(id, i).attempts, 1) << i;
    const FakeJob& job = *world.cluster.job_of(Id{id, i, 1}.to_string());
    EXPECT_EQ(job.phase, JobPhase::ended) << i << " is not left behind";
    EXPECT_EQ(job.runs, 1) << i << " is not released again";
  }
}

TEST_F(ControllerTest, AnEndRecordCountsAloneWhereNothingEndsTheJob) {
  world.options = [](ControllerOptions& options) { options.settle_s = options.linger_s = 0.05; };
  restart();
  world.cluster.on_step = [&](FakeJob& job) { job.lingers = job.deaf = true; };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_GE(world.cluster.job_of("1.1.1")->cancels, 1);
}

// slurmctld, back from a crash, does not know a job whose ranks train on.
TEST_F(ControllerTest, ASuccessorWaitsUntilItsForgottenPredecessorHasEnded) {
  world.options = [](ControllerOptions& options) { options.fence_s = 600; };  // not by silence
  restart();
  world.cluster.steps = 12;
  int together = 0, ended_at = 0;
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.id.attempt == 1) {
      if (job.step == 3) {
        job.forgotten = true;
        job.unfenced = 5;
      }
      ended_at = job.step;
    } else {
      together += world.cluster.job_of("1.1.1")->phase == JobPhase::running ? 1 : 0;
    }
  };
  world.cluster.on_release = [&](FakeJob& job) {
    if (job.id.attempt == 2) job.step = job.resumed = ended_at;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] {
    const auto* live = controller().state().live({id, 1, 1});
    return live != nullptr && !live->fenced.empty();
  }));
  const SweepView view = controller().view(id);
  EXPECT_EQ(view.trials.at(1).waiting_for, "the end of 1.1.1: the cluster has forgotten it");
  restart();
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 1).attempts, 2);
  EXPECT_EQ(together, 0) << "never two at once";
  EXPECT_GT(ended_at, 3);
  const auto first = life->store->attempt({id, 1, 1});
  EXPECT_EQ(first->state, db::AttemptState::lost);
  EXPECT_EQ(first->reason, "the cluster has forgotten it: told to, it ended itself");
  EXPECT_EQ(first->journal_lines, 1 + 2 * ended_at + 1) << "everything that it wrote";
  EXPECT_EQ(life->store->curve({id, 1, 0}, "train/loss").size(), 12u);
}

// It cannot be reached, and nothing comes from it any more.
TEST_F(ControllerTest, ASilentForgottenAttemptHasEndedAndLateLinesAreReadAllTheSame) {
  world.cluster.steps = 8;
  std::int64_t lines = 0;
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.id.attempt != 1 || job.step != 3) return;
    job.forgotten = true;
    job.phase = JobPhase::ended;  // out of reach
  };
  world.cluster.on_release = [&](FakeJob& job) {
    if (job.id.attempt != 2) return;
    // It was not silent but slow: there is a later checkpoint than the record knew.
    FakeJob& first = *world.cluster.job_of("1.1.1");
    lines = life->store->attempt({1, 1, 1})->journal_lines;
    for (int step = 4; step <= 5; ++step)
      write_line(first, "\"type\":\"metrics\",\"points\":[[\"train/loss\"," + std::to_string(step) +
                            ",0.5]]");
    job.step = job.resumed = 5;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->reason,
            "the cluster has forgotten it: it has gone silent");
  EXPECT_TRUE(std::filesystem::exists(world.dir.path() / "runs/1/1/1/fenced"));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->journal_lines, lines + 2);
  EXPECT_EQ(life->store->curve({id, 1, 0}, "train/loss").size(), 8u);
}

// Each look is a question to slurmctld.
TEST_F(ControllerTest, ABackendIsAskedSeldomWhileJournalsGrowOrJobsQueue) {
  double now = 1000;
  long turns = 0;
  world.options = [&](ControllerOptions& options) {
    options.steady = [&] { return ++turns, now; };
  };
  world.rest_s = 30;
  world.cluster.steps = 1000000;
  world.cluster.on_release = [](FakeJob& job) { job.phase = JobPhase::queued; };
  restart();
  const auto id = submit(controller(), test::sweep_of(1));
  const auto looks_of_many_turns = [&] {
    const int looks = world.cluster.looks;
    const long until = turns + 1000;
    EXPECT_TRUE(life->run_until([&] { return turns > until; }));
    return world.cluster.looks - looks;
  };
  const auto phase = [&] {
    const auto* live = controller().state().live({id, 1, 1});
    return live == nullptr ? AttemptPhase::launching : live->phase;
  };
  ASSERT_TRUE(life->run_until([&] { return phase() == AttemptPhase::released; }));
  EXPECT_GT(looks_of_many_turns(), 10) << "it has just been queued";
  now += 31;
  EXPECT_LE(looks_of_many_turns(), 1);
  FakeJob& job = *world.cluster.job_of("1.1.1");
  job.mute = true;  // its lines are written here
  job.phase = JobPhase::running;
  write_line(job, R"("type":"start","format":1,"steps":1000000)");
  ASSERT_TRUE(life->run_until([&] { return phase() == AttemptPhase::running; }))
      << "its first line is news";
  for (int i = 0; i < 2; ++i) {
    EXPECT_LE(looks_of_many_turns(), 1);
    now += 20;
    const auto lines = life->store->attempt({id, 1, 1})->journal_lines;
    write_line(job, R"("type":"note","level":"info","text":"busy")");
    ASSERT_TRUE(life->run_until([&] {
      return life->store->attempt({id, 1, 1})->journal_lines > lines;
    }));
  }
  now += 31;
  EXPECT_GT(looks_of_many_turns(), 10) << "nothing is heard of it";
}

// A slurmstepd that dies before it has started its ranks: srun waits until the job's time limit.
TEST_F(ControllerTest, AJobWhoseRanksWereNeverStartedIsEndedAndTriedAgain) {
  time_is_looks();
  world.start_timeout_s = 0.05;
  restart();
  world.cluster.on_release = [&](FakeJob& job) { job.mute = job.id.attempt == 1; };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 1).attempts, 2);
  const auto first = life->store->attempt({id, 1, 1});
  EXPECT_EQ(first->state, db::AttemptState::lost);
  EXPECT_EQ(
      first->reason,
      "its ranks gave no sign within 0.05 s of its start (start_timeout): it has gone silent");
  EXPECT_EQ(world.cluster.job_of(Id{id, 1, 1}.to_string())->phase, JobPhase::ended);
  EXPECT_TRUE(std::filesystem::exists(world.dir.path() / "runs/1/1/1/fenced"))
      << "a rank that comes late ends itself";
}

TEST_F(ControllerTest, AJobThatHasReportedOnceIsNoneThatNeverStarted) {
  time_is_looks();
  world.start_timeout_s = 0.05;
  restart();
  world.cluster.on_step = [&](FakeJob& job) { job.mute = job.step == 1 && job.id.attempt == 1; };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] {
    const FakeJob* job = world.cluster.job_of("1.1.1");
    return job != nullptr && job->step == 1;
  }));
  const int looks = world.cluster.looks;
  ASSERT_TRUE(life->run_until([&] { return world.cluster.looks > looks + 200; }));
  const auto* live = controller().state().live({id, 1, 1});
  ASSERT_NE(live, nullptr);
  EXPECT_EQ(live->fenced, "");
  world.cluster.job_of("1.1.1")->mute = false;
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).attempts, 1);
}

TEST_F(ControllerTest, WhatOutlivedTheBackendsKnowledgeOfItIsCounted) {
  double now = 1000;
  world.options = [&](ControllerOptions& options) { options.now = [&] { return now += 0.001; }; };
  restart();
  world.cluster.steps = 1000;
  world.cluster.on_step = [&](FakeJob& job) {
    job.started = 1000;
    if (job.id.attempt == 1 && !std::exchange(job.forgotten, true)) job.unfenced = 30;
    if (job.id.attempt == 2) world.cluster.steps = job.step;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] {
    now = std::max(now, 1100.0);  // the journal's lines are of 1001, 1002 ...
    return over(id);
  }));
  const auto first = life->store->attempt({id, 1, 1});
  EXPECT_GT(first->ended, 1030) << "until its last line";
  EXPECT_GT(controller().state().sweeps.at(id).node_seconds, 30);
}

TEST_F(ControllerTest, ASecondStartIsNoFailureOfTheAttempt) {
  world.cluster.on_step = [](FakeJob& job) {
    if (job.id.attempt != 1) return;
    job.phase = JobPhase::ended;
    job.exit_code = 76;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::lost);
  EXPECT_EQ(controller().state().trial({id, 1, 0})->failures, 0);
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
}

TEST_F(ControllerTest, AFencedAttemptThatTheBackendKnowsAgainIsEnded) {
  world.options = [](ControllerOptions& options) { options.fence_s = 600; };
  restart();
  world.cluster.steps = 1000000;
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.id.attempt == 1 && job.step == 3) job.forgotten = true;
    if (job.id.attempt == 2) world.cluster.steps = 4;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] {
    const auto* live = controller().state().live({id, 1, 1});
    return live != nullptr && !live->fenced.empty();
  }));
  world.cluster.job_of("1.1.1")->forgotten = false;
  world.cluster.steps_per_poll = 4;
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(world.cluster.job_of("1.1.1")->cancels, 1);
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 1).attempts, 2);
}

TEST_F(ControllerTest, AHoldByHandIsRespectedAForgottenReleaseIsNot) {
  world.options = [](ControllerOptions& options) { options.held_again_s = 0.01; };
  restart();
  bool first[] = {true, true};
  world.cluster.on_release = [&](FakeJob& job) {
    if (!std::exchange(first[job.id.trial - 1], false)) return;
    job.phase = JobPhase::held;
    job.held_by_hand = job.id.trial == 1;
  };
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 2).state == TrialPhase::finished; }));
  const int until = world.cluster.looks + 20;
  ASSERT_TRUE(life->run_until([&] { return world.cluster.looks >= until; }));
  FakeJob& held = *world.cluster.job_of("1.1.1");
  EXPECT_EQ(held.phase, JobPhase::held);
  EXPECT_EQ(held.runs, 1);
  held.phase = JobPhase::running;
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
}

// slurmctld was killed and has forgotten release and start.
TEST_F(ControllerTest, AnAttemptThatRanAndIsHeldAgainIsEndedAndTriedAgain) {
  for (const JobPhase phase : {JobPhase::held, JobPhase::queued}) {
    world.cluster.steps = 1000000;
    world.cluster.on_step = [&](FakeJob& job) {
      if (job.id.attempt == 1 && job.step == 3) job.phase = phase;
      if (job.id.attempt == 2) world.cluster.steps = 4;
    };
    const auto id = submit(controller(), test::sweep_of(1));
    ASSERT_TRUE(run_to_end(id));
    EXPECT_EQ(world.cluster.job_of(std::to_string(id) + ".1.1")->cancels, 1);
    EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
    EXPECT_EQ(trial(id, 1).attempts, 2);
  }
}

// slurmctld was killed and has forgotten the start: it starts the job once more, nodes that still
// have it refuse, and the job is called cancelled. Nobody cancelled it.
TEST_F(ControllerTest, AForgottenStartsEndIsNoCancellation) {
  for (const double seen : {100.0, 0.0}) {  // when the first start was seen running; 0 = never
    world.cluster.on_step = [&](FakeJob& job) {
      if (job.id.attempt != 1) return;
      if (job.step == 1) job.started = seen;
      if (seen != 0 && job.step < 3) return;
      job.phase = JobPhase::ended;
      job.cancelled = true;
      job.started = job.ended = 104;
    };
    world.cluster.steps_per_poll = seen != 0 ? 1 : 3;
    const auto id = submit(controller(), test::sweep_of(1));
    ASSERT_TRUE(run_to_end(id));
    EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::lost) << seen;
    EXPECT_EQ(trial(id, 1).state, TrialPhase::finished) << seen;
    EXPECT_EQ(trial(id, 1).attempts, 2) << seen;
  }
}

// The same before the engine has written a line: all that tells is the output of its first start.
TEST_F(ControllerTest, ACancellationInTheSecondOfTheStartIsNoWish) {
  world.cluster.on_release = [](FakeJob& job) {
    if (job.id.attempt != 1) return;
    test::write_file(job.folder / "stdout.log", "begins\n");
    job.phase = JobPhase::ended;
    job.cancelled = true;
    job.started = job.ended = 104;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::lost);
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
}

// Cancelled, and wanted again before its end was known: no failure of its own.
TEST_F(ControllerTest, WhatEndsAsAskedAndIsWantedAgainIsNoFailure) {
  world.cluster.on_release = [](FakeJob& job) {
    job.mute = job.deaf = job.handle == "100";
    job.started = 100;
  };
  auto sweep = test::sweep_of(1);
  sweep.limits.max_retries = 0;
  const auto id = submit(controller(), sweep);
  ASSERT_TRUE(life->run_until([&] {
    const FakeJob* const job = world.cluster.job_of("1.1.1");
    return job != nullptr && job->phase == JobPhase::running;
  }));
  controller().cancel({id, 0, 0}, "me");
  FakeJob& job = *world.cluster.job_of("1.1.1");
  ASSERT_TRUE(life->run_until([&] { return job.cancels > 0; }));
  auto more = test::sweep_of(2);
  more.limits.max_retries = 0;
  test::extend(controller(), id, more);
  job.phase = JobPhase::ended;
  job.cancelled = true;
  job.ended = 104;
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::stopped);
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 1).attempts, 2);
}

// Cancelled in its first start, by whom ever: a wish.
TEST_F(ControllerTest, ACancellationOutsideIsRespected) {
  world.cluster.on_step = [&](FakeJob& job) {
    job.started = 100;
    if (job.step < 3) return;
    job.phase = JobPhase::ended;
    job.cancelled = true;
    job.ended = 104;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::cancelled);
  EXPECT_EQ(trial(id, 1).attempts, 1);
}

// What one attempt's folder holds is that attempt's trouble, now and at the next start.
TEST_F(ControllerTest, NoAttemptsFolderEndsTheController) {
  namespace fs = std::filesystem;
  const auto replace = [](const fs::path& file) {
    fs::remove_all(file);
    return file;
  };
  const std::vector<std::function<void(const fs::path&)>> damages = {
      [&](const fs::path& f) { std::ofstream(f / "journal.jsonl") << "\xff{\"n\":\xc3\n"; },
      [&](const fs::path& f) { fs::create_directory(replace(f / "journal.jsonl")); },
      [&](const fs::path& f) { fs::create_symlink("journal.jsonl", replace(f / "journal.jsonl")); },
      [&](const fs::path& f) { fs::create_directory(f / "stderr.log"); },
      [&](const fs::path& f) { fs::create_symlink("stdout.log", f / "stdout.log"); },
      [&](const fs::path& f) { fs::create_directory(f / "failure.launch.json"); },
      [&](const fs::path& f) { std::ofstream(f / "failure.rank1.json") << R"({"rank":"x"})"; },
      [&](const fs::path& f) { std::ofstream(f / "failure.rank1.json") << "[1,2]"; },
      [&](const fs::path& f) { std::ofstream(f / "stderr.log") << "no \xff text\n"; },
      [&](const fs::path& f) { fs::create_symlink(f.filename(), replace(f)); },
      [&](const fs::path& f) { std::ofstream(replace(f)) << "a file"; },
  };
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.id.attempt != 1 || job.step != 2) return;
    damages[static_cast<std::size_t>(job.id.trial - 1)](job.folder);
    job.phase = JobPhase::ended;
    job.exit_code = 1;
  };
  const auto id = submit(controller(), test::sweep_of(static_cast<int>(damages.size())));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "finished");
  ASSERT_NO_THROW(restart());
  ASSERT_TRUE(run_to_end(id));
}

TEST_F(ControllerTest, AVanishedJobThatLeftAnEndRecordIsFinished) {
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.step != 4) return;
    write_line(job, R"("type":"end","status":"finished","step":4,"reason":"")");
    job.handle = "gone";
    job.token = "gone";
    job.phase = JobPhase::missing;
  };
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::finished);
  EXPECT_EQ(trial(id, 1).attempts, 1);
}

/// Its end counts when all of its journal has been read, which takes many turns.
TEST_F(ControllerTest, ALongJournalIsReadInTurnsBeforeItsAttemptEnds) {
  constexpr int more = 2000;
  world.options = [](ControllerOptions& options) {
    options.journals.least_bytes = options.journals.turn_bytes = 4096;
  };
  restart();
  world.cluster.on_step = [](FakeJob& job) {
    if (job.step != 4 || job.id.trial != 1) return;
    std::string text;
    const auto lines = test::read_file(job.folder / "journal.jsonl");
    const auto known = std::count(lines.begin(), lines.end(), '\n');
    for (int i = 1; i <= more; ++i)
      text += "{\"n\":" + std::to_string(known + i) +
              ",\"t\":1000.5,\"type\":\"metrics\",\"points\":[[\"train/loss\"," +
              std::to_string(4 + i) + ",1]]}\n";
    std::ofstream(job.folder / "journal.jsonl", std::ios::app) << text;
  };
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "finished");
  EXPECT_EQ(life->store->curve({id, 1, 0}, "train/loss").size(), 4u + more);
  EXPECT_EQ(life->store->curve({id, 2, 0}, "train/loss").size(), 4u);
  EXPECT_EQ(trial(id, 1).attempts, 1);
}

TEST_F(ControllerTest, ABackendOutOfReachEndsNothing) {
  world.cluster.steps = 1000;
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 1).state == TrialPhase::running; }));
  world.cluster.reachable = false;
  int rounds = 0;
  life->run_until([&] { return ++rounds > 40; });
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::running);
  world.cluster.reachable = true;
  world.cluster.steps_per_poll = 1000;
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).attempts, 1);
}

TEST_F(ControllerTest, WhatTheEngineWroteCountsWhileTheBackendIsOutOfReach) {
  world.options = [](ControllerOptions& options) { options.settle_s = 0.05; };
  restart();
  const auto id = submit(controller(), test::sweep_of(1));
  world.cluster.on_step = [&](FakeJob& job) {
    if (job.step == 3) world.cluster.reachable = false;
  };
  ASSERT_TRUE(life->run_until([&] { return !world.cluster.reachable; }));
  world.cluster.work();
  world.cluster.work();
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
}

TEST_F(ControllerTest, CancellingEndsWhatRunsAndWhatWaits) {
  world.cluster.steps = 100000;
  world.cluster.room = 1;
  const auto id = submit(controller(), test::sweep_of(3));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 1).state == TrialPhase::running; }));
  EXPECT_EQ(controller().cancel({id, 0, 0}, "me"), 3);
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "cancelled");
  EXPECT_EQ(life->store->attempt({id, 1, 1})->state, db::AttemptState::cancelled);
  EXPECT_EQ(trial(id, 3).state, TrialPhase::cancelled);
  EXPECT_EQ(controller().cancel({id, 0, 0}, "me"), 0);
  EXPECT_EQ(controller().cancel({99, 0, 0}, "me"), std::nullopt);
}

// Each plan asks once whether the trial that waits has room.
TEST_F(ControllerTest, PlansOnceARound) {
  world.options = [](ControllerOptions& options) { options.ingest_s = 600; };
  restart();
  world.cluster.room = 1;
  world.cluster.steps = 100'000;
  submit(controller(), test::sweep_of(2));
  int looks = 0, asked = 0;  // of the first rounds, in which a trial starts
  ASSERT_TRUE(life->run_until([&] {
    if (looks == 0 && world.cluster.looks > 3) {
      looks = world.cluster.looks;
      asked = world.cluster.room_asked;
    }
    return looks > 0 && world.cluster.looks > looks + 20;
  }));
  EXPECT_LE(world.cluster.room_asked - asked, world.cluster.looks - looks + 1);
  EXPECT_EQ(world.cluster.submissions.size(), 1u);
}

TEST_F(ControllerTest, RetryRunsFailedTrialsAgain) {
  bool broken = true;
  world.cluster.on_step = [&](FakeJob& job) {
    if (!broken) return;
    job.phase = JobPhase::ended;
    job.exit_code = 2;
  };
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(sweep_state(id), "failed");
  broken = false;
  EXPECT_EQ(controller().retry({id, 0, 0}, {TrialPhase::finished}, "me"), 0);
  EXPECT_EQ(controller().retry({id, 2, 0}, {TrialPhase::failed}, "me"), 1);
  EXPECT_EQ(sweep_state(id), "active");
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::failed);
  EXPECT_EQ(trial(id, 2).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 2).attempts, 2);
}

/// Lets the record grow by no page more (0), or as it likes.
void limit_pages(World::Life& life, bool full) {
  auto& connection = life.store->connection();
  connection.script("test", full ? "PRAGMA max_page_count = 1" : "PRAGMA max_page_count = 1000000");
}

TEST_F(ControllerTest, AFullDiskIsWaitedFor) {
  world.options = [](ControllerOptions& options) { options.write_again_s = 0.01; };
  restart();
  world.cluster.steps = 1000000;
  world.cluster.steps_per_poll = 1;
  const auto id = submit(controller(), test::sweep_of(3, 1000000));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 1).state == TrialPhase::running; }));
  EXPECT_TRUE(controller().troubles().empty());
  limit_pages(*life, true);
  // What the engine writes fills it.
  ASSERT_TRUE(life->run_until([&] { return !controller().troubles().empty(); }));
  EXPECT_THAT(controller().troubles().at(0), HasSubstr("is full"));
  EXPECT_THROW(submit(controller(), test::sweep_of(400)), db::CannotWrite);
  // Commands small enough to fit may still be taken; that of another sweep is not there.
  EXPECT_EQ(controller().state().sweeps.size(), 1u);
  const auto looks = world.cluster.looks;
  life->io.run_for(std::chrono::milliseconds(100));
  EXPECT_LE(world.cluster.looks, looks + 1) << "rounds rest meanwhile";
  world.cluster.steps = 1;  // the jobs end with their next step
  limit_pages(*life, false);
  ASSERT_TRUE(life->run_until([&] { return controller().troubles().empty(); }));
  ASSERT_TRUE(life->run_until([&] { return over(id); }));
  EXPECT_EQ(sweep_state(id), "finished");
  for (int number = 1; number <= 3; ++number) {
    EXPECT_EQ(
        life->store->curve({id, number, 0}, "train/loss").size(),
        static_cast<std::size_t>(world.cluster.job_of("1." + std::to_string(number) + ".1")->step))
        << "every line is in the record";
    EXPECT_EQ(trial(id, number).attempts, 1);
  }
  const auto noted = life->store->query(
      "SELECT count(*) FROM events WHERE kind = 'note' AND data LIKE '%could not be written%'", 1,
      10);
  EXPECT_GE(noted.rows.at(0).at(0).as_int(), 1);
}

TEST_F(ControllerTest, AnEventThatDoesNotFitLeavesMemoryAsTheRecordIs) {
  const auto id = submit(controller(), test::sweep_of(2));
  limit_pages(*life, true);
  EXPECT_THROW(controller().cancel({id, 1, 0}, std::string(1'000'000, 'x')), db::CannotWrite);
  EXPECT_FALSE(controller().state().trial({id, 1, 0})->cancel);
  State replayed;
  life->store->events(0, [&](const db::Event& e) { apply(replayed, e); });
  EXPECT_EQ(controller().state().last_event, replayed.last_event);
  limit_pages(*life, false);
  EXPECT_EQ(controller().cancel({id, 1, 0}, "me"), 1);
  ASSERT_TRUE(run_to_end(id));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::cancelled);
  EXPECT_EQ(trial(id, 2).state, TrialPhase::finished);
}

TEST_F(ControllerTest, AtASweepsEndTheRecordStandsInItsFile) {
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(run_to_end(id));
  const auto copy = world.dir.path() / "copy.db";
  std::filesystem::copy_file(world.home().database(), copy);  // without its write-ahead log
  EXPECT_EQ(db::Store::open(copy)->sweep(id)->state, SweepPhase::finished);
}

TEST_F(ControllerTest, ALogLineIsOneLineWhateverItQuotes) {
  const auto file = world.dir.path() / "controller.log";
  log::open(file, false);
  log::warning("sweep a\nb\x1b[2J\x7f of caf\xc3\xa9 submitted");
  EXPECT_THAT(test::read_file(file),
              HasSubstr("sweep a\\x0ab\\x1b[2J\\x7f of caf\xc3\xa9 submitted\n"));
}

/// Work on run folders hangs while this is closed. Shared with the thread that hangs in it.
struct Gate {
  std::mutex mutex;
  std::condition_variable opened;
  bool closed = false;
  int inside = 0;

  void pass() {
    std::unique_lock lock(mutex);
    ++inside;
    opened.wait(lock, [&] { return !closed; });
    --inside;
  }
  void close(bool yes) {
    const std::lock_guard lock(mutex);
    closed = yes;
    opened.notify_all();
  }
  bool empty() {
    const std::lock_guard lock(mutex);
    return inside == 0;
  }
};

TEST_F(ControllerTest, SweepsThatTheRecordHasLostAreTold) {
  const auto kept = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(kept));
  life.reset();
  const auto database = world.home().database();
  std::filesystem::copy(database, database.string() + ".before");
  life = std::make_unique<World::Life>(world);
  EXPECT_TRUE(controller().troubles().empty());
  const auto lost = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(run_to_end(lost));
  life.reset();
  for (const char* part : {"", "-wal", "-shm"})
    std::filesystem::remove(database.string() + part);
  std::filesystem::rename(database.string() + ".before", database);
  life = std::make_unique<World::Life>(world);
  ASSERT_EQ(controller().troubles().size(), 1u);
  EXPECT_THAT(
      controller().troubles().front(),
      HasSubstr("folders of sweeps that the record does not know (" + std::to_string(lost) + ")"));
  // The next one takes the number again, and none of the folders.
  const auto next = submit(controller(), test::sweep_of(1));
  EXPECT_EQ(next, lost);
  ASSERT_TRUE(run_to_end(next));
  EXPECT_NE(life->store->attempts(next).front().folder.find("1-"), std::string::npos);
}

TEST_F(ControllerTest, AHangingDiskHoldsUpNeitherCommandsNorTheEnd) {
  const auto gate = std::make_shared<Gate>();
  fault::set_handler([gate](std::string_view point) {
    const auto held = gate;  // the handler may be taken away meanwhile
    if (point == "on_disk") held->pass();
  });
  world.options = [](ControllerOptions& options) { options.disk_s = 0.05 * test::slowdown(); };
  restart();
  world.cluster.steps = 1000000;
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 2).state == TrialPhase::running; }));
  EXPECT_TRUE(controller().troubles().empty());
  gate->close(true);
  ASSERT_TRUE(life->run_until([&] { return !controller().troubles().empty(); }));
  EXPECT_THAT(controller().troubles().at(0), HasSubstr("has not answered"));
  // Jobs end meanwhile: nothing is decided about them without a look into their folders.
  world.cluster.steps = 1;
  const auto other = submit(controller(), test::sweep_of(1));
  EXPECT_EQ(controller().cancel({id, 2, 0}, "me"), 1);
  life->io.run_for(std::chrono::milliseconds(200));
  EXPECT_EQ(trial(id, 1).state, TrialPhase::running);
  EXPECT_EQ(trial(other, 1).attempts, 0);
  restart();  // the controller can be ended, and another one begins
  ASSERT_TRUE(life->run_until([&] { return !controller().troubles().empty(); }));
  gate->close(false);
  ASSERT_TRUE(life->run_until([&] { return over(id) && over(other); }));
  EXPECT_TRUE(controller().troubles().empty());
  EXPECT_EQ(trial(id, 1).state, TrialPhase::finished);
  EXPECT_EQ(trial(id, 1).attempts, 1);
  EXPECT_EQ(trial(other, 1).state, TrialPhase::finished);
  life.reset();
  ASSERT_TRUE(test::eventually([&] { return gate->empty(); }));
  fault::set_handler({});
}

TEST_F(ControllerTest, AClockThatIsSetBackHoldsUpNoCancellation) {
  double now = 1e6, steady = 500;
  world.options = [&](ControllerOptions& options) {
    options.now = [&] { return now; };
    options.steady = [&] { return steady; };
  };
  restart();
  world.cluster.steps = 1000000;
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 1).state == TrialPhase::running; }));
  FakeJob& job = *world.cluster.job_of("1.1.1");
  job.deaf = true;
  controller().cancel({id, 0, 0}, "me");
  ASSERT_TRUE(life->run_until([&] { return job.cancels == 1; }));
  EXPECT_FALSE(job.killed);
  now -= 86400;
  steady += 5.1;
  EXPECT_TRUE(
      life->run_until([&] { return job.cancels == 2; }, test::Deadline(std::chrono::seconds(5))))
      << "it never gets to SIGKILL";
  EXPECT_TRUE(job.killed);
}

TEST_F(ControllerTest, WhatWasAskedToEndIsRememberedByTheNextController) {
  double steady = 500;
  world.options = [&](ControllerOptions& options) { options.steady = [&] { return steady; }; };
  restart();
  world.cluster.steps = 1000000;
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 1).state == TrialPhase::running; }));
  FakeJob& job = *world.cluster.job_of("1.1.1");
  job.deaf = true;
  controller().cancel({id, 0, 0}, "me");
  const std::pair asked{Id{id, 1, 1}, job.handle};
  ASSERT_TRUE(life->run_until([&] { return controller().state().ending.count(asked) == 1; }));
  EXPECT_EQ(job.cancels, 1);
  restart();
  const int looks = world.cluster.looks;
  ASSERT_TRUE(life->run_until([&] { return world.cluster.looks > looks + 3; }));
  EXPECT_EQ(job.cancels, 1) << "it has its time from the start of this controller";
  steady += 5.1;
  ASSERT_TRUE(life->run_until([&] { return job.cancels == 2; }));
  EXPECT_TRUE(job.killed) << "it was asked gently before";
}

TEST_F(ControllerTest, PushesNeedTheSecretOfALiveAttempt) {
  world.cluster.steps = 1000;
  const auto id = submit(controller(), test::sweep_of(1));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 1).state == TrialPhase::running; }));
  const std::string secret = controller().state().live({id, 1, 1})->push_secret;
  EXPECT_EQ(controller().push("guess", "{}\n"), std::nullopt);
  EXPECT_EQ(controller().push("", "{}\n"), std::nullopt);
  const std::string token = life->store->attempt({id, 1, 1})->token;
  EXPECT_EQ(controller().push(token, "{}\n"), std::nullopt) << "others can see the token";
  const auto next = controller().push(secret, "");
  ASSERT_TRUE(next);
  EXPECT_GE(*next, 1);
  EXPECT_EQ(controller().push(secret, "{\"n\":100000,\"t\":1,\"type\":\"note\"}\n"), next)
      << "ahead: left to the file";
}

TEST_F(ControllerTest, StateIsTheSameAfterARestart) {
  world.cluster.steps = 1000;
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 2).state == TrialPhase::running; }));
  const auto before = controller().state().sweeps.at(id).live;
  restart();
  const auto& after = controller().state().sweeps.at(id).live;
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [number, attempt] : before) {
    EXPECT_EQ(after.at(number).token, attempt.token);
    EXPECT_EQ(after.at(number).handle, attempt.handle);
    EXPECT_EQ(after.at(number).phase, attempt.phase);
  }
}

TEST_F(ControllerTest, SaysWhyATrialDoesNotRun) {
  world.cluster.room = 1;
  world.cluster.steps = 1000;
  const auto id = submit(controller(), test::sweep_of(2));
  ASSERT_TRUE(life->run_until([&] { return trial(id, 1).state == TrialPhase::running; }));
  const SweepView view = controller().view(id);
  EXPECT_EQ(view.trials.at(1).attempt_state, db::AttemptState::running);
  EXPECT_EQ(view.trials.at(1).waiting_for, "");
  EXPECT_THAT(view.waiting_for, HasSubstr("turn on the backend fake"));
}

TEST(Controller, AFolderThatIsAlreadyThereIsNotTakenForItsOwn) {
  test::World world;
  // Left by an earlier database, or made by another home that has the same `runs`.
  const auto stale = world.home().runs() / "1/1/1";
  std::filesystem::create_directories(stale);
  test::write_file(stale / "journal.jsonl",
                   R"({"n":1,"t":1.5,"type":"end","status":"finished","step":9,"reason":""})"
                   "\n");
  {
    test::World::Life life(world);
    test::submit(*life.controller, test::sweep_of(1));
  }
  ASSERT_TRUE(world.run_to_the_end());
  test::World::Life life(world);
  const auto attempt = life.store->attempt({1, 1, 1}).value();
  EXPECT_EQ(attempt.state, db::AttemptState::finished);
  EXPECT_EQ(attempt.folder, stale.string() + "-" + attempt.token.substr(0, 8));
  EXPECT_GT(attempt.journal_lines, 1) << "its own journal, not the one that lay there";
}

}  // namespace
}  // namespace thalweg::daemon
