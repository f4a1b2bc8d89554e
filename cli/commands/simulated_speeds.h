// Samples per second of a trial on numbers of nodes that nobody has tried, by thalweg-simulate.
#pragma once

#include <map>
#include <vector>

#include "cli/commands/common.h"

namespace thalweg::cli {

inline constexpr double kDefaultLinkGbit = 80, kDefaultLatencyUs = 2;  ///< the simulator's own

struct SimulatedSpeeds {
  jobspec::Id trial;
  std::vector<double> nodes;  ///< whole numbers from 1
  double sample_us = 0;       ///< forward and backward of a sample on a rank, as measured
  double update_ms = 0;       ///< of the optimizer, which the simulator leaves out
  double batch = 0;           ///< global
  double measured_nodes = 0, measured_speed = 0;  ///< samples/s of all ranks there
  double link_gbit = kDefaultLinkGbit, latency_us = kDefaultLatencyUs;
  double patience_s = 3600;  ///< for one number of nodes
};

/// By nodes: the measured speed times how much faster the simulated steps are there than on the
/// measured number of nodes, so that what the simulator leaves out counts once. Each number of
/// nodes computes a few steps of the whole batch here, on one core: said on the errors' stream as
/// it goes. Throws CommandError where the trial has not measured its passes, is no training of the
/// engine, or the simulator cannot run it.
std::map<double, double> simulated_speeds(Context& context, const SimulatedSpeeds& wanted);

}  // namespace thalweg::cli
