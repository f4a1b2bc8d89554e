// Made of the record's own words, so that the engine gets the same trial again: the `train` tree as
// it was written, with the batch and its shards as they turned out, since `auto` and per_rank count
// ranks.
#include "cli/commands/capsule.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/checkpoint_name.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/temporary_folder.h"
#include "cli/commands/common.h"
#include "cli/commands/engine_program.h"
#include "cli/commands/trial_sweep.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "jobspec/diagnostic.h"
#include "jobspec/record_text.h"
#include "jobspec/resources.h"

namespace thalweg::cli {

namespace fs = std::filesystem;
namespace api = daemon::api;

namespace {

/// The order in which updates arrive decides there.
constexpr std::array asynchronous_modes{"async", "hybrid", "abs"};

[[noreturn]] void cannot(const std::string& trial, const std::string& why,
                         const std::string& remedy) {
  throw CommandError(exit_bad_input, "trial " + trial + " " + why, remedy);
}

void refuse_where_bits_differ(const std::string& id, const Json& start) {
  if (text_at(start, "device") == "program")
    cannot(id, "ran a program of its own, whose bits are its own",
           "thalweg rerun " + id + " runs it again");
  const std::string mode = text_at(member(member(start, "config"), "sync"), "mode");
  for (const char* each : asynchronous_modes)
    if (mode == each)
      cannot(id, "has sync.mode " + mode + ", where the order of updates depends on time",
             "thalweg rerun " + id + " trains it again; compare several seeds");
}

jobspec::Metric metric_of(const jobspec::Value& sweep_file) {
  const jobspec::Value* const block = sweep_file.find("metric");
  if (!block) return {};
  jobspec::Diagnostics diagnostics("metric");
  return jobspec::read_metric(*block, "metric", diagnostics);
}

/// What `auto` and per_rank were: they must not change with the number of ranks.
void fix_batch(jobspec::Value& train, const Json& config) {
  const Json& batch = member(config, "batch");
  for (const char* key : {"global", "shards"})
    if (member(batch, key).is_number_integer())
      train.set(std::string("batch.") + key, batch.at(key).get<std::int64_t>());
  for (auto& [key, value] : train.as_map())
    if (key == "batch" && value.is_map())
      std::erase_if(value.as_map(), [](const auto& entry) { return entry.first == "per_rank"; });
}

/// Start records of its attempts, newest first: `all`, or the newest and those that finished, which
/// others follow where the trial was extended. Not empty.
std::vector<Json> starts_of(Context& context, const api::TrialAnswer& trial, bool all) {
  std::vector<Json> starts;
  for (auto attempt = trial.attempts.rbegin(); attempt != trial.attempts.rend(); ++attempt) {
    if (!all && !starts.empty() && attempt->state != "finished") continue;
    const auto answer =
        read_answer<api::AttemptAnswer>(context.controller().get(path_of(parse_id(attempt->id))));
    if (answer.start) starts.push_back(*answer.start);
  }
  if (starts.empty()) cannot(trial.id, "has not started yet", "thalweg watch " + trial.id);
  return starts;
}

std::optional<std::vector<std::int64_t>> earlier_ends(const std::vector<Json>& starts) {
  const auto steps = [](const Json& start) { return number_at(start, "steps").value_or(0); };
  std::vector<std::int64_t> ends;
  for (const Json& start : starts)
    if (steps(start) < steps(starts.front()))
      ends.push_back(static_cast<std::int64_t>(steps(start)));
  if (ends.empty()) return {};
  return ends;
}

Json without_attempt(Json start) {
  for (const char* of_the_attempt : {"n", "t", "type", "token", "attempt", "format"})
    start.erase(of_the_attempt);
  return start;
}

bool begins_elsewhere(const jobspec::Value& train) {
  const auto is_set = [&](const char* key) {
    const jobspec::Value* const value = train.find(key);
    return value && value->is_string() && !value->as_string().empty();
  };
  return is_set("init_from.trial") || is_set("init_from.file");
}

/// It began with the weights of a trial, or with the best or newest of several checkpoints: with
/// the very file. Attempts that went on from a checkpoint of their own do not tell it.
void fix_beginning(jobspec::Value& train, const std::string& id, const std::vector<Json>& starts) {
  std::string file;
  for (const Json& start : starts)
    if (file.empty()) file = text_at(member(start, "init_from"), "file");
  if (file.empty())
    cannot(id, "began with weights of a file that its record does not name",
           "thalweg rerun " + id + " trains it again");
  jobspec::Value from = *train.find("init_from");
  std::erase_if(from.as_map(), [](const auto& entry) {
    return entry.first == "trial" || entry.first == "checkpoint";
  });
  from.set("file", file);
  train.set("init_from", from);
}

/// The header and the numbers of a safetensors file
/// (github.com/huggingface/safetensors, "Format").
std::vector<ArrayHash> hash_arrays(const fs::path& file) {
  const std::string bytes = read_file(file);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  const std::string_view all(bytes);
  const auto header = nlohmann::ordered_json::parse(all.substr(sizeof length, length));
  const std::string_view numbers = all.substr(sizeof length + length);
  std::vector<ArrayHash> arrays;
  for (const auto& [name, about] : header.items()) {
    if (name == "__metadata__") continue;
    const std::size_t from = about.at("data_offsets").at(0), to = about.at("data_offsets").at(1);
    arrays.push_back({name, about.at("shape").get<std::vector<std::int64_t>>(),
                      hash_text(numbers.substr(from, to - from))});
  }
  return arrays;
}

}  // namespace

Capsule capsule_of(Context& context, const SweepExport& from, const api::TrialMessage& trial,
                   const std::vector<ExportedCurve>& curves) {
  const jobspec::Id id = parse_id(trial.id);
  const RecordedTrial recorded = find_recorded(context, id);
  const auto answer = read_answer<api::TrialAnswer>(context.controller().get(path_of(id)));
  Capsule capsule;
  capsule.id = trial.id;
  capsule.name = from.sweep.name;
  capsule.state = trial.state;
  capsule.sweep_file = recorded.text;
  jobspec::Trial run;
  run.seed = static_cast<std::uint64_t>(recorded.seed);
  run.train = jobspec::read_record(recorded.train, trial.id);
  const bool elsewhere = begins_elsewhere(run.train);
  const std::vector<Json> starts = starts_of(context, answer, elsewhere);
  capsule.start = without_attempt(starts.front());
  capsule.earlier_ends = earlier_ends(starts);
  refuse_where_bits_differ(trial.id, capsule.start);
  fix_batch(run.train, member(capsule.start, "config"));
  if (elsewhere) fix_beginning(run.train, trial.id, starts);
  const jobspec::Resources resources = recorded_resources(recorded.resources);
  run.resources.nodes = resources.nodes;
  run.resources.ranks_per_node = resources.ranks_per_node;
  run.resources.threads_per_rank = resources.threads_per_rank;
  run.resources.gpus_per_node = resources.gpus_per_node;
  run.metric = metric_of(jobspec::read_yaml(recorded.text, "sweep " + from.sweep.id));
  capsule.trial = jobspec::trial_text(run);
  for (const ExportedCurve& curve : curves) {
    if (curve.metric.starts_with("perf/")) continue;
    for (const api::CurvePoint& point : curve.points)
      capsule.curves[curve.metric].push_back({point.step, point.value});
  }
  if (capsule.curves.empty())
    cannot(trial.id, "has reported nothing yet", "thalweg watch " + trial.id);
  for (auto attempt = answer.attempts.rbegin(); attempt != answer.attempts.rend(); ++attempt)
    if (!attempt->folder.empty()) capsule.folders.emplace_back(attempt->folder);
  return capsule;
}

std::vector<Capsule> read_capsules(const fs::path& file) {
  std::ifstream lines(file);
  if (!lines) throw CommandError(exit_bad_input, "cannot read " + file.string());
  std::vector<Capsule> capsules;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string where = file.string() + ":" + std::to_string(number);
    try {
      capsules.push_back(api::from_json<Capsule>(Json::parse(line), api::Reading::strict));
    } catch (const std::exception& error) {
      throw CommandError(exit_bad_input, where + ": no capsule: " + printable(error.what()),
                         "thalweg export TRIAL --format capsule -o FILE writes one");
    }
    if (capsules.back().capsule != Capsule::kFormat)
      throw CommandError(exit_bad_input,
                         where + ": capsule: found format " +
                             std::to_string(capsules.back().capsule) + ", expected 1",
                         "it is of another version of thalweg");
    if (capsules.back().curves.empty())
      throw CommandError(exit_bad_input, where + ": curves: found none, expected some to compare",
                         "export the trial when it has reported something");
  }
  if (capsules.empty())
    throw CommandError(exit_bad_input, file.string() + " is empty",
                       "thalweg export TRIAL --format capsule -o FILE writes one");
  return capsules;
}

std::map<std::int64_t, fs::path> checkpoints_in(const std::vector<fs::path>& folders) {
  std::map<std::int64_t, fs::path> found;
  for (const fs::path& folder : folders) {
    std::error_code unreadable;
    for (const auto& entry : fs::directory_iterator(folder / "checkpoints", unreadable)) {
      const auto name = parse_checkpoint_name(entry.path().filename().string());
      if (name && !name->slice) found.emplace(name->step, entry.path());
    }
  }
  return found;
}

WeightsHash hash_weights(const fs::path& folder, std::int64_t step, const fs::path& checkpoint) {
  const fs::path engine = engine_program("thalweg-train");
  const TemporaryFolder aside("thalweg-weights");
  const fs::path file = aside.path() / "weights.safetensors";
  constexpr double patience_s = 600;
  const ProgramOutput output =
      run_program({engine.string(), "--export", file.string(), "--checkpoint", checkpoint.string(),
                   (folder / "trial.yaml").string()},
                  patience_s);
  if (output.code != 0)
    throw CommandError(exit_failed, "cannot read the weights of " + checkpoint.string(),
                       printable(output.err));
  return {step, hash_arrays(file)};
}

}  // namespace thalweg::cli
