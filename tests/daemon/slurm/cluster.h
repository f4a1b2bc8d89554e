// The cases' common ground: one real Slurm cluster of three nodes (tests/cluster) and a backend on
// it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/backend/slurm.h"
#include "tests/daemon/slurm/waiting.h"
#include "tests/support/process.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

inline constexpr test::milliseconds patient{90000};
inline constexpr int nodes = 3;

inline std::string script(const std::string& name) {
  return (fs::path(THALWEG_SOURCE_DIR) / "tests/cluster" / name).string();
}

class SlurmCluster : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto check = test::run({script("check")});
    if (check.code != 0) {
      skipped_ = check.out;
      return;
    }
    folder_ = new test::TempDir;
    // The same name in every run of this build, so that a run that was killed is cleaned up by the
    // next.
    ::setenv("THALWEG_CLUSTER_NAME",
             ("test" + std::to_string(std::hash<std::string>()(THALWEG_BIN_DIR) % 10000)).c_str(),
             1);
    ::setenv("THALWEG_CLUSTER_DIR",
             (fs::temp_directory_path() / ("twc" + std::to_string(::getpid()))).c_str(), 1);
    test::run({script("down")});
    test::RunOptions patience;
    patience.deadline = test::milliseconds(240000);
    const auto up = test::run({script("up"), std::to_string(nodes)}, patience);
    ASSERT_EQ(up.code, 0) << up.err;
    const std::string conf = up.out.substr(up.out.find('=') + 1);
    ::setenv("SLURM_CONF", conf.substr(0, conf.find('\n')).c_str(), 1);
    fs::permissions(folder_->path(), fs::perms(0755));
    start_warned();
  }
  static void TearDownTestSuite() {
    if (!skipped_.empty()) return;
    EXPECT_EQ(test::run({script("down")}).code, 0);
    delete folder_;
  }
  void SetUp() override {
    if (!skipped_.empty()) GTEST_SKIP() << skipped_;
  }

  static SlurmBackendConfig config() {
    SlurmBackendConfig config;
    config.agent_program = std::string(THALWEG_BIN_DIR) + "/thalweg-slurm-agent";
    config.programs.train = std::string(THALWEG_SOURCE_DIR) + "/tests/daemon/slurm/ranks.sh";
    config.max_reuse_s = 0.2;
    return config;
  }
  static LaunchRequest request(const std::string& how, int node_count = 2) {
    static std::atomic<int> count = 0;
    LaunchRequest request;
    request.id = {7, ++count, 1};
    request.token = "token-" + std::to_string(::getpid()) + "-" + std::to_string(count);
    request.folder = folder_->path() / ("attempt " + std::to_string(count));  // a path with a space
    request.resources.nodes = node_count;
    request.resources.time_limit_s = 3600;
    fs::create_directories(request.folder);
    test::write_file(request.folder / "trial.yaml", how + "\n");
    return request;
  }

  template <class T>
  T wait(boost::asio::awaitable<T> work) {
    return test::wait(context_, std::move(work));
  }
  Submission submit(const LaunchRequest& request) { return wait(backend_->submit(request)); }
  // Submits and releases; the handle.
  std::string run(const LaunchRequest& request) {
    const auto submission = submit(request);
    EXPECT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
    EXPECT_TRUE(wait(backend_->release(request, submission.handle)));
    return submission.handle;
  }
  std::optional<JobStatus> look(const std::string& handle, const std::string& token) {
    const auto statuses = wait(backend_->poll({{handle, token, {}}}));
    if (!statuses) return {};
    for (const auto& status : *statuses) {
      if (status.handle == handle && status.token == token) return status;
    }
    ADD_FAILURE() << "a poll says nothing of watched job " << handle;
    return {};
  }
  // Until the job is in the phase; the status then, or the last one.
  JobStatus await_phase(const std::string& handle, const std::string& token, JobPhase phase) {
    std::optional<JobStatus> status;
    const bool reached = test::eventually(
        [&] {
          status = look(handle, token);
          return status && status->phase == phase;
        },
        patient);
    EXPECT_TRUE(reached) << "job " << handle << ": phase "
                         << (status ? std::to_string(static_cast<int>(status->phase)) : "unknown")
                         << ", reason '" << (status ? status->reason : "") << "'\n"
                         << test::run({"scontrol", "--details", "show", "job", handle}).out
                         << test::run({"scontrol", "show", "step", handle}).out
                         << written_in(folder_->path());
    return status.value_or(JobStatus{});
  }
  // What the jobs' logs hold, for a message.
  static std::string written_in(const fs::path& folder) {
    std::string text;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".log" || !entry.is_regular_file()) continue;
      text += entry.path().string() + ":\n" + test::read_file(entry.path());
    }
    return text;
  }
  static bool await_file(const fs::path& path) {
    return test::eventually([&] { return fs::exists(path); }, patient);
  }
  static pid_t controller_pid() {
    return std::stoi(
        test::read_file(fs::path(std::getenv("THALWEG_CLUSTER_DIR")) / "pid/slurmctld"));
  }

  // A job that meets its time limit needs most of a minute: started before the cases, looked at by
  // the last.
  static void start_warned() {
    boost::asio::io_context context;
    auto backend = make_slurm_backend(context.get_executor(), config());
    warned_ = request("warned", 1);
    warned_.resources.time_limit_s = 120;
    warned_.slurm.signal_before_end_s = 30;
    warned_.slurm.options["partition"] = "short";
    const auto submission = test::wait(context, backend->submit(warned_));
    ASSERT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
    warned_handle_ = submission.handle;
    ASSERT_TRUE(test::wait(context, backend->release(warned_, warned_handle_)));
    ASSERT_TRUE(await_file(warned_.folder / "ready.0"));
    // Of a minute: Slurm would warn it at its start, so its own script does.
    short_ = request("warned", 1);
    short_.resources.time_limit_s = 60;
    const auto also = test::wait(context, backend->submit(short_));
    ASSERT_EQ(also.outcome, SubmitOutcome::accepted) << also.message;
    ASSERT_TRUE(test::wait(context, backend->release(short_, also.handle)));
    ASSERT_TRUE(await_file(short_.folder / "ready.0"));
    EXPECT_FALSE(fs::exists(short_.folder / "warned.0")) << "not at once";
    // Slurm counts time limits in minutes; an administrator may end a job earlier.
    const auto sooner =
        test::run({"scontrol", "update", "JobId=" + warned_handle_, "EndTime=now+35"});
    EXPECT_EQ(sooner.code, 0) << sooner.err;
  }

  static inline std::string skipped_;
  static inline test::TempDir* folder_ = nullptr;
  static inline LaunchRequest warned_, short_;
  static inline std::string warned_handle_;
  boost::asio::io_context context_;
  std::unique_ptr<Backend> backend_ = make_slurm_backend(context_.get_executor(), config());
};

}  // namespace thalweg::daemon
