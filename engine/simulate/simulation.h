// An attempt on simulated ranks: the whole of engine/train on a virtual clock.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "engine/attempt/stop.h"
#include "engine/train/train.h"
#include "jobspec/trial.h"
#include "jobspec/value.h"

namespace thalweg::engine::simulate {

/// Ranks and links that nothing slows; train.emulate says which are slower.
struct Machine {
  int ranks = 1;
  double gflops = 100;    ///< 10^9 floating point operations a second of a rank's passes
  double sample_us = 0;   ///< what forward and backward of a sample take; 0: as gflops says
  double latency_us = 2;  ///< of a message
  double gb_per_s = 10;   ///< of a rank's link, 10^9 bytes, each way
};

struct Simulated {
  std::string label;   ///< what was simulated, in words
  Outcome outcome;     ///< rank 0's
  double seconds = 0;  ///< on the virtual clock
  double seconds_per_sample = 0;
  std::uint64_t messages = 0;
  bool interrupted = false;  ///< `stop` was asked for: there is no outcome
};

/// Writes `folder`/journal.jsonl as an attempt does, stamped as simulated; its times are seconds of
/// the virtual clock. Checkpoints are not written. The same input gives the same journal. Throws as
/// run_attempt().
Simulated simulate(const jobspec::Trial& trial, const Machine& machine,
                   const std::filesystem::path& folder, const std::string& file,
                   const StopFlag& stop);

}  // namespace thalweg::engine::simulate
