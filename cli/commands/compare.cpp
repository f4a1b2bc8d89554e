// thalweg compare: which configuration of one or several sweeps gets there first, and at what cost.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/comparison.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"

namespace thalweg::cli {
namespace {

struct CompareOptions {
  std::vector<std::string> ids, by, best_over, without;
  std::string metric, goal, rank_by, statistic;
  std::optional<double> target;
  std::int64_t top = -1;  ///< -1: not given
  Format format;
};

std::string path_for(const jobspec::Id& sweep, const CompareOptions& options,
                     const std::vector<std::string>& others) {
  return with_query(
      path_of(sweep) + "/compare",
      {{"also", join(others, ",")},
       {"by", join(options.by, ",")},
       {"best_over", join(options.best_over, ",")},
       {"metric", options.metric},
       {"target", options.target ? fmt::format("{}", *options.target) : std::string()},
       {"without", join(options.without, ",")},
       {"goal", options.goal},
       {"rank_by", options.rank_by},
       {"stat", options.statistic},
       {"top", options.top > 0 ? fmt::format("{}", options.top) : std::string()}});
}

int compare(Context& context, const CompareOptions& options) {
  const jobspec::Id first =
      sweep_or_newest(context, options.ids.empty() ? "" : options.ids.front(), "compare");
  std::vector<std::string> others;
  for (std::size_t i = 1; i < options.ids.size(); ++i)
    others.push_back(sweep_or_newest(context, options.ids[i], "compare").to_string());
  const Json answer = context.controller().get(path_for(first, options, others));
  if (options.format.json) {
    print_json(context.out, answer);
  } else if (options.format.csv) {
    comparison_table(read_answer<ComparisonMessage>(answer)).print_csv(context.out);
  } else {
    print_comparison(context, read_answer<ComparisonMessage>(answer),
                     options.top >= 0 ? 0 : kMaxRows);
  }
  return exit_ok;
}

}  // namespace

Action make_compare(Arguments& arguments) {
  auto options = std::make_shared<CompareOptions>();
  Argument& ids =
      arguments.positional("ID", options->ids, "sweeps, one or several (default: the newest)");
  ids.required = false;
  ids.completes = Completes::id;
  arguments
      .option("--by", "A,B", options->by,
              "one row for each value of these, over everything else (default: all)")
      .completes = Completes::group;
  arguments
      .option("--best-over", "A,B", options->best_over,
              "each row at its best values of these, chosen on some seeds, evaluated on the others")
      .completes = Completes::group;
  arguments.option("--metric", "NAME", options->metric, "compare by another metric").completes =
      Completes::metric;
  arguments.option("--goal", "WHICH", options->goal, "minimize or maximize").choices = {"minimize",
                                                                                        "maximize"};
  arguments.option("--target", "VALUE", options->target, "another value that counts as the target");
  arguments.option("--without", "A,B", options->without,
                   "leave these out of times to the target: validation, checkpoints, startup");
  arguments
      .option("--rank-by", "WHAT", options->rank_by,
              "auto, best or last (value), or steps, samples, seconds, cost (node time) or money "
              "to the target")
      .choices = {"auto", "best", "last", "steps", "samples", "seconds", "cost", "money"};
  arguments
      .option("--stat", "WHICH", options->statistic,
              "the value of a row: median, mean or best of its values")
      .choices = {"median", "mean", "best"};
  arguments.option("--top", "N", options->top,
                   "the best N rows only; 0: all of them (default: 50; --csv and --json have all)");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return compare(context, *options); };
}

}  // namespace thalweg::cli
