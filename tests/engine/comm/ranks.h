// Ranks of rank_program as processes, and what they print.
#pragma once

#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace thalweg::test {

/// How ranks reach each other.
enum class Network {
  machine,    ///< as it comes: all on one machine
  loopback,   ///< on one machine, but over sockets
  hosts,      ///< each in a network namespace of its own; needs root
  two_hosts,  ///< by turns in one of two network namespaces; needs root
};

inline std::string netns() {
  return std::string(THALWEG_SOURCE_DIR) + "/tests/engine/comm/netns.sh";
}

/// Runs `ranks` of a program under thalweg-launch, which gets `options`. Without a --grace among
/// them it does not cut short what ranks have to say: they end by themselves, or run()'s deadline
/// comes.
inline Outcome launch_program(const std::string& program, int ranks,
                              const std::vector<std::string>& arguments,
                              const std::vector<std::string>& options = {},
                              Network network = Network::machine, RunOptions run_options = {}) {
  const bool hosts = network == Network::hosts || network == Network::two_hosts;
  std::vector<std::string> command;
  if (hosts) command = {netns(), network == Network::hosts ? std::to_string(ranks) : "2"};
  command.insert(command.end(), {"thalweg-launch", "-n", std::to_string(ranks)});
  if (std::find(options.begin(), options.end(), "--grace") == options.end())
    command.insert(command.end(), {"--grace", "600"});
  command.insert(command.end(), options.begin(), options.end());
  command.emplace_back("--");
  if (hosts) command.insert(command.end(), {netns(), "rank"});
  command.push_back(program);
  command.insert(command.end(), arguments.begin(), arguments.end());
  if (network == Network::loopback) run_options.env["THALWEG_SOCKETS"] = "always";
  return run(command, run_options);
}

/// The same of rank_program.
inline Outcome launch(int ranks, const std::vector<std::string>& mode,
                      const std::vector<std::string>& options = {},
                      Network network = Network::machine, const RunOptions& run_options = {}) {
  return launch_program(RANK_PROGRAM, ranks, mode, options, network, run_options);
}

/// Waits until victim_program's ranks are in the middle of their collectives; rank r writes to
/// `said`.r.
inline bool all_work(const std::filesystem::path& said, int ranks) {
  return eventually([&] {
    for (int r = 0; r < ranks; ++r) {
      const std::string number = std::to_string(r);
      if (read_file(said.string() + "." + number).find("rank " + number + " works") ==
          std::string::npos)
        return false;
    }
    return true;
  });
}

struct FailureReport {
  int by;
  int whom;
  long after_ms;  ///< of MachineClock
  std::string words;
};

inline std::vector<FailureReport> failure_reports(const std::string& out) {
  static const std::regex kLine(R"(rank (\d+) reports (-?\d+) on (\S*) after (\d+) ms: (.*))");
  std::vector<FailureReport> found;
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m, kLine)) {
      found.push_back({std::stoi(m[1]), std::stoi(m[2]), std::stol(m[4]), m[5]});
    }
  }
  return found;
}

}  // namespace thalweg::test
