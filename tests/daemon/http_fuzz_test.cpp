// Odd and damaged HTTP requests from a seeded generator, over the Unix socket and over TCP: each
// costs its own connection at most. How many: tests/support/fuzz.h.
#include "tests/daemon/server_fixture.h"
#include "tests/support/fuzz.h"

namespace thalweg::daemon {
namespace {

const char* const methods[] = {"GET", "POST", "PUT", "HEAD", "OPTIONS", "", "G\xc3T", "CONNECT"};
const char* const paths[] = {"/v1",
                             "/v1/ping",
                             "/v1/schema",
                             "/v1/sweeps",
                             "/v1/sweeps/1",
                             "/v1/sweeps/1/compare",
                             "/v1/trials/1.1",
                             "/v1/trials/1.1/curve",
                             "/v1/sweeps/1/curves",
                             "/v1/attempts/1.1.1",
                             "/v1/attempts/1.1.1/log",
                             "/v1/cancel",
                             "/v1/retry",
                             "/v1/query",
                             "/v1/push",
                             "/v1/watch",
                             "/",
                             "//",
                             "*",
                             "/v1/../../etc/passwd",
                             "/v1/sweeps/%00",
                             "/v1/sweeps/%zz",
                             "/v1/sweeps/%c3%28",
                             "/v1/sweeps/99999999999999999999",
                             "/v1/attempts/1.-1.1/log",
                             "http://x/v1/ping"};
const char* const queries[] = {"",
                               "?",
                               "?id=1",
                               "?id=1.1.1&id=2",
                               "?limit=-1",
                               "?limit=1e9",
                               "?metric=train/loss",
                               "?metric=%ff&max_points=-5",
                               "?offset=-1&stream=stdout",
                               "?offset=9223372036854775808",
                               "?stream=../../x",
                               "?by=%27",
                               "?id=%00",
                               "?a&&&=b=c",
                               "?max_points=99999999999"};
const char* const headers[] = {"Connection: close",
                               "Connection: keep-alive",
                               "Content-Type: application/json",
                               "Authorization: Bearer x",
                               "Authorization: Basic eA==",
                               "Transfer-Encoding: chunked",
                               "Expect: 100-continue",
                               "Upgrade: websocket",
                               "Host:",
                               "X: \xff\xfe",
                               ": y",
                               "broken",
                               "Content-Length: 5",
                               "Content-Length: -1",
                               "Content-Length: 18446744073709551616"};
const char* const bodies[] = {"",
                              "{}",
                              "[]",
                              "null",
                              "{\"id\":\"1\"}",
                              "{\"id\":1}",
                              "{\"id\":\"1.1.1.1\"}",
                              "{\"sql\":\"SELECT count(*) FROM sweeps\"}",
                              "{\"sql\":null}",
                              "{\"sql\":\"SELECT 1\",\"max_rows\":-1}",
                              "{\"sql\":\"SELECT 1\",\"max_rows\":1e300}",
                              "{\"text\":\"name: x\"}",
                              "{\"text\":1}",
                              "{\"text\":\"\xff\",\"file_name\":\"\x1b[2J\"}",
                              "{\"text\":\"method: grid\",\"file_name\":[]}",
                              "{\"states\":[[]],\"id\":\"1\"}",
                              "{\"id\":\"1\",\"states\":\"failed\"}",
                              "{\"n\":1}\n",
                              "[[[[[[[[[[[[[[[[[[[[",
                              "{\"text\":\"a\",\"backend\":\"\\u0000\"}",
                              "5\r\nhello\r\n0\r\n\r\n"};

std::string request(std::mt19937& random) {
  const auto below = [&](std::size_t n) { return random() % n; };
  std::string text = std::string(below(6) == 0   ? test::one_of(methods, random)
                                 : below(2) == 0 ? "GET"
                                                 : "POST") +
                     " " + test::one_of(paths, random) + test::one_of(queries, random) +
                     (below(12) == 0   ? " HTTP/9.9"
                      : below(12) == 0 ? ""
                                       : " HTTP/1.1") +
                     "\r\n";
  for (std::size_t i = below(4); i > 0; --i)
    text += std::string(test::one_of(headers, random)) + "\r\n";
  const std::string body = test::one_of(bodies, random);
  if (!body.empty() && below(6) != 0)
    text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n" + body;
  return below(3) == 0 ? test::damaged(std::move(text), random) : text;
}

TEST_F(ServerTest, FuzzedRequestsCostTheirConnectionAtMost) {
  submit();
  int good = 0;
  test::fuzz(400, [&](int number, std::mt19937& random) {
    const std::string text = request(random);
    if (text.find("/v1/watch") != std::string::npos) return;  // goes on as long as the sweep
    RawConnection connection =
        number % 4 == 0 ? RawConnection(running->tcp_port) : RawConnection(world.home().socket());
    ASSERT_TRUE(connection.connected) << "after the inputs before";
    connection.send(text);
    connection.finish();
    const std::string answer = connection.rest();
    ASSERT_TRUE(connection.closed) << text;
    if (!answer.empty()) {
      ASSERT_EQ(answer.substr(0, 7), "HTTP/1.") << text;  // as in the request: 1.0 or 1.1
      ASSERT_NE(answer.substr(9, 3), "500") << text << "\n" << answer;
      if (number % 4 == 0) {
        ASSERT_NE(answer.substr(9, 3), "200") << "a stranger over TCP: " << text;
      }
      good += answer.substr(9, 3) == "200" ? 1 : 0;
    }
    if (number % 50 == 0) {
      ASSERT_TRUE(client->ping());
    }
  });
  EXPECT_TRUE(client->ping());
  if (test::fuzz_range(400).many()) {
    EXPECT_GT(good, 0) << "the generator breaks every request";
  }
}

}  // namespace
}  // namespace thalweg::daemon
