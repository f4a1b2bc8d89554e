// thalweg submit: hand a sweep to the controller and return at once.
#include <nlohmann/json.hpp>

#include "cli/commands/submission.h"
#include "cli/commands/table.h"

namespace thalweg::cli {
namespace {

struct Options {
  SubmitOptions submit;
  Format format;
  bool dry_run = false;
};

int submit(Context& context, const Options& options) {
  const Json answer =
      submit_sweep(context, options.submit, options.dry_run ? Purpose::dry_run : Purpose::submit);
  print_submission(context, answer, options.dry_run, options.format);
  return exit_ok;
}

}  // namespace

Action make_submit(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  add_submit_options(arguments, options->submit);
  arguments.flag("--dry-run", options->dry_run,
                 "show the trials and the batch script; submit nothing");
  add_json(arguments, options->format);
  arguments.flag("--csv", options->format.csv, "with --dry-run: print the trials as CSV");
  return [options](Context& context) {
    if (options->format.csv && !options->dry_run)
      throw CommandError(exit_bad_input, "--csv needs --dry-run");
    return submit(context, *options);
  };
}

}  // namespace thalweg::cli
