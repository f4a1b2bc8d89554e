// One simulated run: the real controller, its real record on disk and the real Slurm backend, on a
// clock, a cluster and people that are drawn from a seed, with everything going wrong that can.
// What must hold is checked after every event.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace thalweg::simulation {

struct Plan {
  std::uint64_t seed = 0;
  int faults = 200;
  /// Only those of these numbers, of the ones that the seed gives; nothing: all of them.
  std::optional<std::set<int>> only;
  bool local = false;  ///< attempts are processes of the controller's machine, not jobs of Slurm
  bool trace = false;  ///< tells on standard error what happens
  bool looks = false;  ///< all sweeps have looks at seeds
};

struct RunResult {
  std::string broken;               ///< what did not hold, and when; empty: everything held
  std::string log;                  ///< the record's events, where something is broken
  std::vector<std::string> faults;  ///< that took place, as they are told
  int controllers = 0;              ///< that lived
  int attempts = 0;
  double simulated_s = 0;
  int promoted = 0;  ///< trials that went on from a rung
  int looks = 0;     ///< at seeds
  /// Of the record's events, and of all engines and jobs: the same seed gives the same.
  std::uint64_t digest = 0;
};

RunResult simulate(const Plan& plan);

/// The plan with as few faults as still break the same promise.
Plan shrunk(const Plan& plan);

/// The command that replays it.
std::string command(const Plan& plan);

}  // namespace thalweg::simulation
