// Users on other machines, each request proven by MUNGE. Here munged is a table; the real one is in
// slurm/site_service_test.cpp.
#include "daemon/server/network_door.h"

#include <gmock/gmock.h>

#include <mutex>

#include "daemon/auth/sha256.h"
#include "tests/daemon/server_fixture.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;

class NetworkDoor : public ServerTest {
 protected:
  void SetUp() override {
    limits.header_s = test::slowdown();
    limits.request_s = 2 * test::slowdown();
    world.cluster.steps = 1'000'000;  // not done before they are cancelled
    ServerTest::SetUp();
    running->there([&] {
      running->config().site.enabled = true;
      // A credential is a line of the table, good once. A thread of its own asks.
      running->app().decode_credential = [this](const std::string& text) {
        const std::lock_guard lock(mutex);
        const auto found = credentials.find(text);
        auth::Credential said;
        said.error = 17;
        said.problem = "replayed credential";
        if (found == credentials.end()) return said;
        said = found->second;
        credentials.erase(found);
        return said;
      };
      hers = test::submit(running->controller(), test::sweep_of(2),
                          Owner{alice, alice, std::to_string(alice), "g1"});
      return 0;
    });
    port = running->listen_network();
  }
  void TearDown() override { running.reset(); }

  std::string credential(uid_t user, const std::string& method, const std::string& target,
                         const std::string& body = {}) {
    auth::Credential said;
    said.uid = user;
    said.ttl_s = 60;
    said.reader = geteuid();
    said.payload = auth::request_payload(method, target, auth::sha256(body));
    return add(said);
  }
  std::string add(const auth::Credential& said) {
    const std::string name = "MUNGE:" + std::to_string(++made) + ":";
    const std::lock_guard lock(mutex);
    credentials.emplace(name, said);
    return name;
  }
  static std::string text_of(const std::string& method, const std::string& target,
                             const std::string& credential, const std::string& body = {},
                             bool close = true) {
    return method + " " + target + " HTTP/1.1\r\nHost: x\r\n" +
           (credential.empty() ? "" : "Authorization: MUNGE " + credential + "\r\n") +
           (close ? "Connection: close\r\n" : "") +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  std::string ask(const std::string& text) {
    RawConnection connection(port);
    EXPECT_TRUE(connection.connected);
    connection.send(text);
    return connection.rest();
  }

  std::mutex mutex;
  std::map<std::string, auth::Credential> credentials;
  int made = 0;
  std::int64_t hers = 0;
  unsigned short port = 0;
};

TEST_F(NetworkDoor, ACredentialSaysWhoAsks) {
  const std::string target = "/v1/sweeps/" + std::to_string(hers);
  EXPECT_THAT(ask(text_of("GET", target, credential(alice, "GET", target))),
              HasSubstr("HTTP/1.1 200"));
  EXPECT_THAT(ask(text_of("GET", target, credential(bob, "GET", target))),
              HasSubstr("HTTP/1.1 404"));
  const std::string body = "{\"id\":\"" + std::to_string(hers) + "\"}";
  const std::string cancel = "/v1/cancel";
  EXPECT_THAT(ask(text_of("POST", cancel, credential(alice, "POST", cancel, body), body)),
              HasSubstr("{\"cancelled\":2}"));
  const std::string query = "/v1/sweeps?limit=3";  // the query counts, too
  EXPECT_THAT(ask(text_of("GET", query, credential(alice, "GET", query))),
              HasSubstr("HTTP/1.1 200"));
}

TEST_F(NetworkDoor, WithoutOneItTellsWhomToMakeItFor) {
  for (const char* target : {"/v1", "/v1/ping", "/v1/sweeps", "/v1/push", "/nothing"}) {
    const std::string answer = ask(text_of("GET", target, ""));
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 401")) << target;
    EXPECT_THAT(answer, HasSubstr("WWW-Authenticate: MUNGE uid=" + std::to_string(geteuid())));
  }
  EXPECT_THAT(ask("GET /v1/ping HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n"),
              HasSubstr("HTTP/1.1 401"));
}

TEST_F(NetworkDoor, WhatACredentialDoesNotSayIsRefused) {
  const std::string target = "/v1/sweeps", body = "{}";
  const auto refused = [&](const std::string& text, const std::string& why) {
    const std::string answer = ask(text);
    EXPECT_THAT(answer, HasSubstr("HTTP/1.1 401")) << why;
    EXPECT_THAT(answer, HasSubstr(why));
  };
  const std::string once = credential(alice, "GET", target);
  EXPECT_THAT(ask(text_of("GET", target, once)), HasSubstr("HTTP/1.1 200"));
  refused(text_of("GET", target, once), "replayed credential");
  refused(text_of("GET", target, "MUNGE:forged:"), "replayed credential");
  refused(text_of("POST", target, credential(alice, "GET", target)), "another request");
  refused(text_of("GET", "/v1/ping", credential(alice, "GET", target)), "another request");
  refused(text_of("GET", target + "?limit=1", credential(alice, "GET", target)), "another request");
  refused(text_of("POST", "/v1/cancel", credential(alice, "POST", "/v1/cancel", "{}"),
                  "{\"id\":\"1\"}"),
          "another body");
  auth::Credential said;
  said.uid = alice;
  said.ttl_s = 60;
  said.payload = auth::request_payload("GET", target, auth::sha256(""));
  refused(text_of("GET", target, add(said)), "for the controller alone");
  said.reader = geteuid() + 1;
  refused(text_of("GET", target, add(said)), "for the controller alone");
  said.reader = geteuid();
  said.ttl_s = 3600;
  refused(text_of("GET", target, add(said)), "300 is the most");
  // A credential over a sweep is for another purpose.
  said.ttl_s = 60;
  said.payload = auth::sweep_payload(auth::sha256(""));
  refused(text_of("GET", target, add(said)), "another request");
}

TEST_F(NetworkDoor, AConnectionIsOneUsers) {
  const std::string target = "/v1/ping";
  RawConnection connection(port);
  connection.send(text_of("GET", target, credential(alice, "GET", target), "", false));
  connection.send(text_of("GET", target, credential(alice, "GET", target), "", false));
  connection.send(text_of("GET", target, credential(bob, "GET", target), "", false));
  const std::string answers = connection.rest();
  const auto count = [&](const std::string& word) {
    int found = 0;
    for (auto at = answers.find(word); at != std::string::npos; at = answers.find(word, at + 1))
      ++found;
    return found;
  };
  EXPECT_EQ(count("HTTP/1.1 200"), 2);
  EXPECT_EQ(count("the connection is another user's"), 1);
}

TEST_F(NetworkDoor, UsersHaveTheirLimitsHereToo) {
  running->there([&] { return running->config().site.max_connections = 2; });
  const std::string target = "/v1/ping";
  const auto text = [&](uid_t user) {
    return text_of("GET", target, credential(user, "GET", target), "", false);
  };
  RawConnection first(port), second(port);
  first.send(text(alice));
  second.send(text(alice));
  EXPECT_TRUE(
      test::eventually([&] { return ask(text(alice)).find("HTTP/1.1 429") != std::string::npos; }));
  const std::string others = ask(text_of("GET", target, credential(bob, "GET", target)));
  EXPECT_THAT(others, HasSubstr("HTTP/1.1 200"));
}

TEST_F(NetworkDoor, StrangersCannotStay) {
  RawConnection slow(port);
  slow.send("GET /v1/ping HTTP/1.1\r\nHost:");
  EXPECT_EQ(slow.rest(), "");
  EXPECT_TRUE(slow.closed);
  // A body that nobody has asked for is not read.
  const std::string answer =
      ask("POST /v1/sweeps HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000000\r\n\r\n{");
  EXPECT_TRUE(answer.find(" 401") != std::string::npos || answer.find(" 413") != std::string::npos)
      << answer;
}

}  // namespace
}  // namespace thalweg::daemon
