// The backend and the agent against a real Slurm (tests/cluster): one cluster of three nodes for
// all cases here.
#include <gmock/gmock.h>
#include <signal.h>

#include <cstdlib>
#include <map>
#include <set>
#include <sstream>

#include "tests/daemon/slurm/cluster.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;

TEST_F(SlurmCluster, Describe) {
  EXPECT_THAT(wait(backend_->describe()),
              testing::MatchesRegex("slurm [0-9.]+, cluster test[0-9]+, 3 nodes"));
}

TEST_F(SlurmCluster, HeldThenReleasedThenFinished) {
  const LaunchRequest r = request("finish");
  const auto submission = submit(r);
  ASSERT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
  const auto held = look(submission.handle, r.token);
  ASSERT_TRUE(held);
  EXPECT_EQ(held->phase, JobPhase::held);
  EXPECT_EQ(held->started, 0);
  const auto shown = test::run({"scontrol", "show", "job", submission.handle});
  EXPECT_THAT(shown.out, HasSubstr("JobName=thalweg-" + r.id.to_string()));
  EXPECT_THAT(shown.out, HasSubstr("Comment=thalweg:" + r.token));
  EXPECT_THAT(shown.out, HasSubstr("Requeue=0"));

  EXPECT_TRUE(wait(backend_->release(r, submission.handle)));
  EXPECT_TRUE(wait(backend_->release(r, submission.handle)));  // again: no harm
  const auto ended = await_phase(submission.handle, r.token, JobPhase::ended);
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.reason, "completed");
  EXPECT_GT(ended.started, 1.5e9);
  EXPECT_GE(ended.ended, ended.started);
  EXPECT_THAT(ended.node_list, testing::MatchesRegex("n.*"));
  const std::string out = test::read_file(r.folder / "stdout.log");
  EXPECT_THAT(out, HasSubstr("rank 0 of 2 on n"));
  EXPECT_THAT(out, HasSubstr("rank 1 of 2 on n"));
  EXPECT_TRUE(wait(backend_->release(r, submission.handle)));
  EXPECT_TRUE(wait(backend_->cancel({submission.handle, r.token, r.folder}, Ending::gently)));
}

TEST_F(SlurmCluster, FailingRankEndsTheOthers) {
  const LaunchRequest failing = request("fail"), crashing = request("crash");
  const std::string first = run(failing), second = run(crashing);
  const auto failed = await_phase(first, failing.token, JobPhase::ended);
  EXPECT_EQ(failed.exit_code, 3) << written_in(failing.folder);
  EXPECT_EQ(failed.reason, "failed");
  const auto crashed = await_phase(second, crashing.token, JobPhase::ended);
  EXPECT_EQ(crashed.signal, SIGSEGV) << written_in(crashing.folder);
  EXPECT_FALSE(crashed.exit_code);
}

TEST_F(SlurmCluster, CancelLetsRunningRanksSave) {
  const LaunchRequest r = request("save");
  const std::string handle = run(r);
  ASSERT_TRUE(await_file(r.folder / "ready.0"));
  ASSERT_TRUE(await_file(r.folder / "ready.1"));
  EXPECT_EQ(await_phase(handle, r.token, JobPhase::running).phase, JobPhase::running);
  EXPECT_TRUE(wait(backend_->cancel({handle, r.token, r.folder}, Ending::gently)));
  const auto ended = await_phase(handle, r.token, JobPhase::ended);
  EXPECT_TRUE(fs::exists(r.folder / "saved.0"));
  EXPECT_EQ(ended.exit_code, 75);
}

TEST_F(SlurmCluster, CancelByForceEndsStubbornRanks) {
  const LaunchRequest r = request("stubborn", 1);
  const std::string handle = run(r);
  ASSERT_TRUE(await_file(r.folder / "ready.0"));
  EXPECT_TRUE(wait(backend_->cancel({handle, r.token, r.folder}, Ending::gently)));
  std::optional<JobStatus> status;
  EXPECT_TRUE(test::eventually(
      [&] {
        EXPECT_TRUE(wait(backend_->cancel({handle, r.token, r.folder}, Ending::by_force)));
        status = look(handle, r.token);
        return status && status->phase == JobPhase::ended;
      },
      patient));
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->cancelled);
}

TEST_F(SlurmCluster, CancelOfAWaitingJob) {
  const LaunchRequest r = request("finish");
  const auto submission = submit(r);
  EXPECT_TRUE(wait(backend_->cancel({submission.handle, r.token, r.folder}, Ending::gently)));
  const auto ended = await_phase(submission.handle, r.token, JobPhase::ended);
  EXPECT_TRUE(ended.cancelled);
  EXPECT_FALSE(ended.exit_code);
  EXPECT_EQ(ended.started, 0);
  EXPECT_FALSE(fs::exists(r.folder / "stdout.log"));
}

TEST_F(SlurmCluster, ANumberWithAnotherTokenIsNotOurs) {
  const LaunchRequest r = request("finish");
  const auto submission = submit(r);
  const auto strange = look(submission.handle, "another token");
  ASSERT_TRUE(strange);
  EXPECT_EQ(strange->phase, JobPhase::missing);
  LaunchRequest other = r;
  other.token = "another token";
  EXPECT_FALSE(wait(backend_->release(other, submission.handle)));
  EXPECT_TRUE(wait(backend_->cancel({submission.handle, "another token", {}},
                                    Ending::gently)));  // nothing of ours to end
  EXPECT_EQ(look(submission.handle, r.token)->phase, JobPhase::held);
  EXPECT_EQ(look("999999", r.token)->phase, JobPhase::missing);
  wait(backend_->cancel({submission.handle, r.token, {}}, Ending::gently));
}

TEST_F(SlurmCluster, AnotherControllerFindsTheOrphan) {
  const LaunchRequest r = request("finish");
  const auto submission = submit(r);
  backend_ = make_slurm_backend(context_.get_executor(), config());
  const auto statuses = wait(backend_->poll({}));
  ASSERT_TRUE(statuses);
  const auto orphan =
      std::find_if(statuses->begin(), statuses->end(), [&](auto& s) { return s.token == r.token; });
  ASSERT_NE(orphan, statuses->end());
  EXPECT_EQ(orphan->phase, JobPhase::held);
  EXPECT_EQ(orphan->handle, submission.handle);
  EXPECT_TRUE(wait(backend_->cancel({orphan->handle, orphan->token, {}}, Ending::gently)));
  EXPECT_TRUE(await_phase(orphan->handle, orphan->token, JobPhase::ended).cancelled);
}

TEST_F(SlurmCluster, RefusedWithTheReason) {
  struct Row {
    int node_count;
    const char* partition;
    std::int64_t limit_s;
    int ranks;
    const char* message;
  };
  for (const Row& row :
       {Row{65, "", 60, 1, "asks for 65 nodes, partition 'main' has 3 (Slurm error 2015)"},
        {3, "short", 60, 1,
         "asks for 3 nodes, partition 'short' allows at most 2 per job (Slurm error 2015)"},
        {1, "short", 3600, 1,
         "asks for 60 minutes, partition 'short' allows at most 5 (Slurm error 2015)"},
        {1, "", 60, 9,
         "asks for 1 node with 9 CPUs each, partition 'main' has 0 of that size (Slurm error "
         "2015)"},
        {1, "nix", 60, 1,
         "there is no partition 'nix'; this cluster has main (default), short, urgent (Slurm error "
         "2000)"}}) {
    LaunchRequest r = request("finish", row.node_count);
    if (*row.partition) r.slurm.options["partition"] = row.partition;
    r.resources.time_limit_s = row.limit_s;
    r.resources.ranks_per_node = row.ranks;
    const auto submission = submit(r);
    EXPECT_EQ(submission.outcome, SubmitOutcome::refused);
    EXPECT_EQ(submission.message, row.message);
  }
  LaunchRequest r = request("finish");
  r.slurm.options["constraint"] = "gold";
  EXPECT_THAT(submit(r).message, HasSubstr("slurm.constraint"));
  r = request("finish");
  r.folder /= "missing";
  EXPECT_THAT(submit(r).message, HasSubstr("does not exist"));
  const auto waiting = wait(backend_->poll({}));  // what Slurm took in spite of it is taken back
  ASSERT_TRUE(waiting);
  for (const auto& status : *waiting)
    EXPECT_NE(status.phase, JobPhase::held) << status.handle;
}

/// What scontrol says of a job, but for what differs from job to job.
std::map<std::string, std::string> shown_job(const std::string& handle) {
  static const std::set<std::string> own = {
      "JobId",          "Priority",  "SubmitTime", "EligibleTime",
      "AccrueTime",     "StartTime", "EndTime",    "LastSchedEval",
      "Comment",        "Command",   "Reason",     "AllocNode:Sid",
      "SecsPreSuspend", "StdIn",     "Deadline",   "Scheduler"};
  std::map<std::string, std::string> facts;
  std::istringstream words(test::run({"scontrol", "show", "job", handle}).out);
  std::string key;
  for (std::string word; words >> word;) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) key = word.substr(0, equals);
    if (own.count(key) == 0) facts[key] += word + " ";
  }
  return facts;
}

TEST_F(SlurmCluster, TheBatchScriptByHandAsksForTheSameJob) {
  LaunchRequest r = request("finish");
  r.resources.threads_per_rank = 1;
  r.slurm.options = {{"partition", "main"},
                     {"mail-type", "END,FAIL"},
                     {"mail-user", "ada@here"},
                     {"nice", "100"},
                     {"mem-per-cpu", "100M"},
                     {"contiguous", ""},
                     {"time-min", "5"},
                     {"threads-per-core", "1"},
                     {"exclude", "n3"},
                     {"begin", "2040-01-31T18:00"},
                     {"tmp", "1M"},
                     {"exclusive", ""}};
  const auto submission = submit(r);
  ASSERT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
  const auto ours = shown_job(submission.handle);
  test::write_file(r.folder / "batch.sh", backend_->script(r));
  const auto by_hand =
      test::run({"sbatch", "--hold", "--parsable", (r.folder / "batch.sh").string()});
  ASSERT_EQ(by_hand.code, 0) << by_hand.err;
  const std::string job = by_hand.out.substr(0, by_hand.out.find_first_of(";\n"));
  EXPECT_EQ(shown_job(job), ours);
  EXPECT_EQ(ours.at("Nice"), "Nice=100 ");
  EXPECT_THAT(ours.at("MailType"), HasSubstr("END,FAIL"));
  EXPECT_EQ(test::run({"scancel", job}).code, 0);
  EXPECT_TRUE(wait(backend_->cancel({submission.handle, r.token, r.folder}, Ending::gently)));
}

TEST_F(SlurmCluster, ForecastAndSubmissionRefuseTheSame) {
  for (const int nodes : {1, 2, 3})
    for (const std::int64_t limit_s : {60, 300, 360, 3600}) {
      LaunchRequest r = request("finish", nodes);
      r.slurm.options["partition"] = "short";  // 2 nodes, 5 minutes
      r.resources.time_limit_s = limit_s;
      const Forecast forecast = wait(backend_->forecast(r)).value();
      const auto submission = submit(r);
      EXPECT_EQ(forecast.refused, submission.outcome == SubmitOutcome::refused)
          << nodes << ' ' << limit_s << forecast.message << submission.message;
      EXPECT_EQ(forecast.refused, nodes > 2 || limit_s > 300);
      if (!forecast.refused) {
        EXPECT_GT(forecast.start, 0);
        EXPECT_TRUE(wait(backend_->cancel({submission.handle, r.token, {}}, Ending::gently)));
      } else {
        EXPECT_THAT(submission.message,
                    HasSubstr(forecast.message.substr(0, forecast.message.find(" (Slurm error"))));
      }
    }
}

TEST_F(SlurmCluster, ForecastOfWhatCanRunAndOfWhatNeverCan) {
  const auto ask = [&](const LaunchRequest& r) { return wait(backend_->forecast(r)).value(); };
  LaunchRequest r = request("finish");
  r.folder = "/nowhere/<sweep>/1/1";  // a dry run has no folder
  const Forecast good = ask(r);
  EXPECT_FALSE(good.refused) << good.message;
  EXPECT_GT(good.start, 1.5e9) << good.message;
  EXPECT_EQ(good.partition, "main");
  EXPECT_THAT(good.node_list, testing::StartsWith("n"));

  LaunchRequest large = r;
  large.resources.memory_mib = 64 << 20;
  EXPECT_TRUE(ask(large).refused);
  EXPECT_THAT(ask(large).message, HasSubstr("MiB each, partition 'main' has 0 of that size"));
  LaunchRequest wide = r;
  wide.resources.nodes = 65;
  EXPECT_TRUE(ask(wide).refused);
  EXPECT_THAT(ask(wide).message, HasSubstr("asks for 65 nodes, partition 'main' has 3"));
  LaunchRequest nowhere = r;
  nowhere.slurm.options["partition"] = "nix";
  EXPECT_TRUE(ask(nowhere).refused);
  EXPECT_THAT(ask(nowhere).message, HasSubstr("there is no partition 'nix'"));
  LaunchRequest gpus = r;
  gpus.resources.gpus_per_node = 1;
  EXPECT_TRUE(ask(gpus).refused);
  EXPECT_THAT(ask(gpus).message, HasSubstr("resources.gpus_per_node"));
  const auto jobs = wait(backend_->poll({}));  // nothing was submitted
  ASSERT_TRUE(jobs);
  for (const auto& job : *jobs)
    EXPECT_NE(job.token, r.token);
}

/// Down nodes come back: what only they could run is not what could never run.
TEST_F(SlurmCluster, NothingIsRefusedBecauseNodesAreDownNow) {
  const auto set_all = [](const char* state) {
    return test::run({"scontrol", "update", "NodeName=n[1-3]", state, "Reason=test"});
  };
  LaunchRequest r = request("finish");
  ASSERT_EQ(set_all("State=DRAIN").code, 0);
  const Forecast forecast = wait(backend_->forecast(r)).value();
  const Submission submission = submit(r);
  const test::Outcome resumed = set_all("State=RESUME");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_FALSE(forecast.refused) << forecast.message;
  EXPECT_EQ(forecast.start, 0);
  EXPECT_THAT(forecast.message, HasSubstr("3 of 3 are down or drained now"));
  EXPECT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
  EXPECT_TRUE(wait(backend_->cancel({submission.handle, r.token, r.folder}, Ending::gently)));
}

TEST_F(SlurmCluster, ASetupLineThatFailsIsBadInput) {
  LaunchRequest r = request("finish", 1);
  r.slurm.setup = {"export A=1", "module load nothing-of-that-name"};
  const auto ended = await_phase(run(r), r.token, JobPhase::ended);
  EXPECT_EQ(ended.exit_code, 2);
  EXPECT_THAT(test::read_file(r.folder / "stderr.log"),
              testing::EndsWith("): module load nothing-of-that-name\n"));
}

TEST_F(SlurmCluster, ManySubmissionsAtOnceAndOnePoll) {
  constexpr int count = 200;
  std::vector<LaunchRequest> requests;
  std::vector<std::future<Submission>> submissions;
  for (int i = 0; i < count; ++i)
    requests.push_back(request("finish", 1));
  for (const auto& r : requests) {
    submissions.push_back(test::start_work(context_, backend_->submit(r)));
  }
  std::vector<Backend::TrackedJob> watched;
  std::set<std::string> handles;
  for (int i = 0; i < count; ++i) {
    const auto submission = test::wait(context_, std::move(submissions[i]));
    ASSERT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
    handles.insert(submission.handle);
    watched.push_back({submission.handle, requests[i].token, {}});
  }
  EXPECT_EQ(handles.size(), std::size_t{count});
  const auto statuses = wait(backend_->poll(watched));
  ASSERT_TRUE(statuses);
  EXPECT_EQ(std::count_if(statuses->begin(), statuses->end(),
                          [](auto& s) { return s.phase == JobPhase::held; }),
            count);
  for (const auto& job : watched)
    EXPECT_TRUE(wait(backend_->cancel(job, Ending::gently)));
}

// Before the cases that disturb the controller: it looks at the time limits every half minute only.
TEST_F(SlurmCluster, RanksAreWarnedBeforeTheTimeLimit) {
  EXPECT_TRUE(await_file(warned_.folder / "warned.0"));
  EXPECT_TRUE(await_file(short_.folder / "warned.0"));
}

TEST_F(SlurmCluster, ControllerOfSlurmKilledBetweenSubmitAndRelease) {
  const LaunchRequest r = request("finish");
  const auto submission = submit(r);
  ASSERT_EQ(submission.outcome, SubmitOutcome::accepted);
  ASSERT_EQ(test::run({script("restart-controller"), "stop"}).code, 0);
  EXPECT_FALSE(wait(backend_->release(r, submission.handle)));
  EXPECT_FALSE(wait(backend_->poll({{submission.handle, r.token, {}}})));
  const auto meanwhile = submit(request("finish"));
  EXPECT_EQ(meanwhile.outcome, SubmitOutcome::retry_later);
  EXPECT_EQ(meanwhile.message, "Slurm's controller does not answer");
  const auto forecast = wait(backend_->forecast(request("finish")));
  ASSERT_TRUE(forecast);
  EXPECT_FALSE(forecast->refused);
  EXPECT_EQ(forecast->start, 0);
  EXPECT_EQ(forecast->message, "Slurm's controller does not answer");
  ASSERT_EQ(test::run({script("restart-controller"), "start"}).code, 0);
  // Slurm may have forgotten a job that it had said yes to; it must never be anything else than
  // held or missing.
  std::optional<JobStatus> status;
  ASSERT_TRUE(test::eventually(
      [&] { return (status = look(submission.handle, r.token)).has_value(); }, patient));
  if (status->phase == JobPhase::missing) {
    EXPECT_FALSE(wait(backend_->release(r, submission.handle)));
    return;
  }
  EXPECT_EQ(status->phase, JobPhase::held);
  EXPECT_TRUE(
      test::eventually([&] { return wait(backend_->release(r, submission.handle)); }, patient));
  EXPECT_EQ(await_phase(submission.handle, r.token, JobPhase::ended).exit_code, 0);
}

TEST_F(SlurmCluster, AgentKilledInTheMiddleOfASubmission) {
  wait(backend_->describe());
  pid_t agent = 0;
  for (const pid_t pid :
       test::processes_with_environment("SLURM_CONF=" + std::string(std::getenv("SLURM_CONF")))) {
    if (test::command_line(pid).find("thalweg-slurm-agent") != std::string::npos) agent = pid;
  }
  ASSERT_GT(agent, 0);
  const pid_t controller = controller_pid();
  ASSERT_EQ(::kill(controller, SIGSTOP), 0);  // so that the call takes long
  const LaunchRequest r = request("finish");
  auto submission = test::start_work(context_, backend_->submit(r));
  context_.restart();
  context_.run_for(std::chrono::milliseconds(300));
  ::kill(agent, SIGKILL);
  const auto outcome = test::wait(context_, std::move(submission)).outcome;
  ::kill(controller, SIGCONT);
  EXPECT_EQ(outcome, SubmitOutcome::unknown);
  std::optional<std::vector<JobStatus>> statuses;
  ASSERT_TRUE(
      test::eventually([&] { return (statuses = wait(backend_->poll({}))).has_value(); }, patient));
  for (const auto& status : *statuses) {
    if (status.token != r.token) continue;
    EXPECT_EQ(status.phase, JobPhase::held);
  }
  const LaunchRequest next = request("finish", 1);
  EXPECT_EQ(await_phase(run(next), next.token, JobPhase::ended).exit_code, 0);
}

TEST_F(SlurmCluster, NoSlurmOnThisMachine) {
  const std::string conf = std::getenv("SLURM_CONF");
  ::setenv("SLURM_CONF", "/nonexistent/slurm.conf", 1);
  backend_ = make_slurm_backend(context_.get_executor(), config());
  EXPECT_EQ(wait(backend_->describe()), "");
  const auto submission = submit(request("finish"));
  EXPECT_EQ(submission.outcome, SubmitOutcome::retry_later);
  EXPECT_EQ(submission.message,
            "no Slurm here: SLURM_CONF names /nonexistent/slurm.conf, which is not there");
  ::setenv("SLURM_CONF", conf.c_str(), 1);
}

// Late: by now the job that was started first has met its time limit, or soon will.
TEST_F(SlurmCluster, TimeLimitEndsTheRanks) {
  const auto ended = await_phase(warned_handle_, warned_.token, JobPhase::ended);
  EXPECT_TRUE(ended.timed_out);
  EXPECT_EQ(ended.reason, "time limit reached");
}

// Last: it unsettles the nodes. The controller moves to another port, which only slurm.conf says.
TEST_F(SlurmCluster, ConfigurationThatChangesIsReadAgain) {
  const fs::path conf = std::getenv("SLURM_CONF");
  const std::string before = test::read_file(conf);
  const std::string described = wait(backend_->describe());
  const std::string key = "SlurmctldPort=";
  std::string moved = before;
  moved.insert(moved.find(key) + key.size(), "2");
  for (const std::string& text : {moved, before}) {
    test::write_file(conf, text);
    ASSERT_EQ(test::run({script("restart-controller")}).code, 0);
    EXPECT_TRUE(test::eventually(
        [&] {
          return wait(backend_->poll({})).has_value() && wait(backend_->describe()) == described;
        },
        patient));
  }
}

}  // namespace
}  // namespace thalweg::daemon
