// The real thalwegd and thalweg-launch as processes, with a shell script in place of the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "db/store.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

struct ProgramTest : testing::Test {
  test::TempDir dir;
  api::Home home{dir.path() / "home"};
  std::string environment = "THALWEG_TEST=" + dir.path().string();

  void SetUp() override {
    fs::create_directories(home.directory);
    configure("");
  }
  void TearDown() override {
    for (const pid_t pid : test::processes_with_environment(environment))
      kill(pid, SIGKILL);
  }
  void configure(const std::string& more) {
    test::write_file(home.config(),
                     "backend: local\nretry_backoff: 0.1\ningest_interval: 0.05\nlocal:\n  "
                     "poll_interval: 0.05\n  cores: "
                     "4\n  engine_program: " +
                         std::string(THALWEG_SOURCE_DIR) + "/tests/daemon/support/engine.sh\n" +
                         more);
  }
  test::Outcome daemon(const std::string& fault = "") {
    test::RunOptions options;
    options.env["THALWEG_TEST"] = dir.path();
    if (!fault.empty()) options.env["THALWEG_FAULT"] = fault;
    return test::run({"thalwegd", "--home", home.directory.string()}, options);
  }
  pid_t pid() {
    const json status = json::parse(test::read_file(home.status_file()), nullptr, false);
    return status.is_object() ? status.value("pid", 0) : 0;
  }
  static bool alive(pid_t process) { return !test::command_line(process).empty(); }
  std::string submit(const std::string& train, int seeds = 2) {
    api::Client client(home);
    return client
        .post("/v1/sweeps",
              {{"text", "method: grid\nseeds: " + std::to_string(seeds) +
                            "\nparameters:\n  optimizer.lr: {values: [0.1]}\ntrain: " + train +
                            "\n"}})
        .at("id");
  }
  json wait_for_end(const std::string& id) {
    json last;
    api::Client(home).stream("/v1/watch?id=" + id, [&](const json& event) {
      last = event;
      return true;
    });
    return last;
  }
  int times_run(int trial, int attempt = 1) {
    std::ifstream in(home.runs() / "1" / std::to_string(trial) / std::to_string(attempt) / "ran");
    int count = 0;
    for (std::string line; std::getline(in, line);)
      ++count;
    return count;
  }
};

TEST_F(ProgramTest, TheEnginesCheckRefusesASweep) {
  ASSERT_EQ(daemon().code, 0);
  api::Client client(home);
  const std::string text = "# mistake: layer 2 has no option 'p'\ntrain: {steps: 1}\n";
  for (const bool dry_run : {true, false})
    try {
      client.post("/v1/sweeps", {{"text", text}, {"dry_run", dry_run}});
      ADD_FAILURE() << "accepted";
    } catch (const api::ApiError& error) {
      EXPECT_EQ(error.status(), 400);
      const auto mistakes = api::diagnostics_from(error.body());
      ASSERT_EQ(mistakes.size(), 1u);
      EXPECT_EQ(mistakes[0].to_string(), "sweep.yaml:1: train: layer 2 has no option 'p'");
    }
}

TEST_F(ProgramTest, ACheckThatDiesHoldsNoSweepBack) {
  ASSERT_EQ(daemon().code, 0);
  const json answer =
      api::Client(home).post("/v1/sweeps", {{"text", "# check: crash\ntrain: {steps: 1}\n"}});
  EXPECT_THAT(answer.at("notes").dump(), HasSubstr("--check was killed"));
  EXPECT_EQ(wait_for_end(answer.at("id")).at("state"), "finished");
}

TEST_F(ProgramTest, ADryRunTellsWhatTheSweepCanCost) {
  ASSERT_EQ(daemon().code, 0);
  const json answer = api::Client(home).post(
      "/v1/sweeps", {{"text",
                      "seeds: 3\ntrain: {steps: 1}\nresources: {nodes: 2, time: \"00:30:00\"}\n"
                      "limits: {node_hours: 2, max_nodes_in_flight: 2}\n"},
                     {"dry_run", true}});
  EXPECT_EQ(answer.at("most_node_hours"), 3);
  EXPECT_THAT(answer.at("cost").get<std::string>(),
              HasSubstr("at most 3 node-hours (3 trials x 2 nodes x 00:30:00); a trial that fails "
                        "is tried again up to 2 times; limits.node_hours: 2 may end the sweep "
                        "before all trials are done"));
}

TEST_F(ProgramTest, StartsAnswersAndStops) {
  const auto first = daemon();
  ASSERT_EQ(first.code, 0) << first.err;
  api::Client client(home);
  EXPECT_TRUE(client.ping());
  EXPECT_EQ(pid(), client.get("/v1/ping").at("pid"));
  struct stat info {};
  ASSERT_EQ(stat(home.socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);

  const auto second = daemon();
  EXPECT_EQ(second.code, 3);
  EXPECT_THAT(second.err, HasSubstr("another controller"));
  EXPECT_TRUE(client.ping()) << "the first one is not disturbed";

  const pid_t process = pid();
  kill(process, SIGHUP);
  EXPECT_TRUE(test::eventually(
      [&] { return test::read_file(home.log()).find("read again") != std::string::npos; }));
  client.post("/v1/shutdown", json::object());
  EXPECT_TRUE(test::eventually([&] { return !alive(process); }));
  EXPECT_FALSE(fs::exists(home.socket()));
  EXPECT_FALSE(client.ping());
}

TEST_F(ProgramTest, AStaleSocketIsReplaced) {
  ASSERT_EQ(daemon().code, 0);
  const pid_t process = pid();
  kill(process, SIGKILL);
  ASSERT_TRUE(test::eventually([&] { return !alive(process); }));
  ASSERT_TRUE(fs::exists(home.socket()));
  ASSERT_EQ(daemon().code, 0);
  EXPECT_TRUE(api::Client(home).ping());
}

TEST_F(ProgramTest, SaysWhatIsWrong) {
  configure("max_node_per_job: 3\n");
  auto outcome = daemon();
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("config.yaml:8"));
  EXPECT_THAT(outcome.err, HasSubstr("max_nodes_per_job"));
  configure("");
  outcome = daemon("no_such_point:1");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("no_such_point"));
  home.directory = dir.path() / std::string(110, 'h');
  fs::create_directories(home.directory);
  outcome = daemon();
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("too long for a socket"));
  const std::pair<std::vector<std::string>, const char*> mistakes[] = {
      {{"thalwegd", "--bogus"}, "--bogus"},
      {{"thalwegd", "--home"}, "--home"},
      {{"thalwegd", "--limits", "--foreground"}, "excludes"},
      {{"thalwegd", "start"}, "start"}};
  for (const auto& [words, named] : mistakes) {
    outcome = test::run(words);
    EXPECT_EQ(outcome.code, 2) << named;
    EXPECT_THAT(outcome.err, HasSubstr(named));
    EXPECT_THAT(outcome.err, HasSubstr("Try 'thalwegd --help'"));
  }
}

TEST_F(ProgramTest, AHomeThatIsThereKeepsItsMode) {
  // A project folder that a group shares.
  chmod(home.directory.c_str(), 02775);
  ASSERT_EQ(daemon().code, 0);
  struct stat info {};
  ASSERT_EQ(stat(home.directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 02775u);
  for (const auto& entry : fs::directory_iterator(home.directory)) {
    if (entry.path() == home.config()) continue;
    ASSERT_EQ(stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 077, 0u) << entry.path() << " is open to others";
  }
  api::Client(home).post("/v1/shutdown", json::object());
  ASSERT_TRUE(test::eventually([&] { return !fs::exists(home.status_file()); }));
  // With its record in it, whatever else is there.
  test::write_file(home.directory / "notes.txt", "mine");
  EXPECT_EQ(daemon().code, 0);
}

TEST_F(ProgramTest, ANewHomeIsItsUsersOnly) {
  home.directory = dir.path() / "some/where";
  const auto outcome = daemon();
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  struct stat info {};
  ASSERT_EQ(stat(home.directory.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
}

TEST_F(ProgramTest, AFolderOfOtherThingsIsNoHome) {
  const auto refused = [&](const fs::path& folder, const std::string& why) {
    struct stat before {
    }, after{};
    ASSERT_EQ(stat(folder.c_str(), &before), 0);
    const auto outcome = test::run({"thalwegd", "--home", folder.string()});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_THAT(outcome.err, HasSubstr(why));
    EXPECT_THAT(outcome.err, HasSubstr("THALWEG_HOME"));
    ASSERT_EQ(stat(folder.c_str(), &after), 0);
    EXPECT_EQ(after.st_mode, before.st_mode);
    EXPECT_FALSE(fs::exists(folder / "controller.lock"));
  };
  refused("/tmp", "every user may write to it");
  const fs::path foreign = dir.path() / "foreign";
  fs::create_directory(foreign);
  test::write_file(foreign / "paper.tex", "...");
  refused(foreign, "\"paper.tex\"");
  fs::remove(foreign / "paper.tex");
  chmod(foreign.c_str(), 01777);
  refused(foreign, "every user may write to it");
  refused(home.config(), "it is not a folder");
}

/// Whoever may write in the home, its config.yaml or the runs could have programs started.
TEST_F(ProgramTest, WhatOthersMayWriteToIsNotTaken) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  struct Case {
    uid_t owner;
    gid_t group;
    mode_t mode;
    const char* why;
  };
  const Case cases[] = {{65534, 65534, 0755, "it belongs to the user nobody"},
                        {0, 65534, 02775, "the group nogroup may write to it"},
                        {0, 0, 0777, "every user may write to it"}};
  const fs::path runs = dir.path() / "runs";
  fs::create_directory(runs);
  configure("runs: " + runs.string() + "\n");
  for (const fs::path& path : {runs, home.config(), home.directory})
    for (const Case& each : cases) {
      SCOPED_TRACE(path.string() + ": " + each.why);
      struct stat before {};
      ASSERT_EQ(stat(path.c_str(), &before), 0);
      ASSERT_EQ(chown(path.c_str(), each.owner, each.group), 0);
      ASSERT_EQ(chmod(path.c_str(), each.mode), 0);
      const auto outcome = daemon();
      EXPECT_NE(outcome.code, 0);
      EXPECT_THAT(outcome.err, testing::AllOf(HasSubstr(path.string()), HasSubstr(each.why)));
      ASSERT_EQ(chown(path.c_str(), before.st_uid, before.st_gid), 0);
      ASSERT_EQ(chmod(path.c_str(), before.st_mode & 07777), 0);
    }
  EXPECT_EQ(daemon().code, 0) << "as it was made";
}

TEST_F(ProgramTest, AConfigThatOthersMayWriteToIsNotReadAgain) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  configure("max_trials: 7\n");
  ASSERT_EQ(daemon().code, 0);
  configure("max_trials: 8\n");
  ASSERT_EQ(chown(home.config().c_str(), 65534, 65534), 0);
  ASSERT_EQ(kill(pid(), SIGHUP), 0);
  EXPECT_TRUE(test::eventually([&] {
    return test::read_file(home.log()).find("config.yaml is not taken") != std::string::npos;
  })) << test::read_file(home.log());
}

TEST_F(ProgramTest, ASitesControllerIsNotRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can be root";
  const auto outcome = test::run({"thalwegd", "--site", "--home", home.directory.string()});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("not as root"));
}

TEST_F(ProgramTest, ASitesRunsAreOpenToPassThroughOnly) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can start it as another user";
  test::TempDir place;
  fs::permissions(place.path(), fs::perms(0777));
  const fs::path service = place.path() / "home", runs = place.path() / "runs";
  fs::create_directory(service);
  ASSERT_EQ(chown(service.c_str(), 65534, 65534), 0);
  test::write_file(service / "config.yaml", "runs: " + runs.string() + "\n");
  const auto start = [&] {
    test::RunOptions options;
    options.deadline = test::milliseconds(3000);
    return test::run(
        {"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", THALWEG_BIN_DIR "/thalwegd",
         "--site", "--foreground", "--home", service.string()},
        options);
  };
  for (const mode_t mode : {0700, 0713}) {
    fs::create_directory(runs);
    ASSERT_EQ(chown(runs.c_str(), 65534, 65534), 0);
    ASSERT_EQ(chmod(runs.c_str(), mode), 0);
    const auto outcome = start();
    EXPECT_EQ(outcome.code, 1) << outcome.err;
    EXPECT_THAT(outcome.err, HasSubstr("chmod 711 " + runs.string()));
    fs::remove_all(runs);
  }
}

TEST_F(ProgramTest, ALimitOnFileSizesIsWaitedFor) {
  ASSERT_EQ(daemon().code, 0);
  const pid_t process = pid();
  api::Client client(home);
  EXPECT_TRUE(client.get("/v1/ping").at("troubles").empty());
  // As a full disk: the record cannot grow, and SIGXFSZ is sent.
  rlimit limit{1, RLIM_INFINITY};
  ASSERT_EQ(prlimit(process, RLIMIT_FSIZE, &limit, nullptr), 0);
  try {
    submit("{steps: 3}");
    ADD_FAILURE() << "it was taken";
  } catch (const api::ApiError& error) {
    EXPECT_EQ(error.status(), 503);
    EXPECT_THAT(error.what(), HasSubstr("nothing was changed"));
  }
  const json troubles = client.get("/v1/ping").at("troubles");
  ASSERT_EQ(troubles.size(), 1u);
  EXPECT_THAT(troubles.at(0).get<std::string>(), HasSubstr("cannot be written"));
  limit.rlim_cur = RLIM_INFINITY;
  ASSERT_EQ(prlimit(process, RLIMIT_FSIZE, &limit, nullptr), 0);
  ASSERT_TRUE(test::eventually([&] { return client.get("/v1/ping").at("troubles").empty(); }));
  EXPECT_EQ(wait_for_end(submit("{steps: 3}")).at("state"), "finished");
  EXPECT_EQ(pid(), process);
}

TEST_F(ProgramTest, TheSitesFileHoldsForTheControllerAndForWhoAsks) {
  const std::string site = (dir.path() / "site.yaml").string();
  test::write_file(site,
                   "max_trials: 3\nslurm: {partition: main}\nenforce: [max_trials, "
                   "slurm.partition]\n");
  test::RunOptions options;
  options.env = {{"THALWEG_TEST", dir.path()}, {"THALWEG_SITE_CONFIG", site}};
  const std::vector<std::string> command{"thalwegd", "--home", home.directory.string()};
  auto asking = command;
  asking.emplace_back("--limits");
  const json limits = json::parse(test::run(asking, options).out);
  EXPECT_EQ(limits.at("max_trials"), 3);
  EXPECT_EQ(limits.at("slurm").at("partition"), "main");
  EXPECT_EQ(limits.at("locked"), json::parse(R"(["slurm.partition"])"));

  ASSERT_EQ(test::run(command, options).code, 0);
  const auto refusal = [&](const std::string& more) {
    try {
      api::Client(home).post("/v1/sweeps", {{"text", "train: {steps: 4}\n" + more}});
    } catch (const api::ApiError& error) {
      return error.body().dump();
    }
    return std::string();
  };
  EXPECT_THAT(refusal("seeds: 4\n"),
              HasSubstr("found 4 trials, expected at most 3 (max_trials in " + site + ")"));
  EXPECT_THAT(refusal("slurm: {partition: short}\n"),
              HasSubstr("fixed to main by " + site + " (enforce)"));
  kill(pid(), SIGKILL);
  ASSERT_TRUE(test::eventually([&] { return !api::Client(home).ping(); }));

  configure("max_trials: 1000\n");
  const auto outcome = test::run(command, options);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("fixed by " + site + " (enforce)"));
  EXPECT_EQ(test::run(asking, options).code, 2);
}

TEST_F(ProgramTest, TheClientStartsIt) {
  setenv("THALWEG_TEST", dir.path().c_str(), 1);
  setenv("PATH", (std::string(THALWEG_BIN_DIR) + ":" + std::getenv("PATH")).c_str(), 1);
  api::Client client(home);
  client.ensure_running();
  EXPECT_TRUE(client.ping());
  client.ensure_running();
  configure("nonsense: 1\n");
  kill(pid(), SIGKILL);
  ASSERT_TRUE(test::eventually([&] { return !client.ping(); }));
  try {
    client.ensure_running();
    FAIL() << "it started";
  } catch (const api::Unreachable& error) {
    EXPECT_THAT(error.what(), HasSubstr("nonsense"));
  }
  unsetenv("THALWEG_TEST");
}

TEST_F(ProgramTest, WhoeverWatchesStartsAKilledControllerAgain) {
  setenv("THALWEG_TEST", dir.path().c_str(), 1);
  setenv("PATH", (std::string(THALWEG_BIN_DIR) + ":" + std::getenv("PATH")).c_str(), 1);
  ASSERT_EQ(daemon().code, 0);
  const std::string id = submit("{steps: 100, pause: 0.05}", 1);
  std::string told, state;
  bool killed = false;
  api::Client(home).stream(
      "/v1/watch?id=" + id,
      [&](const json& event) {
        state = event.at("state");
        if (!std::exchange(killed, true)) kill(pid(), SIGKILL);
        return true;
      },
      [&](const std::string& news) { told = news; });
  EXPECT_EQ(state, "finished");
  EXPECT_THAT(told, HasSubstr("was killed"));
  EXPECT_EQ(times_run(1), 1);
  unsetenv("THALWEG_TEST");
}

TEST_F(ProgramTest, AKilledRankIsNamedAndTheTrialGoesOn) {
  ASSERT_EQ(daemon().code, 0);
  const std::string id = submit("{steps: 6, fail_at: 3}", 1);
  EXPECT_EQ(wait_for_end(id).at("state"), "finished");
  const json first = api::Client(home).get("/v1/attempts/1.1.1");
  EXPECT_EQ(first.at("state"), "failed");
  EXPECT_EQ(first.at("failed_rank"), 0);
  EXPECT_THAT(first.at("reason").get<std::string>(), HasSubstr("signal 9"));
  EXPECT_EQ(api::Client(home).get("/v1/trials/1.1/curve?metric=train/loss").at("points").size(),
            6u);
}

TEST_F(ProgramTest, StoppedAttemptsGoOnWhileTheControllerIsAway) {
  ASSERT_EQ(daemon().code, 0);
  const std::string id = submit("{steps: 20, pause: 0.05}");
  ASSERT_TRUE(test::eventually([&] { return times_run(1) == 1 && times_run(2) == 1; }));
  const pid_t process = pid();
  kill(process, SIGTERM);
  ASSERT_TRUE(test::eventually([&] { return !alive(process); }));
  ASSERT_TRUE(test::eventually([&] { return fs::exists(home.runs() / "1/1/1/exit.json"); }))
      << "it went on by itself";
  ASSERT_EQ(daemon().code, 0);
  EXPECT_EQ(wait_for_end(id).at("state"), "finished");
  EXPECT_EQ(times_run(1), 1);
}

class KilledAt : public ProgramTest, public testing::WithParamInterface<const char*> {};

TEST_P(KilledAt, NothingRunsTwiceAndNothingIsLost) {
  ASSERT_EQ(daemon(GetParam()).code, 0);
  const pid_t process = pid();
  std::string id = "1";
  try {
    id = submit("{steps: 8, pause: 0.02}");
  } catch (const api::Unreachable&) {
    // killed before it could answer: the sweep was committed
  }
  ASSERT_TRUE(test::eventually([&] { return !alive(process); })) << "the point is never passed";
  ASSERT_EQ(daemon().code, 0);
  const json end = wait_for_end(id);
  EXPECT_EQ(end.at("state"), "finished");
  const auto store = db::Store::open(home.database());
  for (int trial = 1; trial <= 2; ++trial) {
    EXPECT_EQ(times_run(trial), 1);
    EXPECT_EQ(end.at("trials")[static_cast<std::size_t>(trial - 1)].at("attempts"), 1);
    EXPECT_EQ(store->curve({1, trial, 0}, "train/loss").size(), 8u);
    const auto lines = store->attempt({1, trial, 1})->journal_lines;
    EXPECT_EQ(lines, 1 + 2 * 8 + 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Point, KilledAt,
                         testing::Values("after_submission:1", "after_intent:2", "before_submit:1",
                                         "after_submit:2", "after_recorded:1", "after_release:1",
                                         "after_released:2", "first_metrics:1", "in_ingest:2",
                                         "end_record_seen:1", "in_ended:1", "after_trial_ended:1"),
                         [](const auto& point) {
                           std::string name = point.param;
                           return name.substr(0, name.find(':'));
                         });

}  // namespace
}  // namespace thalweg::daemon
