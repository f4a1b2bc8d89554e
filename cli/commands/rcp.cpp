// thalweg rcp: samples to a target against a reference's, by MLPerf's rules.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

struct RcpOptions : StudyOptions {
  std::vector<std::string> by;
  std::string reference;
  std::optional<double> target;
  bool steps = false;
};

int rcp(Context& context, const RcpOptions& options) {
  const std::string target = options.target ? fmt::format("{}", *options.target) : "";
  const Json answer = ask_study(context, options, "rcp",
                                {{"by", join(options.by, ",")},
                                 {"reference", options.reference},
                                 {"target", target},
                                 {"unit", options.steps ? "steps" : ""}});
  std::vector<StudyColumn> columns{{"group", join(texts_at(answer, "by"), ", ")},
                                   {"runs", "runs", format_number, 1},
                                   {"reached", "reached", format_number, 1},
                                   {"mean", text_at(answer, "unit"), format_finite},
                                   {"sd", "sd", format_finite}};
  if (!options.reference.empty()) {
    columns.push_back({"fewest", "fewest", format_finite});
    columns.push_back({"factor", "factor", format_finite, 1});
    columns.push_back({"verdict", "verdict"});
  }
  print_study(context, options, answer, study_table(list_at(answer, "rows"), columns));
  return exit_ok;
}

}  // namespace

Action make_rcp(Arguments& arguments) {
  auto options = std::make_shared<RcpOptions>();
  add_study_options(arguments, *options);
  arguments
      .option("--by", "A,B", options->by,
              "what makes the groups (default: what varies; sweep, where nothing does)")
      .completes = Completes::group;
  arguments.option("--reference", "GROUP", options->reference,
                   "the reference group: its values, as they are printed");
  arguments.option("--target", "VALUE", options->target,
                   "samples to this value of the metric (default: the sweeps' target)");
  arguments.flag("--steps", options->steps, "steps to the target instead of samples");
  return [options](Context& context) { return rcp(context, *options); };
}

}  // namespace thalweg::cli
