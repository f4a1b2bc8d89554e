// Against a server that says, byte for byte, what a test lets it say.
#include "base/http_connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <thread>

namespace {

using testing::HasSubstr;
using testing::StartsWith;
using thalweg::ConnectionLost;
using thalweg::HttpConnection;

/// Takes one connection and hands it to `talk`; closes it behind that.
class Server {
 public:
  explicit Server(std::function<void(int)> talk) : listener_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = std::to_string(ntohs(address.sin_port));
    listen(listener_, 1);
    thread_ = std::thread([this, talk = std::move(talk)] {
      const int peer = accept(listener_, nullptr, nullptr);
      if (peer < 0) return;
      talk(peer);
      close(peer);
    });
  }
  ~Server() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  thalweg::HttpAddress address() const { return {"", "127.0.0.1", port_}; }

 private:
  int listener_;
  std::string port_;
  std::thread thread_;
};

void say(int peer, const std::string& text) {
  EXPECT_EQ(send(peer, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

/// A request without a body, or what comes until the other side closes.
std::string heard(int peer) {
  std::string text;
  for (char c; !text.ends_with("\r\n\r\n") && recv(peer, &c, 1, 0) == 1;)
    text += c;
  return text;
}

/// What is lost of an answer `text` to a GET; nothing where the whole answer came.
std::optional<ConnectionLost> loss(const std::string& text) {
  const Server server([&](int peer) {
    heard(peer);
    say(peer, text);
  });
  try {
    HttpConnection connection(server.address(), 5);
    connection.send("GET", "/", {}, "");
    connection.receive();
    return {};
  } catch (const ConnectionLost& lost) {
    return lost;
  }
}

TEST(HttpConnection, TwoRequestsOverOneConnection) {
  std::string first, second;
  {
    const Server server([&](int peer) {
      first = heard(peer);
      say(peer, "HTTP/1.1 200 OK\r\nContent-Le");
      say(peer, "ngth: 5\r\nX-Next: 7\r\n\r\nab");
      say(peer, "cde");
      second = heard(peer);
      say(peer, "HTTP/1.1 404 no\r\nContent-Length: 0\r\n\r\n");
    });
    HttpConnection connection(server.address(), 5);
    connection.send("GET", "/v1/a", {}, "");
    const auto answer = connection.receive();
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.headers.at("x-next"), "7");
    EXPECT_EQ(answer.body, "abcde");
    connection.send("POST", "/v1/b", {{"Authorization", "Bearer s"}}, "");
    EXPECT_EQ(connection.receive().status, 404);
  }
  EXPECT_EQ(first, "GET /v1/a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
  EXPECT_EQ(second,
            "POST /v1/b HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer s\r\n"
            "Content-Length: 0\r\n\r\n");
}

TEST(HttpConnection, LinesUntilTheOtherSideCloses) {
  const Server server([](int peer) {
    heard(peer);
    say(peer, "HTTP/1.1 200 OK\r\n\r\ndata: 1\n\r\nda");
    say(peer, "ta: 2\nrest");
  });
  HttpConnection connection(server.address(), 5);
  connection.send("GET", "/", {}, "");
  auto answer = connection.receive_head();
  std::string line;
  for (const char* expected : {"data: 1", "", "data: 2"}) {
    ASSERT_TRUE(connection.read_line(line));
    EXPECT_EQ(line, expected);
  }
  connection.receive_body(answer);
  EXPECT_EQ(answer.body, "rest");
  EXPECT_FALSE(connection.read_line(line));
}

TEST(HttpConnection, SaysWhetherAnAnswerHadBegun) {
  const auto nothing = loss("");
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(nothing->answered);
  for (const char* part :
       {"HTTP", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab",
        "HTTP/1.1 xyz\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"}) {
    const auto lost = loss(part);
    ASSERT_TRUE(lost) << part;
    EXPECT_TRUE(lost->answered) << part;
  }
}

TEST(HttpConnection, WaitsOnlySoLong) {
  const Server server([](int peer) {
    heard(peer);
    heard(peer);  // until the client has gone
  });
  HttpConnection connection(server.address(), 0.2);
  connection.send("GET", "/", {}, "");
  try {
    connection.receive();
    ADD_FAILURE() << "an answer from nowhere";
  } catch (const ConnectionLost& lost) {
    EXPECT_STREQ(lost.what(), "no answer in time");
    EXPECT_FALSE(lost.answered);
  }
}

TEST(HttpConnection, NobodyListens) {
  std::string port;
  {
    const Server gone([](int) {});
    port = gone.address().port;
  }
  const auto refusal = [](const thalweg::HttpAddress& address) -> std::string {
    try {
      HttpConnection(address, 1);
    } catch (const ConnectionLost& lost) {
      return lost.what();
    }
    return "connected";
  };
  EXPECT_THAT(refusal({"", "127.0.0.1", port}), HasSubstr("Connection refused"));
  EXPECT_THAT(refusal({"/nonexistent/socket", "", ""}), StartsWith("/nonexistent/socket: No such"));
  EXPECT_THAT(refusal({"/" + std::string(thalweg::kMaxSocketPath, 'x'), "", ""}),
              HasSubstr("too long for a socket (at most 107 bytes)"));
  EXPECT_THAT(refusal({"/" + std::string(thalweg::kMaxSocketPath - 1, 'x'), "", ""}),
              HasSubstr("No such file"));
}

}  // namespace
