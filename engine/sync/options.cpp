#include "engine/sync/options.h"

#include "engine/sync/exchange/table.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Value;

constexpr double kMiB = 1 << 20;

Option mebibytes(const char* name, const char* doc, std::size_t fallback) {
  return jobspec::real_option(name, static_cast<double>(fallback) / kMiB, 0, 4096, doc);
}

void read_bytes(const Value& options, const char* name, std::size_t& bytes) {
  if (const Value* given = options.find(name))
    bytes = static_cast<std::size_t>(given->as_double() * kMiB);
}

Option exchange_option() {
  std::vector<std::string> names{SyncOptions().gpu_exchange};
  std::string doc = "how gradients go between GPUs, never which numbers come out: ";
  for (const ExchangeRow& row : exchange_table()) {
    names.emplace_back(row.name);
    doc += std::string(row.name) + ": " + row.doc + "; ";
  }
  return jobspec::choice_option("gpu_exchange", names,
                                doc +
                                    "auto = the first of these that can be had, nccl where all "
                                    "ranks are on one node");
}

}  // namespace

std::vector<Option> sync_options() {
  const SyncOptions defaults;
  return {
      mebibytes("first_bucket_mib", "size of the first message of gradients, in MiB",
                defaults.buckets.first_bytes),
      mebibytes("bucket_mib", "size of the other messages of gradients, in MiB",
                defaults.buckets.bytes),
      jobspec::flag_option("overlap", defaults.overlap,
                           "sum gradients while backward still runs; false = afterwards"),
      jobspec::choice_option(
          "priority", {"backward", "forward"},
          "which sums are finished first where several are under way: in the order of backward, or "
          "first those that the next forward needs first"),
      exchange_option(),
      jobspec::whole_option("accumulate", 1, 1, 65536,
                            "micro-batches in which a shard is computed, one after another, before "
                            "one synchronisation; batch.global stays the batch of an update, the "
                            "memory for activations is divided")};
}

SyncOptions read_sync_options(const Value& options) {
  SyncOptions o;
  read_bytes(options, "first_bucket_mib", o.buckets.first_bytes);
  read_bytes(options, "bucket_mib", o.buckets.bytes);
  if (const Value* given = options.find("overlap")) o.overlap = given->as_bool();
  if (const Value* given = options.find("priority"))
    o.forward_first = given->as_string() == "forward";
  if (const Value* given = options.find("stall_timeout_s"))
    o.stall_timeout =
        std::chrono::milliseconds(static_cast<std::int64_t>(1000 * given->as_double()));
  if (const Value* given = options.find("gpu_exchange")) o.gpu_exchange = given->as_string();
  return o;
}

}  // namespace thalweg::engine
