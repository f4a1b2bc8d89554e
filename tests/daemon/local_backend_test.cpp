// The local backend with the real thalweg-launch and a shell script in place of the engine.
#include "base/machine.h"
#include "daemon/backend/local.h"
#include "daemon/backend/local_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cmath>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>

#include "base/process.h"
#include "daemon/backend/process.h"
#include "jobspec/trial.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

template <class T>
T result_of(Awaitable<T> work) {
  boost::asio::io_context io;
  std::future<T> result = boost::asio::co_spawn(io, std::move(work), boost::asio::use_future);
  io.run();
  return result.get();
}

struct LocalBackendTest : testing::Test {
  test::TempDir dir;
  LocalBackendConfig config;
  std::unique_ptr<Backend> backend;
  LaunchRequest request;

  void SetUp() override {
    config.launch_program = std::string(THALWEG_BIN_DIR) + "/thalweg-launch";
    config.engine_program = std::string(THALWEG_SOURCE_DIR) + "/tests/daemon/support/engine.sh";
    config.cores = 2;
    config.grace_s = 0.5;
    backend = make_local_backend(config);
    request.id = {1, 1, 1};
    request.token = "0123456789abcdef0123456789abcdef";
    request.folder = dir.path() / "1";
    prepare(5, 0);
  }
  void TearDown() override {
    // Whatever is still there of this test's attempt.
    for (const pid_t pid : test::processes_with_environment("THALWEG_TEST=" + dir.path().string()))
      kill(pid, SIGKILL);
    unsetenv("THALWEG_TEST");
  }

  void prepare(int steps, double pause) {
    setenv("THALWEG_TEST", dir.path().c_str(), 1);
    fs::create_directories(request.folder);
    jobspec::Trial trial;
    trial.id = request.id;
    trial.token = request.token;
    trial.train.set("steps", steps);
    trial.train.set("pause", pause);
    jobspec::write_trial(trial, request.folder / "trial.yaml");
  }
  Submission submit() { return result_of(backend->submit(request)); }
  bool release(const std::string& handle) { return result_of(backend->release(request, handle)); }
  Backend::TrackedJob watched(const std::string& handle) const {
    return {handle, request.token, request.folder};
  }
  JobStatus look(const std::string& handle) {
    const std::vector<Backend::TrackedJob> jobs{watched(handle)};
    return result_of(backend->poll(jobs)).value().at(0);
  }
  bool becomes(const std::string& handle, JobPhase phase) {
    return test::eventually([&] { return look(handle).phase == phase; });
  }
  int times_run() const {
    std::ifstream in(request.folder / "ran");
    int count = 0;
    for (std::string line; std::getline(in, line);)
      ++count;
    return count;
  }
};

TEST_F(LocalBackendTest, RunsAnAttemptToItsEnd) {
  request.resources.ranks_per_node = 2;
  const auto submission = submit();
  ASSERT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
  EXPECT_EQ(look(submission.handle).phase, JobPhase::held);
  EXPECT_EQ(times_run(), 0) << "nothing runs before release";
  ASSERT_TRUE(release(submission.handle));
  ASSERT_TRUE(becomes(submission.handle, JobPhase::ended));
  const auto status = look(submission.handle);
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_EQ(status.token, request.token);
  EXPECT_GT(status.started, 0);
  EXPECT_GE(status.ended, status.started - 0.1);
  EXPECT_EQ(times_run(), 1);
}

// exit.json is there before the launcher has exited; nobody may look again for hours.
TEST_F(LocalBackendTest, AnEndedLauncherIsNoZombie) {
  const auto submission = submit();
  ASSERT_TRUE(release(submission.handle));
  ASSERT_TRUE(test::eventually([&] { return fs::exists(request.folder / "exit.json"); }));
  ASSERT_TRUE(becomes(submission.handle, JobPhase::ended));
  const auto claim = nlohmann::json::parse(std::ifstream(request.folder / "launch.json"));
  const auto pid = claim.at("pid").get<pid_t>();
  EXPECT_TRUE(test::eventually([&] { return kill(pid, 0) != 0; })) << pid;
}

TEST_F(LocalBackendTest, AttemptsStartWithTheRequestsEnvironment) {
  setenv("THALWEG_TEST_OF_THE_CONTROLLER", "1", 1);
  request.environment = {std::string("PATH=") + std::getenv("PATH"), "MINE=a b",
                         "THALWEG_TEST=" + dir.path().string()};
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(becomes(handle, JobPhase::ended));
  unsetenv("THALWEG_TEST_OF_THE_CONTROLLER");
  const std::string seen = test::read_file(request.folder / "environment");
  EXPECT_THAT(seen, testing::HasSubstr("MINE=a b\n"));
  EXPECT_THAT(seen, testing::Not(testing::HasSubstr("THALWEG_TEST_OF_THE_CONTROLLER")));
}

TEST_F(LocalBackendTest, ReleasedTwiceItRunsOnce) {
  prepare(20, 0.02);
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(release(handle));
  // A controller that does not know that it was released: its launcher finds the claim.
  auto other = make_local_backend(config);
  result_of(other->release(request, handle));
  ASSERT_TRUE(becomes(handle, JobPhase::ended));
  EXPECT_EQ(times_run(), 1);
}

TEST_F(LocalBackendTest, AnotherControllerTakesOver) {
  prepare(1000, 0.05);
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(becomes(handle, JobPhase::running));
  // Before its first line the script would not hear the signal.
  ASSERT_TRUE(test::eventually([&] { return fs::exists(request.folder / "journal.jsonl"); }));
  backend = make_local_backend(config);
  EXPECT_EQ(look(handle).phase, JobPhase::running);
  ASSERT_TRUE(result_of(backend->cancel(watched(handle), Ending::gently)));
  ASSERT_TRUE(becomes(handle, JobPhase::ended));
  EXPECT_EQ(look(handle).exit_code, 75) << "asked to stop, it stopped in good order";
}

// Whoever started it: nobody has to look again and again.
TEST_F(LocalBackendTest, TellsOnceThatAnAttemptHasEnded) {
  for (const bool adopted : {false, true}) {
    request.folder = dir.path() / (adopted ? "adopted" : "own");
    prepare(adopted ? 40 : 3, 0.05);
    boost::asio::io_context io;
    int told = 0;
    const auto tell = [&] { ++told; };
    const auto work = [&] {
      io.restart();
      io.run_for(std::chrono::milliseconds(20));
    };
    if (!adopted) backend->tell_ends(io.get_executor(), tell);
    const auto handle = submit().handle;
    boost::asio::co_spawn(io, backend->release(request, handle), boost::asio::detached);
    work();
    if (adopted) {
      ASSERT_TRUE(becomes(handle, JobPhase::running));
      backend = make_local_backend(config);
      backend->tell_ends(io.get_executor(), tell);
    }
    const std::vector<Backend::TrackedJob> jobs{watched(handle)};
    for (int i = 0; i < 2; ++i)  // two looks at what runs, and one end
      boost::asio::co_spawn(io, backend->poll(jobs), boost::asio::detached);
    EXPECT_TRUE(test::eventually([&] {
      work();
      return told > 0;
    }));
    EXPECT_EQ(look(handle).phase, JobPhase::ended) << "told, and it goes on";
    work();
    EXPECT_EQ(told, 1);
    backend->tell_ends({}, {});
  }
}

// Its controller has ended too: nothing knows the launcher any more.
TEST_F(LocalBackendTest, AnAttemptWhoseFolderWasDeletedIsMissingAndNotHeldForEver) {
  const auto handle = submit().handle;
  EXPECT_EQ(look(handle).phase, JobPhase::held);
  fs::remove_all(request.folder);
  backend = make_local_backend(config);
  const auto status = look(handle);
  EXPECT_EQ(status.phase, JobPhase::missing);
  EXPECT_EQ(status.reason, "its folder is gone");
  EXPECT_TRUE(status.may_go_on) << "its ranks may live on";
}

TEST_F(LocalBackendTest, WhatIsNoClaimAndNoExitIsNoReasonToThrow) {
  const auto handle = submit().handle;
  const fs::path claim = request.folder / "launch.json", exit = request.folder / "exit.json";
  fs::create_directory(claim);
  EXPECT_NO_THROW(look(handle));
  EXPECT_TRUE(release(handle)) << "something is there: nothing is started beside it";
  fs::remove(claim);
  fs::create_symlink("launch.json", claim);  // a loop
  EXPECT_EQ(look(handle).phase, JobPhase::missing);
  EXPECT_NO_THROW(release(handle));
  fs::remove(claim);
  test::write_file(claim, R"({"pid":"seven","start":[],"void":3})");
  EXPECT_NO_THROW(look(handle));
  test::write_file(claim, R"({"pid":1,"start":1,"boot_id":"x","token":"t"})");
  fs::create_directory(exit);
  EXPECT_NO_THROW(look(handle));
  fs::remove(exit);
  test::write_file(exit, R"({"token":")" + request.token + R"(","code":"none"})");
  EXPECT_EQ(look(handle).phase, JobPhase::ended);
}

TEST_F(LocalBackendTest, AtItsTimeLimitAnAttemptIsStopped) {
  prepare(1000, 0.05);
  request.resources.time_limit_s = std::ceil(2 * test::slowdown());
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(becomes(handle, JobPhase::ended));
  const auto status = look(handle);
  EXPECT_TRUE(status.timed_out);
  EXPECT_EQ(status.exit_code, 75) << "it was told in time to stop in good order";
}

TEST_F(LocalBackendTest, AStoppedLauncherDoesNotOutliveItsTimeLimit) {
  prepare(100000, 0.05);
  config.overdue_s = 0.5;
  backend = make_local_backend(config);
  request.resources.time_limit_s = 1;
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(test::eventually([&] { return fs::exists(request.folder / "launch.json"); }));
  const pid_t launcher =
      nlohmann::json::parse(test::read_file(request.folder / "launch.json")).at("pid");
  for (const pid_t pid : session_members(launcher))
    kill(pid, SIGSTOP);
  JobStatus last;
  Backend::TrackedJob job = watched(handle);
  job.resources = request.resources;
  ASSERT_TRUE(test::eventually([&] {
    last = result_of(backend->poll({job})).value().at(0);
    return last.phase == JobPhase::ended;
  }));
  EXPECT_TRUE(last.timed_out);
  EXPECT_THAT(last.reason, HasSubstr("after its time limit"));
  EXPECT_TRUE(session_members(launcher).empty());
}

TEST_F(LocalBackendTest, CancelledBeforeItRanItNeverRuns) {
  const auto handle = submit().handle;
  ASSERT_TRUE(result_of(backend->cancel(watched(handle), Ending::gently)));
  EXPECT_EQ(look(handle).phase, JobPhase::missing);
  EXPECT_TRUE(release(handle));
  result_of(make_local_backend(config)->release(request, handle));
  // What was started finds out that it may not run.
  EXPECT_TRUE(test::eventually([&] {
    return test::processes_with_environment("THALWEG_TEST=" + dir.path().string()).empty();
  }));
  EXPECT_EQ(look(handle).phase, JobPhase::missing);
  EXPECT_EQ(times_run(), 0);
}

TEST_F(LocalBackendTest, WhatDoesNotStopIsKilled) {
  test::write_file(dir.path() / "deaf.sh",
                   "#!/bin/sh\ncd \"$(dirname \"$1\")\"\ntrap 'touch heard' TERM\necho $$ > ran\n"
                   "while :; do sleep 0.05; done\n");
  fs::permissions(dir.path() / "deaf.sh", fs::perms::owner_all);
  config.engine_program = dir.path() / "deaf.sh";
  backend = make_local_backend(config);
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(test::eventually([&] { return times_run() == 1; }));
  ASSERT_TRUE(result_of(backend->cancel(watched(handle), Ending::gently)));
  ASSERT_TRUE(test::eventually([&] { return fs::exists(request.folder / "heard"); }));
  EXPECT_EQ(look(handle).phase, JobPhase::running);
  ASSERT_TRUE(test::eventually([&] {
    result_of(backend->cancel(watched(handle), Ending::by_force));
    return look(handle).phase == JobPhase::ended;
  }));
}

TEST_F(LocalBackendTest, AKilledLauncherLeavesNothingBehind) {
  prepare(1000, 0.05);
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(becomes(handle, JobPhase::running));
  ASSERT_TRUE(test::eventually([&] { return times_run() == 1; }));
  const auto claim = nlohmann::json::parse(test::read_file(request.folder / "launch.json"));
  const pid_t launcher = claim.at("pid");
  kill(launcher, SIGKILL);
  ASSERT_TRUE(becomes(handle, JobPhase::ended));
  EXPECT_TRUE(session_members(launcher).empty());
  const auto status = look(handle);
  EXPECT_FALSE(status.exit_code);
  EXPECT_THAT(status.reason, HasSubstr("killed"));
}

TEST_F(LocalBackendTest, AStrangerWithTheLaunchersPidIsLeftAlone) {
  // The launcher was killed long ago, and the kernel has given its pid to somebody's session.
  DetachedProcess sleep;
  sleep.arguments = {"/bin/sleep", "1000"};
  sleep.directory = "/";
  sleep.out = sleep.err = "/dev/null";
  const pid_t stranger = start_detached(sleep);
  const std::int64_t start = process_start_time(stranger).value();
  EXPECT_THAT(session_members(stranger), testing::ElementsAre(stranger));
  test::write_file(
      request.folder / "launch.json",
      nlohmann::json{
          {"pid", stranger}, {"start", start - 1}, {"boot_id", boot_id()}, {"token", request.token}}
          .dump());
  EXPECT_EQ(look("h").phase, JobPhase::ended);
  EXPECT_TRUE(result_of(backend->cancel(watched("h"), Ending::by_force)));
  test::sleep_for(test::milliseconds(100));
  EXPECT_EQ(process_start_time(stranger), start) << "it was killed";
  kill(stranger, SIGKILL);
}

TEST_F(LocalBackendTest, WhatIsLeftOfItsOwnSessionIsEnded) {
  // By its folder (it works there), by its command line, or by the token there.
  const struct {
    const char* what;
    std::vector<std::string> arguments;
    fs::path directory;
  } table[] = {
      {"working folder", {"/bin/sleep", "1000"}, request.folder},
      {"folder named", {"/bin/sh", "-c", "sleep 1000", (request.folder / "trial.yaml")}, "/"},
      {"token named", {"/bin/sh", "-c", "sleep 1000; :", request.token}, "/"},
  };
  for (const auto& row : table) {
    const pid_t left = start_detached({row.arguments, row.directory, "/dev/null", "/dev/null"});
    ASSERT_TRUE(test::eventually([&] { return carries(left, request.token, request.folder); }))
        << row.what;
    const nlohmann::json claim{{"pid", left},
                               {"start", process_start_time(left).value() - 1},
                               {"boot_id", boot_id()},
                               {"token", request.token}};
    test::write_file(request.folder / "launch.json", claim.dump());
    EXPECT_TRUE(becomes("h", JobPhase::ended)) << row.what;
    EXPECT_FALSE(process_start_time(left)) << row.what;
  }
}

TEST_F(LocalBackendTest, ALauncherThatCannotStartIsAnEnd) {
  test::write_file(dir.path() / "broken", "#!/bin/sh\nexit 9\n");
  fs::permissions(dir.path() / "broken", fs::perms::owner_all);
  config.launch_program = dir.path() / "broken";
  backend = make_local_backend(config);
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  JobStatus status;
  ASSERT_TRUE(test::eventually([&] { return (status = look(handle)).phase == JobPhase::ended; }));
  EXPECT_EQ(status.exit_code, 9);
  EXPECT_EQ(times_run(), 0);
}

TEST_F(LocalBackendTest, EachAttemptHasGpusOfItsOwn) {
  config.gpus = 3;
  config.gpu_locks = dir.path() / "locks";
  unsetenv("CUDA_VISIBLE_DEVICES");
  backend = make_local_backend(config);
  const GpuLocks locks(local_gpus(3), config.gpu_locks);
  request.resources.gpus_per_node = 2;
  request.environment = {"THALWEG_TEST=" + dir.path().string(), "PATH=/usr/bin:/bin",
                         "CUDA_VISIBLE_DEVICES=0,1,2,3"};
  prepare(1000, 0.05);
  const auto handle = submit().handle;
  ASSERT_TRUE(release(handle));
  ASSERT_TRUE(becomes(handle, JobPhase::running));
  const auto ranks = test::processes_with_environment("CUDA_VISIBLE_DEVICES=0,1");
  EXPECT_FALSE(ranks.empty()) << "its own two, not those of the submitter";
  EXPECT_EQ(look(handle).gpus, (std::vector<std::string>{"0", "1"}));
  EXPECT_FALSE(locks.take(2)) << "taken";
  EXPECT_EQ(locks.take(1).value().visible, "2");
  // A controller that was started again knows nothing of it, and takes none of them either.
  backend = make_local_backend(config);
  EXPECT_EQ(look(handle).gpus, (std::vector<std::string>{"0", "1"}));
  const LaunchRequest first = request;
  request.id.attempt = 2;
  request.token = "fedcba9876543210fedcba9876543210";
  request.folder = dir.path() / "2";
  prepare(1000, 0.05);
  EXPECT_FALSE(release(submit().handle));
  EXPECT_EQ(backend->awaited(), "waiting for 2 GPUs that other programs of this user have");
  request = first;
  ASSERT_TRUE(result_of(backend->cancel(watched(handle), Ending::by_force)));
  EXPECT_TRUE(test::eventually([&] { return locks.take(3).has_value(); }));
  EXPECT_EQ(locks.take(1, {"0"}).value().visible, "1");
  EXPECT_EQ(locks.take(3, {"0"}).value().visible, "0,1,2") << "else it could never run";
  const auto rest = locks.take(2, {"1"});
  EXPECT_EQ(rest.value().visible, "0,2");
  EXPECT_FALSE(locks.take(1, {"1"})) << "it waits for the others";
}

TEST_F(LocalBackendTest, RefusesWhatTheMachineHasNot) {
  config.gpus = 2;
  config.memory_mib = 4096;
  config.gpu_locks = dir.path() / "locks";
  backend = make_local_backend(config);
  const auto refusal = [&](int nodes, int gpus, std::int64_t memory_mib) -> std::string {
    request.resources.nodes = nodes;
    request.resources.gpus_per_node = gpus;
    request.resources.memory_mib = memory_mib;
    const auto forecast = result_of(backend->forecast(request));
    return forecast && forecast->refused ? forecast->message : "";
  };
  EXPECT_EQ(refusal(1, 0, 0), "");
  EXPECT_EQ(refusal(2, 1, 2048), "");
  EXPECT_THAT(refusal(2, 2, 0), HasSubstr("asks for 4 GPUs, this machine has 2"));
  EXPECT_THAT(refusal(1, 0, 900 * 1024), HasSubstr("900.0 GiB of memory, this machine has 4.0"));
  EXPECT_THAT(refusal(2, 0, 3000), HasSubstr("asks for 5.9 GiB"));
  request.resources = {};
  request.resources.gpus_per_node = 1;
  request.resources.memory_mib = 2000;
  const auto wanted = request.resources;
  EXPECT_TRUE(backend->has_room(wanted, {wanted}));
  EXPECT_FALSE(backend->has_room(wanted, {wanted, wanted}));
  jobspec::Resources other = wanted;
  other.gpus_per_node = 0;
  EXPECT_FALSE(backend->has_room(other, {wanted, wanted})) << "memory";
  other.memory_mib = 0;
  EXPECT_TRUE(backend->has_room(other, {}));
}

TEST(LocalGpus, AreThoseThatTheControllerMayUse) {
  using Names = std::vector<std::string>;
  setenv("CUDA_VISIBLE_DEVICES", "3,GPU-8932f937,1", 1);
  EXPECT_EQ(local_gpus(-1), (Names{"3", "GPU-8932f937", "1"}));
  EXPECT_EQ(local_gpus(2), (Names{"3", "GPU-8932f937"}));
  EXPECT_EQ(local_gpus(4), (Names{"0", "1", "2", "3"}));
  setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
  EXPECT_EQ(local_gpus(-1), Names{});
  setenv("CUDA_VISIBLE_DEVICES", "0,-1,2", 1);
  EXPECT_EQ(local_gpus(-1), Names{"0"});
  unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(local_gpus(0), Names{});
}

TEST_F(LocalBackendTest, WaitsForProgramsThatAreAway) {
  const fs::path away = dir.path() / "away";
  for (std::string LocalBackendConfig::*program :
       {&LocalBackendConfig::engine_program, &LocalBackendConfig::launch_program}) {
    const std::string there = config.*program;
    config.*program = away;
    backend = make_local_backend(config);
    const auto submission = submit();
    EXPECT_EQ(submission.outcome, SubmitOutcome::retry_later);
    EXPECT_THAT(submission.message, HasSubstr(away.string() + " is neither"));
    fs::copy_file(find_program(there), away);
    const auto handle = submit().handle;
    fs::remove(away);
    EXPECT_FALSE(release(handle)) << "gone again meanwhile";
    config.*program = there;
  }
}

TEST_F(LocalBackendTest, JudgesByTheFolderAlone) {
  const pid_t self = getpid();
  const auto claim = [&](std::int64_t start, const std::string& boot) {
    return nlohmann::json{
        {"pid", self}, {"start", start}, {"boot_id", boot}, {"token", request.token}}
        .dump();
  };
  const std::string exit_of_other = R"({"token":"x","code":0,"time":"2024-05-01T12:00:00Z"})";
  const std::string exit_of_ours =
      R"({"token":")" + request.token + R"(","code":3,"signal":0,"time":"1970-01-01T00:01:40.5Z"})";
  const std::int64_t start = process_start_time(self).value();
  const struct {
    const char* what;
    std::string launch, exit;
    JobPhase phase;
  } table[] = {
      {"no claim", "", "", JobPhase::held},
      {"a live process", claim(start, boot_id()), "", JobPhase::running},
      {"its pid belongs to another process", claim(start + 1, boot_id()), "", JobPhase::ended},
      {"before the last boot", claim(start, "other-boot"), "", JobPhase::missing},
      {"an exit record", claim(start, boot_id()), exit_of_ours, JobPhase::ended},
      {"an exit record of another attempt", claim(start, boot_id()), exit_of_other,
       JobPhase::running},
      {"void", R"({"void":true})", "", JobPhase::missing},
      {"half written", "{\"pid\":", "", JobPhase::running},
  };
  for (const auto& row : table) {
    fs::remove(request.folder / "launch.json");
    fs::remove(request.folder / "exit.json");
    if (!row.launch.empty()) test::write_file(request.folder / "launch.json", row.launch);
    if (!row.exit.empty()) test::write_file(request.folder / "exit.json", row.exit);
    EXPECT_EQ(look("h").phase, row.phase) << row.what;
    if (row.exit == exit_of_ours) {
      EXPECT_EQ(look("h").exit_code, 3);
      EXPECT_EQ(look("h").ended, 100.5);
    }
  }
}

TEST_F(LocalBackendTest, AHalfWrittenClaimFromBeforeTheClockWasSetBackIsGivenUp) {
  const fs::path claim = request.folder / "launch.json";
  test::write_file(claim, "{\"pid\":");
  fs::last_write_time(claim, fs::file_time_type::clock::now() + std::chrono::hours(24));
  EXPECT_EQ(look("h").phase, JobPhase::missing);
}

TEST_F(LocalBackendTest, RoomIsCountedInCores) {
  jobspec::Resources one, two, wide;
  two.ranks_per_node = 2;
  wide.ranks_per_node = 2;
  wide.threads_per_rank = 8;
  EXPECT_TRUE(backend->has_room(one, {one}));
  EXPECT_FALSE(backend->has_room(one, {one, one}));
  EXPECT_FALSE(backend->has_room(two, {one}));
  EXPECT_TRUE(backend->has_room(wide, {})) << "wider than the machine: alone";
  EXPECT_FALSE(backend->has_room(wide, {one}));
  EXPECT_EQ(result_of(backend->describe()), "2 cores");
}

}  // namespace
}  // namespace thalweg::daemon
