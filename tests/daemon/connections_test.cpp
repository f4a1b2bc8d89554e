// Who may connect, what breaks a connection, and what a connection survives.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jobspec/trial.h"
#include "tests/daemon/server_fixture.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

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
  limits.header_s = 0.3 * test::slowdown();
  limits.request_s = 1000;
  start();
  RawConnection slow(world.home().socket()), idle(running->tcp_port);
  slow.send("GET /v1/pi");
  EXPECT_TRUE(client->ping());
  EXPECT_EQ(slow.rest(), "") << "closed without an answer when its time was over";
  EXPECT_TRUE(slow.closed);
  EXPECT_EQ(idle.rest(), "");
  EXPECT_TRUE(idle.closed);
  EXPECT_TRUE(client->ping());
  limits.request_s = 0.3 * test::slowdown();
  start();
  RawConnection body(world.home().socket());
  body.send("POST /v1/query HTTP/1.1\r\nContent-Length: 100\r\n\r\n{");
  EXPECT_EQ(body.rest(), "");
  EXPECT_TRUE(body.closed);
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

TEST_F(ServerTest, StrangersOverTcpLockNobodyOutOfTheSocket) {
  limits.connections = limits.tcp_connections = 3;
  start();
  std::vector<std::unique_ptr<RawConnection>> strangers;
  for (int i = 0; i < 6; ++i)
    strangers.push_back(std::make_unique<RawConnection>(running->tcp_port));
  EXPECT_EQ(strangers.back()->rest(), "") << "the fourth and later are closed";
  EXPECT_TRUE(strangers.back()->closed);
  EXPECT_TRUE(client->ping());
}

TEST_F(ServerTest, WithoutASecretNoBodyIsRead) {
  const std::string end = "Content-Length: 15000000\r\n\r\n";
  for (const std::string header : {"", "Authorization: Bearer guess\r\n"}) {
    RawConnection connection(running->tcp_port);
    connection.send("POST /v1/push HTTP/1.1\r\n" + header + end);
    EXPECT_THAT(connection.rest(), HasSubstr("HTTP/1.1 403"));
    EXPECT_TRUE(connection.closed);
  }
  RawConnection elsewhere(running->tcp_port);
  elsewhere.send("POST /v1/query HTTP/1.1\r\n" + end);
  EXPECT_THAT(elsewhere.rest(), HasSubstr("HTTP/1.1 404"));
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

TEST_F(ServerTest, PushesNeedTheirSecret) {
  world.cluster.steps = 1000000;
  world.cluster.steps_per_poll = 0;
  submit();
  LiveAttempt attempt;
  ASSERT_TRUE(test::eventually([&] {
    attempt = running->there([&] {
      const auto* live = running->controller().state().live_of({1, 1, 0});
      return live != nullptr ? *live : LiveAttempt();
    });
    return attempt.phase == AttemptPhase::running;
  }));
  const std::string secret = attempt.push_secret;
  ASSERT_EQ(secret.size(), 32u);
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
  // The token stands in the job's comment and in `ps`: it opens nothing.
  EXPECT_THAT(push(attempt.token, RawConnection(running->tcp_port)), HasSubstr("HTTP/1.1 403"));
  EXPECT_THAT(push(secret, RawConnection(world.home().socket())), HasSubstr("{\"next\":2}"));
  EXPECT_THAT(push(secret, RawConnection(running->tcp_port)), HasSubstr("{\"next\":2}"));
  EXPECT_TRUE(test::eventually([&] {
    return client->get("/v1/trials/1.1/curve?metric=train/loss").at("points").size() == 1;
  }));
  const fs::path folder = world.home().runs() / "1/1/1";
  EXPECT_EQ(jobspec::read_trial(folder / "trial.yaml").push_secret, secret);
  struct stat info {};
  ASSERT_EQ(stat((folder / "trial.yaml").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  const json told =
      client->post("/v1/query", {{"sql", "SELECT data FROM events WHERE kind = 'launching'"}});
  for (const std::string& text : {told.dump(), client->get("/v1/attempts/1.1.1").dump()}) {
    EXPECT_EQ(text.find(secret), std::string::npos) << text;
    EXPECT_EQ(text.find(attempt.token), std::string::npos) << text;
  }
  EXPECT_NE(told.dump().find("1/1/1"), std::string::npos) << told;
  // The backend forgets the job: its engine hears that it was given up, now and after its end.
  running->there([&] { world.cluster.job_of("1.1.1")->forgotten = true; });
  EXPECT_TRUE(test::eventually([&] {
    const std::string answer = push(secret, RawConnection(running->tcp_port));
    return answer.find("HTTP/1.1 410") != std::string::npos &&
           answer.find("\"fenced\":true") != std::string::npos;
  }));
  EXPECT_THAT(push(secret, RawConnection(world.home().socket())), HasSubstr("HTTP/1.1 410"));
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
