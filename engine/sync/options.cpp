#include "engine/sync/options.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::OptionType;
using jobspec::Value;

constexpr double kMiB = 1 << 20;

Option mebibytes(const char* name, const char* doc, std::size_t fallback) {
  Option o;
  o.name = name;
  o.type = OptionType::real;
  o.doc = doc;
  o.fallback = static_cast<double>(fallback) / kMiB;
  o.min = 0;
  o.max = 4096;
  return o;
}

void read_bytes(const Value& options, const char* name, std::size_t& bytes) {
  if (const Value* given = options.find(name))
    bytes = static_cast<std::size_t>(given->as_double() * kMiB);
}

}  // namespace

std::vector<Option> sync_options() {
  const SyncOptions defaults;
  Option overlap;
  overlap.name = "overlap";
  overlap.type = OptionType::boolean;
  overlap.doc = "sum gradients while backward still runs; false = afterwards";
  overlap.fallback = defaults.overlap;
  Option priority;
  priority.name = "priority";
  priority.doc =
      "which sums are finished first where several are under way: in the order of backward, or "
      "first those that the next forward needs first";
  priority.fallback = "backward";
  priority.choices = {"backward", "forward"};
  Option accumulate;
  accumulate.name = "accumulate";
  accumulate.type = OptionType::integer;
  accumulate.doc =
      "micro-batches in which a shard is computed, one after another, before one synchronisation; "
      "batch.global stays the batch of an update, the memory for activations is divided";
  accumulate.fallback = 1;
  accumulate.min = 1;
  accumulate.max = 65536;
  return {mebibytes("first_bucket_mib", "size of the first message of gradients, in MiB",
                    defaults.buckets.first_bytes),
          mebibytes("bucket_mib", "size of the other messages of gradients, in MiB",
                    defaults.buckets.bytes),
          std::move(overlap), std::move(priority), std::move(accumulate)};
}

SyncOptions read_sync_options(const Value& options) {
  SyncOptions o;
  read_bytes(options, "first_bucket_mib", o.buckets.first_bytes);
  read_bytes(options, "bucket_mib", o.buckets.bytes);
  if (const Value* given = options.find("overlap")) o.overlap = given->as_bool();
  if (const Value* given = options.find("priority"))
    o.forward_first = given->as_string() == "forward";
  return o;
}

}  // namespace thalweg::engine
