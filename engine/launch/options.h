// The command line of thalweg-launch.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace thalweg::engine::launch {

struct Options {
  int ranks = 1;
  std::filesystem::path folder;  ///< empty: no records are written
  std::string token;
  int threads = 0;  ///< per rank; 0: the allowed cores divided by the ranks
  bool bind = true;
  std::chrono::milliseconds timeout{0};  ///< 0: none
  std::chrono::milliseconds warning{0};  ///< USR1 this long before the timeout; 0: none
  std::chrono::milliseconds grace{5000};
  std::vector<std::string> command;
  std::string print;  ///< not empty: print this (help, version) and exit 0
};

/// `arguments` without the program's name. Throws UsageError (base/command_line.h).
Options parse(const std::vector<std::string>& arguments);

}  // namespace thalweg::engine::launch
