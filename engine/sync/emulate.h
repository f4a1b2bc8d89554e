// Ranks and links that are made slower on purpose, to see what a machine of unequal parts would do.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

/// The `train.emulate` tree, read. Where lists are shorter than the ranks they begin again.
struct Emulation {
  std::string name = "none";     ///< of the preset; "own" where only keys of its own are set
  std::vector<double> slowdown;  ///< how many times as long forward and backward take; empty: 1
  double jitter = 0;             ///< share by which each pass of a slowed rank differs
  std::int64_t pause_every = 0;  ///< steps; 0: never
  double pause_ms = 0;
  std::vector<double> pauses;  ///< which ranks pause (not 0); empty: all
  std::vector<double> latency_us, mib_per_s;

  bool any() const;
  double slowdown_of(int rank) const;
  bool pauses_at(int rank, std::int64_t step) const;
  /// Empty where none is limited.
  std::vector<comm::LinkLimit> links(int ranks) const;
  /// "compute (slowdown 4, 4, 2, 1; jitter 0.05)"; empty where nothing is emulated.
  std::string label() const;
};

/// Throws std::invalid_argument where a list holds what cannot be.
Emulation read_emulation(const jobspec::Value& tree);
jobspec::Section emulate_section();

/// Stretches the work of one thread: at each hold() it sleeps until `factor` times the processor's
/// time since the construction has gone by. By the processor's time, so that other ranks on the
/// same cores do not count twice. Times are all that changes.
class Pace {
 public:
  explicit Pace(double factor);
  void hold() const;

 private:
  double factor_;
  double processor_s_ = 0;
  std::chrono::steady_clock::time_point start_;
};

/// The factor of a rank's pass: its slowdown with jitter drawn from the seed.
double pass_factor(const Emulation& emulation, std::uint64_t seed, int rank, std::int64_t step,
                   int shard);

}  // namespace thalweg::engine
