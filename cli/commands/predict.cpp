// thalweg predict: a row of db/studies, and what only this machine has: a file of sizes and times,
// which needs no controller, and the simulator (predict_nodes.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/commands/common.h"
#include "cli/commands/predict_nodes.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/csv.h"
#include "daemon/api/client.h"
#include "daemon/api/study_messages.h"

namespace thalweg::cli {
namespace {

struct PredictOptions : StudyOptions {
  std::string file, x, y;  ///< file: or an id
  SimulationOptions simulation;

  const GivenOption& row(std::string_view name) const {
    return *std::find_if(rows.begin(), rows.end(),
                         [&](const GivenOption& each) { return each.option.name == name; });
  }
  bool any(std::initializer_list<std::string_view> names) const {
    return std::any_of(names.begin(), names.end(),
                       [&](std::string_view name) { return row(name).is_given(); });
  }
};

std::optional<double> read_number(const std::string& text) {
  double value = 0;
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value)) return std::nullopt;
  const bool whole = std::all_of(end, text.data() + text.size(), [](char c) { return c == ' '; });
  return whole ? std::optional(value) : std::nullopt;
}

/// A heading, or the column that is meant where none is named: the first for x, the second for y.
std::size_t column_of(const std::vector<std::string>& heads, const std::string& name,
                      std::size_t otherwise, const std::string& file) {
  if (name.empty()) return otherwise;
  const auto found = std::find(heads.begin(), heads.end(), name);
  if (found == heads.end())
    throw CommandError(exit_bad_input, fmt::format("{} has no column '{}'", file, name),
                       "it has " + join(heads, ", "));
  return static_cast<std::size_t>(found - heads.begin());
}

db::SizesAndTimes read_csv(const PredictOptions& options) {
  const auto lines = parse_csv(read_file(options.file));
  if (lines.size() < 2 || lines.front().size() < 2)
    throw CommandError(exit_bad_input,
                       options.file + " needs a line of headings, two columns and data");
  const auto& heads = lines.front();
  const std::size_t x = column_of(heads, options.x, 0, options.file);
  const std::size_t y = column_of(heads, options.y, 1, options.file);
  db::SizesAndTimes data{heads[x], heads[y]};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cell = [&](std::size_t column) {
      return column < lines[i].size() ? read_number(lines[i][column]) : std::nullopt;
    };
    const auto x_value = cell(x), y_value = cell(y);
    if (x_value && y_value) {
      data.x.push_back(*x_value);
      data.y.push_back(*y_value);
    } else {
      ++data.skipped;
    }
  }
  return data;
}

std::vector<double> wanted(const PredictOptions& options) {
  std::vector<double> at;
  for (const std::string& text : options.row("at").names) {
    const auto value = read_number(text);
    if (!value) throw CommandError(exit_bad_input, "--at " + text + ": expected numbers");
    at.push_back(*value);
  }
  return at;
}

Json ask_of_trial(Context& context, const PredictOptions& options) {
  if (!options.x.empty() || !options.y.empty() || options.any({"at", "of", "device"}))
    throw CommandError(exit_bad_input,
                       "--x, --y, --of, --at and --device are for sizes and times, but " +
                           options.file + " is a sweep or a trial");
  if (!options.any({"nodes"}))
    throw CommandError(exit_bad_input, "on how many nodes?",
                       "for example: thalweg predict " + options.file + " --nodes 1,2,4,8");
  if (options.any({"hours"}) && options.any({"money"}))
    throw CommandError(exit_bad_input, "either --hours or --money: which of them is the limit?");
  return predicted_nodes(context, id_or_newest(context, options.file), query_of(context, options),
                         options.simulation);
}

Json ask_of_sizes(Context& context, const PredictOptions& options) {
  const bool of_file = !options.file.empty();
  if (!of_file && !(options.x.empty() && options.y.empty()))
    throw CommandError(exit_bad_input,
                       "--x and --y name columns of a CSV file, but no file is given");
  if (of_file && options.any({"of", "device"}))
    throw CommandError(exit_bad_input,
                       "--of and --device are for measurements of earlier runs, but " +
                           options.file + " is a file");
  const std::vector<double> at = wanted(options);
  if (of_file) {
    const bool for_scripts = options.format.json || options.format.csv;
    Json answer = daemon::api::to_json(db::fitted_table(read_csv(options), at, for_scripts));
    answer["study"] = "predict";
    return answer;
  }
  return context.controller().get(with_query("/v1/studies/predict", query_of(context, options)));
}

int predict(Context& context, const db::Study& study, const PredictOptions& options) {
  const bool of_trial = options.simulation.any() ||
                        options.any({"nodes", "revocations", "hours", "money", "partition"});
  const bool name = of_trial && !options.file.empty() && !std::filesystem::exists(options.file);
  const bool asks_trial = name || jobspec::Id::parse(options.file);
  if (of_trial && !asks_trial)
    throw CommandError(exit_bad_input,
                       "--nodes, --simulate, --no-simulation, --revocations, --hours, --money and "
                       "--partition are for a sweep or a trial",
                       "thalweg predict 12 --nodes 1,2,4,8");
  print_answer(context, study, options,
               asks_trial ? ask_of_trial(context, options) : ask_of_sizes(context, options));
  return exit_ok;
}

}  // namespace

Action make_predict(const db::Study& study, Arguments& arguments) {
  auto options = std::make_shared<PredictOptions>();
  Argument& file = arguments.positional(
      "FILE.csv|ID", options->file,
      "a file with headings (default: what earlier runs measured), or a trial, or a sweep for its "
      "best trial");
  file.required = false;
  file.completes = Completes::file;
  arguments.option("--x", "COLUMN", options->x, "its column of sizes (default: the first)");
  arguments.option("--y", "COLUMN", options->y, "its column of times (default: the second)");
  add_row_options(arguments, study, *options);
  add_simulation_options(arguments, options->simulation);
  return [options, &study](Context& context) { return predict(context, study, *options); };
}

}  // namespace thalweg::cli
