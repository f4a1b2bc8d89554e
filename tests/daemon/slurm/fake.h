// A fake agent's folder: what it shall answer, what it was asked.
#pragma once

#include <cstdlib>
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

}  // namespace thalweg::test
