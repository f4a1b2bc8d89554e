// thalweg extend: more seeds or more trials for a sweep that is there. The sweep file, as the
// record has it, is changed as a person would change it; the controller runs what it then gives
// more. So the added trials are those that the file would have given from the start.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/file_changes.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/sweep_messages.h"
#include "jobspec/seed_looks.h"

namespace thalweg::cli {
namespace {

namespace api = daemon::api;

using jobspec::Value;

struct ExtendOptions {
  std::string id, seeds, trials;
  std::int64_t epochs = 0, steps = 0;
  std::vector<std::string> changes;
  Format format;
  bool dry_run = false;
};

/// "+3". A total might be meant by "3", so that is not taken.
std::int64_t read_more(const std::string& text, const std::string& option) {
  std::int64_t count = 0;
  const char* const end = text.data() + text.size();
  const bool plus = text.starts_with("+");
  const auto read = std::from_chars(text.data() + (plus ? 1 : 0), end, count);
  if (!plus || read.ec != std::errc{} || read.ptr != end || count < 1)
    throw CommandError(exit_bad_input, fmt::format("{} {}: expected how many more", option, text),
                       fmt::format("for example {} +3", option));
  return count;
}

/// The file as the record has it: with the changes of earlier extensions.
std::string recorded_text(Context& context, const jobspec::Id& id) {
  const Json answer = context.controller().post(
      "/v1/query",
      {{"sql", "SELECT text FROM sweeps WHERE sweep = ?"}, {"parameters", {id.sweep}}});
  const Json& rows = list_at(answer, "rows");
  if (rows.empty()) throw CommandError(exit_not_found, "there is no sweep " + id.to_string());
  return rows.at(0).at(0).get<std::string>();
}

/// "seeds: 2" goes on with 3, 4, …; a list with what follows its largest.
void add_seeds(Value& file, std::int64_t more, std::vector<std::string>& changes) {
  const Value* const given = file.find("seeds");
  if (jobspec::has_seed_looks(file))
    throw CommandError(exit_bad_input,
                       "the sweep's looks at seeds were fixed before it started, since later ones "
                       "would claim too much",
                       "submit the remaining configurations with other looks");
  Value seeds = given == nullptr ? Value(1) : *given;
  if (seeds.is_list()) {
    std::int64_t largest = 0;
    for (const Value& seed : seeds.as_list())
      largest = std::max(largest, seed.as_int());
    for (std::int64_t i = 1; i <= more; ++i)
      seeds.as_list().emplace_back(largest + i);
  } else {
    seeds = Value(seeds.as_int() + more);
  }
  changes.push_back("seeds=" + seeds.to_text());
  file.set("seeds", std::move(seeds));
}

void add_draws(Value& file, std::int64_t more, std::vector<std::string>& changes) {
  const Value* const cap = file.find("run_cap");
  if (cap == nullptr)
    throw CommandError(exit_bad_input, "the sweep is a grid and has all its configurations",
                       "add values: --set parameters.optimizer.lr.values='[0.1, 0.2, 0.4]'");
  changes.push_back(fmt::format("run_cap={}", cap->as_int() + more));
  file.set("run_cap", Value(cap->as_int() + more));
}

/// "parameters.optimizer.lr.values": under `parameters` the keys have dots themselves.
void apply_parameter_change(Value& file, const std::string& change) {
  constexpr std::string_view block = "parameters.";
  Value* parameters = nullptr;
  for (auto& [key, value] : file.as_map())
    if (key == "parameters" && value.is_map()) parameters = &value;
  const std::string rest = change.starts_with(block) ? change.substr(block.size()) : "";
  if (parameters != nullptr)
    for (auto& [key, value] : parameters->as_map())
      if (rest.starts_with(key + ".") && value.is_map())
        return apply_change(value, rest.substr(key.size() + 1));
  apply_change(file, change);
}

/// The total that trials are trained to.
void lengthen(Value& file, const std::string& key, std::int64_t to,
              std::vector<std::string>& changes) {
  if (to <= 0) return;
  if (!file.find("train") && (file.find("program") || file.find("command")))
    throw CommandError(
        exit_bad_input,
        fmt::format("--{}: a program of your own runs these trials and decides how long it trains",
                    key),
        "where it takes that as an argument, submit it again with another value");
  changes.push_back(fmt::format("train.{}={}", key, to));
  file.set("train." + key, Value(to));
}

std::string changed_text(const std::string& text, const ExtendOptions& options,
                         std::vector<std::string>& changes) {
  Value file = jobspec::read_yaml(text, "the recorded sweep file");
  if (!options.seeds.empty()) add_seeds(file, read_more(options.seeds, "--seeds"), changes);
  if (!options.trials.empty()) add_draws(file, read_more(options.trials, "--trials"), changes);
  lengthen(file, "epochs", options.epochs, changes);
  lengthen(file, "steps", options.steps, changes);
  for (const std::string& change : options.changes) {
    apply_parameter_change(file, change);
    changes.push_back(change);
  }
  return jobspec::to_yaml(file);
}

void print_extension(Context& context, const Json& answer, bool dry_run) {
  const auto extended = read_answer<api::ExtensionAnswer>(answer);
  if (extended.going_on > 0) {
    context.out << count_of(extended.going_on, "finished trial") << " of sweep " << extended.id
                << (dry_run                  ? " would continue"
                    : extended.going_on == 1 ? " continues"
                                             : " continue")
                << " from the last checkpoint; where there is none, from the start\n";
    if (dry_run) context.out << "Nothing was changed (--dry-run).\n";
    if (extended.new_trials.empty()) {
      if (!dry_run) print_next(context, {{"thalweg watch " + extended.id, "follow"}});
      return;
    }
  }
  if (extended.new_trials.empty() && extended.limits_changed) {
    context.out << "the limits of sweep " << extended.id
                << (dry_run ? " would change\nNothing was changed (--dry-run).\n"
                            : " are changed\n");
    if (!dry_run)
      print_next(context, {{"thalweg retry " + extended.id + " --state cancelled",
                            "run trials again that the old limits ended"}});
    return;
  }
  if (extended.new_trials.empty()) {
    context.out << "nothing to add: sweep " << extended.id << " has all "
                << count_of(extended.trials, "trial") << " of the changed file\n";
    return;
  }
  const std::string& first = extended.new_trials.front();
  const std::string range =
      extended.new_trials.size() == 1 ? first : first + " to " + extended.new_trials.back();
  context.out << context.palette(Tint::bold,
                                 "sweep " + extended.id + " " + printable(extended.name))
              << ": " << count_of(extended.new_trials.size(), "new trial") << " (" << range
              << "), now " << extended.trials << " in all, on " << extended.backend << '\n';
  print_notes(context, extended.notes);
  print_next(context, {{"thalweg watch " + extended.id, "follow it"},
                       {"thalweg compare " + extended.id, "compare what is there"}});
}

int extend(Context& context, const ExtendOptions& options) {
  const jobspec::Id id = find_id(context, options.id);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, id.to_string() + " is no sweep",
                       "thalweg rerun " + id.to_string() + " makes a sweep of one trial");
  std::vector<std::string> changes;
  const std::string text = changed_text(recorded_text(context, id), options, changes);
  if (changes.empty())
    throw CommandError(
        exit_bad_input, "nothing says what to add",
        "--seeds +3, --trials +20, --epochs 10, or --set with more values of a parameter");
  Json request{{"id", id.to_string()}, {"text", text}, {"changes", changes}};
  if (options.epochs > 0) request["epochs"] = options.epochs;
  if (options.steps > 0) request["steps"] = options.steps;
  if (options.dry_run) request["dry_run"] = true;
  const Json answer = context.controller().post("/v1/extend", request);
  // A dry run with nothing to add is answered as if it were none.
  if (options.format.json || !list_at(answer, "trials").empty())
    print_submission(context, answer, options.dry_run, options.format);
  else
    print_extension(context, answer, options.dry_run);
  return exit_ok;
}

}  // namespace

Action make_extend(Arguments& arguments) {
  auto options = std::make_shared<ExtendOptions>();
  arguments.positional("SWEEP", options->id, "a sweep, as 12").completes = Completes::id;
  arguments.option("--seeds", "+N", options->seeds, "N more seeds of every configuration");
  arguments.option("--trials", "+N", options->trials,
                   "N more draws of a random search (or configurations of a grid with run_cap)");
  arguments.option("--epochs", "N", options->epochs,
                   "train to N epochs in all: finished trials continue from their last checkpoint");
  arguments.option("--steps", "N", options->steps, "the same for sweeps that count steps");
  arguments
      .option("--set", "PATH=VALUE", options->changes,
              "change a key of the sweep file so that it gives more trials, as "
              "parameters.optimizer.lr.values=[0.1, 0.2, 0.4], or a limit, as "
              "limits.deadline=2027-01-31T18:00 (may be repeated)")
      .commas = false;
  arguments.flag("--dry-run", options->dry_run, "show the trials that would be added");
  add_json(arguments, options->format);
  return [options](Context& context) { return extend(context, *options); };
}

}  // namespace thalweg::cli
