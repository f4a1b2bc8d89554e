// The table of sync modes.
#include "engine/sync/mode.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>

#include "engine/comm/algorithms/choice.h"
#include "engine/sync/compress/table.h"
#include "engine/sync/device/limits.h"
#include "engine/sync/emulate.h"
#include "engine/sync/options.h"
#include "engine/sync/synchronous.h"
#include "jobspec/option.h"
#include "jobspec/table.h"

namespace thalweg::engine {
namespace {

const jobspec::Table<SyncRow>& table() {
  static const jobspec::Table<SyncRow> rows(
      "mode", {synchronous_row(), lag_row(), local_row(), async_row(), hybrid_row(), abs_row(),
               adasum_row()});
  return rows;
}

/// Throws std::invalid_argument ("did you mean").
const SyncRow& row_of(const jobspec::Value& options) {
  const jobspec::Value* given = options.find("mode");
  return given == nullptr ? table().front() : table().at(given->to_text(), "sync.mode");
}

SyncFacts facts_of(const SyncParts& parts, int servers) {
  SyncFacts facts;
  facts.ranks = parts.group.size();
  facts.machines = static_cast<int>(parts.group.layout().machines.size());
  std::vector<int> first = parts.group.first_shards(parts.sharding.shards);
  if (servers < facts.ranks) first.resize(first.size() - static_cast<std::size_t>(servers));
  facts.own_shards = facts.min_shards = first[1];
  for (std::size_t rank = 1; rank + 1 < first.size(); ++rank) {
    facts.own_shards = std::max(facts.own_shards, first[rank + 1] - first[rank]);
    facts.min_shards = std::min(facts.min_shards, first[rank + 1] - first[rank]);
  }
  facts.emulates = parts.emulation != nullptr && parts.emulation->any();
  facts.micro_batches = parts.sharding.micro_batches;
  facts.threads = parts.executors.threads();
  facts.on_gpu = !parts.replica.parameters.on_host();
  facts.joins_shards = parts.model.joins_shards();
  facts.touches_all = parts.model.touches_all();
  facts.observes_curvature = parts.optimizer.observes_curvature();
  facts.has_eval_weights = parts.optimizer.has_eval_weights();
  facts.elementwise = is_elementwise(parts.optimizer, parts.model.parameters().size());
  facts.keeps_scalars = parts.optimizer.own() > 0 || parts.optimizer.scalars() > 0;
  return facts;
}

/// What holds for every mode.
void require_of_all(const SyncConfig& config, const SyncFacts& facts) {
  require_device(config, facts);
  if (!facts.joins_shards) return;
  require_shards_everywhere(facts, "batch normalisation over the whole batch");
  if (facts.micro_batches > 1)
    throw std::invalid_argument(
        "sync.accumulate: micro-batches come one after another, and batch normalisation over the "
        "whole batch needs all of it at once; set it to 1, or model.sync_batch_norm to false");
  if (facts.threads < facts.own_shards)
    throw std::invalid_argument(
        "batch normalisation over the whole batch needs a thread for each of this rank's " +
        std::to_string(facts.own_shards) + " shards, there are " + std::to_string(facts.threads));
}

void require_shared_updates(const SyncConfig& config, const SyncRow& row, const SyncFacts& facts) {
  if (!config.common.shards_optimizer) return;
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("sync.shard_optimizer: " + why);
  };
  if (row.name != table().front().name)
    refuse(std::string("mode ") + row.name +
           " makes updates of its own; set it to false, or use mode " + table().front().name);
  if (!facts.elementwise)
    refuse(
        "this optimizer looks at whole tensors or keeps numbers beside its states; set it to "
        "false, or use one that takes each element by itself (sgd, momentum, adamw, lion, ...)");
  if (facts.has_eval_weights || facts.observes_curvature)
    refuse(
        "this optimizer needs all of its states for validation or curvature; set it to false, or "
        "use another one");
}

/// Buckets may change from step to step only where no number depends on them.
void require_tuned_buckets(const SyncConfig& config, const SyncRow& row) {
  if (!config.common.tunes_buckets) return;
  const auto refuse = [](const std::string& why) {
    throw std::invalid_argument("sync.bucket_mib: " + why + "; give a number of MiB");
  };
  if (row.name != table().front().name)
    refuse("auto goes by the time of a step of mode sync, mode " + std::string(row.name) +
           " makes others");
  if (sums_by_ranks(config))
    refuse(
        "the bits of sums by ranks (sync.sum, compress) depend on buckets, and auto tries several");
}

}  // namespace

bool is_elementwise(const Optimizer<float>& optimizer, std::size_t parameters) {
  if (optimizer.own() > 0 || optimizer.scalars() > 0) return false;
  for (std::size_t number = 0; number < parameters; ++number)
    if (!optimizer.elementwise(static_cast<int>(number))) return false;
  return true;
}

void require_sync(const jobspec::Value& options, const SyncFacts& facts) {
  const SyncRow& row = row_of(options);
  const SyncConfig config(options, row.options);
  require_of_all(config, facts);
  row.require(config, facts);
  require_shared_updates(config, row, facts);
  require_tuned_buckets(config, row);
  if (config.compress.remembers != nullptr && config.compress.remembers(config.compression) &&
      facts.observes_curvature)
    throw std::invalid_argument(std::string("sync.compress: ") + config.compress.name +
                                " remembers one gradient, and this optimizer looks at two; use "
                                "fp16 or bf16, or another optimizer");
}

std::unique_ptr<SyncMode> make_sync_mode(const jobspec::Value& options, const SyncParts& parts) {
  require_sync(options, facts_of(parts, dedicated_servers(options)));
  const SyncRow& row = row_of(options);
  return row.maker({options, row.options}, parts);
}

bool takes_on_demand(const jobspec::Value& options) {
  return row_of(options).on_demand;
}

int dedicated_servers(const jobspec::Value& options) {
  const SyncRow& row = row_of(options);
  return row.servers == nullptr ? 0 : row.servers({options, row.options});
}

std::int64_t sync_vectors(const jobspec::Value& options, const Sharding& sharding, int ranks,
                          bool on_gpu) {
  const SyncRow& row = row_of(options);
  return row.vectors == nullptr ? 0 : row.vectors({options, row.options}, sharding, ranks, on_gpu);
}

std::vector<jobspec::Section> sync_schema() {
  jobspec::Section section;
  section.path = "sync";
  section.doc = "How the ranks work together";
  section.selector = "mode";
  section.default_value = table().front().name;
  section.options = sync_options();
  section.variants = table().variants();
  return {std::move(section), compress_section()};
}

jobspec::Value sync_identity(const jobspec::Value& options) {
  jobspec::Map identity;
  const auto add = [&](const char* selector, const auto& rows) {
    const jobspec::Value* name = options.find(selector);
    if (name == nullptr || name->to_text() == rows.front().name) return;
    identity.emplace_back(selector, *name);
    for (const auto& row : rows)
      for (const jobspec::Option& option : row.options)
        if (const jobspec::Value* value = options.find(option.name);
            value != nullptr && name->to_text() == row.name && option.name != "servers")
          identity.emplace_back(option.name, *value);
  };
  add("mode", table());
  add("compress", compress_table());
  return identity;
}

bool wants_autotune(const jobspec::Value& options) {
  return jobspec::Options(options, sync_options()).text("allreduce") == "autotune";
}

std::chrono::milliseconds start_timeout(const jobspec::Value& tree) {
  return milliseconds_of(jobspec::Options(tree, sync_options(), "sync."), "start_timeout_s");
}

comm::GroupOptions group_options(const jobspec::Value& tree) {
  const jobspec::Options options(tree, sync_options(), "sync.");
  comm::GroupOptions group;
  if (!wants_autotune(tree)) group.allreduce = options.text("allreduce");
  (void)comm::Choice::parse(comm::Collective::allreduce, group.allreduce);
  group.stall_timeout = milliseconds_of(options, "stall_timeout_s");
  group.checked = options.flag("check");
  return group;
}

}  // namespace thalweg::engine
