// Where a supervised program stands among its like, and the environment that tells it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/program.h"

namespace thalweg::engine {

/// Of the process that this supervisor starts, as torchrun counts: `rank` of `size` processes in
/// all, `local_rank` of `local_size` on node number `node` of `nodes`.
struct Placement {
  int rank = 0, size = 1;
  int local_rank = 0, local_size = 1;
  int node = 0, nodes = 1;
  std::vector<std::string> node_list;  ///< names, one for each node
  bool slurm = false;
};

/// From what srun (SLURM_PROCID …) or thalweg-launch (PMIX_RANK) said; rank 0 where neither did.
Placement placement_of(const jobspec::Trial& trial);

/// "n[1-3,07],m" as Slurm writes it: n1 n2 n3 n07 m.
std::vector<std::string> expand_node_list(const std::string& text);

/// Where rank 0 can be met by the others: an address and a port that was free a moment ago.
struct MasterAddress {
  std::string address;
  int port = 0;
};
/// Rank 0 writes it into the attempt's folder (`meeting.json`, with the token), the others wait for
/// it up to `seconds`. Throws std::runtime_error where it does not come.
MasterAddress meet(const Placement& placement, const std::string& token,
                   const std::filesystem::path& folder, double seconds);

using Variables = std::map<std::string, std::string>;

struct SupervisedFiles {
  std::filesystem::path folder;       ///< the attempt's
  std::filesystem::path config;       ///< its configuration as JSON
  std::filesystem::path reports;      ///< what it appends its reports to; empty: it has none
  std::filesystem::path stop;         ///< there as soon as it should stop
  std::filesystem::path checkpoints;  ///< for its checkpoints
  std::filesystem::path resume;       ///< checkpoint to go on from; empty: none
  std::int64_t resume_step = 0;
};

/// The program's whole environment: ours, less what belongs to the supervisor's own step, plus what
/// torchrun, MPI launchers and Thalweg tell.
Variables program_environment(const jobspec::Trial& trial, const Placement& placement,
                              const MasterAddress& meeting, const SupervisedFiles& files);

}  // namespace thalweg::engine
