// One loop over poll(): heads are read and answers written as far as each socket takes them, so
// that a client that sends nothing holds nobody up; only making an answer takes the loop's time.
#include "cli/http_listener.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <system_error>

namespace thalweg::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_head = 16 * 1024, max_connections = 64;
constexpr auto head_timeout = std::chrono::seconds(10), write_timeout = std::chrono::seconds(30);

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

const char* reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

std::string trimmed(std::string text) {
  const auto space = [](unsigned char c) { return std::isspace(c) != 0; };
  text.erase(text.begin(), std::find_if_not(text.begin(), text.end(), space));
  text.erase(std::find_if_not(text.rbegin(), text.rend(), space).base(), text.end());
  return text;
}

/// Nothing where `head` (without its empty line) is no request of HTTP/1.
std::optional<HttpRequest> parse(const std::string& head) {
  const std::size_t line_end = std::min(head.find("\r\n"), head.size());
  const std::string line = head.substr(0, line_end);
  const std::size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string::npos || first == last || !line.substr(last).starts_with(" HTTP/1."))
    return {};
  HttpRequest request{line.substr(0, first), line.substr(first + 1, last - first - 1), {}};
  for (std::size_t at = line_end + 2; at < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string field = head.substr(at, end - at);
    const std::size_t colon = field.find(':');
    if (colon == std::string::npos) return {};
    std::string name = field.substr(0, colon);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request.headers[name] = trimmed(field.substr(colon + 1));
    at = end + 2;
  }
  return request;
}

std::string written(const HttpReply& reply, bool with_body) {
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " " + reason_of(reply.status) +
                     "\r\nContent-Type: " + reply.type +
                     "\r\nContent-Length: " + std::to_string(reply.body.size()) +
                     "\r\nConnection: close\r\n";
  for (const auto& [name, value] : reply.headers)
    text += name + ": " + value + "\r\n";
  return text + "\r\n" + (with_body ? reply.body : "");
}

std::string answer_to(const std::string& head, const HttpListener::Handler& answer) {
  const auto request = parse(head);
  if (!request) return written({400, {}, "this is no HTTP request\n"}, true);
  if (request->method != "GET" && request->method != "HEAD")
    return written({405, "text/plain", "only GET and HEAD\n", {{"Allow", "GET, HEAD"}}}, true);
  HttpReply reply;
  try {
    reply = answer(*request);
  } catch (const std::exception& error) {
    reply = {500, "text/plain; charset=utf-8", std::string(error.what()) + "\n"};
  }
  return written(reply, request->method == "GET");
}

}  // namespace

struct HttpListener::Connection {
  Descriptor socket;
  std::string in, out;
  std::size_t sent = 0;
  Clock::time_point deadline;

  bool answering() const { return !out.empty(); }
  /// False where it is over.
  bool go_on(const Handler& answer);
  bool read(const Handler& answer);
  bool write();
};

bool HttpListener::Connection::go_on(const Handler& answer) {
  return answering() ? write() : read(answer);
}

bool HttpListener::Connection::read(const Handler& answer) {
  char bytes[4096];
  const ssize_t got = ::recv(socket.get(), bytes, sizeof bytes, 0);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  if (got == 0) return false;
  in.append(bytes, static_cast<std::size_t>(got));
  const std::size_t end = in.find("\r\n\r\n");
  if (end == std::string::npos) return in.size() <= max_head;
  out = answer_to(in.substr(0, end), answer);
  deadline = Clock::now() + write_timeout;
  return write();
}

bool HttpListener::Connection::write() {
  const ssize_t put = ::send(socket.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
  if (put < 0) return errno == EAGAIN || errno == EINTR;
  sent += static_cast<std::size_t>(put);
  if (put > 0) deadline = Clock::now() + write_timeout;
  return sent < out.size();
}

HttpListener::HttpListener(int port)
    : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  if (!listener_) fail("cannot make a socket");
  const int on = 1;
  ::setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_.get(), 128) != 0)
    fail("cannot listen on 127.0.0.1");
  socklen_t size = sizeof address;
  if (::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    fail("cannot find the port");
  port_ = ntohs(address.sin_port);
}

void HttpListener::accept_all(std::vector<Connection>& connections) {
  for (;;) {
    const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (socket < 0) return;  // that was the last
    if (connections.size() == max_connections)
      connections.erase(std::min_element(
          connections.begin(), connections.end(),
          [](const Connection& a, const Connection& b) { return a.deadline < b.deadline; }));
    connections.push_back({Descriptor(socket), {}, {}, 0, Clock::now() + head_timeout});
  }
}

void HttpListener::serve(const Handler& answer) {
  std::vector<Connection> connections;
  for (;;) {
    std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
    for (const Connection& each : connections)
      watched.push_back(
          {each.socket.get(), static_cast<short>(each.answering() ? POLLOUT : POLLIN), 0});
    constexpr int tick_ms = 1000;  // to look at deadlines
    if (::poll(watched.data(), watched.size(), tick_ms) < 0 && errno != EINTR) fail("poll");
    std::vector<Connection> kept;
    for (std::size_t i = 0; i < connections.size(); ++i) {
      Connection& each = connections[i];
      const bool goes_on =
          watched[i + 1].revents == 0 ? Clock::now() < each.deadline : each.go_on(answer);
      if (goes_on) kept.push_back(std::move(each));
    }
    connections = std::move(kept);
    if (watched[0].revents != 0) accept_all(connections);
  }
}

}  // namespace thalweg::cli
