// One row for each thing that a device cannot do; modes and options do not ask which device it is.
#include "engine/sync/device/limits.h"

#include <stdexcept>

#include "engine/sync/synchronous.h"

namespace thalweg::engine {
namespace {

struct Limit {
  bool (*asked)(const SyncConfig& config, const SyncFacts& facts);
  const char* why;
};

constexpr Limit of_gpus[] = {
    {[](const SyncConfig&, const SyncFacts& f) { return f.joins_shards; },
     "model.sync_batch_norm: a GPU computes its shards one after another, and batch normalisation "
     "over the whole batch needs all at once; set it to false, or device to cpu"},
    {[](const SyncConfig&, const SyncFacts& f) { return !f.touches_all; },
     "device: a GPU needs a model of which every step uses all"},
    {[](const SyncConfig&, const SyncFacts& f) { return f.emulates; },
     "emulate: it slows a rank's processor, but not a GPU's stream; leave it out, or set device to "
     "cpu"},
    {[](const SyncConfig& c, const SyncFacts&) { return c.common.shards_optimizer; },
     "sync.shard_optimizer: a GPU updates all weights in one pass; set it to false, or device to "
     "cpu"},
    {[](const SyncConfig& c, const SyncFacts&) { return c.common.tunes_buckets; },
     "sync.bucket_mib: a GPU's captured step keeps its buckets, and auto tries several; give a "
     "number of MiB"},
};

void require_host(const SyncConfig& config) {
  const std::string& exchange = config.common.gpu_exchange;
  if (exchange != "auto" && exchange != "host")
    throw std::invalid_argument("sync.gpu_exchange: " + exchange +
                                " is for GPUs, and the model is in the host's memory; leave it "
                                "out, or set device to cuda");
}

}  // namespace

void require_device(const SyncConfig& config, const SyncFacts& facts) {
  if (!facts.on_gpu) return require_host(config);
  require_shards_everywhere(facts, "a GPU's captured step");
  for (const Limit& limit : of_gpus)
    if (limit.asked(config, facts)) throw std::invalid_argument(limit.why);
}

}  // namespace thalweg::engine
