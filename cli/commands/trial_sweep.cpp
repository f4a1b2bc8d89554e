#include "cli/commands/trial_sweep.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/file_changes.h"
#include "daemon/api/client.h"
#include "jobspec/program.h"
#include "jobspec/record_text.h"
#include "jobspec/resources.h"

namespace thalweg::cli {

using jobspec::Value;

namespace {

/// `limits` of the old sweep are about its trials: where this one asks for more nodes than the old
/// ones had at once, it may have them.
void allow_its_nodes(Value& file, const Value& old) {
  constexpr const char* key = "limits.max_nodes_in_flight";
  const Value* const limit = file.find(key);
  const Value* const nodes = file.find("resources.nodes");
  const Value* const most = nodes && nodes->is_map() ? nodes->find("max") : nodes;
  const bool of_old = limit && old.find(key) && *old.find(key) == *limit;
  if (of_old && limit->is_int() && most && most->is_int() && most->as_int() > limit->as_int())
    file.set(key, *most);
}

}  // namespace

jobspec::Resources recorded_resources(const std::string& recorded) {
  const Json json = Json::parse(recorded);
  jobspec::Resources resources;
  resources.nodes = json.at("nodes");
  resources.min_nodes = json.value("min_nodes", 0);
  resources.ranks_per_node = json.at("ranks_per_node");
  resources.threads_per_rank = json.at("threads_per_rank");
  resources.time_limit_s = json.at("time_limit_s");
  resources.memory_mib = json.at("memory_mib");
  resources.gpus_per_node = json.at("gpus_per_node");
  return resources;
}

RecordedTrial find_recorded(Context& context, const jobspec::Id& id) {
  // In SQL: one question, and `train` keeps the order of its keys.
  constexpr const char* sql =
      "SELECT t.seed, t.train, t.resources, s.text, s.name, s.backend, (SELECT h.resolved FROM "
      "hyperparameters AS h WHERE h.sweep = t.sweep AND h.trial = t.trial AND h.name = "
      "'batch.global') FROM trials AS t JOIN sweeps AS s ON s.sweep = t.sweep WHERE t.sweep = ? "
      "AND t.trial = ?";
  const Json answer =
      context.controller().post("/v1/query", {{"sql", sql}, {"parameters", {id.sweep, id.trial}}});
  const Json& rows = list_at(answer, "rows");
  if (rows.empty()) throw CommandError(exit_not_found, "there is no trial " + id.to_string());
  const Json& row = rows.at(0);
  const auto text = [&](std::size_t column) { return row.at(column).get<std::string>(); };
  RecordedTrial recorded{
      id, row.at(0).get<std::int64_t>(), text(1), text(2), text(3), text(4), text(5), {}};
  if (recorded.backend == "imported")
    throw CommandError(exit_bad_input,
                       "trial " + id.to_string() +
                           " is a run of another program, which cannot be "
                           "run here",
                       "thalweg show " + id.to_string() + " says its parameters");
  if (row.size() > 6 && row.at(6).is_number_integer()) recorded.batch = row.at(6);
  return recorded;
}

Value sweep_of_trial(const RecordedTrial& recorded, const TrialChanges& with) {
  const jobspec::Id& id = recorded.id;
  const std::string trial = id.to_string();
  const Value old = jobspec::read_yaml(recorded.text, "sweep " + std::to_string(id.sweep));
  const bool own = !old.find("train");  // it ran a program of the user's own
  jobspec::Map map{
      {"name", fmt::format("{}-from-{}-{}", recorded.name, id.sweep, id.trial)},
      {"description", "trial " + trial + " again"},
      {"seeds", jobspec::List{recorded.seed}},
      {own ? "config" : "train", jobspec::read_record(recorded.train, trial)},
      {"resources", jobspec::write_resources(recorded_resources(recorded.resources))},
  };
  for (const char* block : {"metric", "limits", "slurm", "env", "clamp"})
    if (const Value* given = old.find(block)) map.emplace_back(block, *given);
  for (auto& [key, block] : map)  // the old sweep's, which may have passed
    if (key == "limits" && block.is_map())
      std::erase_if(block.as_map(), [](const auto& limit) { return limit.first == "deadline"; });
  if (own) {
    // Without `seeds` the program was not given the seed, and takes no such argument.
    if (!old.find("seeds")) std::erase_if(map, [](const auto& e) { return e.first == "seeds"; });
    for (const std::string& key : jobspec::program_keys())
      if (const Value* given = old.find(key)) map.emplace_back(key, *given);
  }
  Value file = std::move(map);
  if (!with.seeds.empty()) file.set("seeds", read_value(with.seeds, "--seeds"));
  for (const std::string& change : with.changes)
    apply_change(file, change);
  allow_its_nodes(file, old);
  return file;
}

void add_trial_changes(Arguments& arguments, TrialChanges& changes) {
  arguments
      .option("--set", "PATH=VALUE", changes.changes,
              "change a key of the sweep file, as train.epochs=20 (may be repeated); without a "
              "value, leave the key out")
      .commas = false;
  arguments.option("--seeds", "N", changes.seeds,
                   "run the seeds 1 to N, or a list as [4, 5] (default: the trial's seed)");
}

}  // namespace thalweg::cli
