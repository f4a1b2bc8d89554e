// The server on a thread of its own, asked over real sockets.
#pragma once

#include "daemon/server/server.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cstring>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/api/client.h"
#include "daemon/server/endpoints.h"
#include "jobspec/schema.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {

using nlohmann::json;
using test::World;

/// Nobody has these numbers.
inline constexpr uid_t alice = 61001, bob = 61002;

inline constexpr char sweep_text[] =
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
  /// For users on other machines; gives the port.
  unsigned short listen_network() {
    return there([&] { return server_->listen_network("127.0.0.1:0"); });
  }
  Controller& controller() { return *life_.controller; }
  Config& config() { return app_->config; }
  App& app() { return *app_; }
  boost::asio::any_io_executor executor() { return life_.io.get_executor(); }
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
  ~RawConnection() {
    if (fd_ >= 0) close(fd_);
  }
  RawConnection(RawConnection&& other) noexcept
      : connected(other.connected), closed(other.closed), fd_(std::exchange(other.fd_, -1)) {}
  void send(const std::string& text) { ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// Nothing more will be sent.
  void finish() { shutdown(fd_, SHUT_WR); }
  /// Until the other side closes; a guard against hanging ends it sooner.
  std::string rest() {
    const timeval limit{static_cast<time_t>(10 * test::slowdown()), 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    std::string text;
    char block[4096];
    ssize_t n;
    while ((n = recv(fd_, block, sizeof block, 0)) > 0)
      text.append(block, static_cast<std::size_t>(n));
    closed = n == 0 || errno == ECONNRESET;
    return text;
  }
  bool connected = false;
  bool closed = false;  ///< by the other side, after rest()

 private:
  int fd_;
};

struct ServerTest : testing::Test {
  World world;
  ServerLimits limits;
  std::unique_ptr<Running> running;
  std::unique_ptr<api::Client> client;

  void SetUp() override {
    limits.request_s = 5 * test::slowdown();
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

}  // namespace thalweg::daemon
