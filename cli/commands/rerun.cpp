// thalweg rerun: a trial again, as a sweep of its own with one configuration.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/commands/trial_sweep.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct RerunOptions {
  std::string id, backend;
  TrialChanges changes;
  Format format;
  bool dry_run = false, print = false;
};

int rerun(Context& context, const RerunOptions& options) {
  const jobspec::Id id = find_id(context, options.id);
  if (!is_trial(id))
    throw CommandError(exit_bad_input, id.to_string() + " is no trial",
                       "thalweg show " + std::to_string(id.sweep) + " lists the sweep's trials");
  const RecordedTrial recorded = find_recorded(context, id);
  const std::string text = jobspec::to_yaml(sweep_of_trial(recorded, options.changes));
  if (options.print) {
    context.out << text;
    return exit_ok;
  }
  const SubmitOptions submit{"rerun of " + id.to_string(),
                             options.backend.empty() ? recorded.backend : options.backend};
  const Purpose purpose = options.dry_run ? Purpose::dry_run : Purpose::submit;
  const Json answer = post_sweep(context, submit, text, purpose);
  print_submission(context, answer, options.dry_run, options.format);
  return exit_ok;
}

}  // namespace

Action make_rerun(Arguments& arguments) {
  auto options = std::make_shared<RerunOptions>();
  arguments.positional("TRIAL", options->id, "a trial, as 12.3").completes = Completes::id;
  add_trial_changes(arguments, options->changes);
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
