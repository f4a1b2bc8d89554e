// What the modes with parameter servers offer and refuse.
#include <stdexcept>
#include <string>

#include "engine/sync/device/late_step.h"
#include "engine/sync/options.h"
#include "engine/sync/server_mode.h"
#include "engine/sync/server_roles.h"
#include "engine/sync/synchronous.h"
#include "jobspec/option.h"

namespace thalweg::engine {

int servers_of(const SyncConfig& config) {
  return static_cast<int>(config.mode.integer("servers"));
}

void require_servers(const SyncConfig& config, const SyncFacts& facts, const std::string& mode) {
  (void)workers_of(facts.ranks, servers_of(config));
  require_shards_everywhere(facts, "sync.mode " + mode);
  const auto refuse = [&mode](const std::string& why) {
    throw std::invalid_argument("sync.mode: " + mode + " " + why);
  };
  if (facts.joins_shards)
    refuse(
        "has ranks at steps of their own, and model.sync_batch_norm needs all at once; set it "
        "to false, or use mode sync");
  if (!facts.touches_all)
    refuse("sends whole gradients, and this model's samples leave parameters out; use mode sync");
  if (facts.keeps_scalars)
    refuse(
        "has a server for each part of the parameters, and this optimizer keeps numbers for all "
        "of them together; use another one, or mode sync");
  if (facts.observes_curvature || facts.has_eval_weights)
    refuse(
        "makes an update of every gradient, and this optimizer needs the curvature, or "
        "validates at weights of its own; use another one, or mode sync");
  if (config.compresses())
    refuse("sends gradients to servers as they are; leave sync.compress out, or use mode sync");
  if (config.common.compare_every > 0)
    refuse("has each rank at weights of its own; set sync.compare_every to 0, or use mode sync");
}

std::vector<jobspec::Option> server_options() {
  return {
      jobspec::int_option("servers", 0, 0, 1'000'000,
                          "parameter servers on ranks of their own: the last so many ranks make "
                          "no gradients; 0 = every rank serves its share of the parameters"),
      jobspec::choice_option("staleness_damping", {"none", "inverse"},
                             "what becomes of an update's learning rate: nothing, or it is "
                             "divided by the update's staleness (Zhang et al., "
                             "arXiv:1511.05950)"),
      jobspec::int_option("max_lead", 0, 0, 1'000'000,
                          "steps that a rank may be ahead of the slowest one; 0 = any (Ho et "
                          "al., NIPS 2013)")};
}

/// A server's weights, and of each worker a gradient and an answer for its part: about two vectors
/// where every rank is both. That a dedicated one has no gradients of its own is not counted. Where
/// there are GPUs, these are in the host's memory.
std::int64_t server_vectors(const SyncConfig& config, const Sharding& sharding, int ranks,
                            bool on_gpu) {
  if (on_gpu) return late_vectors(sharding, 1, false, true);
  const std::int64_t servers = servers_of(config);
  if (servers == 0) return 2;
  const std::int64_t parts = 1 + 2 * (ranks - servers);
  return (parts + servers - 1) / servers;
}

}  // namespace thalweg::engine
