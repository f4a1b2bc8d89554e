// thalweg predict: times of steps and checkpoints from their sizes (a file needs no controller); of
// a trial predict_nodes.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/predict_nodes.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/output/csv.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/advise/regression.h"

namespace thalweg::cli {
namespace {

using jobspec::advise::Regression;
using jobspec::advise::Sample;

struct PredictOptions : NodesOptions {
  std::string file, x, y;  ///< file: or an id
  std::string of, device;
  std::vector<std::string> at;
};

struct Data {
  std::string x_name, y_name;
  std::vector<Sample> samples{};
  std::size_t skipped = 0;  ///< lines without two numbers
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

Data read_csv(const PredictOptions& options) {
  const auto lines = parse_csv(read_file(options.file));
  if (lines.size() < 2 || lines.front().size() < 2)
    throw CommandError(exit_bad_input,
                       options.file + " needs a line of headings, two columns and data");
  const auto& heads = lines.front();
  const std::size_t x = column_of(heads, options.x, 0, options.file);
  const std::size_t y = column_of(heads, options.y, 1, options.file);
  Data data{heads[x], heads[y]};
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const auto cell = [&](std::size_t column) {
      return column < lines[i].size() ? read_number(lines[i][column]) : std::nullopt;
    };
    const auto x_value = cell(x), y_value = cell(y);
    if (x_value && y_value)
      data.samples.push_back({*x_value, *y_value});
    else
      ++data.skipped;
  }
  return data;
}

Data ask(Context& context, const PredictOptions& options) {
  const Json answer = context.controller().get(
      with_query("/v1/measurements",
                 {{"of", options.of.empty() ? "step" : options.of}, {"device", options.device}}));
  Data data{text_at(answer, "x_name"), text_at(answer, "y_name")};
  for (const Json& point : list_at(answer, "points"))
    data.samples.push_back(
        {number_at(point, "x").value_or(NAN), number_at(point, "y").value_or(NAN)});
  return data;
}

std::vector<double> wanted(const PredictOptions& options) {
  std::vector<double> at;
  for (const std::string& text : options.at) {
    const auto value = read_number(text);
    if (!value) throw CommandError(exit_bad_input, "--at " + text + ": expected numbers");
    at.push_back(*value);
  }
  return at;
}

Json prediction_json(const Data& data, const std::vector<Regression>& fits,
                     const std::vector<double>& at) {
  Json models = Json::array();
  for (const Regression& fit : fits) {
    Json predictions = Json::array();
    for (const double x : at)
      predictions.push_back({{"x", x},
                             {"y", fit.tells(x) ? Json(fit.at(x)) : Json()},
                             {"outside", fit.outside(x)},
                             {"best", &fit == jobspec::advise::best_at(fits, x)}});
    models.push_back({{"model", fit.model},
                      {"coefficients", fit.coefficients},
                      {"r2", fit.r2},
                      {"cv_mae", fit.cv_mae},
                      {"cv_mape", fit.cv_mape},
                      {"predictions", predictions}});
  }
  const Regression* const best = jobspec::advise::best_of(fits);
  return {
      {"x", data.x_name},        {"y", data.y_name}, {"samples", data.samples.size()},
      {"skipped", data.skipped}, {"models", models}, {"best", best ? Json(best->model) : Json()}};
}

/// "3.751 + 0.02001 x".
std::string formula(const Regression& fit) {
  std::string text;
  const char* const powers[] = {"", " x", " x²"};
  for (std::size_t i = 0; i < fit.coefficients.size(); ++i) {
    const double c = fit.coefficients[i];
    text += i == 0 ? format_number(c)
                   : (c < 0 ? " - " : " + ") + format_number(std::abs(c)) + powers[i];
  }
  return text;
}

/// A row for each size, the model to go by in colour; sizes beyond the samples are marked.
void print_predictions(Context& context, const std::vector<Regression>& fits,
                       const std::vector<double>& at) {
  std::vector<Column> columns{{"x", "x", Align::right}};
  for (const Regression& fit : fits)
    columns.push_back({fit.model, fit.model, Align::right});
  columns.push_back({"best", "best"});
  Table predictions(columns);
  const Regression* outside = nullptr;
  for (const double x : at) {
    const Regression* const best = jobspec::advise::best_at(fits, x);
    const bool beyond = fits.front().outside(x);
    if (beyond) outside = best;
    std::vector<Cell> cells{format_number(x)};
    for (const Regression& fit : fits) {
      const std::string y = fit.tells(x) ? format_number(fit.at(x)) : "–";
      cells.push_back({y, y, &fit == best ? Tint::green : Tint::none});
    }
    cells.emplace_back(best->model + (beyond ? " (outside)" : ""));
    predictions.add(std::move(cells));
  }
  context.out << '\n';
  predictions.print(context.out, context.palette, 0);
  if (outside)
    print_notes(
        context,
        {fmt::format(
            "outside: no sample is as {}; {} goes on as it did from {} to {}, "
            "which nothing here confirms{}",
            at.size() == 1 ? "this size" : "these sizes", outside->model,
            format_number(outside->min_x), format_number(outside->max_x),
            fits.back().coefficients.empty() ? ", and a kernel model knows nothing there" : "")});
}

void print_text(Context& context, const Data& data, const std::vector<Regression>& fits,
                const std::vector<double>& at) {
  context.out << format_count(static_cast<long long>(data.samples.size()))
              << " samples: " << printable(data.y_name) << " by " << printable(data.x_name) << '\n';
  if (data.skipped > 0)
    context.out << "note: " << count_of(static_cast<long long>(data.skipped), "line")
                << " without two numbers left out\n";
  if (fits.empty()) {
    context.out << "no prediction: at least 3 different sizes are needed\n";
    return;
  }
  const Regression* const best = jobspec::advise::best_of(fits);
  Table models({{"model", "model"},
                {"cv_mae", "CV error", Align::right},
                {"cv_mape", "of y", Align::right},
                {"r2", "R²", Align::right},
                {"formula", "formula"}});
  for (const Regression& fit : fits)
    models.add({{fit.model, fit.model, &fit == best ? Tint::green : Tint::none},
                format_number(fit.cv_mae),
                fmt::format("{:.1f} %", 100 * fit.cv_mape),
                fmt::format("{:.4f}", fit.r2),
                formula(fit)});
  models.print(context.out, context.palette, 0);
  context.out << "least error by cross-validation: " << best->model << '\n';
  if (!at.empty()) print_predictions(context, fits, at);
}

int predict(Context& context, const PredictOptions& options) {
  const bool name =
      options.any() && !options.file.empty() && !std::filesystem::exists(options.file);
  if (name || jobspec::Id::parse(options.file)) {
    if (!(options.x.empty() && options.y.empty() && options.at.empty() && options.device.empty() &&
          options.of.empty()))
      throw CommandError(exit_bad_input,
                         "--x, --y, --of, --at and --device are of sizes and times, and " +
                             options.file + " is a sweep or a trial");
    return predict_nodes(context, options.file, options);
  }
  if (options.any())
    throw CommandError(exit_bad_input,
                       "--nodes, --simulate, --no-simulation, --revocations, --hours, --money and "
                       "--partition are of "
                       "a sweep or a trial",
                       "thalweg predict 12 --nodes 1,2,4,8");
  if (options.file.empty() && !(options.x.empty() && options.y.empty()))
    throw CommandError(exit_bad_input, "--x and --y name columns of a CSV file, and none is given");
  if (!options.file.empty() && !(options.of.empty() && options.device.empty()))
    throw CommandError(exit_bad_input, "--of and --device are of what earlier runs measured, and " +
                                           options.file + " is a file");
  const std::vector<double> at = wanted(options);
  const Data data = options.file.empty() ? ask(context, options) : read_csv(options);
  const auto fits = jobspec::advise::fit_regressions(data.samples);
  if (options.format.json)
    print_json(context.out, prediction_json(data, fits, at));
  else
    print_text(context, data, fits, at);
  return exit_ok;
}

}  // namespace

Action make_predict(Arguments& arguments) {
  auto options = std::make_shared<PredictOptions>();
  Argument& file = arguments.positional(
      "FILE.csv|ID", options->file,
      "a file with headings (default: what earlier runs measured), or a trial, or a sweep for its "
      "best trial");
  file.required = false;
  file.completes = Completes::file;
  arguments.option("--x", "COLUMN", options->x, "its column of sizes (default: the first)");
  arguments.option("--y", "COLUMN", options->y, "its column of times (default: the second)");
  arguments
      .option("--of", "WHAT", options->of,
              "step (default: seconds by GFLOPs of a rank's step) or checkpoint (seconds by "
              "megabytes)")
      .choices = {"step", "checkpoint"};
  arguments.option("--device", "NAME", options->device, "of runs on this device only").choices = {
      "cpu", "cuda"};
  arguments.option("--at", "A,B", options->at, "predict for these sizes");
  add_nodes_options(arguments, *options);
  add_json(arguments, options->format);
  return [options](Context& context) { return predict(context, *options); };
}

}  // namespace thalweg::cli
