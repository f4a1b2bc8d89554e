// A fake agent's folder: what it shall answer, what it was asked.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace thalweg::test {

class FakeAgent {
 public:
  FakeAgent() {
    answers(nlohmann::json::object());
    ::setenv("FAKE_AGENT", folder_.path().c_str(), 1);
  }
  ~FakeAgent() { ::unsetenv("FAKE_AGENT"); }

  static std::string program() { return FAKE_SLURM_AGENT; }
  /// {"verb": [answer, ...], ...}; see fake_slurm_agent.cpp.
  void answers(const nlohmann::json& answers) const {
    write_file(folder_.path() / "answers.json", answers.dump());
  }
  std::vector<nlohmann::json> requests() const {
    std::vector<nlohmann::json> all;
    for (const std::string& line : lines("requests.jsonl"))
      all.push_back(nlohmann::json::parse(line));
    return all;
  }
  std::vector<std::string> verbs() const {
    std::vector<std::string> all;
    for (const auto& request : requests())
      all.push_back(request.at("verb"));
    return all;
  }
  /// Pids, in the order of the starts.
  std::vector<pid_t> starts() const {
    std::vector<pid_t> pids;
    for (const std::string& line : lines("starts"))
      pids.push_back(std::stoi(line));
    return pids;
  }

 private:
  std::vector<std::string> lines(const char* file) const {
    std::vector<std::string> all;
    if (!std::filesystem::exists(folder_.path() / file)) return all;
    std::istringstream text(read_file(folder_.path() / file));
    for (std::string line; std::getline(text, line);)
      all.push_back(line);
    return all;
  }

  TempDir folder_;
};

/// The fake agent as a service: each connection to its socket starts one.
class FakeService {
 public:
  explicit FakeService(const std::filesystem::path& socket) : socket_(socket) { begin(); }
  ~FakeService() { end(); }
  FakeService(const FakeService&) = delete;
  FakeService& operator=(const FakeService&) = delete;

  void begin() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
    std::filesystem::remove(socket_);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) std::abort();
    ::listen(fd, 8);
    process_ = ::fork();
    if (process_ == 0) {
      ::setpgid(0, 0);
      for (int taken; (taken = ::accept(fd, nullptr, nullptr)) >= 0; ::close(taken))
        if (::fork() == 0) {
          ::dup2(taken, 0);
          ::dup2(taken, 1);
          ::execl(FAKE_SLURM_AGENT, FAKE_SLURM_AGENT, nullptr);
          ::_exit(127);
        }
      ::_exit(0);
    }
    ::setpgid(process_, process_);
    ::close(fd);
  }
  /// With all that it started.
  void end() {
    if (process_ < 0) return;
    ::kill(-process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  std::filesystem::path socket_;
  pid_t process_ = -1;
};

}  // namespace thalweg::test
