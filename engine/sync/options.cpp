#include "engine/sync/options.h"

#include "engine/comm/algorithms/choice.h"
#include "engine/comm/wireup/wireup.h"
#include "engine/sync/compress/table.h"
#include "engine/sync/device/gpu/exchange/table.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Value;

constexpr double kBytesPerMiB = 1 << 20;

Option mebibytes(const char* name, const char* doc, std::size_t fallback) {
  return jobspec::float_option(name, static_cast<double>(fallback) / kBytesPerMiB, 0, 4096, doc);
}

Option bucket_option() {
  Option option = mebibytes(
      "bucket_mib",
      "size of the other messages of gradients, in MiB; auto = the first steps measure 1 to 50 and "
      "one message for all, and the fastest is kept. It is for device cpu, mode sync and sum "
      "shards, changes no bit, and is measured by each attempt and written to its journal",
      SyncOptions().buckets.bytes);
  option.or_auto = true;
  return option;
}

Option seconds_above_0(const char* name, const char* doc, std::chrono::duration<double> fallback) {
  return jobspec::above_min(
      jobspec::float_option(name, fallback.count(), 0, jobspec::no_limit, doc));
}

std::size_t bytes_of(const jobspec::Options& options, const char* name) {
  return static_cast<std::size_t>(options.real(name) * kBytesPerMiB);
}

SyncOptions read_common(const jobspec::Options& options) {
  SyncOptions o;
  o.buckets.first_bytes = bytes_of(options, "first_bucket_mib");
  o.tunes_buckets = options.is_auto("bucket_mib");
  if (!o.tunes_buckets) o.buckets.bytes = bytes_of(options, "bucket_mib");
  o.overlap = options.flag("overlap");
  o.forward_first = options.text("priority") == "forward";
  o.stall_timeout = milliseconds_of(options, "stall_timeout_s");
  o.gpu_exchange = options.text("gpu_exchange");
  o.compare_every = options.integer("compare_every");
  o.shards_optimizer = options.flag("shard_optimizer");
  return o;
}

std::string known_algorithms() {
  std::string known;
  for (const std::string& name : comm::names_of(comm::Collective::allreduce))
    known += (known.empty() ? "" : ", ") + name;
  return known;
}

Option exchange_option() {
  std::vector<std::string> names{SyncOptions().gpu_exchange};
  std::string doc = "how gradients go between GPUs, never which numbers come out: ";
  for (const ExchangeRow& row : exchange_table()) {
    names.emplace_back(row.name);
    doc += std::string(row.name) + ": " + row.doc + "; ";
  }
  return jobspec::choice_option(
      "gpu_exchange", names,
      doc + "auto = the first of these that is available, nccl where all ranks are on one node");
}

}  // namespace

std::chrono::milliseconds milliseconds_of(const jobspec::Options& options, const char* name) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.real(name)));
}

std::vector<Option> sync_options() {
  const SyncOptions defaults;
  const comm::GroupOptions group;
  return {
      mebibytes("first_bucket_mib", "size of the first message of gradients, in MiB",
                defaults.buckets.first_bytes),
      bucket_option(),
      jobspec::flag_option("overlap", defaults.overlap,
                           "sum gradients while backward still runs; false = afterwards"),
      jobspec::choice_option(
          "priority", {"backward", "forward"},
          "which sums are finished first where several are under way: in the order of backward, or "
          "first those that the next forward needs first"),
      exchange_option(),
      jobspec::int_option("accumulate", 1, 1, 65536,
                          "micro-batches in which a shard is computed, one after another, before "
                          "one synchronisation; batch.global stays the batch of an update, the "
                          "memory for activations is divided"),
      jobspec::string_option(
          "allreduce", group.allreduce,
          "algorithm of sums other than the gradients': auto, autotune, a name, or names by size "
          "such as recursive_doubling:0-8K,ring:8K-. autotune measures when an attempt starts and "
          "writes to its journal; bits may differ between attempts. There are " +
              known_algorithms()),
      seconds_above_0("stall_timeout_s",
                      "a rank that waits this long without any progress gives up",
                      group.stall_timeout),
      seconds_above_0("start_timeout_s",
                      "ranks that have started wait this long until all others have, too; then the "
                      "attempt fails",
                      comm::WireupOptions().start_timeout),
      jobspec::flag_option(
          "check", group.checked,
          "the ranks compare what they call before each collective; for finding mistakes"),
      jobspec::flag_option(
          "shard_optimizer", false,
          "ZeRO-1: each rank updates its part of the weights and sends it to the others. So "
          "optimizer states are divided among the ranks, in memory and in checkpoints. The same "
          "bits (device cpu, mode sync, elementwise optimizers)"),
      jobspec::int_option("compare_every", 0, 0, 1e9,
                          "steps between two comparisons of the ranks' weights, gradients and "
                          "optimizer states, by hashes; 0 = never"),
      jobspec::choice_option("on_difference", {"stop", "broadcast"},
                             "what becomes of a rank whose numbers differ: the attempt fails and "
                             "names it, or it gets those of the others and training continues")};
}

SyncConfig::SyncConfig(const Value& tree, const std::vector<Option>& of_mode)
    : common(read_common({tree, sync_options(), "sync."})),
      mode(tree, of_mode, "sync."),
      compress(compress_row(tree)),
      compression(tree, compress.options, "sync.") {}

bool SyncConfig::compresses() const {
  return &compress != &compress_table().front();
}

}  // namespace thalweg::engine
