// peer_stream FOLDER RANK ADDRESS one|both: what one plain TCP connection carries between ranks 0
// and 1. A call moves the whole buffer, from 0 to 1, or both ways at once. Rank 0 listens on
// ADDRESS and leaves its port in FOLDER.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/bench/allreduce/peer.h"

namespace {

int checked(int result, const char* what) {
  if (result < 0) throw std::system_error(errno, std::generic_category(), what);
  return result;
}

sockaddr_in endpoint(const std::string& address, int port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::inet_pton(AF_INET, address.c_str(), &where.sin_addr) != 1) {
    throw std::runtime_error("no IPv4 address: " + address);
  }
  return where;
}

int listen_and_accept(const std::string& address, const std::filesystem::path& port_file) {
  const int listener = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  auto where = endpoint(address, 0);
  socklen_t length = sizeof where;
  checked(::bind(listener, reinterpret_cast<sockaddr*>(&where), length), "bind");
  checked(::listen(listener, 1), "listen");
  checked(::getsockname(listener, reinterpret_cast<sockaddr*>(&where), &length), "getsockname");
  std::ofstream(port_file.string() + ".new") << ntohs(where.sin_port);
  std::filesystem::rename(port_file.string() + ".new", port_file);
  const int fd = checked(::accept(listener, nullptr, nullptr), "accept");
  ::close(listener);
  return fd;
}

int connect_to(const std::string& address, const std::filesystem::path& port_file) {
  while (!std::filesystem::exists(port_file)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  int port = 0;
  std::ifstream(port_file) >> port;
  const auto where = endpoint(address, port);
  const int fd = checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  checked(::connect(fd, reinterpret_cast<const sockaddr*>(&where), sizeof where), "connect");
  return fd;
}

class Stream : public bench::Peer {
 public:
  Stream(int rank, int fd, bool both) : rank_(rank), fd_(fd), both_(both) {
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::fcntl(fd_, F_SETFL, O_NONBLOCK);
  }
  ~Stream() override { ::close(fd_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void allreduce(float* data, std::size_t count) override {
    const std::size_t bytes = count * sizeof(float);
    incoming_.resize(bytes);
    move(data, both_ || rank_ == 0 ? bytes : 0, incoming_.data(), both_ || rank_ == 1 ? bytes : 0);
  }
  void barrier() override {
    char mine = 0, theirs = 0;
    move(&mine, 1, &theirs, 1);
  }
  bool adds_up() const override { return false; }

 private:
  void move(const void* out, std::size_t to_send, void* in, std::size_t to_receive) {
    const auto* from = static_cast<const char*>(out);
    auto* into = static_cast<char*>(in);
    while (to_send > 0 || to_receive > 0) {
      const ssize_t sent = to_send > 0 ? ::send(fd_, from, to_send, MSG_NOSIGNAL) : -1;
      const bool send_blocked = sent < 0;
      if (to_send > 0 && sent < 0 && errno != EAGAIN) checked(-1, "send");
      if (sent > 0) from += sent, to_send -= static_cast<std::size_t>(sent);
      const ssize_t got = to_receive > 0 ? ::recv(fd_, into, to_receive, 0) : -1;
      if (to_receive > 0 && got < 0 && errno != EAGAIN) checked(-1, "recv");
      if (got == 0) throw std::runtime_error("the other rank has left");
      if (got > 0) into += got, to_receive -= static_cast<std::size_t>(got);
      if (send_blocked && got < 0) rest(to_send > 0, to_receive > 0);
    }
  }

  void rest(bool sends, bool receives) {
    pollfd waiting{fd_, static_cast<short>((sends ? POLLOUT : 0) | (receives ? POLLIN : 0)), 0};
    ::poll(&waiting, 1, 1000);
  }

  int rank_;
  int fd_;
  bool both_;
  std::vector<char> incoming_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  const std::string folder = argv[1];
  const int rank = std::atoi(argv[2]);
  bench::pin(rank);
  try {
    const auto port_file = std::filesystem::path(folder) / "port";
    const int fd =
        rank == 0 ? listen_and_accept(argv[3], port_file) : connect_to(argv[3], port_file);
    Stream peer(rank, fd, std::string(argv[4]) == "both");
    return bench::take_turns(folder, rank, 2, peer);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer_stream: %s\n", error.what());
    return 1;
  }
}
