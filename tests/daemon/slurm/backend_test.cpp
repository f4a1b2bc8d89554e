// The backend's decisions, against a fake agent.
#include "daemon/backend/slurm.h"

#include <gmock/gmock.h>

#include "tests/daemon/slurm/fake.h"
#include "tests/daemon/slurm/waiting.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

json listed(int job, const std::string& token, const std::string& state = "RUNNING") {
  return {{"job", job},      {"token", token}, {"name", "n"},   {"state", state},
          {"reason", ""},    {"nodes", "n1"},  {"held", false}, {"completing", false},
          {"started", 1000}, {"ended", 0},     {"exit", 0},     {"steps_exit", 0}};
}

json failure(const std::string& outcome, const std::string& message = "because") {
  return {{"ok", false}, {"outcome", outcome}, {"code", 1}, {"message", message}};
}

class SlurmBackendTest : public testing::Test {
 protected:
  SlurmBackendTest() {
    config_.agent_program = test::FakeAgent::program();
    config_.programs.train = "/opt/thalweg-train";
    config_.environment = {"PATH=/bin"};
    config_.request_timeout_s = 60;
    config_.max_reuse_s = 0;
    request_.id = {3, 4, 5};
    request_.token = "t";
    request_.folder = folder_.path();
    request_.resources.nodes = 2;
    request_.resources.ranks_per_node = 3;
    request_.resources.threads_per_rank = 4;
    request_.resources.time_limit_s = 601;
    request_.slurm.options["partition"] = "main";
  }
  Backend& backend() {
    if (!backend_) backend_ = make_slurm_backend(context_.get_executor(), config_);
    return *backend_;
  }
  template <class T>
  T wait(boost::asio::awaitable<T> work) {
    return test::wait(context_, std::move(work));
  }
  std::optional<std::vector<JobStatus>> poll(const std::vector<Backend::TrackedJob>& watched = {}) {
    return wait(backend().poll(watched));
  }

  test::FakeAgent fake_;
  test::TempDir folder_;
  SlurmBackendConfig config_;
  LaunchRequest request_;
  boost::asio::io_context context_;
  std::unique_ptr<Backend> backend_;
};

TEST_F(SlurmBackendTest, SubmissionCarriesEverything) {
  fake_.answers({{"submit", {{{"ok", true}, {"job", 4711}, {"note", "hello"}}}}});
  request_.slurm.options["gres"] = "nvme:1";
  request_.slurm.options["exclusive"] = "";
  const auto submission = wait(backend().submit(request_));
  EXPECT_EQ(submission.outcome, SubmitOutcome::accepted);
  EXPECT_EQ(submission.handle, "4711");
  EXPECT_EQ(submission.message, "hello");
  const json asked = fake_.requests().at(0);
  const std::string folder = folder_.path().string();
  EXPECT_EQ(asked.at("token"), "t");
  const json options{{"job-name", "thalweg-3.4.5"},
                     {"chdir", folder},
                     {"output", folder + "/stdout.log"},
                     {"error", folder + "/stderr.log"},
                     {"open-mode", "append"},
                     {"no-requeue", ""},
                     {"nodes", "2"},
                     {"ntasks", "6"},
                     {"ntasks-per-node", "3"},
                     {"cpus-per-task", "4"},
                     {"time", "11"},
                     {"partition", "main"},
                     {"gres", "nvme:1"},
                     {"exclusive", ""},
                     {"signal", "USR1@60"}};
  EXPECT_EQ(asked.at("options"), options);
  EXPECT_EQ(asked.at("environment"), json::array({"PATH=/bin"}));
  EXPECT_THAT(asked.at("script").get<std::string>(),
              HasSubstr("'/opt/thalweg-train' '" + folder + "/trial.yaml'"));
}

TEST_F(SlurmBackendTest, TheScriptThatIsShownIsTheOneThatIsSubmitted) {
  fake_.answers({{"submit", {{{"ok", true}, {"job", 4711}}}},
                 {"will_run",
                  {{{"ok", true}, {"start", 1000}, {"nodes", "n1"}, {"partition", "p"}},
                   failure("refused", "too many"),
                   failure("retry_later", "down")}}});
  wait(backend().submit(request_));
  EXPECT_EQ(backend().script(request_), fake_.requests().at(0).at("script"));

  const Forecast good = wait(backend().forecast(request_)).value();
  EXPECT_FALSE(good.refused);
  EXPECT_EQ(good.start, 1000);
  EXPECT_EQ(good.node_list, "n1");
  EXPECT_EQ(good.partition, "p");
  EXPECT_EQ(fake_.requests().at(1).at("options"), fake_.requests().at(0).at("options"));
  EXPECT_FALSE(fake_.requests().at(1).contains("token"));
  const Forecast never = wait(backend().forecast(request_)).value();
  EXPECT_TRUE(never.refused);
  EXPECT_EQ(never.message, "too many");
  const Forecast unsaid = wait(backend().forecast(request_)).value();
  EXPECT_FALSE(unsaid.refused);
  EXPECT_EQ(unsaid.start, 0);
  EXPECT_EQ(unsaid.message, "down");
}

TEST_F(SlurmBackendTest, ASiteMayWantShorterQueues) {
  EXPECT_TRUE(backend().has_room({}, std::vector<jobspec::Resources>(1000)));
  backend_.reset();
  config_.max_jobs = 2;
  EXPECT_TRUE(backend().has_room({}, std::vector<jobspec::Resources>(1)));
  EXPECT_FALSE(backend().has_room({}, std::vector<jobspec::Resources>(2)));
}

TEST_F(SlurmBackendTest, TheSubmittersEnvironmentGoesBeforeTheControllers) {
  fake_.answers({{"submit", {{{"ok", true}, {"job", 1}}}}});
  request_.environment = {"PATH=/mine", "THALWEG_DATA=/data"};
  wait(backend().submit(request_));
  EXPECT_EQ(fake_.requests().at(0).at("environment"),
            json::array({"PATH=/mine", "THALWEG_DATA=/data"}));
}

TEST_F(SlurmBackendTest, EachCallForAUserSaysForWhom) {
  const json yes{{"ok", true}};
  fake_.answers({{"submit", {{{"ok", true}, {"job", 1}, {"note", ""}}}},
                 {"release", {yes}},
                 {"cancel", {{{"ok", true}, {"signal", "KILL"}, {"state", "PENDING"}}}},
                 {"prepare", {yes, failure("refused", "a link"), failure("retry_later", "full")}},
                 {"revoke", {yes}}});
  request_.identity = Identity{1001, "g"};
  const json as{{"uid", 1001}, {"grant", "g"}};
  wait(backend().submit(request_));
  wait(backend().release(request_, "1"));
  Backend::TrackedJob job{"1", "t", folder_.path()};
  job.identity = request_.identity;
  wait(backend().cancel(job, Ending::by_force));
  EXPECT_TRUE(wait(backend().prepare(request_, {{"trial.yaml", "x"}})).done);
  const auto asked = fake_.requests();
  ASSERT_EQ(asked.size(), 4u);
  for (const json& question : asked)
    EXPECT_EQ(question.at("as"), as) << question;
  // Nothing of the controller's environment, and files that its group may read.
  EXPECT_EQ(asked.at(0).at("environment"), json::array({"SLURM_UMASK=0007"}));
  EXPECT_THAT(asked.at(0).at("script").get<std::string>(), HasSubstr("\numask 0007\n"));
  EXPECT_EQ(asked.at(3).at("folder"), folder_.path().string());
  EXPECT_EQ(asked.at(3).at("files"), json({{"trial.yaml", "x"}}));
  const Preparation refused = wait(backend().prepare(request_, {}));
  EXPECT_FALSE(refused.done || refused.retry);
  EXPECT_EQ(refused.message, "a link");
  EXPECT_TRUE(wait(backend().prepare(request_, {})).retry);
  EXPECT_TRUE(wait(backend().revoke("g")));
}

TEST_F(SlurmBackendTest, AUsersWordIsPassedOn) {
  fake_.answers({{"authorize",
                  {{{"ok", true},
                    {"grant", "g"},
                    {"uid", 1001},
                    {"gid", 1002},
                    {"user", "alice"},
                    {"expires", 7}},
                   failure("refused", "replayed"),
                   failure("retry_later", "down")}}});
  const Authorization good = wait(backend().authorize("MUNGE:x:", "digest"));
  EXPECT_EQ(fake_.requests().at(0).at("credential"), "MUNGE:x:");
  EXPECT_EQ(fake_.requests().at(0).at("digest"), "digest");
  ASSERT_TRUE(good.identity);
  EXPECT_EQ(good.identity->uid, 1001u);
  EXPECT_EQ(good.identity->grant, "g");
  EXPECT_EQ(good.gid, 1002u);
  EXPECT_EQ(good.user, "alice");
  EXPECT_EQ(good.expires, 7);
  const Authorization refused = wait(backend().authorize("MUNGE:x:", "digest"));
  EXPECT_FALSE(refused.identity || refused.retry);
  EXPECT_EQ(refused.message, "replayed");
  EXPECT_TRUE(wait(backend().authorize("MUNGE:x:", "digest")).retry);
}

// Tokens can be read by everybody, and written into the comment of a job of one's own.
TEST_F(SlurmBackendTest, AnotherUsersJobWithTheTokenIsNotOurs) {
  json own{{"job", 1},      {"token", "t"},  {"user", 1001},  {"state", "RUNNING"},
           {"reason", ""},  {"nodes", "n1"}, {"held", false}, {"completing", false},
           {"started", 5},  {"ended", 0},    {"exit", 0},     {"steps_exit", 0},
           {"folder", "/a"}};
  json forged = own;
  forged["job"] = 2;
  forged["user"] = 1002;
  forged["state"] = "FAILED";
  fake_.answers({{"poll", {{{"ok", true}, {"stamp", 1}, {"jobs", {forged, own}}}}},
                 {"job", {{{"ok", true}, {"job", forged}}}}});
  Backend::TrackedJob job{"1", "t", "/a"};
  job.identity = Identity{1001, "g"};
  const auto seen = wait(backend().poll({job}));
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->size(), 1u);
  EXPECT_EQ(seen->at(0).handle, "1");
  EXPECT_EQ(seen->at(0).user, 1001u);
  job.handle = "2";  // as if that number had been recorded
  const auto other = wait(backend().poll({job}));
  ASSERT_TRUE(other);
  for (const JobStatus& status : *other)
    EXPECT_TRUE(status.handle != "2" || status.phase == JobPhase::missing);
}

TEST_F(SlurmBackendTest, SubmitOutcomes) {
  fake_.answers({{"submit",
                  {failure("refused"), failure("retry_later"), failure("unknown"),
                   failure("no_slurm"), failure("bad_request"), failure("a word of the future")}}});
  for (const auto expected :
       {SubmitOutcome::refused, SubmitOutcome::retry_later, SubmitOutcome::unknown,
        SubmitOutcome::retry_later, SubmitOutcome::refused, SubmitOutcome::unknown}) {
    const auto submission = wait(backend().submit(request_));
    EXPECT_EQ(submission.outcome, expected);
    EXPECT_EQ(submission.message, "because");
    EXPECT_EQ(submission.handle, "");
  }
}

TEST_F(SlurmBackendTest, AgentThatDiesWhileSubmittingLeavesItUnknown) {
  fake_.answers({{"submit", {{{"_die", true}}}}});
  EXPECT_EQ(wait(backend().submit(request_)).outcome, SubmitOutcome::unknown);
  const auto next = wait(backend().submit(request_));  // the agent is not started again yet
  EXPECT_EQ(next.outcome, SubmitOutcome::retry_later);
}

TEST_F(SlurmBackendTest, AgentThatIsSilentLeavesItUnknown) {
  config_.request_timeout_s = 0.05;
  fake_.answers({{"submit", {{{"_silent", true}}}}});
  EXPECT_EQ(wait(backend().submit(request_)).outcome, SubmitOutcome::unknown);
}

TEST_F(SlurmBackendTest, ReleaseOutcomes) {
  fake_.answers(
      {{"release",
        {{{"ok", true}}, failure("finished"), failure("missing"), failure("retry_later")}}});
  EXPECT_TRUE(wait(backend().release(request_, "7")));
  EXPECT_TRUE(wait(backend().release(request_, "7")));
  EXPECT_FALSE(wait(backend().release(request_, "7")));
  EXPECT_FALSE(wait(backend().release(request_, "7")));
  EXPECT_EQ(fake_.requests().at(0).at("job"), 7);
  EXPECT_EQ(fake_.requests().at(0).at("token"), "t");
}

TEST_F(SlurmBackendTest, PollShowsWatchedOrphansAndMissing) {
  fake_.answers(
      {{"poll", {{{"ok", true}, {"stamp", 5}, {"jobs", {listed(1, "a"), listed(2, "b")}}}}},
       {"job", {{{"ok", true}, {"job", listed(3, "c", "COMPLETED")}}, failure("missing")}}});
  const auto statuses = poll({{"1", "a", {}}, {"3", "c", {}}, {"2", "other", {}}});
  ASSERT_TRUE(statuses);
  ASSERT_EQ(statuses->size(), 4u);
  EXPECT_EQ(statuses->at(0).phase, JobPhase::running);
  EXPECT_EQ(statuses->at(1).token, "b");  // not watched
  EXPECT_EQ(statuses->at(2).phase, JobPhase::ended);
  EXPECT_EQ(statuses->at(3).phase, JobPhase::missing);  // number 2 now belongs to b
  EXPECT_EQ(statuses->at(3).handle, "2");
  EXPECT_EQ(statuses->at(3).token, "other");
  EXPECT_THAT(fake_.verbs(), ElementsAre("poll", "job", "job"));
}

// scontrol update comment=...: the job is still the one that was submitted.
TEST_F(SlurmBackendTest, AJobWhoseCommentWasChangedIsKnownByItsFolder) {
  const auto working_in = [](json job, const std::string& folder) {
    job["folder"] = folder;
    return job;
  };
  const json mine = working_in(listed(1, ""), "/attempt"),
             reused = working_in(listed(2, ""), "/elsewhere"),
             anothers = working_in(listed(3, "x"), "/attempt");
  fake_.answers({{"poll", {{{"ok", true}, {"stamp", 5}, {"jobs", {mine, reused, anothers}}}}},
                 {"job", {failure("missing"), failure("missing"), {{"ok", true}, {"job", mine}}}}});
  const auto statuses =
      poll({{"1", "t", "/attempt"}, {"2", "u", "/attempt"}, {"3", "v", "/attempt"}});
  ASSERT_TRUE(statuses);
  ASSERT_EQ(statuses->size(), 5u);
  EXPECT_EQ(statuses->at(0).token, "t");
  EXPECT_TRUE(statuses->at(0).changed);
  EXPECT_EQ(statuses->at(0).phase, JobPhase::running);
  EXPECT_EQ(statuses->at(3).phase, JobPhase::missing) << "the number was given to another job";
  EXPECT_EQ(statuses->at(4).phase, JobPhase::missing) << "it has a token of its own";
  EXPECT_EQ(fake_.requests().at(1).at("folder"), "/attempt");
  wait(backend().cancel({"1", "t", "/attempt"}, Ending::gently));
  EXPECT_EQ(fake_.requests().back().at("folder"), "/attempt") << "so that the agent finds it, too";
}

TEST_F(SlurmBackendTest, TheTimeThatAJobRanTellsWhetherItWasWarned) {
  // Of 11 minutes; the warning comes a minute before the end, or up to a minute earlier.
  const std::pair<int, bool> rows[] = {{1, false}, {539, false}, {540, true}, {600, true}};
  json jobs = json::array();
  std::vector<Backend::TrackedJob> watched, never_warned;
  for (const auto& [ran_s, warned] : rows) {
    json job = listed(static_cast<int>(jobs.size()) + 1, "t", "FAILED");
    job["ended"] = 1000 + ran_s;
    const std::string handle = std::to_string(jobs.size() + 1);
    watched.push_back({handle, "t", {}, request_.resources, 60});
    never_warned.push_back({handle, "t", {}, request_.resources, 0});
    jobs.push_back(std::move(job));
  }
  fake_.answers({{"poll", {{{"ok", true}, {"stamp", 5}, {"jobs", jobs}}}}});
  const auto statuses = poll(watched), others = poll(never_warned);
  ASSERT_TRUE(statuses && others);
  for (std::size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_EQ(statuses->at(i).warned, rows[i].second) << rows[i].first;
    EXPECT_FALSE(others->at(i).warned) << rows[i].first;
  }
}

TEST_F(SlurmBackendTest, NothingChangedKeepsTheListing) {
  fake_.answers({{"poll",
                  {{{"ok", true}, {"stamp", 5}, {"jobs", {listed(1, "a")}}},
                   {{"ok", true}, {"stamp", 5}, {"unchanged", true}}}}});
  ASSERT_EQ(poll()->size(), 1u);
  ASSERT_EQ(poll()->size(), 1u);
  EXPECT_FALSE(fake_.requests().at(0).contains("since"));
  EXPECT_EQ(fake_.requests().at(1).at("since"), 5);
}

TEST_F(SlurmBackendTest, NotBeingAbleToLookIsNothing) {
  fake_.answers({{"poll",
                  {failure("retry_later"),
                   failure("no_slurm"),
                   {{"ok", true}, {"stamp", 1}},
                   {{"ok", true}, {"stamp", 1}, {"jobs", {{{"job", 1}}}}},
                   {{"_die", true}}}}});
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(poll()) << i;
}

TEST_F(SlurmBackendTest, AWatchedJobThatCannotBeAskedForIsNothing) {
  fake_.answers({{"poll", {{{"ok", true}, {"stamp", 5}, {"jobs", json::array()}}}},
                 {"job", {failure("unknown")}}});
  EXPECT_FALSE(poll({{"1", "a", {}}}));
}

TEST_F(SlurmBackendTest, AnExpensiveListingIsUsedAgainUntilSomethingIsDone) {
  config_.max_reuse_s = 3600;
  config_.listing_share = 1e-12;  // every listing is expensive
  fake_.answers({{"poll", {{{"ok", true}, {"stamp", 5}, {"jobs", {listed(1, "a")}}}}}});
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(poll()->size(), 1u);
    EXPECT_EQ(backend().age_s() > 0, i > 0);
  }
  EXPECT_THAT(fake_.verbs(), ElementsAre("poll"));
  wait(backend().release(request_, "1"));
  poll();
  EXPECT_EQ(backend().age_s(), 0);
  poll();
  EXPECT_THAT(fake_.verbs(), ElementsAre("poll", "release", "poll"));
}

TEST_F(SlurmBackendTest, CancelAsksOrKills) {
  config_.cancel_grace_s = 7;
  fake_.answers({{"cancel", {{{"ok", true}}}}});
  const Backend::TrackedJob job{"9", "t", {}};
  EXPECT_TRUE(wait(backend().cancel(job, Ending::gently)));
  EXPECT_TRUE(wait(backend().cancel(job, Ending::by_force)));
  ASSERT_EQ(fake_.requests().size(), 2u);
  EXPECT_EQ(fake_.requests().at(0).at("signal"), "TERM");
  EXPECT_EQ(fake_.requests().at(1).at("signal"), "KILL");
  EXPECT_EQ(fake_.requests().at(1).at("job"), 9);
  EXPECT_EQ(fake_.requests().at(1).at("token"), "t");
  EXPECT_EQ(backend().grace_s(), 7);
}

TEST_F(SlurmBackendTest, CancelOfWhatIsGoneIsDone) {
  fake_.answers({{"cancel", {failure("missing"), failure("finished"), failure("retry_later")}}});
  EXPECT_TRUE(wait(backend().cancel({"9", "t", {}}, Ending::gently)));
  EXPECT_TRUE(wait(backend().cancel({"9", "t", {}}, Ending::by_force)));
  EXPECT_FALSE(wait(backend().cancel({"9", "t", {}}, Ending::gently)));
}

TEST_F(SlurmBackendTest, Describe) {
  fake_.answers({{"hello",
                  {{{"ok", true}, {"version", "22.05.8"}, {"cluster", "vc"}},
                   {{"ok", true}, {"version", "22.05.8"}, {"cluster", "vc"}},
                   failure("retry_later", "the controller does not answer"),
                   failure("no_slurm")}},
                 {"nodes",
                  {{{"ok", true}, {"total", 8}, {"usable", 8}},
                   {{"ok", true}, {"total", 1}, {"usable", 0}}}}});
  EXPECT_EQ(wait(backend().describe()), "slurm 22.05.8, cluster vc, 8 nodes");
  EXPECT_EQ(wait(backend().describe()), "slurm 22.05.8, cluster vc, 1 node (0 usable)");
  EXPECT_EQ(wait(backend().describe()), "slurm: the controller does not answer");
  EXPECT_EQ(wait(backend().describe()), "");  // no Slurm on this machine
}

// Its libraries are Slurm's. Where Slurm is, that it does not start is said.
TEST_F(SlurmBackendTest, AnAgentThatCannotStartTellsOfNoSlurm) {
  const test::TempDir folder;
  test::write_file(folder.path() / "agent", "#!/bin/sh\nexit 127\n");
  std::filesystem::permissions(folder.path() / "agent", std::filesystem::perms::owner_all);
  config_.agent_program = (folder.path() / "agent").string();
  const std::string path = std::getenv("PATH");
  const char* const had = std::getenv("SLURM_CONF");
  const std::string conf = had == nullptr ? "" : had;
  ::setenv("PATH", folder.path().c_str(), 1);
  ::unsetenv("SLURM_CONF");
  EXPECT_EQ(wait(backend().describe()), "");
  backend_.reset();
  ::setenv("SLURM_CONF", "/etc/slurm/slurm.conf", 1);
  EXPECT_EQ(wait(backend().describe()), "slurm: the Slurm agent ended");
  ::setenv("PATH", path.c_str(), 1);
  if (had == nullptr)
    ::unsetenv("SLURM_CONF");
  else
    ::setenv("SLURM_CONF", conf.c_str(), 1);
}

TEST_F(SlurmBackendTest, WithoutAnAgentThereIsNoSlurm) {
  config_.agent_program = "/nonexistent/agent";
  EXPECT_EQ(wait(backend().describe()), "");
  EXPECT_EQ(wait(backend().submit(request_)).outcome, SubmitOutcome::retry_later);
}

TEST_F(SlurmBackendTest, GoesWhileSomebodyWaits) {
  fake_.answers({{"submit", {{{"_silent", true}}}}});
  auto submission = test::start_work(context_, backend().submit(request_));
  context_.poll();
  backend_.reset();
  context_.restart();
  context_.run();
  EXPECT_EQ(submission.get().outcome, SubmitOutcome::unknown);
}

}  // namespace
}  // namespace thalweg::daemon
