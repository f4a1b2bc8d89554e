// Which nodes fail attempts that would not fail elsewhere. Pure: from ends of attempts and a time.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/state/phases.h"

namespace thalweg::daemon {

/// Names of a list as Slurm writes it: "n[1-3,07],m2" is n1, n2, n3, n07, m2. Empty where it is no
/// such list ("None assigned").
std::vector<std::string> node_names(std::string_view list);

/// A node, as one sweep knows it.
struct NodeHealth {
  std::int64_t finished = 0, failed = 0;  ///< attempts
  std::set<std::int64_t> in_a_row;        ///< trials that failed there since one finished there
  double last = 0;                        ///< Unix seconds: the latest failure
};
using NodeHealths = std::map<std::string, NodeHealth>;

/// An attempt that ran on the nodes of `list` ended. `failed_node`: the one of them that failed, as
/// the list or its host names it; where it is none of them, only an attempt on one node counts.
void count_end(NodeHealths& nodes, std::int64_t trial, EndCause cause, std::string_view list,
               const std::string& failed_node, double now);

/// Nodes that the next attempt, which takes `needed` nodes, had better not get, the worst first:
/// where so many different trials failed in a row that, at the share of failures on all other nodes
/// (Laplace's estimate), this happens by chance once in 500 times, for an hour after the latest.
/// At most a quarter of the nodes that are known, but one where there are three or more; none where
/// `needed` would not be left.
std::vector<std::string> nodes_to_avoid(const NodeHealths& nodes, std::int64_t needed, double now);

/// "n2 is left out: 3 trials failed there in a row". Empty for no nodes.
std::string why_avoided(const NodeHealths& nodes, const std::vector<std::string>& avoided);

}  // namespace thalweg::daemon
