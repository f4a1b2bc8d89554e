// The server on a thread of its own, asked over real sockets.
#include "daemon/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/api/messages.h"
#include "daemon/server/endpoints.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using test::World;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char sweep_text[] =
    "name: lrs\n"
    "method: grid\n"
    "parameters:\n"
    "  optimizer.lr: {values: [0.1, 0.2]}\n"
    "train: {steps: 4}\n";

/// A controller with its server, working on a thread until destroyed.
class Running {
 public:
  Running(World& world, const ServerLimits& limits) : life_(world) {
    app_ =
        std::make_unique<App>(life_.io.get_executor(), *life_.controller, world.home(), Config{});
    app_->config.backend = "fake";
    app_->schema = std::make_shared<jobspec::Schema>(jobspec::Schema::from_json(
        test::read_file(std::string(THALWEG_SOURCE_DIR) + "/tests/daemon/support/schema.json")));
    app_->stop = [this] { life_.io.stop(); };
    server_ = std::make_unique<Server>(life_.io.get_executor(), *app_, limits);
    server_->listen(world.home().socket());
    tcp_port = server_->listen_tcp("127.0.0.1:0");
    life_.controller->start();
    thread_ = std::thread([this] { life_.io.run(); });
  }
  ~Running() {
    life_.io.stop();
    thread_.join();
  }
  /// Runs on the server's thread.
  template <class F>
  auto there(F work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    boost::asio::post(life_.io, [&task] { task(); });
    return result.get();
  }
  Controller& controller() { return *life_.controller; }
  unsigned short tcp_port = 0;

 private:
  World::Life life_;
  std::unique_ptr<App> app_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

/// Bytes over a socket, as somebody would send them who knows no HTTP.
class RawConnection {
 public:
  explicit RawConnection(const std::filesystem::path& file) : fd_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, file.c_str(), sizeof address.sun_path - 1);
    connected = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  explicit RawConnection(unsigned short port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawConnection() { close(fd_); }
  void send(const std::string& text) { ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// Until the other side closes, at most ten seconds.
  std::string rest() {
    const timeval limit{10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string text;
    char block[4096];
    for (ssize_t n; (n = recv(fd_, block, sizeof block, 0)) > 0;)
      text.append(block, static_cast<std::size_t>(n));
    return text;
  }
  bool connected = false;

 private:
  int fd_;
};

struct ServerTest : testing::Test {
  World world;
  ServerLimits limits;
  std::unique_ptr<Running> running;
  std::unique_ptr<api::Client> client;

  void SetUp() override {
    limits.request_s = 5;
    start();
  }
  void start() {
    running.reset();
    running = std::make_unique<Running>(world, limits);
    client = std::make_unique<api::Client>(world.home());
  }
  std::string raw(const std::string& text) {
    RawConnection connection(world.home().socket());
    connection.send(text);
    return connection.rest();
  }
  int status(const std::function<void()>& call) {
    try {
      call();
      return 200;
    } catch (const api::ApiError& error) {
      return error.status();
    }
  }
  std::string submit() {
    return client->post("/v1/sweeps", {{"text", sweep_text}, {"file_name", "s.yaml"}}).at("id");
  }
  json wait_for_end(const std::string& id) {
    json last;
    client->stream("/v1/watch?id=" + id, [&](const json& event) {
      last = event;
      return true;
    });
    return last;
  }
};

TEST_F(ServerTest, AnswersAPing) {
  const json answer = client->get("/v1/ping");
  EXPECT_EQ(answer.at("pid"), getpid());
  EXPECT_TRUE(test::eventually(
      [&] { return client->get("/v1/ping").at("backends").at("fake") == "a fake"; }));
  EXPECT_TRUE(client->ping());
}

TEST_F(ServerTest, ListsItsEndpoints) {
  EXPECT_EQ(client->get("/v1").at("endpoints").size(), endpoints().size());
  for (const auto& endpoint : endpoints()) {
    EXPECT_FALSE(endpoint.doc.empty());
    EXPECT_TRUE((endpoint.handle == nullptr) != (endpoint.stream == nullptr)) << endpoint.pattern;
  }
}

TEST_F(ServerTest, ASweepFromItsFileToItsEnd) {
  const std::string id = submit();
  const json end = wait_for_end(id);
  EXPECT_EQ(end.at("state"), "finished");
  EXPECT_EQ(end.at("counts").at("finished"), 2);
  ASSERT_EQ(end.at("trials").size(), 2u);
  EXPECT_EQ(end.at("trials")[1].at("parameters").at("optimizer.lr"), 0.2);
  EXPECT_EQ(end.at("trials")[0].at("progress").at("step"), 4);
  EXPECT_EQ(end.at("trials")[0].at("progress").at("best"), 0.1);

  EXPECT_EQ(client->get("/v1/sweeps").at("sweeps").at(0).at("id"), id);
  const json trial = client->get("/v1/trials/" + id + ".1");
  EXPECT_EQ(trial.at("attempts").at(0).at("state"), "finished");
  EXPECT_EQ(trial.at("metrics").at("train/loss").at("last"), 4.5);
  EXPECT_EQ(trial.at("train").at("steps"), 4);
  const json attempt = client->get("/v1/attempts/" + id + ".1.1");
  EXPECT_EQ(attempt.at("events").at(0).at("kind"), "launching");
  EXPECT_FALSE(attempt.at("events").at(0).at("data").contains("token"));
  const json curve = client->get("/v1/trials/" + id + ".1/curve?metric=train/loss");
  EXPECT_EQ(curve.at("points").size(), 4u);
  EXPECT_EQ(curve.at("points")[0][1], 1.5);
  const json comparison = client->get("/v1/sweeps/" + id + "/compare?target=0.2");
  EXPECT_EQ(comparison.at("rows").size(), 2u);
  const auto log = client->get_log("/v1/attempts/" + id + ".1.1/log?stream=journal");
  EXPECT_TRUE(log.ended);
  EXPECT_EQ(log.next_offset, static_cast<std::int64_t>(log.text.size()));
  EXPECT_THAT(log.text, StartsWith("{\"n\":1,"));
}

TEST_F(ServerTest, ADryRunOnlyLooks) {
  const json answer = client->post("/v1/sweeps", {{"text", sweep_text}, {"dry_run", true}});
  EXPECT_FALSE(answer.contains("id"));
  EXPECT_EQ(answer.at("trials").size(), 2u);
  EXPECT_EQ(answer.at("nodes_per_job"), 1);
  EXPECT_TRUE(client->get("/v1/sweeps").at("sweeps").empty());
}

TEST_F(ServerTest, MistakesInASweepFileComeWithTheirPlaces) {
  try {
    client->post("/v1/sweeps",
                 {{"text", "method: grid\ntrain: {stepz: 4}\n"}, {"file_name", "bad.yaml"}});
    FAIL() << "was taken";
  } catch (const api::ApiError& error) {
    EXPECT_EQ(error.status(), 400);
    const auto diagnostics = api::diagnostics_from(error.body());
    ASSERT_FALSE(diagnostics.empty());
    EXPECT_EQ(diagnostics[0].file, "bad.yaml");
    EXPECT_EQ(diagnostics[0].place.line, 2);
  }
}

TEST_F(ServerTest, WrongRequestsAreNamed) {
  const std::string id = submit();
  wait_for_end(id);
  const struct {
    const char* path;
    int status;
  } gets[] = {{"/v1/nothing", 404},
              {"/v1/sweeps/99", 404},
              {"/v1/sweeps/x", 400},
              {"/v1/sweeps/1.1", 400},
              {"/v1/trials/1.77", 404},
              {"/v1/trials/1", 400},
              {"/v1/attempts/1.1.9", 404},
              {"/v1/attempts/1.1.1/log?stream=x", 400},
              {"/v1/attempts/1.1.1/log?offset=-1", 400},
              {"/v1/sweeps?limit=no", 400},
              {"/v1/watch?id=99", 404},
              {"/v1/watch", 400},
              {"/v1/%zz", 400},
              {"/v1/sweeps/1/compare?target=x", 400},
              {"/v1/sweeps/1/compare?metric=none", 400},
              {"/v1/trials/1.1/curve?metric=train/lossy", 404},
              {"/v1/cancel", 405}};
  for (const auto& row : gets)
    EXPECT_EQ(status([&] { client->get(row.path); }), row.status) << row.path;
  const struct {
    const char* path;
    json body;
    int status;
  } posts[] = {{"/v1/cancel", {{"id", "99"}}, 404},
               {"/v1/cancel", {{"id", "1.1.1"}}, 400},
               {"/v1/cancel", json::array(), 400},
               {"/v1/cancel", {{"id", 1}}, 400},
               {"/v1/retry", {{"id", "1"}, {"states", {"running"}}}, 400},
               {"/v1/retry", {{"id", "1"}, {"states", 7}}, 400},
               {"/v1/query", {{"sql", "DROP TABLE trials"}}, 400},
               {"/v1/query", {{"sql", "SELECT 1"}, {"max_rows", 0}}, 400},
               {"/v1/sweeps", {{"text", 1}}, 400},
               {"/v1/sweeps", {{"text", sweep_text}, {"backend", "fakr"}}, 400},
               {"/v1/ping", json::object(), 405}};
  for (const auto& row : posts)
    EXPECT_EQ(status([&] { client->post(row.path, row.body); }), row.status)
        << row.path << row.body;
  EXPECT_TRUE(client->ping());
}

TEST_F(ServerTest, QueriesReadTheViews) {
  submit();
  const json answer = client->post(
      "/v1/query", {{"sql", "SELECT id, seed FROM trials ORDER BY id"}, {"max_rows", 1}});
  EXPECT_EQ(answer.at("columns"), (json{"id", "seed"}));
  EXPECT_EQ(answer.at("rows"), json::array({json::array({"1.1", 1})}));
  EXPECT_EQ(answer.at("truncated"), true);
}

TEST_F(ServerTest, CancelAndRetry) {
  world.cluster.steps = 1000000;
  const std::string id = submit();
  EXPECT_EQ(client->post("/v1/cancel", {{"id", id}}).at("cancelled"), 2);
  EXPECT_EQ(wait_for_end(id).at("state"), "cancelled");
  running->there([&] {
    world.cluster.steps = 4;
    return 0;
  });
  EXPECT_EQ(client->post("/v1/retry", {{"id", id}, {"states", {"cancelled"}}}).at("retried"), 2);
  EXPECT_EQ(wait_for_end(id).at("state"), "finished");
}

TEST_F(ServerTest, BrokenHttpCostsOnlyItsConnection) {
  for (const char* text : {"GARBAGE\r\n\r\n", "GET\r\n\r\n", "GET /v1/ping HTTP/9.9\r\n\r\n",
                           "\r\n\r\n\r\n", "GET /v1/ping HTTP/1.1\r\nbroken header\r\n\r\n",
                           "POST /v1/query HTTP/1.1\r\nContent-Length: x\r\n\r\n"})
    EXPECT_THAT(raw(text), HasSubstr("HTTP/1.1 400")) << text;
  const std::string zeros("\0\0\0\0\r\n\r\n", 8);
  raw(zeros);
  EXPECT_THAT(raw("POST /v1/query HTTP/1.1\r\nContent-Length: 3\r\nConnection: close\r\n\r\n{{{"),
              HasSubstr("HTTP/1.1 400"));
  EXPECT_TRUE(client->ping());
}

TEST_F(ServerTest, HugeRequestsAreRefused) {
  EXPECT_THAT(raw("POST /v1/query HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"),
              HasSubstr("HTTP/1.1 413"));
  EXPECT_THAT(raw("GET /v1/ping HTTP/1.1\r\nX: " + std::string(100000, 'x') + "\r\n\r\n"),
              HasSubstr("HTTP/1.1 431"));
  limits.body = 100;
  start();
  EXPECT_EQ(status([&] { client->post("/v1/query", {{"sql", std::string(1000, ' ')}}); }), 413);
  EXPECT_TRUE(client->ping());
}

TEST_F(ServerTest, ASlowClientHoldsUpNobody) {
  limits.request_s = 0.3;
  start();
  RawConnection slow(world.home().socket());
  slow.send("GET /v1/pi");
  EXPECT_TRUE(client->ping());
  EXPECT_EQ(slow.rest(), "") << "closed without an answer when its time was over";
  EXPECT_TRUE(client->ping());
}

TEST_F(ServerTest, ConnectionsAreLimited) {
  limits.connections = 3;
  start();
  {
    RawConnection a(world.home().socket()), b(world.home().socket()), c(world.home().socket());
    EXPECT_TRUE(test::eventually([&] { return !client->ping(); }));
  }
  EXPECT_TRUE(test::eventually([&] { return client->ping(); }));
}

TEST_F(ServerTest, SeveralRequestsOnOneConnection) {
  const std::string one = "GET /v1/sweeps HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /v1/sweeps HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answers = raw(one + one + last);
  std::size_t count = 0;
  for (auto at = answers.find("HTTP/1.1 200"); at != std::string::npos;
       at = answers.find("HTTP/1.1 200", at + 1))
    ++count;
  EXPECT_EQ(count, 3u);
}

TEST_F(ServerTest, PushesNeedTheirToken) {
  world.cluster.steps = 1000000;
  world.cluster.steps_per_poll = 0;
  submit();
  std::string token;
  ASSERT_TRUE(test::eventually([&] {
    token = running->there([&] {
      const auto* attempt = running->controller().state().live_of({1, 1, 0});
      return attempt != nullptr && attempt->phase == AttemptPhase::running ? attempt->token
                                                                           : std::string();
    });
    return !token.empty();
  }));
  const std::string line = R"({"n":1,"t":7,"type":"metrics","points":[["train/loss",1,0.5]]})"
                           "\n";
  const auto push = [&](const std::string& bearer, RawConnection connection) {
    connection.send("POST /v1/push HTTP/1.1\r\nAuthorization: Bearer " + bearer +
                    "\r\nConnection: close\r\nContent-Length: " + std::to_string(line.size()) +
                    "\r\n\r\n" + line);
    return connection.rest();
  };
  EXPECT_THAT(push("guess", RawConnection(world.home().socket())), HasSubstr("HTTP/1.1 403"));
  EXPECT_THAT(push("", RawConnection(world.home().socket())), HasSubstr("HTTP/1.1 403"));
  EXPECT_THAT(push(token, RawConnection(world.home().socket())), HasSubstr("{\"next\":2}"));
  EXPECT_THAT(push(token, RawConnection(running->tcp_port)), HasSubstr("{\"next\":2}"));
  EXPECT_TRUE(test::eventually([&] {
    return client->get("/v1/trials/1.1/curve?metric=train/loss").at("points").size() == 1;
  }));
}

TEST_F(ServerTest, OverTcpThereIsOnlyThePush) {
  for (const char* path : {"/v1/ping", "/v1/sweeps", "/v1/shutdown"}) {
    RawConnection connection(running->tcp_port);
    connection.send(std::string("GET ") + path + " HTTP/1.1\r\nConnection: close\r\n\r\n");
    EXPECT_THAT(connection.rest(), HasSubstr("HTTP/1.1 404")) << path;
  }
}

TEST_F(ServerTest, OtherUsersAreNotAnswered) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  struct stat info {};
  ASSERT_EQ(stat(world.home().socket().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  // Even where the file modes let them in.
  chmod(world.dir.path().c_str(), 0755);
  chmod(world.home().socket().c_str(), 0666);
  std::string answer;
  std::thread([&] {
    // The system call changes this thread only, unlike the library's function.
    ASSERT_EQ(syscall(SYS_setresuid, 65534, 65534, 65534), 0);
    RawConnection connection(world.home().socket());
    ASSERT_TRUE(connection.connected);
    connection.send("GET /v1/ping HTTP/1.1\r\n\r\n");
    answer = connection.rest();
  }).join();
  EXPECT_THAT(answer, HasSubstr("HTTP/1.1 403"));
}

TEST_F(ServerTest, AWatcherGoesOnAfterARestart) {
  world.cluster.steps = 1000000;
  const std::string id = submit();
  std::promise<void> first_event;
  std::thread watcher([&] {
    bool told = false;
    api::Client own(world.home());
    own.stream("/v1/watch?id=" + id, [&](const json& event) {
      if (!std::exchange(told, true)) first_event.set_value();
      return event.at("state") == "active";
    });
  });
  first_event.get_future().wait();
  start();  // the connection breaks, another controller takes over
  client->post("/v1/cancel", {{"id", id}});
  watcher.join();
}

TEST_F(ServerTest, AWatcherThatGoesAwayIsForgotten) {
  world.cluster.steps = 1000000;
  const std::string id = submit();
  int events = 0;
  client->stream("/v1/watch?id=" + id, [&](const json&) { return ++events < 2; });
  EXPECT_EQ(events, 2);
  EXPECT_TRUE(client->ping());
}

TEST(Server, ATooLongSocketPathSaysWhatToDo) {
  World world;
  World::Life life(world);
  App app(life.io.get_executor(), *life.controller, world.home(), Config{});
  Server server(life.io.get_executor(), app);
  try {
    server.listen(world.dir.path() / std::string(120, 'x'));
    FAIL() << "was taken";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("THALWEG_HOME"));
  }
}

TEST(Client, SaysThatNobodyAnswers) {
  test::TempDir dir;
  api::Client client({dir.path()});
  EXPECT_FALSE(client.ping());
  try {
    client.get("/v1/ping");
    FAIL() << "somebody answered";
  } catch (const api::Unreachable& error) {
    EXPECT_THAT(error.what(), HasSubstr("thalweg daemon start"));
  }
}

}  // namespace
}  // namespace thalweg::daemon
