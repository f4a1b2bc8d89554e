// thalweg compare: which configuration gets there first, and at what cost.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands/comparison.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"

namespace thalweg::cli {
namespace {

struct Options {
  std::string id;
  std::vector<std::string> by;
  std::string metric;
  std::optional<double> target;
  Format format;
};

std::string query_of(const Options& options) {
  std::vector<std::string> parts;
  const auto add = [&](const std::string& key, const std::string& value) {
    parts.push_back(fmt::format("{}={}", key, daemon::api::url_encode(value)));
  };
  if (!options.by.empty()) add("by", join(options.by, ","));
  if (!options.metric.empty()) add("metric", options.metric);
  if (options.target) add("target", fmt::format("{}", *options.target));
  return parts.empty() ? "" : fmt::format("?{}", join(parts, "&"));
}

int compare(Context& context, const Options& options) {
  const jobspec::Id id = id_or_newest(context, options.id);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, "compare takes a sweep, not " + id.to_string(),
                       "thalweg compare " + std::to_string(id.sweep));
  const Json answer = context.controller().get(path_of(id) + "/compare" + query_of(options));
  if (options.format.json) {
    print_json(context.out, answer);
  } else if (options.format.csv) {
    comparison_table(answer).print_csv(context.out);
  } else {
    print_comparison(context, answer);
  }
  return exit_ok;
}

}  // namespace

Action make_compare(Arguments& arguments) {
  auto options = std::make_shared<Options>();
  Argument& id = arguments.positional("ID", options->id, "the sweep (default: the newest)");
  id.required = false;
  id.completes = Completes::id;
  arguments.option("--by", "A,B", options->by,
                   "group by these parameters only, over everything else (default: all)");
  arguments.option("--metric", "NAME", options->metric, "compare by another metric");
  arguments.option("--target", "VALUE", options->target, "another value that counts as got there");
  add_json_and_csv(arguments, options->format);
  return [options](Context& context) { return compare(context, *options); };
}

}  // namespace thalweg::cli
