// thalweg submit: hand a sweep to the controller and return at once.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

/// More trials than this are only counted on the screen.
constexpr std::size_t trials_listed = 40;

struct Options {
  SubmitOptions submit;
  Format format;
  bool dry_run = false;
};

Table plan_table(const Json& trials, std::size_t limit) {
  Table table({{"id", "trial", Align::right},
               {"seed", "seed", Align::right},
               {"parameters", "parameters", Align::left, true},
               {"nodes", "nodes", Align::right},
               {"ranks_per_node", "ranks/node", Align::right, false, 1}});
  for (std::size_t i = 0; i < std::min(limit, trials.size()); ++i) {
    const Json& trial = trials[i];
    const Json& resources = member(trial, "resources");
    const Json& parameters = member(trial, "parameters");
    table.add({text_at(trial, "id"), text_at(trial, "seed"),
               Cell(parameter_label(parameters), plain_text(parameters)),
               text_at(resources, "nodes"), text_at(resources, "ranks_per_node")});
  }
  return table;
}

void print_plan(Context& context, const Json& answer, const Format& format) {
  const Json& trials = list_at(answer, "trials");
  if (format.csv) return plan_table(trials, trials.size()).print_csv(context.out);
  print_submitted(context, answer);
  context.out << '\n';
  plan_table(trials, trials_listed).print(context.out, context.palette, context.width());
  if (trials.size() > trials_listed)
    context.out << "… " << count_of(trials.size() - trials_listed, "more trial")
                << " (--csv and --json list all)\n";
  if (const std::string script = text_at(answer, "script"); !script.empty())
    context.out << '\n'
                << context.palette(Tint::bold, "Batch script of the first trial:") << '\n'
                << script << (script.ends_with('\n') ? "" : "\n");
  context.out << '\n';
  print_forecasts(context, answer);
  if (const std::string cost = text_at(answer, "cost"); !cost.empty())
    context.out << "The sweep takes " << cost << ".\n";
  context.out << "Nothing was submitted (--dry-run).\n";
}

int submit(Context& context, const Options& options) {
  const Json answer =
      submit_sweep(context, options.submit, options.dry_run ? Purpose::dry_run : Purpose::submit);
  if (options.format.json) {
    print_json(context.out, answer);
  } else if (options.dry_run) {
    print_plan(context, answer, options.format);
  } else {
    print_submitted(context, answer);
    const std::string id = text_at(answer, "id");
    print_next(context, {{"thalweg watch " + id, "follow it"},
                         {"thalweg compare " + id, "compare what is there"},
                         {"thalweg cancel " + id, "stop it"}});
  }
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
