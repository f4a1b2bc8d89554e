// thalweg rerun: a trial again, as a sweep of its own with one configuration. What the trial ran
// with comes from its record, where paths are absolute already; the rest of the sweep file (metric,
// limits, slurm, env) as it was written. The controller checks the new file as any other.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/file_changes.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "daemon/api/client.h"
#include "jobspec/resources.h"
#include "jobspec/value.h"

namespace thalweg::cli {
namespace {

using jobspec::Value;

struct Options {
  std::string id, seeds, backend;
  std::vector<std::string> changes;
  Format format;
  bool dry_run = false, print = false;
};

/// What the record says of a trial and its sweep.
struct Recorded {
  std::int64_t seed = 1;
  std::string train, resources;  ///< JSON
  std::string text, name, backend;
};

/// In SQL: one question, and `train` keeps the order of its keys.
Recorded find_recorded(Context& context, const jobspec::Id& id) {
  constexpr const char* sql =
      "SELECT t.seed, t.train, t.resources, s.text, s.name, s.backend FROM trials AS t JOIN sweeps "
      "AS s ON s.sweep = t.sweep WHERE t.sweep = ? AND t.trial = ?";
  const Json answer =
      context.controller().post("/v1/query", {{"sql", sql}, {"parameters", {id.sweep, id.trial}}});
  const Json& rows = list_at(answer, "rows");
  if (rows.empty()) throw CommandError(exit_not_found, "there is no trial " + id.to_string());
  const Json& row = rows.at(0);
  const auto text = [&](std::size_t column) { return row.at(column).get<std::string>(); };
  return {row.at(0).get<std::int64_t>(), text(1), text(2), text(3), text(4), text(5)};
}

/// As the sweep file writes them: the record counts in seconds and MiB.
Value resources_block(const std::string& recorded) {
  const Json json = Json::parse(recorded);
  jobspec::Resources resources;
  resources.nodes = json.at("nodes");
  resources.ranks_per_node = json.at("ranks_per_node");
  resources.threads_per_rank = json.at("threads_per_rank");
  resources.time_limit_s = json.at("time_limit_s");
  resources.memory_mib = json.at("memory_mib");
  resources.gpus_per_node = json.at("gpus_per_node");
  return jobspec::write_resources(resources);
}

/// The new sweep file.
std::string sweep_text(const Recorded& recorded, const jobspec::Id& id, const Options& options) {
  const std::string trial = id.to_string();
  const Value old = jobspec::read_yaml(recorded.text, "sweep " + std::to_string(id.sweep));
  jobspec::Map map{
      {"name", fmt::format("{}-from-{}-{}", recorded.name, id.sweep, id.trial)},
      {"description", "trial " + trial + " again"},
      {"seeds", jobspec::List{recorded.seed}},
      {"train", jobspec::read_yaml(recorded.train, trial)},
      {"resources", resources_block(recorded.resources)},
  };
  for (const char* block : {"metric", "limits", "slurm", "env", "clamp"})
    if (const Value* given = old.find(block)) map.emplace_back(block, *given);
  Value file = std::move(map);
  if (!options.seeds.empty()) file.set("seeds", read_value(options.seeds, "--seeds"));
  for (const std::string& change : options.changes)
    apply_change(file, change);
  return jobspec::to_yaml(file);
}

int rerun(Context& context, const Options& options) {
  const jobspec::Id id = find_id(context, options.id);
  if (!is_trial(id))
    throw CommandError(exit_bad_input, id.to_string() + " is no trial",
                       "thalweg show " + std::to_string(id.sweep) + " lists the sweep's trials");
  const Recorded recorded = find_recorded(context, id);
  const std::string text = sweep_text(recorded, id, options);
  if (options.print) {
    context.out << text;
    return exit_ok;
  }
  const SubmitOptions submit{"rerun of " + id.to_string(),
                             options.backend.empty() ? recorded.backend : options.backend};
  const Purpose purpose = options.dry_run ? Purpose::dry_run : Purpose::submit;
  const Json answer = context.controller().post("/v1/sweeps", sweep_request(submit, text, purpose));
  print_submission(context, answer, options.dry_run, options.format);
  return exit_ok;
}

}  // namespace

Action make_rerun(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  arguments.positional("TRIAL", options->id, "a trial, as 12.3").completes = Completes::id;
  arguments
      .option("--set", "PATH=VALUE", options->changes,
              "change a key of the sweep file, as train.epochs=20 (may be repeated); without a "
              "value, leave the key out")
      .commas = false;
  arguments.option("--seeds", "N", options->seeds,
                   "run the seeds 1 to N, or a list as [4, 5] (default: the trial's seed)");
  arguments.option("--backend", "NAME", options->backend, "what runs it (default: the sweep's)")
      .choices = {"auto", "local", "slurm"};
  arguments.flag("--dry-run", options->dry_run,
                 "show the trials and the batch script; submit nothing");
  arguments.flag("--print", options->print, "print the new sweep file; submit nothing");
  add_json(arguments, options->format);
  arguments.flag("--csv", options->format.csv, "with --dry-run: print the trials as CSV");
  return [options](Context& context) {
    if (options->format.csv && !options->dry_run)
      throw CommandError(exit_bad_input, "--csv needs --dry-run");
    return rerun(context, *options);
  };
}

}  // namespace thalweg::cli
