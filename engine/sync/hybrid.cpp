// The mode hybrid: groups of ranks are synchronous within and asynchronous among each other, with a
// server for each parameter (Kurth et al., Deep Learning at 15PF, arXiv:1708.05256). With G groups
// an update is G - 1 others stale in the mean; G = 1 is the mode sync, as many groups as ranks are
// async.
#include <stdexcept>

#include "engine/sync/options.h"
#include "engine/sync/server_mode.h"
#include "engine/sync/server_roles.h"

namespace thalweg::engine {
namespace {

void require_hybrid(const SyncConfig& config, const SyncFacts& facts) {
  const std::int64_t groups = config.mode.integer("groups");
  const int servers = servers_of(config), workers = workers_of(facts.ranks, servers);
  if (groups > workers)
    throw std::invalid_argument(
        "sync.groups: " + std::to_string(groups) + " groups need as many ranks, and there are " +
        std::to_string(workers) + (servers > 0 ? " beside those of sync.servers" : "") +
        "; set it to " + std::to_string(workers) + " or less");
  require_servers(config, facts, "hybrid");
  if (facts.on_gpu && groups < workers && config.common.gpu_exchange == "nccl")
    throw std::invalid_argument(
        "sync.gpu_exchange: nccl's sums are waited for by GPUs, and a group of mode hybrid answers "
        "the others meanwhile; set it to auto, host or ucx");
}

std::unique_ptr<SyncMode> make_hybrid(const SyncConfig& config, const SyncParts& parts) {
  return make_server_mode(config, parts, static_cast<int>(config.mode.integer("groups")));
}

std::vector<jobspec::Option> options() {
  std::vector<jobspec::Option> all = server_options();
  all.insert(all.begin(),
             jobspec::int_option("groups", 2, 1, 1'000'000,
                                 "groups of neighbouring ranks, as even as that goes; each makes "
                                 "its gradients together"));
  return all;
}

}  // namespace

SyncRow hybrid_row() {
  return {"hybrid",
          "groups of ranks add up their gradients and send them to parameter servers, which take "
          "each one as it arrives",
          options(),
          require_hybrid,
          make_hybrid,
          server_vectors,
          false,
          servers_of};
}

}  // namespace thalweg::engine
