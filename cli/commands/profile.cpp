// thalweg profile: one score over several sweeps, each of them a workload.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/commands/studies.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

struct ProfileOptions : StudyOptions {
  std::vector<std::string> by, best_over, held_out;
  std::optional<double> target;
  bool steps = false, compat = false;
};

/// "14=12" as "14:12", with numbers for names.
std::vector<std::string> held_out_pairs(Context& context, const ProfileOptions& options) {
  std::vector<std::string> pairs;
  for (const std::string& text : options.held_out) {
    const auto equals = text.find('=');
    if (equals == text.npos)
      throw CommandError(exit_bad_input,
                         "--held-out " + text + ": expected a sweep and the one it is a variant of",
                         "--held-out 14=12");
    const jobspec::Id variant = id_or_newest(context, text.substr(0, equals)),
                      base = id_or_newest(context, text.substr(equals + 1));
    pairs.push_back(fmt::format("{}:{}", variant.to_string(), base.to_string()));
  }
  return pairs;
}

int profile(Context& context, const ProfileOptions& options) {
  const std::string target = options.target ? fmt::format("{}", *options.target) : "";
  const Json answer = ask_study(context, options, "profile",
                                {{"by", join(options.by, ",")},
                                 {"best_over", join(options.best_over, ",")},
                                 {"target", target},
                                 {"unit", options.steps ? "steps" : ""},
                                 {"compat", options.compat ? "1" : ""},
                                 {"held_out", join(held_out_pairs(context, options), ",")}});
  const Json& sweeps = list_at(answer, "sweeps");
  std::vector<Column> columns{{"group", join(texts_at(answer, "by"), ", ")},
                              {"score", "score", Align::right}};
  for (const Json& sweep : sweeps)
    columns.push_back({"sweep_" + plain_text(sweep), "sweep " + plain_text(sweep), Align::right});
  Table table(columns);
  for (const Json& row : list_at(answer, "rows")) {
    const auto score = number_at(row, "score");
    std::vector<Cell> cells{
        {printable(format_values(text_at(row, "group"))), text_at(row, "group")},
        {fmt::format("{:.4f}", score.value_or(NAN)), format_number(score)}};
    for (const Json& ratio : list_at(row, "ratios")) {
      const auto value = number_of(ratio);
      const bool there = value && std::isfinite(*value);
      cells.emplace_back(there ? fmt::format("{:.2f}×", *value) : unknown_mark, plain_text(ratio));
    }
    table.add(std::move(cells));
  }
  print_study(context, options, answer, table);
  return exit_ok;
}

}  // namespace

Action make_profile(Arguments& arguments) {
  auto options = std::make_shared<ProfileOptions>();
  add_study_options(arguments, *options);
  Argument& by = arguments.option("--by", "A,B", options->by,
                                  "what is scored: each value of these parameters");
  by.completes = Completes::group;
  arguments
      .option("--best-over", "A,B", options->best_over,
              "each at its best values of these, as in compare")
      .completes = Completes::group;
  arguments.option("--target", "VALUE", options->target,
                   "times to this value of the metric (default: each sweep's target)");
  arguments.flag("--steps", options->steps, "steps to the target instead of seconds");
  arguments.flag("--compat", options->compat,
                 "the area as AlgoPerf's code has it: a trapezoid over 100 points");
  arguments.option("--held-out", "A=B,C=D", options->held_out,
                   "sweep A only confirms sweep B: AlgoPerf's held-out rules");
  return [options](Context& context) { return profile(context, *options); };
}

}  // namespace thalweg::cli
