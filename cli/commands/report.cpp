// thalweg report: what is known of a sweep, or how several compare, as one page that can be sent
// and printed.
#include "cli/commands/report_page.h"
#include "cli/commands/table.h"

namespace thalweg::cli {
namespace {

struct ReportCommandOptions : ReportOptions {
  std::vector<std::string> ids;
  std::string out = "report.html";
};

int report(Context& context, ReportCommandOptions& options) {
  const jobspec::Id id =
      sweep_or_newest(context, options.ids.empty() ? "" : options.ids.front(), "report");
  for (std::size_t i = 1; i < options.ids.size(); ++i)
    options.others.push_back(sweep_or_newest(context, options.ids[i], "report").to_string());
  for (std::string& word : options.also) {
    const jobspec::Id other = find_id(context, word);
    if (!is_sweep(other))
      throw CommandError(exit_bad_input, "--also takes sweeps, not " + other.to_string());
    word = std::to_string(other.sweep);
  }
  write_out(context, options.out, ReportPage(context, options, id).text());
  return exit_ok;
}

}  // namespace

Action make_report(Arguments& arguments) {
  auto options = std::make_shared<ReportCommandOptions>();
  Argument& id = arguments.positional(
      "ID", options->ids, "the sweep (default: the newest); several are shown side by side");
  id.required = false;
  id.completes = Completes::id;
  arguments
      .option("-o,--out", "FILE", options->out,
              "where to write the page (default: report.html; - prints it)")
      .completes = Completes::file;
  add_grouping(arguments, options->by, options->best_over);
  arguments.option("--also", "ID,ID", options->also, "further sweeps for the performance profiles")
      .completes = Completes::id;
  return [options](Context& context) { return report(context, *options); };
}

}  // namespace thalweg::cli
