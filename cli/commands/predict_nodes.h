// What a trial would take on other numbers of nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands/common.h"

namespace thalweg::cli {

struct NodesOptions {
  std::vector<std::string> nodes;
  std::optional<double> revocations, hours, money;
  std::string partition;
  bool simulate = false, no_simulation = false;
  std::optional<double> link_gbit, latency_us;  ///< of the simulated network
  Format format;

  bool any() const {
    return !nodes.empty() || revocations || hours || money || !partition.empty() || simulate ||
           no_simulation || link_gbit || latency_us;
  }
};
void add_nodes_options(Arguments& arguments, NodesOptions& options);

/// Prints it of the trial, or the sweep's best one, that `id` means.
int predict_nodes(Context& context, const std::string& id, const NodesOptions& options);

}  // namespace thalweg::cli
