// The simulator's part in what a trial would take on other numbers of nodes.
#pragma once

#include <optional>

#include "cli/commands/studies.h"

namespace thalweg::cli {

struct SimulationOptions {
  bool simulate = false, no_simulation = false;
  std::optional<double> link_gbit, latency_us;  ///< of the simulated network

  bool any() const { return simulate || no_simulation || link_gbit || latency_us; }
};
void add_simulation_options(Arguments& arguments, SimulationOptions& options);

/// The controller's answer to `query` about this trial, or the sweep's best one. Where it knows no
/// speeds but sums, and where they are asked for, simulated ones are in it.
Json predicted_nodes(Context& context, const jobspec::Id& id, const Query& query,
                     const SimulationOptions& options);

}  // namespace thalweg::cli
