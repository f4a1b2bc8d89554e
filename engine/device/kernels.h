// Which of its algorithms each call of a GPU's libraries takes (gpu::Call), and what the algorithms
// took where somebody has measured them. Plain values and pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace thalweg::engine {

/// An algorithm that was measured.
struct AlgorithmTime {
  int algorithm = 0;
  std::string name;  ///< gpu::Call::algorithm_name()
  std::size_t workspace = 0;
  double ms = 0;  ///< of one run
  bool operator==(const AlgorithmTime&) const = default;
};

struct CallTimes {
  std::string name;                       ///< gpu::Call::name()
  std::vector<AlgorithmTime> algorithms;  ///< none: it is left to its library
  bool operator==(const CallTimes&) const = default;
};

/// By gpu::Call::key(), of one kind of GPU with one set of libraries.
using KernelTimes = std::map<std::string, CallTimes>;

/// What calls choose by: the least time of those algorithms that want at most `workspace` bytes;
/// where nothing was measured, the library's first such algorithm; where there is none, the same of
/// the algorithms that want about as little as can be.
struct KernelOptions {
  std::size_t workspace = std::numeric_limits<std::size_t>::max();
  std::shared_ptr<const KernelTimes> times;  ///< null: nothing was measured
};

/// Calls of a program with one key.
struct CallKind {
  std::string key, name;
  int calls = 0;
  int runs = 0;  ///< of all of them, in one training pass over a shard
};

struct MeasureOptions {
  /// Of workspace at most: algorithms that want more are left out.
  std::size_t scratch = std::numeric_limits<std::size_t>::max();
  /// After which no other call is begun; the rest is left to its library.
  double seconds = std::numeric_limits<double>::infinity();
  KernelTimes known;  ///< these are not measured again
  /// After each call, which may take seconds.
  std::function<void()> progress = [] {};
  /// What was left out, and why.
  std::function<void(const std::string&)> note = [](const std::string&) {};
};

/// ms of all library calls of one training pass over a shard; of those that were measured.
struct StepTimes {
  double first = 0;   ///< in the libraries' first algorithms, of those that can be run
  double best = 0;    ///< in the fastest algorithms
  double chosen = 0;  ///< in those that KernelOptions choose under the bound
};
StepTimes step_times(const std::vector<CallKind>& kinds, const KernelTimes& times,
                     std::size_t bound);

}  // namespace thalweg::engine
