// thalweg submit: hand a sweep to the controller and return at once.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/derived.h"
#include "cli/commands/table.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct SubmitCommandOptions {
  SubmitOptions submit;
  DerivedOptions derived;
  Format format;
  bool dry_run = false, print = false;
};

Json submit_derived(Context& context, const SubmitCommandOptions& options, Purpose purpose) {
  const DerivedSweep derived = derive_sweep(context, options.derived);
  if (options.print) {
    for (const std::string& line : derived.told)
      context.out << "# " << line << '\n';
    context.out << derived.text;
    return {};
  }
  // Where nothing is said, what ran the other sweep.
  const SubmitOptions submit{"from " + derived.from.to_string(), options.submit.backend == "auto"
                                                                     ? derived.backend
                                                                     : options.submit.backend};
  Json answer = post_sweep(context, submit, derived.text, purpose);
  answer["from"] = derived.from.to_string();
  answer["told"] = derived.told;
  if (!options.format.json && !options.format.csv)
    for (const std::string& line : derived.told)
      context.out << line << '\n';
  return answer;
}

int submit(Context& context, const SubmitCommandOptions& options) {
  const Purpose purpose = options.dry_run ? Purpose::dry_run : Purpose::submit;
  const Json answer = options.derived.from.empty() ? submit_sweep(context, options.submit, purpose)
                                                   : submit_derived(context, options, purpose);
  if (!options.print) print_submission(context, answer, options.dry_run, options.format);
  return exit_ok;
}

void check(const SubmitCommandOptions& options) {
  const DerivedOptions& derived = options.derived;
  if (options.format.csv && !options.dry_run)
    throw CommandError(exit_bad_input, "--csv needs --dry-run");
  if (options.submit.file.empty() == derived.from.empty())
    throw CommandError(
        exit_bad_input,
        derived.from.empty() ? "SWEEP.yaml is required" : "a sweep file and --from are two sweeps",
        "thalweg submit sweep.yaml, or thalweg submit --from 12 --best");
  const bool more = derived.best || options.print || !derived.changes.seeds.empty() ||
                    !derived.changes.changes.empty();
  if (derived.from.empty() && more)
    throw CommandError(exit_bad_input, "--best, --set, --seeds and --print are for --from",
                       "change the sweep file itself");
}

}  // namespace

Action make_submit(Arguments& arguments) {
  auto options = std::make_shared<SubmitCommandOptions>();
  add_submit_options(arguments, options->submit).required = false;
  add_derived_options(arguments, options->derived);
  arguments.flag("--dry-run", options->dry_run,
                 "show the trials and the batch script; submit nothing");
  arguments.flag("--print", options->print,
                 "with --from: print the new sweep file; submit nothing");
  add_json(arguments, options->format);
  arguments.flag("--csv", options->format.csv, "with --dry-run: print the trials as CSV");
  return [options](Context& context) {
    check(*options);
    return submit(context, *options);
  };
}

}  // namespace thalweg::cli
