// thalweg export of weights, and thalweg evaluate: what a trial has learnt. The engine does it, on
// this machine and out of the attempt's folder, which the controller knows: this process becomes
// thalweg-train.
#include "cli/commands/weights.h"

#include <filesystem>

#include "cli/commands/common.h"
#include "cli/commands/engine_program.h"
#include "cli/commands/table.h"
#include "daemon/api/client.h"
#include "daemon/api/trial_messages.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;
namespace api = daemon::api;

/// The folder of the attempt, or of the trial's last one.
fs::path folder_of(Context& context, const std::string& text, const char* command) {
  jobspec::Id id = find_id(context, text);
  if (is_sweep(id))
    throw CommandError(exit_bad_input, std::string(command) + " takes a trial or an attempt",
                       "thalweg compare " + id.to_string() +
                           " names the trials of each row; thalweg export --format takes sweeps");
  const Json answer = context.controller().get(path_of(id));
  if (!is_trial(id)) return read_answer<api::AttemptAnswer>(answer).folder;
  const auto trial = read_answer<api::TrialAnswer>(answer);
  if (trial.attempts.empty())
    throw CommandError(exit_failed, "trial " + trial.id + " has not started yet",
                       "thalweg watch " + trial.id);
  return trial.attempts.back().folder;
}

int ask_engine(Context& context, const WeightsOptions& options, std::vector<std::string> words,
               const char* command) {
  const fs::path folder = folder_of(context, options.id, command);
  if (folder.empty())
    throw CommandError(exit_bad_input, options.id + " is a run of another program",
                       "imported runs have no weights here");
  const fs::path trial = folder / "trial.yaml";
  if (!fs::exists(trial))
    throw CommandError(exit_failed, trial.string() + " is not on this machine, or was removed");
  if (options.json) words.emplace_back("--json");
  if (!options.checkpoint.empty())
    words.insert(words.end(), {"--checkpoint", fs::absolute(options.checkpoint).string()});
  if (options.best) words.emplace_back("--best");
  words.push_back(trial.string());
  return become_engine("thalweg-train", std::move(words));
}

}  // namespace

void add_checkpoint_options(Arguments& arguments, WeightsOptions& options) {
  arguments.option("--checkpoint", "FILE", options.checkpoint, "this one instead of the newest one")
      .completes = Completes::file;
  arguments.flag("--best", options.best,
                 "that of the best validation, which checkpoint.best keeps, instead of the newest");
}

int export_weights(Context& context, const WeightsOptions& options) {
  return ask_engine(context, options, {"--export", fs::absolute(options.out).string()}, "export");
}

Action make_evaluate(Arguments& arguments) {
  auto options = std::make_shared<WeightsOptions>();
  arguments.positional("ID", options->id, "a trial, or one of its attempts").completes =
      Completes::id;
  add_checkpoint_options(arguments, *options);
  arguments.flag("--json", options->json, "print the controller's answer as JSON");
  return [options](Context& context) {
    return ask_engine(context, *options, {"--evaluate"}, "evaluate");
  };
}

}  // namespace thalweg::cli
