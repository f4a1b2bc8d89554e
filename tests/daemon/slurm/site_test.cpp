// thalweg-slurm-agent --site, run as its unit runs it, against everything that somebody might try:
// whoever is not allowed something gets a refusal, and the log says so in one line.
#include "daemon/slurm_agent/site.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/ptrace.h>

#include <cmath>

#include "tests/daemon/slurm/site_world.h"

namespace thalweg::slurm_agent {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::agent_uid, test::alice_uid, test::bob_uid, test::low_uid, test::mallory_uid,
    test::service_uid, test::slurm_uid, test::unknown_uid;
using testing::HasSubstr;
using testing::Not;

class SiteAgentTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = test::Munged::missing(); !why.empty()) GTEST_SKIP() << why;
    users_.emplace();
    munged_.emplace();
    fs::permissions(dir_.path(), fs::perms(0755));
    ::setenv("SLURM_CONF", (dir_.path() / "slurm.conf").c_str(), 1);
    make_folder(runs() / "12/3", 02771, service_uid, service_uid);
    make_folder(runs() / "12", 02771, service_uid, service_uid);
  }
  void start_agent(std::vector<std::string> more = {}) {
    std::vector<std::string> options = {"--runs",         runs(),
                                        "--munge-socket", munged_->socket(),
                                        "--slurm-user",   std::to_string(slurm_uid)};
    options.insert(options.end(), more.begin(), more.end());
    agent_.emplace(dir_.path() / "agent", options);
    client_.emplace(agent_->socket(), service_uid);
  }
  /// What a test that failed left must not be there in the next one.
  void TearDown() override {
    agent_.reset();
    for (const uid_t uid : {alice_uid, bob_uid})
      for (const pid_t pid : processes_of(uid))
        ::kill(pid, SIGKILL);
  }
  fs::path runs() const { return dir_.path() / "runs"; }
  static void make_folder(const fs::path& path, mode_t mode, uid_t uid, gid_t gid) {
    fs::create_directories(path);
    ASSERT_EQ(::chown(path.c_str(), uid, gid), 0);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
  }

  static std::string digest(const std::string& sweep) { return auth::sha256(sweep); }
  std::string credential(uid_t uid, const std::string& sweep, uid_t reader = agent_uid,
                         int ttl_s = 60) const {
    return munged_->credential(uid, auth::sweep_payload(digest(sweep)), reader, ttl_s);
  }
  json authorize(const std::string& text, const std::string& sweep = "sweep") {
    return client_->ask({{"verb", "authorize"}, {"credential", text}, {"digest", digest(sweep)}});
  }
  std::string grant(uid_t uid) {
    const json answer = authorize(credential(uid, "sweep"));
    EXPECT_TRUE(answer.value("ok", false)) << answer;
    return answer.value("grant", "");
  }
  json prepare(uid_t uid, const std::string& name, const fs::path& folder,
               const json& files = {{"trial.yaml", "x\n"}}) {
    return client_->ask({{"verb", "prepare"},
                         {"as", {{"uid", uid}, {"grant", name}}},
                         {"folder", folder},
                         {"files", files}});
  }
  json remove(uid_t uid, const std::string& name, const json& folders) {
    return client_->ask(
        {{"verb", "remove"}, {"as", {{"uid", uid}, {"grant", name}}}, {"folders", folders}});
  }
  json submission(uid_t uid, const std::string& name) const {
    return {{"verb", "submit"},
            {"as", {{"uid", uid}, {"grant", name}}},
            {"token", "t"},
            {"script", "#!/bin/sh\n"},
            {"environment", json::array({"SECRET=hunter2"})},
            {"options", {{"chdir", runs()}, {"nodes", "1"}}}};
  }
  /// Refused, with these words, in the answer and in one more line of the log.
  void expect_refused(const json& answer, const std::string& words) {
    EXPECT_FALSE(answer.value("ok", true)) << answer;
    EXPECT_EQ(answer.value("outcome", ""), "refused") << answer;
    EXPECT_THAT(answer.value("message", ""), HasSubstr(words));
    const std::string log = agent_->log();
    const std::string last = log.substr(log.rfind('\n', log.size() - 2) + 1);
    EXPECT_THAT(last, HasSubstr("refused: "));
    EXPECT_THAT(last, HasSubstr(words));
  }
  static std::vector<pid_t> processes_of(uid_t uid) {
    std::vector<pid_t> pids;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      const std::string name = entry.path().filename();
      const std::string status = "/proc/" + name + "/status";
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream text(status);
      for (std::string line; std::getline(text, line);)
        if (line.rfind("Uid:\t" + std::to_string(uid) + "\t", 0) == 0)
          pids.push_back(std::stoi(name));
    }
    return pids;
  }

  std::optional<test::OwnUsers> users_;
  std::optional<test::Munged> munged_;
  test::TempDir dir_;
  std::optional<test::RunningAgent> agent_;
  std::optional<test::AgentClient> client_;
};

/// A port that is listened to, in a slurm.conf.
class SilentController {
 public:
  SilentController(const fs::path& conf, const std::string& munge) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd_, 64), 0);
    EXPECT_EQ(::getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    test::write_file(conf,
                     "ClusterName=silent\nSlurmctldHost=localhost(127.0.0.1)\nSlurmctldPort=" +
                         std::to_string(ntohs(address.sin_port)) +
                         "\nAuthType=auth/munge\nAuthInfo=socket=" + munge +
                         "\nNodeName=n1\nPartitionName=main Nodes=n1 Default=YES\n");
  }
  ~SilentController() { ::close(fd_); }

 private:
  int fd_ = -1;
};

/// As `scontrol token` makes it.
std::string slurm_token(const std::string& user, const std::string& key) {
  const json header{{"alg", "HS256"}, {"typ", "JWT"}};
  const json claims{{"exp", ::time(nullptr) + 1800}, {"iat", ::time(nullptr)}, {"sun", user}};
  const std::string said = auth::base64url(header.dump()) + "." + auth::base64url(claims.dump());
  return said + "." + auth::base64url(auth::hmac_sha256(key, said));
}

TEST_F(SiteAgentTest, SlurmsTokensCountWhereTheSiteSaysSo) {
  const std::string key(32, 'k');
  const fs::path file = dir_.path() / "jwt_hs256.key";
  test::write_file(file, key);
  ASSERT_EQ(::chown(file.c_str(), agent_uid, agent_uid), 0);
  fs::permissions(file, fs::perms(0400));
  int nonce = 0;
  const auto proof = [&](const std::string& user, const std::string& signed_by,
                         const std::string& sweep = "sweep", uid_t reader = agent_uid) {
    return auth::jwt_proof(slurm_token(user, signed_by), auth::sweep_payload(digest(sweep)), reader,
                           ::time(nullptr), std::to_string(++nonce));
  };
  start_agent();
  expect_refused(authorize(proof("alice", key)), "Slurm's tokens count for nothing here");
  agent_.reset();
  start_agent({"--jwt-key", file});
  const std::string once = proof("alice", key);
  const json answer = authorize(once);
  ASSERT_TRUE(answer.value("ok", false)) << answer;
  EXPECT_EQ(answer.at("uid"), alice_uid);
  EXPECT_EQ(answer.at("user"), "alice");
  expect_refused(authorize(once), "replayed");
  expect_refused(authorize(proof("alice", std::string(32, 'x'))), "of this site");
  expect_refused(authorize(proof("alice", key), "another sweep"), "something else");
  expect_refused(authorize(proof("alice", key, "sweep", service_uid)), "not restricted");
  expect_refused(authorize(proof("root", key)), "root");
  // MUNGE counts as before.
  EXPECT_TRUE(authorize(credential(alice_uid, "sweep")).value("ok", false));
  EXPECT_THAT(agent_->log(), Not(HasSubstr(once)));
}

TEST_F(SiteAgentTest, AUsersOwnWordBecomesAGrant) {
  start_agent();
  const json answer = authorize(credential(alice_uid, "sweep"));
  ASSERT_TRUE(answer.at("ok")) << answer;
  EXPECT_EQ(answer.at("uid"), alice_uid);
  EXPECT_EQ(answer.at("gid"), alice_uid);
  EXPECT_EQ(answer.at("user"), "alice");
  EXPECT_GT(answer.at("expires"), ::time(nullptr) + 89 * 86400);
  const std::string name = answer.at("grant");
  EXPECT_EQ(name.size(), 64u);
  struct stat info {};
  ASSERT_EQ(::stat((agent_->state() / name).c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(agent_->state().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  EXPECT_EQ(info.st_uid, agent_uid);
  ASSERT_EQ(::stat(agent_->socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
  EXPECT_EQ(info.st_gid, service_uid);
  // It has no more than its unit gives it.
  const std::string status = test::read_file("/proc/" + std::to_string(agent_->pid()) + "/status");
  EXPECT_THAT(status, HasSubstr("CapEff:\t00000000000000c0\n"));
  EXPECT_THAT(status, HasSubstr("CapBnd:\t00000000000000c0\n"));
}

TEST_F(SiteAgentTest, AnAttemptsFolderIsTheUsersWithTheControllersGroup) {
  start_agent();
  const fs::path folder = runs() / "12/3/1";
  const std::string name = grant(alice_uid);
  const json answer =
      prepare(alice_uid, name, folder, {{"trial.yaml", "a: 1\n"}, {"batch.sh", "#!/bin/sh\n"}});
  ASSERT_TRUE(answer.at("ok")) << answer;
  struct stat info {};
  ASSERT_EQ(::stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, alice_uid);
  EXPECT_EQ(info.st_gid, service_uid);
  EXPECT_EQ(info.st_mode & 07777, 02770u);
  ASSERT_EQ(::stat((folder / "trial.yaml").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, alice_uid);
  EXPECT_EQ(info.st_gid, service_uid);
  EXPECT_EQ(info.st_mode & 07777, 0640u);
  EXPECT_EQ(test::read_file(folder / "trial.yaml"), "a: 1\n");
  EXPECT_EQ(test::read_file(folder / "batch.sh"), "#!/bin/sh\n");
  // Again, after a crash of the controller.
  EXPECT_TRUE(prepare(alice_uid, name, folder, {{"trial.yaml", "a: 2\n"}}).at("ok"));
  EXPECT_EQ(test::read_file(folder / "trial.yaml"), "a: 2\n");
  const auto see = [&](uid_t uid) {
    return test::as_user(uid, [&] { return test::read_file(folder / "trial.yaml"); });
  };
  EXPECT_EQ(see(alice_uid), "a: 2\n");
  EXPECT_EQ(see(service_uid), "a: 2\n");
  EXPECT_NE(see(bob_uid), "a: 2\n");
  const auto made = test::as_user(
      alice_uid, [&] { return std::to_string(::mkdir((runs() / "12/3/2").c_str(), 0700)); });
  EXPECT_EQ(made, "-1") << "a user could put something in an attempt's place";
}

TEST_F(SiteAgentTest, GrantsSurviveTheAgent) {
  start_agent();
  const std::string name = grant(alice_uid);
  client_.reset();
  agent_->end(SIGKILL);
  agent_->begin();
  client_.emplace(agent_->socket(), service_uid);
  EXPECT_TRUE(prepare(alice_uid, name, runs() / "12/3/1").at("ok"));
}

TEST_F(SiteAgentTest, CredentialsThatProveNothing) {
  start_agent();
  expect_refused(authorize("MUNGE:AAAA:"), "MUNGE refuses the credential");
  expect_refused(authorize("alice says yes"), "MUNGE refuses the credential");
  std::string changed = credential(alice_uid, "sweep");
  changed[changed.size() / 2] = changed[changed.size() / 2] == 'A' ? 'B' : 'A';
  expect_refused(authorize(changed), "MUNGE refuses the credential");
  const test::Munged stranger;
  const std::string foreign =
      stranger.credential(alice_uid, auth::sweep_payload(digest("sweep")), agent_uid);
  expect_refused(authorize(foreign), "Invalid credential");
  const std::string once = credential(alice_uid, "sweep");
  EXPECT_TRUE(authorize(once).at("ok"));
  expect_refused(authorize(once), "(17)");
  const std::string late = credential(alice_uid, "sweep", agent_uid, 1);
  test::sleep_for(test::milliseconds(2500));
  expect_refused(authorize(late), "(15)");
  expect_refused(authorize(credential(alice_uid, "sweep", bob_uid)), "(18)");
  expect_refused(authorize(credential(alice_uid, "another sweep")), "something else");
  expect_refused(authorize(munged_->credential(alice_uid, digest("sweep"), agent_uid)),
                 "something else");
  expect_refused(authorize(munged_->credential(alice_uid, auth::sweep_payload(digest("sweep")))),
                 "not restricted to the agent");
  expect_refused(authorize(credential(alice_uid, "sweep", agent_uid, 3000)), "300 s");
  expect_refused(client_->ask({{"verb", "authorize"},
                               {"credential", credential(alice_uid, "sweep")},
                               {"digest", "../../etc/shadow"}}),
                 "no SHA-256");
  for (const std::string& text : {once, late, changed, foreign})
    EXPECT_THAT(agent_->log(), Not(HasSubstr(text.substr(6, 40)))) << "a credential in the log";
}

TEST_F(SiteAgentTest, UsersForWhomNothingRuns) {
  start_agent();
  expect_refused(authorize(credential(0, "sweep")), "nothing runs as root");
  expect_refused(authorize(credential(low_uid, "sweep")), "below 1000");
  expect_refused(authorize(credential(slurm_uid, "sweep")), "SlurmUser");
  expect_refused(authorize(credential(service_uid, "sweep")), "controller's own user");
  expect_refused(authorize(credential(agent_uid, "sweep")), "agent's own user");
  expect_refused(authorize(credential(unknown_uid, "sweep")), "no account");
}

TEST_F(SiteAgentTest, GrantsOfOthersAndNone) {
  start_agent();
  const std::string alices = grant(alice_uid);
  const fs::path folder = runs() / "12/3/1";
  expect_refused(prepare(bob_uid, alices, folder), "one of uid 61001");
  expect_refused(prepare(0, alices, folder), "one of uid 61001");
  expect_refused(prepare(mallory_uid, std::string(64, '0'), folder), "no such grant");
  expect_refused(prepare(alice_uid, "../state/" + alices, folder), "no such grant");
  expect_refused(prepare(alice_uid, "", folder), "no such grant");
  for (const char* verb : {"submit", "will_run"}) {
    json question = submission(bob_uid, alices);
    question["verb"] = verb;
    expect_refused(client_->ask(question), "one of uid 61001");
    question.erase("as");
    expect_refused(client_->ask(question), "on whose behalf");
  }
  for (const char* verb : {"release", "cancel"}) {
    json question{{"verb", verb}, {"job", 1}, {"token", "t"}};
    expect_refused(client_->ask(question), "on whose behalf");
    question["as"] = {{"uid", mallory_uid}, {"grant", alices}};
    expect_refused(client_->ask(question), "one of uid 61001");
  }
  EXPECT_TRUE(client_->ask({{"verb", "revoke"}, {"grant", alices}}).at("ok"));
  EXPECT_FALSE(fs::exists(agent_->state() / alices));
  expect_refused(prepare(alice_uid, alices, folder), "no such grant");
  EXPECT_TRUE(client_->ask({{"verb", "revoke"}, {"grant", "../../../etc/passwd"}}).at("ok"));
  EXPECT_TRUE(fs::exists("/etc/passwd"));
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_THAT(agent_->log(), Not(HasSubstr(alices))) << "a whole grant in the log";
  EXPECT_THAT(agent_->log(), Not(HasSubstr("hunter2"))) << "an environment in the log";
}

TEST_F(SiteAgentTest, GrantsThatAreOver) {
  const std::string old(64, 'a'), damaged(64, 'b');
  make_folder(dir_.path() / "agent/state", 0700, agent_uid, agent_uid);
  const auto now = ::time(nullptr);
  test::write_file(dir_.path() / "agent/state" / old, json{{"digest", digest("s")},
                                                           {"uid", alice_uid},
                                                           {"gid", alice_uid},
                                                           {"user", "alice"},
                                                           {"made", now - 100},
                                                           {"expires", now - 10}}
                                                          .dump());
  test::write_file(dir_.path() / "agent/state" / damaged, "{\"uid\": 61001}");
  ASSERT_EQ(::chown((dir_.path() / "agent/state" / old).c_str(), agent_uid, agent_uid), 0);
  ASSERT_EQ(::chown((dir_.path() / "agent/state" / damaged).c_str(), agent_uid, agent_uid), 0);
  start_agent();
  expect_refused(prepare(alice_uid, old, runs() / "12/3/1"), "expired");
  expect_refused(prepare(alice_uid, damaged, runs() / "12/3/1"), "no such grant");
  EXPECT_THAT(agent_->log(), HasSubstr("grant bbbbbbbb... cannot be read"));
  // The number is somebody else's now.
  const std::string name = grant(alice_uid);
  users_->rename_alice("eve");
  expect_refused(prepare(alice_uid, name, runs() / "12/3/1"), "no longer user alice");
}

TEST_F(SiteAgentTest, PathsThatLeadElsewhere) {
  start_agent();
  const std::string name = grant(alice_uid);
  const fs::path outside = dir_.path() / "outside";
  make_folder(outside, 0777, alice_uid, service_uid);
  for (const char* path : {"12/3/../3/1", "12/../../outside", "12//3/1", "12/3", "12/3/1/2",
                           "12/3/x", "12/3/.", "12/3/1/", "", "12/3/1-", "12/3/1-../../x", "a/3/1"})
    expect_refused(prepare(alice_uid, name, runs().string() + "/" + path), "no attempt's folder");
  for (const char* path : {"/etc/12/3/1", "runs/12/3/1", "12/3/1"})
    expect_refused(prepare(alice_uid, name, path), "no attempt's folder");
  expect_refused(prepare(alice_uid, name, runs().string() + "x/12/3/1"), "no attempt's folder");
  expect_refused(prepare(alice_uid, name, runs() / "13/1/1"), "cannot open folder 13");
  // Links in the place of each folder.
  fs::create_symlink(outside, runs() / "14");
  make_folder(outside / "1", 02771, service_uid, service_uid);
  expect_refused(prepare(alice_uid, name, runs() / "14/1/1"), "cannot open folder 14");
  fs::create_symlink(outside, runs() / "12/4");
  expect_refused(prepare(alice_uid, name, runs() / "12/4/1"), "cannot open folder 4");
  fs::create_symlink(outside, runs() / "12/3/5");
  expect_refused(prepare(alice_uid, name, runs() / "12/3/5"), "not a folder");
  test::write_file(runs() / "12/3/6", "x");
  expect_refused(prepare(alice_uid, name, runs() / "12/3/6"), "not a folder");
  // Folders in which somebody else could change things.
  make_folder(runs() / "12/7", 02771, alice_uid, service_uid);
  expect_refused(prepare(alice_uid, name, runs() / "12/7/1"), "not the controller's alone");
  make_folder(runs() / "12/8", 02777, service_uid, service_uid);
  expect_refused(prepare(alice_uid, name, runs() / "12/8/1"), "not the controller's alone");
  make_folder(runs() / "12/9", 02775, service_uid, 61100);
  expect_refused(prepare(alice_uid, name, runs() / "12/9/1"), "not the controller's alone");
  make_folder(runs() / "12/10", 0771, service_uid, service_uid);
  expect_refused(prepare(alice_uid, name, runs() / "12/10/1"), "controller's group");
  make_folder(runs() / "12/3/2", 02770, bob_uid, service_uid);
  expect_refused(prepare(alice_uid, name, runs() / "12/3/2"), "another user's");
  EXPECT_FALSE(fs::exists(runs() / "12/3/2/trial.yaml"));
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), {}), 1);
}

TEST_F(SiteAgentTest, AFolderIsEmptiedAsItsOwner) {
  start_agent();
  const std::string hers = grant(alice_uid), his = grant(bob_uid);
  const fs::path folder = runs() / "12/3/1", outside = dir_.path() / "outside";
  ASSERT_TRUE(prepare(alice_uid, hers, folder).at("ok"));
  make_folder(outside, 0777, alice_uid, alice_uid);
  test::write_file(outside / "precious", "x");
  const auto made = test::as_user(alice_uid, [&] {
    fs::create_directories(folder / "closed/deeper");
    test::write_file(folder / "closed/deeper/file", "x");
    fs::create_symlink(outside, folder / "closed/link");
    fs::permissions(folder / "closed/deeper", fs::perms(0));
    fs::permissions(folder / "closed", fs::perms(0500));
    return std::string("made");
  });
  ASSERT_EQ(made, "made");
  ASSERT_TRUE(prepare(bob_uid, his, runs() / "12/3/2").at("ok"));
  const json answer =
      remove(alice_uid, hers, {folder, runs() / "12/3/9", runs() / "12/3/2", runs() / "13/1/1"});
  ASSERT_TRUE(answer.value("ok", false)) << answer;
  EXPECT_EQ(answer.at("done"), 4) << "what is gone is done with";
  EXPECT_THAT(
      answer.at("problems").dump(),
      testing::AllOf(HasSubstr("12/3/2 is no folder of this user's"), Not(HasSubstr("3/1"))));
  EXPECT_TRUE(fs::is_empty(folder));
  EXPECT_TRUE(fs::exists(runs() / "12/3/2/trial.yaml"));
  EXPECT_TRUE(fs::exists(outside / "precious"));
}

TEST_F(SiteAgentTest, NothingElseIsEmptied) {
  start_agent();
  const std::string name = grant(alice_uid);
  const fs::path outside = dir_.path() / "outside", place = outside / "3/1";
  for (const fs::path& folder : {place, outside / "3", outside})
    make_folder(folder, 0777, alice_uid, alice_uid);
  test::write_file(place / "precious", "x");
  expect_refused(remove(bob_uid, name, {runs() / "12/3/1"}), "one of uid 61001");
  expect_refused(remove(alice_uid, "", {runs() / "12/3/1"}), "no such grant");
  expect_refused(remove(alice_uid, name, json::array()), "no folder");
  for (const char* path : {"12/3/../3/1", "12/../../outside", "12", "12/3", "12/3/1/2", "12/3/."})
    expect_refused(remove(alice_uid, name, {runs() / "12/3/1", runs().string() + "/" + path}),
                   "no attempt's folder");
  expect_refused(remove(alice_uid, name, {place}), "no attempt's folder");
  expect_refused(client_->ask({{"verb", "remove"},
                               {"as", {{"uid", alice_uid}, {"grant", name}}},
                               {"folders", {place}},
                               {"runs", outside}}),
                 "folders of runs of its own");
  // Links in the place of each folder.
  fs::create_symlink(outside, runs() / "14");
  fs::create_symlink(outside / "3", runs() / "12/4");
  fs::create_symlink(place, runs() / "12/3/5");
  const json answer =
      remove(alice_uid, name, {runs() / "14/3/1", runs() / "12/4/1", runs() / "12/3/5"});
  EXPECT_EQ(answer.value("problems", json()).size(), 3u) << answer;
  EXPECT_TRUE(fs::exists(place / "precious"));
}

// Others' calls are answered meanwhile, and it goes on where it was.
TEST_F(SiteAgentTest, AHugeFolderIsEmptiedInParts) {
  start_agent();
  const std::string name = grant(alice_uid);
  const fs::path folder = runs() / "12/3/1";
  ASSERT_TRUE(prepare(alice_uid, name, folder).at("ok"));
  // Whoever makes files as fast as they go is never through.
  const pid_t busy = ::fork();
  if (busy == 0) {
    if (::setgid(alice_uid) == 0 && ::setuid(alice_uid) == 0)
      for (int i = 0; ::access(folder.c_str(), F_OK) == 0; ++i)
        ::mkdir((folder / std::to_string(i % 500)).c_str(), 0);
    ::_exit(0);
  }
  const test::Deadline limit(test::milliseconds(12000));
  const json answer = remove(alice_uid, name, {folder});
  EXPECT_FALSE(limit.passed());
  ::kill(busy, SIGKILL);
  ::waitpid(busy, nullptr, 0);
  ASSERT_TRUE(answer.value("ok", false)) << answer;
  for (int calls = 0; !fs::is_empty(folder) && calls < 10; ++calls)
    remove(alice_uid, name, {folder});
  EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(SiteAgentTest, FilesThatAreNone) {
  start_agent();
  const std::string name = grant(alice_uid);
  const fs::path folder = runs() / "12/3/1";
  for (const char* file :
       {"../2/x", "/etc/cron.d/x", "a/b", ".", "..", "", ".profile", "a\nb", "a b"})
    expect_refused(prepare(alice_uid, name, folder, {{file, "x"}}), "no plain file name");
  expect_refused(prepare(alice_uid, name, folder, {{std::string(65, 'x'), ""}}), "plain file name");
  json many;
  for (int i = 0; i < 17; ++i)
    many["f" + std::to_string(i)] = "x";
  expect_refused(prepare(alice_uid, name, folder, many), "more than 16 files");
  expect_refused(prepare(alice_uid, name, folder, {{"big", std::string(17u << 20, 'x')}}), "bytes");
  EXPECT_FALSE(fs::exists(folder));
  // Links of the user's own in his own folder lead nowhere either.
  ASSERT_TRUE(prepare(alice_uid, name, folder).at("ok"));
  const fs::path victim = dir_.path() / "victim";
  test::write_file(victim, "mine");
  ASSERT_EQ(::chown(victim.c_str(), alice_uid, alice_uid), 0);
  for (const char* link : {"trial.yaml", ".trial.yaml.new"}) {
    fs::remove(folder / link);
    fs::create_symlink(victim, folder / link);
  }
  EXPECT_TRUE(prepare(alice_uid, name, folder, {{"trial.yaml", "new"}}).at("ok"));
  EXPECT_EQ(test::read_file(victim), "mine");
  EXPECT_FALSE(fs::is_symlink(folder / "trial.yaml"));
  fs::create_directory(folder / "batch.sh");
  expect_refused(prepare(alice_uid, name, folder, {{"batch.sh", "x"}}), "cannot rename");
}

TEST_F(SiteAgentTest, OnlyTheControllerMayAsk) {
  start_agent();
  const test::AgentClient mallory(agent_->socket(), mallory_uid);
  EXPECT_FALSE(mallory.connected());  // the socket's mode
  test::AgentClient root(agent_->socket(), 0);
  root.send("{\"id\": 1, \"verb\": \"hello\"}\n");
  EXPECT_EQ(root.line(), "");
  EXPECT_THAT(agent_->log(), HasSubstr("refused: a connection of uid 0"));
  ASSERT_EQ(::chmod(agent_->socket().c_str(), 0666), 0);
  test::AgentClient again(agent_->socket(), mallory_uid);
  EXPECT_EQ(again.line(), "");
  EXPECT_THAT(agent_->log(), HasSubstr("refused: a connection of uid 61006"));
  // Too many of the controller's own.
  std::vector<std::unique_ptr<test::AgentClient>> many;
  for (int i = 0; i < 8; ++i)
    many.push_back(std::make_unique<test::AgentClient>(agent_->socket(), service_uid));
  EXPECT_EQ(many.back()->line(), "");
  EXPECT_THAT(agent_->log(), HasSubstr("there are 8 already"));
  many.clear();
  EXPECT_TRUE(client_->ask({{"verb", "revoke"}, {"grant", "x"}}).at("ok"));
}

TEST_F(SiteAgentTest, GarbageIsAnsweredAndHarmsNobody) {
  start_agent();
  for (const char* text :
       {"", "x", "[]", "{}", "null", "{\"id\": 1}", "{\"verb\": 3}", "\x00\xff",
        "{\"verb\": \"sudo\"}", "{\"verb\": \"authorize\"}", "{\"verb\": \"submit\", \"as\": 0}",
        "{\"verb\": \"prepare\", \"as\": {}}"}) {
    if (*text == '\0') continue;
    client_->send(std::string(text) + "\n");
    EXPECT_EQ(json::parse(client_->line()).at("outcome"), "bad_request") << text;
  }
  const std::string deep(200000, '[');
  client_->send("{\"verb\": \"hello\", \"id\": " + deep + std::string(200000, ']') + "}\n");
  EXPECT_EQ(json::parse(client_->line()).at("outcome"), "bad_request");
  client_->send(std::string(33u << 20, 'x'));
  EXPECT_EQ(client_->line(), "");
  EXPECT_THAT(agent_->log(), HasSubstr("refused: closes a connection that sent a line of more"));
  client_.emplace(agent_->socket(), service_uid);
  EXPECT_TRUE(client_->ask({{"verb", "revoke"}, {"grant", "x"}}).at("ok"));
}

// Slurm's controller takes connections and never answers.
TEST_F(SiteAgentTest, AChildThatHangsIsEndedAndKeepsNobodyElse) {
  start_agent({"--call-limit", std::to_string(std::lround(std::min(
                                   5 * test::slowdown(), 8.0)))});  // before it gives up itself
  const std::string alices = grant(alice_uid), bobs = grant(bob_uid);
  const SilentController slurm(dir_.path() / "slurm.conf", munged_->socket());
  for (int id = 1; id <= 3; ++id) {
    json question = submission(alice_uid, alices);
    question["id"] = id;
    client_->send(question.dump() + "\n");
  }
  const json third = json::parse(client_->line());  // at once
  EXPECT_EQ(third.at("outcome"), "retry_later") << third;
  EXPECT_THAT(third.at("message"), HasSubstr("other calls of this user"));
  // Both wait for Slurm; what they start to find out whether libslurm works has ended.
  std::vector<pid_t> waiting;
  EXPECT_TRUE(test::eventually([&] {
    waiting = processes_of(alice_uid);
    test::sleep_for(test::milliseconds(200));
    return waiting.size() == 2 && waiting == processes_of(alice_uid);
  }));
  for (const pid_t pid : waiting)
    EXPECT_THAT(test::read_file("/proc/" + std::to_string(pid) + "/status"),
                testing::AllOf(HasSubstr("CapEff:\t0000000000000000\n"),
                               HasSubstr("CapPrm:\t0000000000000000\n"),
                               HasSubstr("CapAmb:\t0000000000000000\n"),
                               HasSubstr("NoNewPrivs:\t1\n"), HasSubstr("Groups:\t61001 61100 \n"),
                               HasSubstr("Gid:\t61001\t61001\t61001\t61001\n")));
  test::AgentClient other(agent_->socket(), service_uid);
  const json bob = other.ask({{"verb", "prepare"},
                              {"as", {{"uid", bob_uid}, {"grant", bobs}}},
                              {"folder", runs() / "12/3/1"},
                              {"files", json::object()}});
  EXPECT_TRUE(bob.at("ok")) << bob;
  for (int i = 0; i < 2; ++i) {
    const json late = json::parse(client_->line());
    EXPECT_EQ(late.at("outcome"), "unknown") << late;
    EXPECT_THAT(late.at("message"), HasSubstr("too long"));
  }
  EXPECT_TRUE(test::eventually([] { return processes_of(alice_uid).empty(); }));
  EXPECT_TRUE(prepare(alice_uid, alices, runs() / "12/3/2").at("ok"));
}

/// A user may stop his own processes; he then does without them.
TEST_F(SiteAgentTest, AChildThatIsStoppedIsEndedAtOnce) {
  start_agent();
  const std::string name = grant(alice_uid);
  const SilentController slurm(dir_.path() / "slurm.conf", munged_->socket());
  json question = submission(alice_uid, name);
  question["id"] = 1;
  client_->send(question.dump() + "\n");
  std::vector<pid_t> waiting;
  ASSERT_TRUE(test::eventually([&] {
    waiting = processes_of(alice_uid);
    test::sleep_for(test::milliseconds(200));
    return waiting.size() == 1 && waiting == processes_of(alice_uid);
  }));
  const test::Deadline limit(test::milliseconds(5000));
  test::as_user(alice_uid, [&] { return std::to_string(::kill(waiting[0], SIGSTOP)); });
  const json ended = json::parse(client_->line());
  EXPECT_FALSE(limit.passed()) << "long before its time is over";
  EXPECT_EQ(ended.at("outcome"), "unknown") << ended;
  EXPECT_THAT(ended.at("message"), HasSubstr("was stopped"));
  EXPECT_TRUE(test::eventually([] { return processes_of(alice_uid).empty(); }));
}

/// Whatever a user's other processes send, as fast as they can, no worker stays with him.
TEST_F(SiteAgentTest, AUserWhoStopsAllThatIsHisKeepsNobodyElse) {
  start_agent({"--call-limit", "5"});
  const std::string hers = grant(alice_uid), his = grant(bob_uid);
  const pid_t mad = ::fork();
  if (mad == 0) {
    if (::setgid(alice_uid) == 0 && ::setuid(alice_uid) == 0)
      for (;;)
        ::kill(-1, SIGSTOP);  // not itself
    ::_exit(0);
  }
  int asked = 0;
  for (; asked < 40; ++asked) {
    json question{{"id", asked},
                  {"verb", "prepare"},
                  {"as", {{"uid", alice_uid}, {"grant", hers}}},
                  {"folder", runs() / "12/3/1"},
                  {"files", json::object()}};
    client_->send(question.dump() + "\n");
  }
  test::AgentClient other(agent_->socket(), service_uid);
  for (int i = 10; i < 20; ++i) {
    const test::Deadline limit(test::milliseconds(4000));
    const json bob = other.ask({{"verb", "prepare"},
                                {"as", {{"uid", bob_uid}, {"grant", his}}},
                                {"folder", (runs() / "12/3").string() + "/" + std::to_string(i)},
                                {"files", json::object()}});
    EXPECT_TRUE(bob.value("ok", false)) << bob;
    EXPECT_FALSE(limit.passed());
  }
  for (; asked > 0; --asked)
    EXPECT_TRUE(json::parse(client_->line(), nullptr, false).is_object());
  ::kill(mad, SIGKILL);
  ::waitpid(mad, nullptr, 0);
  EXPECT_TRUE(test::eventually([] { return processes_of(alice_uid).empty(); }));
}

TEST_F(SiteAgentTest, WithoutSlurmItSaysSo) {
  start_agent();
  const json answer = client_->ask(submission(alice_uid, grant(alice_uid)));
  EXPECT_EQ(answer.at("outcome"), "no_slurm") << answer;
  EXPECT_EQ(client_->ask({{"verb", "hello"}}).at("outcome"), "no_slurm");
}

TEST_F(SiteAgentTest, RefusesToStartWhereItsGrantsWouldNotBeSafe) {
  make_folder(dir_.path() / "state", 0777, 0, 0);
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"thalweg-slurm-agent", "--site", "--socket", (dir_.path() / "socket").string(),
                 "--state", (dir_.path() / "state").string()});
    return test::run(more);
  };
  auto ended = run({});
  EXPECT_EQ(ended.code, 2);
  EXPECT_THAT(ended.err, HasSubstr("closed to all others"));
  EXPECT_THAT(run({"--service-user", "nobody-of-this-name"}).err, HasSubstr("no user"));
  EXPECT_THAT(run({"--service-user", "root"}).err, HasSubstr("cannot be root"));
  EXPECT_THAT(run({"--runs", "relative"}).err, HasSubstr("absolute path"));
  EXPECT_THAT(run({"--min-uid", "0"}).err, HasSubstr("--min-uid"));
  EXPECT_THAT(run({"--once"}).err, HasSubstr("exclude"));
}

/// A process that became alice with the controller's group, as the one that makes a folder.
TEST_F(SiteAgentTest, WhatHasTheControllersGroupCannotBeTraced) {
  const Person alice = find_person(alice_uid).value();
  std::vector<gid_t> groups = alice.groups;
  groups.push_back(service_uid);
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const char* problem = become(alice, groups);
    [[maybe_unused]] const ssize_t n = ::write(ready[1], problem == nullptr ? "y" : "n", 1);
    for (;;)
      ::pause();
  }
  char told = 0;
  ASSERT_EQ(::read(ready[0], &told, 1), 1);
  EXPECT_EQ(told, 'y');
  // A child of an agent that was ended just before may still be there for a moment.
  EXPECT_TRUE(
      test::eventually([&] { return processes_of(alice_uid) == std::vector<pid_t>{child}; }));
  const auto as_alice = [](pid_t pid) {
    return test::as_user(alice_uid, [pid] {
      const std::string folder = "/proc/" + std::to_string(pid);
      const int opened = ::open((folder + "/environ").c_str(), O_RDONLY);
      const long attached = ::ptrace(PTRACE_ATTACH, pid, nullptr, nullptr);
      return std::string(opened >= 0 ? "read" : "") + (attached == 0 ? "traced" : "");
    });
  };
  EXPECT_EQ(as_alice(child), "");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int end : ready)
    ::close(end);
  // An ordinary process of hers she may look into.
  const pid_t own =
      test::start({"setpriv", "--reuid=61001", "--regid=61001", "--clear-groups", "sleep", "1000"});
  // Not before: what is attached to while it executes another program ends by SIGTRAP.
  ASSERT_TRUE(test::eventually([&] { return test::command_line(own).rfind("sleep", 0) == 0; }));
  EXPECT_TRUE(test::eventually([&] { return as_alice(own).rfind("read", 0) == 0; }));
  ::kill(own, SIGKILL);
  ::waitpid(own, nullptr, 0);
}

TEST_F(SiteAgentTest, ServesASocketThatSystemdHandsOver) {
  const std::string path = dir_.path() / "handed";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int listening = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listening, 16), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  for (const char* count : {"1", "2"}) {
    const pid_t process = ::fork();
    if (process == 0) {
      const int log = ::open((dir_.path() / "log").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(log, 2);
      listening == 3 ? ::fcntl(3, F_SETFD, 0) : ::dup2(listening, 3);
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      ::setenv("LISTEN_FDS", count, 1);
      ::execl(THALWEG_BIN_DIR "/thalweg-slurm-agent", "thalweg-slurm-agent", "--site", "--state",
              (dir_.path() / "state").c_str(), nullptr);
      ::_exit(127);
    }
    int status = -1;
    if (std::string(count) == "1") {
      test::AgentClient client(path, service_uid);
      EXPECT_TRUE(client.ask({{"verb", "revoke"}, {"grant", "x"}}).at("ok"));
      ::kill(process, SIGTERM);
    }
    ::waitpid(process, &status, 0);
    EXPECT_EQ(status, std::string(count) == "1" ? 0 : 2 << 8);
    EXPECT_TRUE(fs::exists(path)) << "took systemd's socket away";
  }
  EXPECT_THAT(test::read_file(dir_.path() / "log"), HasSubstr("handed over 2 sockets"));
  ::close(listening);
}

TEST_F(SiteAgentTest, TheAgentWithoutSiteKnowsNoGrants) {
  const test::TempDir place;
  test::RunOptions options;
  options.directory = place.path();
  const auto ended = test::run(
      {"/bin/sh", "-c",
       "{ for verb in authorize revoke prepare remove; do echo '{\"verb\": \"'$verb'\"}'; "
       "done; until [ $(wc -l < answers) = 4 ]; do sleep 0.02; done; } | " THALWEG_BIN_DIR
       "/thalweg-slurm-agent > answers; cat answers"},
      options);
  for (const char* verb : {"authorize", "revoke", "prepare", "remove"})
    EXPECT_THAT(ended.out,
                HasSubstr("'" + std::string(verb) + "' needs thalweg-slurm-agent --site"));
}

}  // namespace
}  // namespace thalweg::slurm_agent
