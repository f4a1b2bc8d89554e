// The trial comes from the record as for `rerun`. Where the new sweep's batch is another, the
// learning rate follows it by a rule of the engine (schedule.scaling), unless the trial has a rule
// already or the command line says what the rate is.
#include "cli/commands/derived.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/comparison_messages.h"

namespace thalweg::cli {

namespace api = daemon::api;

using jobspec::Id;
using jobspec::Value;

namespace {

/// The first trial of the first row that `thalweg compare` shows.
Id best_trial(Context& context, const Id& sweep, std::vector<std::string>& told) {
  const Json answer =
      context.controller().get(fmt::format("/v1/sweeps/{}/compare?top=1", sweep.sweep));
  const auto comparison = read_answer<api::ComparisonMessage>(answer);
  const auto nothing = [&]() -> CommandError {
    return {exit_not_found,
            fmt::format("no trial of sweep {} has reported {} yet", sweep.sweep, comparison.metric),
            fmt::format("thalweg watch {} follows it", sweep.sweep)};
  };
  if (comparison.rows.empty()) throw nothing();
  const api::ComparisonRowMessage& row = comparison.rows.front();
  if (row.trials.empty() || row.n == 0) throw nothing();
  if (row.best.median && !std::isfinite(*row.best.median))
    throw CommandError(
        exit_not_found,
        fmt::format("all trials of sweep {} have diverged: none is the best one", sweep.sweep),
        "name a trial: thalweg submit --from " + row.trials.front());
  told.push_back(fmt::format("the best of sweep {}: {}{}, {} {} (first row of thalweg compare {})",
                             sweep.sweep, row.trials.front(),
                             row.n > 1 ? fmt::format(", one of {} seeds", row.n) : "",
                             comparison.metric, format_number(row.best.median), sweep.sweep));
  return parse_id(row.trials.front());
}

std::optional<std::int64_t> whole(const Value& file, const std::string& path) {
  const Value* const value = file.find(path);
  return value != nullptr && value->is_int() ? std::optional(value->as_int()) : std::nullopt;
}

/// Of the new sweep; nothing where the file leaves it to the engine.
std::optional<std::int64_t> new_batch(const Value& file) {
  if (const auto global = whole(file, "train.batch.global")) return global;
  const auto each = whole(file, "train.batch.per_rank");
  if (!each) return {};
  return *each * whole(file, "resources.nodes").value_or(1) *
         whole(file, "resources.ranks_per_node").value_or(1);
}

bool changes_rate(const std::vector<std::string>& changes) {
  return std::any_of(changes.begin(), changes.end(), [](const std::string& change) {
    const std::string path = change.substr(0, change.find('='));
    return path == "train.optimizer" || path == "train.optimizer.lr" ||
           path.starts_with("train.schedule");
  });
}

/// Lets the learning rate follow the batch, and says so.
void scale(const RecordedTrial& recorded, const DerivedOptions& options, Value& file,
           std::vector<std::string>& told) {
  const auto now = new_batch(file), before = recorded.batch;
  if (!now || !before || *now == *before) return;
  const std::string batches = fmt::format("the batch goes from {} to {} samples", *before, *now);
  if (const Value* rule = file.find("train.schedule.scaling");
      rule != nullptr && rule->to_text() != "none") {
    told.push_back(
        fmt::format("{}: the learning rate follows by the trial's own rule "
                    "(schedule.scaling: {})",
                    batches, rule->to_text()));
    return;
  }
  if (changes_rate(options.changes.changes)) {
    told.push_back(batches + ": the learning rate is what --set says, nothing is scaled");
    return;
  }
  if (options.scaling == "none") {
    told.push_back(batches + ": the learning rate stays as it is (--scaling none)");
    return;
  }
  file.set("train.schedule.scaling", options.scaling);
  file.set("train.schedule.scaling_batch", *before);
  const Value* const rate = file.find("train.optimizer.lr");
  told.push_back(
      fmt::format("{} ({} times): the learning rate {}, found at {}, is scaled by the rule '{}' "
                  "(schedule.scaling; --scaling none leaves it)",
                  batches, format_number(static_cast<double>(*now) / static_cast<double>(*before)),
                  rate == nullptr ? "" : rate->to_text(), *before, options.scaling));
}

}  // namespace

void add_derived_options(Arguments& arguments, DerivedOptions& options) {
  arguments
      .option("--from", "ID", options.from,
              "in place of a file: a trial (12.3) of another sweep, or with --best a sweep")
      .completes = Completes::id;
  arguments.flag("--best", options.best,
                 "with --from 12: its best configuration, the first row of thalweg compare 12");
  arguments
      .option("--scaling", "RULE", options.scaling,
              "with --from: how the learning rate follows a batch that changes (default: auto, "
              "which is linear up to 16 times and the square root beyond)")
      .choices = {"auto", "linear", "sqrt", "none"};
  add_trial_changes(arguments, options.changes);
}

DerivedSweep derive_sweep(Context& context, const DerivedOptions& options) {
  DerivedSweep derived;
  Id id = find_id(context, options.from);
  if (is_sweep(id)) {
    if (!options.best)
      throw CommandError(
          exit_bad_input, id.to_string() + " is a sweep: which of its trials?",
          "--best takes its best configuration, --from " + id.to_string() + ".3 a trial");
    id = best_trial(context, id, derived.told);
  } else if (options.best || !is_trial(id)) {
    throw CommandError(exit_bad_input,
                       id.to_string() + (is_trial(id) ? " is one trial already" : " is no trial"),
                       options.best ? "leave --best out" : "leave the attempt's number out");
  }
  const RecordedTrial recorded = find_recorded(context, id);
  Value file = sweep_of_trial(recorded, options.changes);
  scale(recorded, options, file, derived.told);
  derived.text = jobspec::to_yaml(file);
  derived.backend = recorded.backend;
  derived.from = id;
  return derived;
}

}  // namespace thalweg::cli
