// A site's controller as its unit runs it, on a real Slurm with a real munged: two users, an
// operator and an outsider who tries what he should not. Sweeps are submitted by the command.
#include <netinet/in.h>

#include "base/http_connection.h"
#include "daemon/api/client.h"
#include "tests/daemon/slurm/site_cluster.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* sweep_text =
    "name: site\nmethod: grid\nparameters:\n  optimizer.lr: {values: [0.01, 0.1]}\n"
    "train:\n  model: {name: mlp, hidden: [8]}\n  data: {name: synthetic, samples: 400}\n"
    "  optimizer: {name: sgd}\n  steps: 40\n";

struct Answer {
  int status = 0;
  std::string text;
};

unsigned short free_port() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
  getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.sin_port);
}

class SiteService : public SiteCluster {
 protected:
  void SetUp() override {
    SiteCluster::SetUp();
    if (IsSkipped()) return;
    home_ = folder_->path() / "service";
    fs::create_directories(home_);
    ASSERT_EQ(::chown(home_.c_str(), service_uid, service_uid), 0);
    fs::permissions(home_, fs::perms(0711));
    const fs::path sweeps = folder_->path() / "sweeps";
    make_folder(sweeps);
    fs::permissions(sweeps, fs::perms(0711));
    test::write_file(home_ / "config.yaml",
                     "site:\n  operators: {groups: [slurmuser]}\n"
                     "  agent_socket: " +
                         agent_->socket() +
                         "\n  max_connections: 8\n  requests_per_second: 50\n  listen: 127.0.0.1:" +
                         std::to_string(port_) + "\n  munge_socket: " + munge_ + "\n" +
                         "runs: " + sweeps.string() +
                         "\nslurm: {poll_interval: 0.2, file_lag: 0, engine_program: " +
                         THALWEG_BIN_DIR "/thalweg-train}\ningest_interval: 0.1\n");
    test::write_file(folder_->path() / "sweep.yaml", sweep_text);
    begin();
  }
  void TearDown() override {
    if (process_ > 0) end(SIGTERM);
  }
  void begin() {
    const std::string number = std::to_string(service_uid);
    process_ = test::start({"setpriv", "--reuid=" + number, "--regid=" + number, "--clear-groups",
                            "--no-new-privs", "--bounding-set=-all", THALWEG_BIN_DIR "/thalwegd",
                            "--site", "--foreground", "--home", home_.string()});
    ASSERT_TRUE(test::eventually(
        [&] {
          const json ping = json::parse(http(alice_uid, "GET", "/v1/ping").text, nullptr, false);
          return ping.is_object() &&
                 ping.value("/site/credential_reader"_json_pointer, 0u) == agent_uid;
        },
        patient))
        << log();
  }
  void end(int signal) {
    ::kill(process_, signal);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }
  std::string log() const {
    const fs::path file = home_ / "controller.log";
    return fs::exists(file) ? test::read_file(file) : "no log";
  }

  /// By the client, as that user.
  Answer http(uid_t user, const std::string& method, const std::string& path,
              const json& body = json::object()) {
    const std::string text = test::as_user(user, [&]() -> std::string {
      api::Client client(api::Home{home_});
      try {
        return "200 " + (method == "GET" ? client.get(path) : client.post(path, body)).dump();
      } catch (const api::ApiError& error) {
        return std::to_string(error.status()) + " " + error.what();
      }
    });
    const auto space = text.find(' ');
    return {std::atoi(text.c_str()), space == std::string::npos ? text : text.substr(space + 1)};
  }
  /// The command, as that user: what it says on both streams.
  std::string thalweg(uid_t user, std::vector<std::string> arguments) {
    return test::as_user(user, [&] {
      test::RunOptions options;
      options.env = {{"THALWEG_HOME", home_.string()},
                     {"THALWEG_MUNGE_SOCKET", munge_},
                     {"AWS_SECRET_ACCESS_KEY", "s3cret"},
                     {"HOME", "/nonexistent"}};
      arguments.insert(arguments.begin(), THALWEG_BIN_DIR "/thalweg");
      const auto ran = test::run(arguments, options);
      return std::to_string(ran.code) + ": " + ran.out + ran.err;
    });
  }
  std::string submit(uid_t user) {
    const std::string said =
        thalweg(user, {"submit", (folder_->path() / "sweep.yaml").string(), "--json"});
    const auto open = said.find('{');
    const json answer =
        open == std::string::npos ? json() : json::parse(said.substr(open), nullptr, false);
    EXPECT_TRUE(answer.is_object() && answer.contains("id")) << said;
    return answer.is_object() ? answer.value("id", "") : "";
  }
  std::string state(const std::string& sweep) {
    const json answer = json::parse(http(0, "GET", "/v1/sweeps/" + sweep).text, nullptr, false);
    return answer.is_object() ? answer.value("state", "") : "";
  }
  bool finished(const std::string& sweep) {
    return test::eventually([&] { return state(sweep) != "active"; }, patient) &&
           state(sweep) == "finished";
  }
  std::string credential(uid_t user, const std::string& text, std::optional<uid_t> reader,
                         const std::string& purpose = "thalweg sweep ") {
    return test::as_user(user, [&] {
      return auth::munge_encode(purpose + auth::sha256(text), {munge_, 60, reader});
    });
  }
  Answer hand_in(uid_t user, const std::string& word, const std::string& text = sweep_text) {
    return http(user, "POST", "/v1/sweeps",
                {{"text", text}, {"file_name", "s.yaml"}, {"credential", word}});
  }

  /// The command as on another machine: it knows the controller's address alone.
  std::string from_elsewhere(uid_t user, std::vector<std::string> arguments) {
    return test::as_user(user, [&] {
      test::RunOptions options;
      options.env = {{"THALWEG_HOME", "/nonexistent/home"},
                     {"THALWEG_CONTROLLER", "127.0.0.1:" + std::to_string(port_)},
                     {"THALWEG_MUNGE_SOCKET", munge_},
                     {"HOME", "/nonexistent"}};
      arguments.insert(arguments.begin(), THALWEG_BIN_DIR "/thalweg");
      const auto ran = test::run(arguments, options);
      return std::to_string(ran.code) + ": " + ran.out + ran.err;
    });
  }
  /// A request by hand, with this credential: "200 {...}".
  std::string by_hand(const std::string& method, const std::string& target,
                      const std::string& credential, const std::string& body = {}) const {
    HttpConnection connection({{}, "127.0.0.1", std::to_string(port_)}, 20);
    connection.send(method, target, {{"Authorization", "MUNGE " + credential}}, body);
    const HttpAnswer answer = connection.receive();
    return std::to_string(answer.status) + " " + answer.body;
  }
  std::string request_credential(uid_t user, const std::string& method, const std::string& target,
                                 std::optional<uid_t> reader = service_uid, int ttl_s = 60) {
    return test::as_user(user, [&] {
      return auth::munge_encode(auth::request_payload(method, target, auth::sha256("")),
                                {munge_, ttl_s, reader});
    });
  }

  fs::path home_;
  pid_t process_ = -1;
  unsigned short port_ = free_port();
};

TEST_F(SiteService, SweepsRunUnderTheirUsersNames) {
  const std::string hers = submit(alice_uid), his = submit(bob_uid);
  ASSERT_TRUE(finished(hers)) << log();
  ASSERT_TRUE(finished(his)) << log();
  for (const auto& [sweep, uid, name] :
       {std::tuple{hers, alice_uid, "alice"}, std::tuple{his, bob_uid, "bob"}}) {
    EXPECT_THAT(thalweg(uid, {"ls", "--csv"}), HasSubstr(name));
    EXPECT_THAT(thalweg(uid, {"compare", sweep}), HasSubstr("best"));
    EXPECT_THAT(thalweg(uid, {"query", "SELECT count(*) FROM sweeps"}), HasSubstr("1"));
    const json row = json::parse(http(uid, "GET", "/v1/attempts/" + sweep + ".1.1").text);
    EXPECT_THAT(shown(row.at("handle")), HasSubstr("(" + std::to_string(uid) + ") GroupId="));
    struct stat info {};
    const fs::path folder = row.at("folder").get<std::string>();
    ASSERT_EQ(::stat((folder / "journal.jsonl").c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, uid);
  }
  EXPECT_THAT(thalweg(mallory_uid, {"ls"}), Not(HasSubstr("alice")));
  EXPECT_THAT(thalweg(test::slurm_uid, {"ls"}), HasSubstr("alice"));
  // Of the submitter's environment the record has what the site's list names.
  EXPECT_EQ(test::run({"grep", "-c", "s3cret", (home_ / "thalweg.db").string(),
                       (home_ / "thalweg.db-wal").string(), (home_ / "controller.log").string()})
                .code,
            1);
  // What is there survives the controller, which nobody starts under another name.
  end(SIGKILL);
  for (const uid_t user : {alice_uid, uid_t{0}})
    EXPECT_THAT(thalweg(user, {"ls"}), HasSubstr("another user's to start"));
  begin();
  EXPECT_EQ(http(alice_uid, "GET", "/v1/sweeps/" + hers).status, 200);
  EXPECT_EQ(http(alice_uid, "GET", "/v1/sweeps/" + his).status, 404);
}

TEST_F(SiteService, WhatAnOutsiderTries) {
  const std::string hers = submit(alice_uid);
  int tried = 0;
  const auto refused = [&](const Answer& answer, int status, const std::string& words = "") {
    ++tried;
    EXPECT_EQ(answer.status, status) << tried << ": " << answer.text;
    EXPECT_THAT(answer.text, HasSubstr(words)) << tried;
  };
  // Another's sweep: the same words as for one that is not there.
  for (const char* path :
       {"/v1/sweeps/#", "/v1/sweeps/#/compare", "/v1/sweeps/#/curves", "/v1/sweeps/#/size",
        "/v1/studies/batch?sweeps=#", "/v1/studies/pareto?sweeps=#"}) {
    std::string target = path;
    target.replace(target.find('#'), 1, hers);
    refused(http(mallory_uid, "GET", target), 404, "there is no sweep " + hers);
  }
  for (const char* path :
       {"/v1/trials/#.1", "/v1/trials/#.1/curve", "/v1/attempts/#.1.1", "/v1/attempts/#.1.1/log"}) {
    std::string target = path;
    target.replace(target.find('#'), 1, hers);
    refused(http(mallory_uid, "GET", target), 404, "there is no sweep " + hers);
  }
  for (const char* path : {"/v1/cancel", "/v1/retry", "/v1/remove", "/v1/archive"})
    refused(http(mallory_uid, "POST", path, {{"id", hers}}), 404, "there is no sweep " + hers);
  refused(http(bob_uid, "POST", "/v1/prune", {{"id", hers}, {"keep", "none"}}), 404);
  refused(http(bob_uid, "POST", "/v1/label", {{"id", hers}, {"comment", "x"}}), 404);
  // What is for operators.
  refused(http(mallory_uid, "POST", "/v1/shutdown"), 403, "operators");
  refused(http(mallory_uid, "POST", "/v1/backup", {{"file", "/tmp/stolen.db"}}), 403);
  refused(http(mallory_uid, "POST", "/v1/relocate", {{"from", "/a"}, {"to", "/b"}}), 403);
  refused(http(mallory_uid, "GET", "/v1/homes"), 403);
  // SQL.
  for (const char* sql :
       {"SELECT * FROM main.sweeps", "SELECT text FROM sweep", "SELECT count(*) FROM trial",
        "ATTACH '/tmp/x.db' AS x", "SELECT load_extension('x')", "DELETE FROM sweeps",
        "WITH sweeps AS (SELECT * FROM sweep) SELECT * FROM sweeps"})
    refused(http(mallory_uid, "POST", "/v1/query", {{"sql", sql}}), 400, "query: ");
  EXPECT_EQ(
      json::parse(
          http(mallory_uid, "POST", "/v1/query", {{"sql", "SELECT count(*) FROM sweeps"}}).text)
          .at("rows")
          .at(0)
          .at(0),
      0);
  // Sweeps without one's own word for them.
  refused(hand_in(mallory_uid, ""), 403);
  refused(hand_in(mallory_uid, "MUNGE:forged:"), 403);
  refused(hand_in(mallory_uid, credential(alice_uid, sweep_text, agent_uid)), 403, "another user");
  refused(hand_in(mallory_uid, credential(mallory_uid, "another sweep", agent_uid)), 403);
  refused(hand_in(mallory_uid, credential(mallory_uid, sweep_text, {})), 403);
  refused(hand_in(mallory_uid, credential(mallory_uid, sweep_text, agent_uid, "login ")), 403);
  const std::string once = credential(bob_uid, sweep_text, agent_uid);
  EXPECT_EQ(hand_in(bob_uid, once).status, 200);
  refused(hand_in(bob_uid, once), 403);  // replayed
  refused(hand_in(mallory_uid, once), 403);
  refused(hand_in(0, credential(0, sweep_text, agent_uid)), 403);  // root runs nothing
  refused(hand_in(test::low_uid, credential(test::low_uid, sweep_text, agent_uid)), 403);
  refused(http(mallory_uid, "POST", "/v1/sweeps",
               {{"text", sweep_text}, {"backend", "local"}, {"credential", "x"}}),
          400, "there is no backend 'local'");
  // Its files.
  for (const char* file : {"thalweg.db", "controller.log", "trial"}) {
    const auto got = test::as_user(mallory_uid, [&] {
      return std::ifstream(home_ / file).good() ? std::string("read") : std::string();
    });
    EXPECT_EQ(got, "") << file;
    ++tried;
  }
  EXPECT_GE(tried, 40);
  // Nothing of it happened to her, and what was tried at the gates is in the log.
  EXPECT_TRUE(finished(hers)) << log();
  EXPECT_THAT(log(), HasSubstr("refused: mallory of uid " + std::to_string(mallory_uid) +
                               " asked for POST /v1/shutdown"));
  EXPECT_THAT(log(), HasSubstr("refused: a sweep of mallory (uid"));
  EXPECT_THAT(log(), HasSubstr("handed in a credential of uid " + std::to_string(alice_uid)));
  EXPECT_THAT(log(), Not(HasSubstr("MUNGE:AwQ")));
  EXPECT_THAT(agent_->log(), HasSubstr("refused: "));
}

TEST_F(SiteService, CommandsComeFromOtherMachines) {
  const std::string file = (folder_->path() / "sweep.yaml").string();
  const std::string said = from_elsewhere(alice_uid, {"submit", file, "--json"});
  const auto open = said.find('{');
  ASSERT_NE(open, std::string::npos) << said;
  const std::string hers = json::parse(said.substr(open)).at("id");
  EXPECT_TRUE(finished(hers)) << log();
  EXPECT_THAT(from_elsewhere(alice_uid, {"show", hers}), HasSubstr("finished"));
  EXPECT_THAT(from_elsewhere(alice_uid, {"watch", hers}), HasSubstr("0: "));
  EXPECT_THAT(from_elsewhere(alice_uid, {"logs", hers + ".1"}), HasSubstr("0: "));
  EXPECT_THAT(from_elsewhere(alice_uid, {"daemon", "status"}), HasSubstr("running, process"));
  EXPECT_THAT(from_elsewhere(bob_uid, {"show", hers}), HasSubstr("there is no sweep " + hers));
  EXPECT_THAT(from_elsewhere(bob_uid, {"rm", hers, "--yes"}), HasSubstr("there is no sweep"));
  EXPECT_THAT(from_elsewhere(mallory_uid, {"daemon", "stop"}), HasSubstr("for the operators"));

  const std::string target = "/v1/sweeps/" + hers;
  EXPECT_THAT(by_hand("GET", target, request_credential(alice_uid, "GET", target)),
              testing::StartsWith("200"));
  std::vector<std::pair<std::string, std::string>> tried;  // what, answer
  const std::string once = request_credential(alice_uid, "GET", target);
  by_hand("GET", target, once);
  tried.emplace_back("replayed", by_hand("GET", target, once));
  std::string forged = request_credential(mallory_uid, "GET", target);
  forged[forged.size() / 2] = forged[forged.size() / 2] == 'A' ? 'B' : 'A';
  tried.emplace_back("forged", by_hand("GET", target, forged));
  tried.emplace_back("no credential at all", by_hand("GET", target, "MUNGE:x:"));
  tried.emplace_back("another method",
                     by_hand("DELETE", target, request_credential(alice_uid, "GET", target)));
  tried.emplace_back("another target",
                     by_hand("GET", "/v1/sweeps", request_credential(alice_uid, "GET", target)));
  tried.emplace_back("another body", by_hand("POST", "/v1/cancel",
                                             request_credential(alice_uid, "POST", "/v1/cancel"),
                                             R"({"id":")" + hers + R"("})"));
  tried.emplace_back("for anybody",
                     by_hand("GET", target, request_credential(alice_uid, "GET", target, {})));
  tried.emplace_back(
      "for another service",
      by_hand("GET", target, request_credential(alice_uid, "GET", target, agent_uid)));
  tried.emplace_back(
      "good for an hour",
      by_hand("GET", target, request_credential(alice_uid, "GET", target, service_uid, 3600)));
  tried.emplace_back("over a sweep",
                     by_hand("GET", target, credential(alice_uid, sweep_text, service_uid)));
  for (const auto& [what, answer] : tried)
    EXPECT_THAT(answer, testing::StartsWith("401")) << what;
  EXPECT_THAT(log(), HasSubstr("refused: a credential from 127.0.0.1"));
}

TEST_F(SiteService, NobodyTakesItFromTheOthers) {
  // Connections that say nothing, more than one user may have; and more requests than he may make.
  const auto many = test::as_user(mallory_uid, [&] {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, (home_ / "controller.sock").c_str(),
                 sizeof address.sun_path - 1);
    int closed = 0;
    std::vector<int> open;
    for (int i = 0; i < 20; ++i) {
      const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) continue;
      open.push_back(fd);
    }
    for (const int fd : open) {
      pollfd wait{fd, POLLIN, 0};
      char byte = 0;
      if (::poll(&wait, 1, 2000) == 1 && ::recv(fd, &byte, 1, 0) == 0) ++closed;
      if (closed == 12) break;
    }
    return std::to_string(closed);
  });
  EXPECT_EQ(many, "12");
  EXPECT_EQ(http(alice_uid, "GET", "/v1/ping").status, 200);
  EXPECT_THAT(log(), HasSubstr("refused: a connection of mallory"));
  const auto flood = test::as_user(mallory_uid, [&] {
    api::Client client(api::Home{home_});
    for (int i = 0; i < 5000; ++i) {
      try {
        client.get("/v1/ping");
      } catch (const api::ApiError& error) {
        return std::to_string(error.status());
      }
    }
    return std::string("never");
  });
  EXPECT_EQ(flood, "429");
  EXPECT_EQ(http(alice_uid, "GET", "/v1/ping").status, 200);
}

}  // namespace
}  // namespace thalweg::daemon
