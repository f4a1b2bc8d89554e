// Push against a small server of our own, and against nobody.
#include "engine/attempt/push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>

#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using testing::HasSubstr;

/// Takes POSTs one after another and answers 200; keeps what came.
class Server {
 public:
  explicit Server(const std::string& path) : descriptor_(socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    begin();
  }
  Server() : descriptor_(socket(AF_INET, SOCK_STREAM, 0)) {  // a free port of this machine
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(bind(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    socklen_t size = sizeof address;
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    begin();
  }
  ~Server() {
    shutdown(descriptor_, SHUT_RDWR);
    thread_.join();
    close(descriptor_);
  }
  std::atomic<int> code = 200;
  std::atomic<bool> holds = false;  ///< no answer meanwhile
  int port() const { return port_; }
  std::string received() {
    const std::lock_guard lock(mutex_);
    return received_;
  }

 private:
  void begin() {
    listen(descriptor_, 8);
    thread_ = std::thread([this] {
      for (int peer = accept(descriptor_, nullptr, nullptr); peer >= 0;
           peer = accept(descriptor_, nullptr, nullptr)) {
        serve(peer);
        close(peer);
      }
    });
  }
  void serve(int peer) {
    std::string request;
    char part[4096];
    const auto complete = [&] {
      const std::size_t end = request.find("\r\n\r\n"), at = request.find("Content-Length: ");
      return end != std::string::npos && at != std::string::npos &&
             request.size() >= end + 4 + std::stoul(request.substr(at + 16));
    };
    while (!complete()) {
      const ssize_t got = recv(peer, part, sizeof part, 0);
      if (got <= 0) return;
      request.append(part, static_cast<std::size_t>(got));
    }
    {
      const std::lock_guard lock(mutex_);
      received_ += request;
    }
    while (holds)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const std::string answer =
        "HTTP/1.1 " + std::to_string(code) + " x\r\nContent-Length: 2\r\n\r\n{}";
    send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
  }

  int descriptor_;
  int port_ = 0;
  std::mutex mutex_;
  std::string received_;
  std::thread thread_;
};

TEST(Push, SendsLinesWithTheToken) {
  const thalweg::test::TempDir folder;
  const std::string path = folder.path() / "c.sock";
  Server server(path);
  {
    Push push("unix:" + path, "secret");
    push.add("{\"n\":1}\n");
    push.add("{\"n\":2}\n");
  }
  EXPECT_THAT(server.received(), HasSubstr("POST /v1/push HTTP/1.1\r\n"));
  EXPECT_THAT(server.received(), HasSubstr("Authorization: Bearer secret\r\n"));
  EXPECT_THAT(server.received(), HasSubstr("\r\n\r\n{\"n\":1}\n{\"n\":2}\n"));
}

TEST(Push, SendsWhileTheRunGoesOn) {
  Server server;
  Push push("http://127.0.0.1:" + std::to_string(server.port()), "t");
  push.add("one\n");
  EXPECT_TRUE(thalweg::test::eventually(
      [&] { return server.received().find("one\n") != std::string::npos; }));
  push.add("two\n");
  EXPECT_TRUE(thalweg::test::eventually(
      [&] { return server.received().find("two\n") != std::string::npos; }));
}

TEST(Push, TellsWhenTheControllerHasGivenTheAttemptUp) {
  Server server;
  std::atomic<int> told = 0;
  Push push("http://127.0.0.1:" + std::to_string(server.port()), "t", [&] { ++told; });
  push.add("one\n");
  EXPECT_TRUE(thalweg::test::eventually(
      [&] { return server.received().find("one\n") != std::string::npos; }));
  EXPECT_EQ(told, 0);
  server.code = 410;
  push.add("two\n");
  EXPECT_TRUE(thalweg::test::eventually([&] { return told == 1; }));
}

// As when Slurm warns a run, which handles the signal in whichever thread gets it.
TEST(Push, ASignalBreaksNothing) {
  static std::atomic<int> signals;
  struct sigaction handler {};
  handler.sa_handler = [](int) { ++signals; };
  struct sigaction before {};
  sigaction(SIGUSR1, &handler, &before);
  sigset_t usr1;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &usr1, nullptr);
  Server server;
  pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
  std::atomic<int> told = 0;
  {
    Push push("http://127.0.0.1:" + std::to_string(server.port()), "t", [&] { ++told; });
    pthread_sigmask(SIG_BLOCK, &usr1, nullptr);  // none but the pushing thread takes it
    server.code = 410;
    server.holds = true;
    push.add("one\n");
    ASSERT_TRUE(thalweg::test::eventually(
        [&] { return server.received().find("one\n") != std::string::npos; }));
    kill(getpid(), SIGUSR1);
    EXPECT_TRUE(thalweg::test::eventually([&] { return signals == 1; }));
    server.holds = false;
    EXPECT_TRUE(thalweg::test::eventually([&] { return told == 1; }, std::chrono::seconds(3)));
  }
  pthread_sigmask(SIG_UNBLOCK, &usr1, nullptr);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Push, NobodyListeningCostsNothing) {
  const thalweg::test::Deadline deadline(std::chrono::seconds(30));
  {
    Push push("unix:/nonexistent/socket", "t");
    const std::string line(1000, 'x');
    for (int i = 0; i < 100000; ++i)
      push.add(line);  // far more than it keeps
  }
  // Not a measurement: a push that waited for the controller would take minutes.
  EXPECT_FALSE(deadline.passed());
}

TEST(Push, RefusesOtherAddresses) {
  for (const char* target : {"", "unix:", "http://host", "http://:80", "https://host:1", "host:1"})
    EXPECT_THROW(Push(target, "t"), std::invalid_argument) << target;
}

}  // namespace
}  // namespace thalweg::engine
