// The time limits are the socket's own (SO_RCVTIMEO, SO_SNDTIMEO; the latter holds for connect() as
// well). With them a call is never started again by itself after a signal, so each is repeated
// here.
#include "base/http_connection.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/text.h"

namespace thalweg {
namespace {

static_assert(kMaxSocketPath == sizeof(sockaddr_un::sun_path) - 1);

[[noreturn]] void lost(const std::string& what, bool answered) {
  throw ConnectionLost(what + ": " + std::strerror(errno), answered);
}

/// Empty with errno where it cannot.
Descriptor connected(int family, const sockaddr* address, socklen_t length, double timeout_s) {
  Descriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return {};
  timeval limit{};
  limit.tv_sec = static_cast<time_t>(timeout_s);
  limit.tv_usec = static_cast<suseconds_t>((timeout_s - static_cast<double>(limit.tv_sec)) * 1e6);
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  int status = 0;
  do
    status = ::connect(fd.get(), address, length);
  while (status != 0 && errno == EINTR);
  if (status == 0 || errno == EISCONN) return fd;  // the latter: it succeeded behind a signal
  // What a connect() that waited too long is called, over TCP and over a Unix socket.
  const int error = errno == EINPROGRESS || errno == EAGAIN ? ETIMEDOUT : errno;
  fd = Descriptor();
  errno = error;
  return {};
}

Descriptor connected(const std::filesystem::path& socket, double timeout_s) {
  if (socket.native().size() > kMaxSocketPath)
    throw ConnectionLost("the path " + socket.string() + " is too long for a socket (at most " +
                             std::to_string(kMaxSocketPath) + " bytes)",
                         false);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, socket.c_str(), socket.native().size());
  Descriptor fd =
      connected(AF_UNIX, reinterpret_cast<const sockaddr*>(&address), sizeof address, timeout_s);
  if (!fd) lost(socket.string(), false);
  return fd;
}

/// The first of the host's addresses that answers.
Descriptor connected(const std::string& host, const std::string& port, double timeout_s) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), port.c_str(), &hints, &found); error != 0)
    throw ConnectionLost(host + ": " + ::gai_strerror(error), false);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, ::freeaddrinfo);
  for (const addrinfo* a = all.get(); a != nullptr; a = a->ai_next)
    if (Descriptor fd = connected(a->ai_family, a->ai_addr, a->ai_addrlen, timeout_s)) return fd;
  lost(host + ":" + port, false);
}

template <class Number>
Number to_number(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) throw ConnectionLost("malformed answer", true);
  return value;
}

}  // namespace

HttpConnection::HttpConnection(const HttpAddress& address, double timeout_s)
    : host_(address.host.empty() ? "localhost" : address.host),
      fd_(address.host.empty() ? connected(address.socket, timeout_s)
                               : connected(address.host, address.port, timeout_s)) {}

void HttpConnection::send(const std::string& method, const std::string& path,
                          const HttpHeaders& headers, const std::string& body) {
  std::string text = method + " " + path + " HTTP/1.1\r\nHost: " + host_ + "\r\n";
  for (const auto& [name, value] : headers)
    text += name + ": " + value + "\r\n";
  if (method != "GET") text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  text += "\r\n" + body;
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t count = ::send(fd_.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    // The server may answer and close before it has read everything (a body that is too large).
    if (count < 0 && errno == EPIPE && sent > 0) return;
    if (count <= 0) lost("sending", false);
    sent += static_cast<std::size_t>(count);
  }
}

bool HttpConnection::fill() {
  char block[65536];
  for (;;) {
    const ssize_t count = recv(fd_.get(), block, sizeof block, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      throw ConnectionLost("no answer in time", !buffer_.empty());
    if (count < 0) lost("reading", !buffer_.empty());
    buffer_.append(block, static_cast<std::size_t>(count));
    return count > 0;
  }
}

bool HttpConnection::read_line(std::string& line) {
  std::size_t end;
  while ((end = buffer_.find('\n')) == std::string::npos)
    if (!fill()) return false;
  line = buffer_.substr(0, end > 0 && buffer_[end - 1] == '\r' ? end - 1 : end);
  buffer_.erase(0, end + 1);
  return true;
}

HttpAnswer HttpConnection::receive_head() {
  HttpAnswer answer;
  std::string line;
  if (!read_line(line)) throw ConnectionLost("the connection was closed", !buffer_.empty());
  if (line.rfind("HTTP/1.", 0) != 0 || line.size() < 12)
    throw ConnectionLost("malformed answer", true);
  answer.status = to_number<int>(std::string_view(line).substr(9));
  for (;;) {
    if (!read_line(line)) throw ConnectionLost("the answer stopped in its headers", true);
    if (line.empty()) return answer;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) throw ConnectionLost("malformed answer", true);
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    answer.headers[lower_case(std::string_view(line).substr(0, colon))] =
        value == std::string::npos ? "" : line.substr(value);
  }
}

HttpAnswer HttpConnection::receive() {
  HttpAnswer answer = receive_head();
  receive_body(answer);
  return answer;
}

void HttpConnection::receive_body(HttpAnswer& answer) {
  const auto length = answer.headers.find("content-length");
  if (length == answer.headers.end()) {
    while (fill()) {
    }
    answer.body = std::exchange(buffer_, {});
    return;
  }
  const auto wanted = to_number<std::size_t>(length->second);
  while (buffer_.size() < wanted)
    if (!fill()) throw ConnectionLost("the answer stopped in its middle", true);
  answer.body = buffer_.substr(0, wanted);
  buffer_.erase(0, wanted);
}

}  // namespace thalweg
