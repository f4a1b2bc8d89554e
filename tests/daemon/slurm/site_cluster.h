// A Slurm cluster with users of the test's own and a site's agent.
#pragma once

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>

#include "daemon/backend/slurm.h"
#include "tests/daemon/slurm/site_world.h"
#include "tests/daemon/slurm/waiting.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;
using test::agent_uid, test::alice_uid, test::bob_uid, test::mallory_uid, test::service_uid;

inline constexpr test::milliseconds patient{90000};

inline std::string script(const std::string& name) {
  return (fs::path(THALWEG_SOURCE_DIR) / "tests/cluster" / name).string();
}

/// The first folder above the programs that not everybody may enter; empty: all may.
inline std::string private_folder() {
  for (fs::path folder = THALWEG_BIN_DIR; folder.has_relative_path(); folder = folder.parent_path())
    if ((fs::status(folder).permissions() & fs::perms::others_exec) == fs::perms::none)
      return folder.string();
  return "";
}

/// While it lives this process is the controller's user (and its parent can still become root).
class AsService {
 public:
  AsService() {
    EXPECT_EQ(::setegid(service_uid), 0);
    EXPECT_EQ(::seteuid(service_uid), 0);
  }
  ~AsService() {
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(0), 0);
  }
};

class SiteCluster : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto check = test::run({script("check")});
    skipped_ = check.code != 0 ? check.out : test::Munged::missing();
    if (const std::string folder = private_folder(); skipped_.empty() && !folder.empty())
      skipped_ = "no test cluster here: other users may not enter " + folder;
    if (!skipped_.empty()) return;
    users_ = new test::OwnUsers;
    folder_ = new test::TempDir;
    fs::permissions(folder_->path(), fs::perms(0755));
    ::setenv("THALWEG_CLUSTER_NAME",
             ("site" + std::to_string(std::hash<std::string>()(THALWEG_BIN_DIR) % 10000)).c_str(),
             1);
    const fs::path cluster = fs::temp_directory_path() / ("tws" + std::to_string(::getpid()));
    ::setenv("THALWEG_CLUSTER_DIR", cluster.c_str(), 1);
    test::run({script("down")});
    test::RunOptions patience;
    patience.deadline = test::milliseconds(240000);
    const auto up = test::run({script("up"), "2"}, patience);
    ASSERT_EQ(up.code, 0) << up.err;
    const std::string conf = up.out.substr(up.out.find('=') + 1);
    ::setenv("SLURM_CONF", conf.substr(0, conf.find('\n')).c_str(), 1);
    munge_ = cluster / "munge/socket";
    make_folder(runs() / "7/1");
    make_folder(runs() / "7");
    // What a job has of its user, and what it has not.
    test::write_file(folder_->path() / "train.sh",
                     "#!/bin/bash\necho \"uid $(id -u) gid $(id -g) groups $(id -G | tr ' ' _) "
                     "umask $(umask)\"\n"
                     "env | grep -c CONTROLLERS_SECRET\n"
                     "folder=$(dirname \"$1\")\ntouch \"$folder/ready\"\n"
                     "grep -q wait \"$1\" && while :; do sleep 0.1; done\nexit 0\n");
    fs::permissions(folder_->path() / "train.sh", fs::perms(0755));
    ::setenv("CONTROLLERS_SECRET", "1", 1);
    agent_ =
        new test::RunningAgent(folder_->path() / "agent",
                               {"--runs", runs(), "--runs", (folder_->path() / "sweeps").string(),
                                "--munge-socket", munge_});
  }
  static void TearDownTestSuite() {
    if (!skipped_.empty()) return;
    delete agent_;
    EXPECT_EQ(test::run({script("down")}).code, 0);
    delete folder_;
    delete users_;
  }
  void SetUp() override {
    if (!skipped_.empty()) GTEST_SKIP() << skipped_;
    SlurmBackendConfig config;
    config.agent_socket = agent_->socket();
    config.programs.train = folder_->path() / "train.sh";
    config.max_reuse_s = 0.2;
    backend_ = make_slurm_backend(context_.get_executor(), config);
  }

  static fs::path runs() { return folder_->path() / "runs"; }
  static void make_folder(const fs::path& path) {
    fs::create_directories(path);
    ASSERT_EQ(::chown(path.c_str(), service_uid, service_uid), 0);
    ASSERT_EQ(::chmod(path.c_str(), 02771), 0);
  }
  template <class T>
  T wait(boost::asio::awaitable<T> work) {
    const AsService service;
    return test::wait(context_, std::move(work));
  }

  Identity identity_of(uid_t uid) {
    const std::string digest = auth::sha256("sweep");
    const std::string credential = test::as_user(uid, [&] {
      return auth::munge_encode(auth::sweep_payload(digest), {munge_, 60, agent_uid});
    });
    const Authorization word = wait(backend_->authorize(credential, digest));
    EXPECT_TRUE(word.identity) << word.message;
    EXPECT_EQ(word.identity.value_or(Identity{}).uid, uid);
    return word.identity.value_or(Identity{});
  }
  /// With its folder.
  LaunchRequest request(const Identity& who, const std::string& how) {
    static int count = 0;
    LaunchRequest request;
    request.id = {7, 1, ++count};
    request.token = "token-" + std::to_string(::getpid()) + "-" + std::to_string(count);
    request.folder = runs() / "7/1" / std::to_string(count);
    request.resources.time_limit_s = 3600;
    request.environment = {"PATH=/usr/bin:/bin"};
    request.identity = who;
    const Preparation made = wait(backend_->prepare(request, {{"trial.yaml", how + "\n"}}));
    EXPECT_TRUE(made.done) << made.message;
    return request;
  }
  std::string submit(const LaunchRequest& request) {
    const auto submission = wait(backend_->submit(request));
    EXPECT_EQ(submission.outcome, SubmitOutcome::accepted) << submission.message;
    return submission.handle;
  }
  static Backend::TrackedJob tracked(const LaunchRequest& request, const std::string& handle) {
    Backend::TrackedJob job{handle, request.token, request.folder};
    job.identity = request.identity;
    return job;
  }
  JobStatus look(const Backend::TrackedJob& job) {
    const auto statuses = wait(backend_->poll({job}));
    if (statuses)
      for (const JobStatus& status : *statuses)
        if (status.handle == job.handle && status.token == job.token) return status;
    return {};
  }
  JobStatus await_phase(const Backend::TrackedJob& job, JobPhase phase) {
    JobStatus status;
    EXPECT_TRUE(test::eventually(
        [&] {
          status = look(job);
          return status.phase == phase;
        },
        patient))
        << "job " << job.handle << ": " << status.reason;
    return status;
  }
  static std::string shown(const std::string& handle) {
    return test::run({"scontrol", "show", "job", handle}).out;
  }

  static inline std::string skipped_, munge_;
  static inline test::OwnUsers* users_ = nullptr;
  static inline test::TempDir* folder_ = nullptr;
  static inline test::RunningAgent* agent_ = nullptr;
  boost::asio::io_context context_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace thalweg::daemon
