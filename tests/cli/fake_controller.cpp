#include "tests/cli/fake_controller.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace thalweg::test {
namespace {

std::string head_of(int status, const std::string& type, const std::string& more) {
  return "HTTP/1.1 " + std::to_string(status) + " Fake\r\nContent-Type: " + type + "\r\n" + more +
         "\r\n";
}

std::string length_of(const std::string& body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n";
}

void send_all(int connection, const std::string& text) {
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = ::send(connection, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return;
    sent += static_cast<std::size_t>(n);
  }
}

/// One request's head and body taken off `buffer`; false at the end of the connection.
bool read_request(int connection, std::string& buffer, std::string& head, std::string& body) {
  const auto more = [&] {
    char block[4096];
    const ssize_t n = ::recv(connection, block, sizeof block, 0);
    if (n > 0) buffer.append(block, static_cast<std::size_t>(n));
    return n > 0;
  };
  std::size_t end;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos)
    if (!more()) return false;
  head = buffer.substr(0, end);
  buffer.erase(0, end + 4);
  const auto at = head.find("Content-Length: ");
  const std::size_t length = at == std::string::npos ? 0 : std::stoul(head.substr(at + 16));
  while (buffer.size() < length)
    if (!more()) return false;
  body = buffer.substr(0, length);
  buffer.erase(0, length);
  return true;
}

}  // namespace

FakeController::FakeController(const std::filesystem::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener_, 16) != 0)
    throw std::runtime_error("cannot listen on " + socket.string());
  accepting_ = std::thread([this] { accept_all(); });
}

FakeController::~FakeController() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const int connection : open_)
      ::shutdown(connection, SHUT_RDWR);
  }
  ::shutdown(listener_, SHUT_RDWR);
  accepting_.join();
  for (std::thread& thread : threads_)
    thread.join();
  ::close(listener_);
}

void FakeController::answer(const std::string& request, const nlohmann::json& body, int status) {
  const std::string text = body.dump();
  const std::lock_guard lock(mutex_);
  answers_[request] = {head_of(status, "application/json", length_of(text)), text};
}

void FakeController::answer_text(const std::string& request, const std::string& text,
                                 const std::string& headers) {
  const std::lock_guard lock(mutex_);
  answers_[request] = {head_of(200, "text/plain", headers + length_of(text)), text};
}

void FakeController::stream(const std::string& request, const std::vector<nlohmann::json>& events,
                            bool ends) {
  std::string text;
  for (const auto& event : events)
    text += "data: " + event.dump() + "\n\n";
  if (ends) text += "event: end\ndata: {}\n\n";
  const std::lock_guard lock(mutex_);
  answers_[request] = {head_of(200, "text/event-stream", ""), text, !ends, true};
}

std::vector<FakeController::Request> FakeController::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

bool FakeController::was_asked(const std::string& request) const {
  const auto all = requests();
  return std::any_of(all.begin(), all.end(), [&](const Request& each) {
    return each.method + " " + each.target == request;
  });
}

void FakeController::accept_all() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const std::lock_guard lock(mutex_);
    if (connection < 0 || stopping_) {
      if (connection >= 0) ::close(connection);
      return;
    }
    open_.push_back(connection);
    threads_.emplace_back([this, connection] { serve(connection); });
  }
}

FakeController::Answer FakeController::find(const std::string& request) const {
  const std::lock_guard lock(mutex_);
  const auto found = answers_.find(request);
  if (found != answers_.end()) return found->second;
  const std::string text =
      nlohmann::json{{"error", {{"message", "there is nothing at " + request}}}}.dump();
  return {head_of(404, "application/json", length_of(text)), text};
}

void FakeController::serve(int connection) {
  std::string buffer, head, body;
  while (read_request(connection, buffer, head, body)) {
    const auto space = head.find(' ');
    Request request{head.substr(0, space),
                    head.substr(space + 1, head.find(' ', space + 1) - space - 1),
                    nlohmann::json::parse(body, nullptr, false)};
    const std::string name = request.method + " " + request.target;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    const Answer answer = find(name);
    send_all(connection, answer.head + answer.body);
    if (answer.stays_open) continue;  // until the client or the test ends it
    if (answer.closes) break;
  }
  const std::lock_guard lock(mutex_);
  open_.erase(std::remove(open_.begin(), open_.end(), connection), open_.end());
  ::close(connection);
}

}  // namespace thalweg::test
