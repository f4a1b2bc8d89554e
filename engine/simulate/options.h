// The command line of thalweg-simulate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulate/simulation.h"

namespace thalweg::engine::simulate {

struct Target {
  std::string metric;
  double value = 0;
};

struct Options {
  std::string file;
  Machine machine;     ///< 0 ranks: as the file's resources say
  std::string preset;  ///< of train.emulate; empty: as the file says
  std::vector<double> slowdown;
  std::optional<double> jitter;
  std::optional<Target> target;  ///< nothing: the file's
  std::int64_t trial = 0;        ///< simulate this one only; 0 = all
  bool json = false;
  std::filesystem::path out;     ///< a folder for journals; empty: none
  std::filesystem::path points;  ///< a file that `thalweg import` reads; empty: none
  std::string print;             ///< not empty: print this (help, version) and exit 0
};

/// `arguments` without the program's name. Throws UsageError.
Options parse(const std::vector<std::string>& arguments);

}  // namespace thalweg::engine::simulate
