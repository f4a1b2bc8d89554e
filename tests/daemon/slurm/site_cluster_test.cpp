// Many users on a real Slurm: backend and controller as the controller's user, the agent with its
// two capabilities, jobs and sweeps of two users and of one who has no business here.
#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>

#include "daemon/backend/slurm.h"
#include "daemon/controller/controller.h"
#include "jobspec/schema.h"
#include "tests/daemon/slurm/site_cluster.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST_F(SiteCluster, JobsAreTheirUsersOwn) {
  const struct {
    uid_t uid;
    const char* name;
  } users[] = {{alice_uid, "alice"}, {bob_uid, "bob"}};
  for (const auto& [uid, name] : users) {
    const LaunchRequest mine = request(identity_of(uid), "finish");
    const std::string handle = submit(mine);
    const std::string number = std::to_string(uid);
    EXPECT_THAT(shown(handle), HasSubstr("UserId=" + std::string(name) + "(" + number + ")"));
    const JobStatus held = look(tracked(mine, handle));
    EXPECT_EQ(held.phase, JobPhase::held);
    EXPECT_EQ(held.user, uid);
    EXPECT_TRUE(wait(backend_->release(mine, handle)));
    EXPECT_EQ(await_phase(tracked(mine, handle), JobPhase::ended).exit_code, 0);
    const std::string out = test::read_file(mine.folder / "stdout.log");
    EXPECT_THAT(out, HasSubstr("uid " + number + " gid " + number + " groups " + number +
                               "_61100 umask 0007\n0\n"));
    struct stat info {};
    for (const char* file : {"stdout.log", "ready", "trial.yaml"}) {
      ASSERT_EQ(::stat((mine.folder / file).c_str(), &info), 0) << file;
      EXPECT_EQ(info.st_uid, uid) << file;
      EXPECT_EQ(info.st_gid, service_uid) << file;
      EXPECT_NE(info.st_mode & S_IRGRP, 0u) << file;
    }
    const auto by = [&](uid_t reader) {
      return test::as_user(reader, [&] { return test::read_file(mine.folder / "stdout.log"); });
    };
    EXPECT_EQ(by(service_uid), out);
    EXPECT_NE(by(uid == alice_uid ? bob_uid : alice_uid), out);
  }
}

TEST_F(SiteCluster, NobodyEndsOrReleasesAnothersJob) {
  const Identity alice = identity_of(alice_uid), bob = identity_of(bob_uid);
  const LaunchRequest hers = request(alice, "wait");
  const std::string handle = submit(hers);
  LaunchRequest taken = hers;
  // With a grant of one's own, and with hers under another name.
  for (const Identity& thief :
       {bob, Identity{bob_uid, alice.grant}, Identity{alice_uid, "x"}, Identity{0, alice.grant}}) {
    taken.identity = thief;
    EXPECT_FALSE(wait(backend_->release(taken, handle)));
    wait(backend_->cancel(tracked(taken, handle), Ending::by_force));
    EXPECT_EQ(look(tracked(hers, handle)).phase, JobPhase::held);
  }
  taken.identity.reset();
  EXPECT_FALSE(wait(backend_->release(taken, handle)));
  EXPECT_FALSE(wait(backend_->cancel(tracked(taken, handle), Ending::by_force)));
  EXPECT_EQ(look(tracked(hers, handle)).phase, JobPhase::held);
  // Nor is anything submitted for her by a grant that is not hers.
  for (const Identity& thief : {Identity{alice_uid, bob.grant}, Identity{0, bob.grant}}) {
    taken.identity = thief;
    EXPECT_EQ(wait(backend_->submit(taken)).outcome, SubmitOutcome::refused);
  }
  // She does both.
  EXPECT_TRUE(wait(backend_->release(hers, handle)));
  EXPECT_TRUE(test::eventually([&] { return fs::exists(hers.folder / "ready"); }, patient));
  EXPECT_TRUE(wait(backend_->cancel(tracked(hers, handle), Ending::by_force)));
  EXPECT_TRUE(await_phase(tracked(hers, handle), JobPhase::ended).cancelled);
  EXPECT_THAT(agent_->log(), HasSubstr("refused: release for uid 61002 by grant " +
                                       alice.grant.substr(0, 8) + "...: the grant is one of"));
  EXPECT_THAT(agent_->log(), HasSubstr("refused: cancel for uid 61002 by grant " +
                                       bob.grant.substr(0, 8) + "...: job " + handle));
}

TEST_F(SiteCluster, AForgedTokenIsNotBelieved) {
  const LaunchRequest hers = request(identity_of(alice_uid), "wait");
  const std::string handle = submit(hers);
  const auto forged = test::as_user(mallory_uid, [&] {
    return test::run({"sbatch", "--parsable", "--hold", "--chdir=/tmp", "--output=/dev/null",
                      "--job-name=thalweg-7.1.1", "--comment=thalweg:" + hers.token,
                      "--wrap=sleep 1000"})
        .out;
  });
  ASSERT_GT(std::atoi(forged.c_str()), 0) << forged;
  const std::string other = std::to_string(std::atoi(forged.c_str()));
  EXPECT_THAT(shown(other), HasSubstr("Comment=thalweg:" + hers.token));
  test::sleep_for(test::milliseconds(1200));  // Slurm's listings are whole seconds old
  const auto statuses = wait(backend_->poll({tracked(hers, handle)}));
  ASSERT_TRUE(statuses);
  int seen = 0;
  for (const JobStatus& status : *statuses) {
    if (status.token != hers.token) continue;
    ++seen;
    EXPECT_EQ(status.handle, handle);
    EXPECT_EQ(status.user, alice_uid);
  }
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(look(tracked(hers, other)).phase, JobPhase::missing);
  wait(backend_->cancel(tracked(hers, other), Ending::by_force));
  EXPECT_THAT(shown(other), HasSubstr("JobState=PENDING"));
  EXPECT_TRUE(wait(backend_->cancel(tracked(hers, handle), Ending::by_force)));
  test::run({"scancel", other});
}

TEST_F(SiteCluster, TheAgentMayBeStartedAgain) {
  const LaunchRequest hers = request(identity_of(alice_uid), "finish");
  const std::string handle = submit(hers);
  agent_->end(SIGKILL);
  EXPECT_FALSE(wait(backend_->release(hers, handle)));
  agent_->begin();
  EXPECT_TRUE(test::eventually([&] { return wait(backend_->release(hers, handle)); }, patient));
  EXPECT_EQ(await_phase(tracked(hers, handle), JobPhase::ended).exit_code, 0);
}

TEST_F(SiteCluster, AWordThatWasTakenBack) {
  const Identity alice = identity_of(alice_uid);
  const LaunchRequest hers = request(alice, "finish");
  EXPECT_TRUE(wait(backend_->revoke(alice.grant)));
  const auto refused = wait(backend_->submit(hers));
  EXPECT_EQ(refused.outcome, SubmitOutcome::refused);
  EXPECT_THAT(refused.message, HasSubstr("no such grant"));
  EXPECT_THAT(wait(backend_->describe()), testing::MatchesRegex("slurm .*, 2 nodes"));
}

/// A controller as the site's user, with its record and its threads, until it is destroyed.
class SiteController {
 public:
  SiteController(const fs::path& home, const fs::path& runs, const SlurmBackendConfig& config) {
    const AsService service;
    store_ = db::Store::open(home / "thalweg.db");
    ControllerOptions options;
    options.runs = runs;
    options.ingest_s = 0.05;
    std::vector<BackendSetup> backends;
    backends.push_back({make_slurm_backend(io_.get_executor(), config), 0.2, 0});
    controller_ =
        std::make_unique<Controller>(io_.get_executor(), *store_, options, std::move(backends));
    controller_->restart();
    controller_->start();
  }
  ~SiteController() {
    const AsService service;
    controller_.reset();
    store_.reset();
  }
  Controller* operator->() { return controller_.get(); }
  db::Store& store() { return *store_; }
  bool run_until(const std::function<bool()>& condition) {
    return test::eventually(
        [&] {
          const AsService service;
          io_.restart();
          io_.run_for(test::milliseconds(50));
          return condition();
        },
        test::milliseconds(180000));
  }
  bool ended(std::int64_t sweep) {
    return run_until(
        [&] { return controller_->state().sweeps.at(sweep).phase != SweepPhase::active; });
  }

 private:
  boost::asio::io_context io_{1};
  std::unique_ptr<db::Store> store_;
  std::unique_ptr<Controller> controller_;
};

constexpr const char* sweep_text =
    "name: site\nmethod: grid\nparameters:\n  optimizer.lr: {values: [0.01, 0.1]}\n"
    "train:\n  model: {name: mlp, hidden: [8]}\n  data: {name: synthetic, samples: 400}\n"
    "  optimizer: {name: sgd}\n  steps: 40\n  checkpoint: {every: 10}\n";

class SiteSweeps : public SiteCluster {
 protected:
  void SetUp() override {
    SiteCluster::SetUp();
    if (IsSkipped()) return;
    const std::string engine = std::string(THALWEG_BIN_DIR) + "/thalweg-train";
    const auto told = test::run({engine, "--schema"});
    ASSERT_EQ(told.code, 0) << told.err;
    const auto schema = jobspec::Schema::from_json(told.out);
    sweep_ = jobspec::parse_sweep(sweep_text, "site.yaml", schema);
    expansion_ = jobspec::expand(sweep_, schema);
    const fs::path home = folder_->path() / "home";
    fs::create_directories(home);
    ASSERT_EQ(::chown(home.c_str(), service_uid, service_uid), 0);
    fs::permissions(home, fs::perms(0700));
    make_folder(sweep_runs());
    begin();
  }
  /// With the record of the one before.
  void begin() {
    controller_.reset();
    SlurmBackendConfig config;
    config.agent_socket = agent_->socket();
    config.programs.train = std::string(THALWEG_BIN_DIR) + "/thalweg-train";
    config.max_reuse_s = 0.2;
    controller_ = std::make_unique<SiteController>(folder_->path() / "home", sweep_runs(), config);
  }
  void TearDown() override { controller_.reset(); }
  /// Apart from the folders that the other cases name themselves; the agent knows both.
  static fs::path sweep_runs() { return folder_->path() / "sweeps"; }

  Owner owner_of(uid_t uid, const char* name) {
    return Owner{uid, uid, name, identity_of(uid).grant};
  }
  std::int64_t submitted(const Owner& owner) {
    const AsService service;
    return (*controller_)
        ->submit(sweep_, expansion_, sweep_text, "site.yaml", "slurm", owner.user,
                 {"PATH=/usr/bin:/bin"}, owner)
        .id;
  }
  SweepPhase phase(std::int64_t sweep) { return (*controller_)->state().sweeps.at(sweep).phase; }
  db::AttemptRow first_attempt(std::int64_t sweep) {
    return controller_->store().attempt({sweep, 1, 1}).value_or(db::AttemptRow{});
  }

  jobspec::Sweep sweep_;
  jobspec::Expansion expansion_;
  std::unique_ptr<SiteController> controller_;
};

TEST_F(SiteSweeps, RunAsTheirOwnersInTheirFolders) {
  const auto hers = submitted(owner_of(alice_uid, "alice"));
  const auto his = submitted(owner_of(bob_uid, "bob"));
  ASSERT_TRUE(controller_->ended(hers));
  ASSERT_TRUE(controller_->ended(his));
  for (const auto& [sweep, uid] : {std::pair{hers, alice_uid}, std::pair{his, bob_uid}}) {
    EXPECT_EQ(phase(sweep), SweepPhase::finished) << first_attempt(sweep).reason;
    const auto attempt = first_attempt(sweep);
    EXPECT_THAT(shown(attempt.handle), HasSubstr("(" + std::to_string(uid) + ") GroupId="));
    struct stat info {};
    for (const auto& entry : fs::recursive_directory_iterator(attempt.folder)) {
      ASSERT_EQ(::lstat(entry.path().c_str(), &info), 0);
      EXPECT_EQ(info.st_uid, uid) << entry;
      EXPECT_EQ(info.st_mode & S_IRWXO, 0u) << entry;
    }
    // Nobody else gets in, or puts anything beside it.
    const fs::path folder = attempt.folder;
    for (const uid_t other : {mallory_uid, uid == alice_uid ? bob_uid : alice_uid}) {
      const auto tried = test::as_user(other, [&] {
        std::error_code error;
        std::string got = test::read_file(folder / "trial.yaml");
        got += fs::directory_iterator(folder, error) != fs::directory_iterator() ? "listed" : "";
        got += fs::directory_iterator(folder.parent_path(), error) != fs::directory_iterator()
                   ? "listed"
                   : "";
        for (const fs::path& place :
             {folder, folder.parent_path(), folder.parent_path().parent_path()})
          got += ::mkdir((place / "x").c_str(), 0700) == 0 ? "made" : "";
        got += ::rename(folder.c_str(), (folder.string() + "x").c_str()) == 0 ? "moved" : "";
        return got;
      });
      EXPECT_TRUE(tried.empty() || tried.rfind("failed: ", 0) == 0) << tried;
    }
  }
}

TEST_F(SiteSweeps, AreEndedAsTheirOwnersAndLeaveNothing) {
  sweep_.train.set("steps", 100000000);
  for (auto& trial : expansion_.trials)
    trial.train.set("steps", 100000000);
  const Owner alice = owner_of(alice_uid, "alice");
  const auto hers = submitted(alice);
  ASSERT_TRUE(controller_->run_until([&] {
    return first_attempt(hers).state == db::AttemptState::running;
  })) << first_attempt(hers).reason;
  // Mallory sees her token and submits a job with it.
  const std::string token = first_attempt(hers).token;
  const auto forged = test::as_user(mallory_uid, [&] {
    return test::run({"sbatch", "--parsable", "--hold", "--chdir=/tmp", "--output=/dev/null",
                      "--comment=thalweg:" + token, "--wrap=sleep 1000"})
        .out;
  });
  ASSERT_GT(std::atoi(forged.c_str()), 0) << forged;
  {
    const AsService service;
    (*controller_)->cancel({hers, 0, 0}, "an operator");
  }
  ASSERT_TRUE(controller_->ended(hers));
  EXPECT_EQ(phase(hers), SweepPhase::cancelled);
  EXPECT_THAT(shown(std::to_string(std::atoi(forged.c_str()))), HasSubstr("JobState=PENDING"));
  test::run({"scancel", std::to_string(std::atoi(forged.c_str()))});
  EXPECT_TRUE(fs::exists(agent_->state() / alice.grant));
  // What her programs made is closed to everybody else.
  const fs::path closed = fs::path(first_attempt(hers).folder) / "closed";
  test::as_user(alice_uid, [&] {
    fs::create_directories(closed / "deeper");
    test::write_file(closed / "deeper/file", "x");
    fs::permissions(closed, fs::perms(0500));
    return std::string();
  });
  EXPECT_TRUE(fs::exists(closed / "deeper/file"));
  {
    const AsService service;
    (*controller_)->remove(hers, "alice");
  }
  EXPECT_TRUE(
      controller_->run_until([&] { return (*controller_)->state().sweeps.count(hers) == 0; }));
  EXPECT_FALSE(fs::exists(sweep_runs() / std::to_string(hers)));
  EXPECT_FALSE(fs::exists(agent_->state() / alice.grant));
}

TEST_F(SiteSweeps, GoOnWhenAgentAndControllerAreKilled) {
  const auto hers = submitted(owner_of(alice_uid, "alice"));
  const auto his = submitted(owner_of(bob_uid, "bob"));
  ASSERT_TRUE(controller_->run_until([&] { return !first_attempt(hers).handle.empty(); }));
  agent_->end(SIGKILL);
  begin();
  // Without an agent nothing is known, and so nothing fails.
  int looks = 0;
  controller_->run_until([&] { return ++looks > 20; });
  EXPECT_EQ(phase(hers), SweepPhase::active);
  EXPECT_EQ(phase(his), SweepPhase::active);
  agent_->begin();
  ASSERT_TRUE(controller_->ended(hers));
  ASSERT_TRUE(controller_->ended(his));
  for (const auto sweep : {hers, his}) {
    EXPECT_EQ(phase(sweep), SweepPhase::finished) << first_attempt(sweep).reason;
    const auto attempts = controller_->store().attempts(sweep);
    EXPECT_EQ(attempts.size(), 2u) << "a trial needed a second attempt";
  }
}

TEST_F(SiteSweeps, OfWhoDidNotAskRunNothing) {
  const Owner alice = owner_of(alice_uid, "alice"), bob = owner_of(bob_uid, "bob");
  Owner thief = bob;
  thief.grant = alice.grant;
  Owner root = alice;
  root.uid = 0;
  Owner nobody = alice;
  nobody.uid = mallory_uid;
  nobody.grant = std::string(64, '0');
  for (const auto& [owner, words] :
       {std::pair{thief, "the grant is one of uid 61001"}, std::pair{root, "the grant is one of"},
        std::pair{nobody, "there is no such grant"}}) {
    const auto sweep = submitted(owner);
    ASSERT_TRUE(controller_->ended(sweep));
    EXPECT_EQ(phase(sweep), SweepPhase::failed);
    EXPECT_THAT(first_attempt(sweep).reason, HasSubstr(words));
    EXPECT_EQ(first_attempt(sweep).handle, "");
    EXPECT_FALSE(fs::exists(first_attempt(sweep).folder));
    EXPECT_THAT(agent_->log(), HasSubstr("prepare for uid " + std::to_string(owner.uid)));
  }
}

}  // namespace
}  // namespace thalweg::daemon
