// A controller that says what a test tells it to: HTTP/1.1 over a Unix socket, server-sent events
// included.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

namespace thalweg::test {

/// Anything not set up is answered with 404. Thread-safe.
class FakeController {
 public:
  struct Request {
    std::string method, target;
    nlohmann::json body;
  };

  explicit FakeController(const std::filesystem::path& socket);
  ~FakeController();

  /// `request`: "GET /v1/ping"; exactly what the client sends, the query included.
  void answer(const std::string& request, const nlohmann::json& body, int status = 200);
  void answer_text(const std::string& request, const std::string& text, const std::string& headers);
  /// A stream of events; without `ends` it stays open after the last.
  void stream(const std::string& request, const std::vector<nlohmann::json>& events,
              bool ends = true);
  std::vector<Request> requests() const;
  bool was_asked(const std::string& request) const;

 private:
  struct Answer {
    std::string head, body;
    bool stays_open = false, closes = false;
  };
  void accept_all();
  void serve(int connection);
  Answer find(const std::string& request) const;

  int listener_ = -1;
  mutable std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<Request> requests_;
  std::vector<int> open_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;
  std::thread accepting_;
};

}  // namespace thalweg::test
