// Which nodes, or GPUs of one machine, fail attempts that would not fail elsewhere. Pure: from ends
// of attempts and a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/state/phases.h"

namespace thalweg::daemon {

/// Names of a list as Slurm writes it: "n[1-3,07],m2" is n1, n2, n3, n07, m2. Empty where it is no
/// such list ("None assigned").
std::vector<std::string> node_names(std::string_view list);

/// A GPU of one machine, among names of nodes: "GPU 2", which is no node's.
std::string gpu_place(const std::string& gpu);
/// "2" of "GPU 2"; nothing where it is no such place.
std::optional<std::string> gpu_of(std::string_view place);

/// A node, or a GPU, as one sweep knows it.
struct NodeHealth {
  std::int64_t finished = 0, failed = 0;  ///< attempts
  std::set<std::int64_t> in_a_row;        ///< trials that failed there since one finished there
  double last = 0;                        ///< Unix seconds: the latest failure
};
using NodeHealths = std::map<std::string, NodeHealth>;

/// An attempt that ran there ended. `failed`: the one of these places that failed, as it is named
/// there or by its host; where it is none of them, only an attempt on one place counts.
void count_end(NodeHealths& nodes, std::int64_t trial, EndCause cause,
               const std::vector<std::string>& places, const std::string& failed, double now);
/// The same of the nodes of a list.
void count_end(NodeHealths& nodes, std::int64_t trial, EndCause cause, std::string_view list,
               const std::string& failed_node, double now);

/// Whether they are GPUs, of which an attempt takes as many as it has.
bool are_gpus(const NodeHealths& nodes);

/// Nodes that the next attempt, which takes `needed` nodes, had better not get, the worst first:
/// where so many different trials failed in a row that, at the share of failures on all other nodes
/// (Laplace's estimate), this happens by chance once in 500 times, for an hour after the latest.
/// At most a quarter of the nodes that are known, but one where there are three or more (of GPUs:
/// two); none where `needed` would not be left.
std::vector<std::string> nodes_to_avoid(const NodeHealths& nodes, std::int64_t needed, double now);

/// "n2 is left out: 3 trials failed there in a row". Empty for no nodes.
std::string why_avoided(const NodeHealths& nodes, const std::vector<std::string>& avoided);

}  // namespace thalweg::daemon
