// What another size, or another number of nodes, would take. Times of steps and checkpoints follow
// from fits to their sizes (regression.h), those of a trial from the speeds of its sweep
// (analysis/forecast.h).
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "base/text.h"
#include "db/analysis/forecast.h"
#include "db/analysis/measurements.h"
#include "db/studies/study.h"
#include "jobspec/advise/regression.h"

namespace thalweg::db {
namespace {

using analysis::Forecast;
using analysis::ForecastRow;
using jobspec::advise::Regression;

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

constexpr StudyOption predict_options[] = {
    {"of", StudyOption::Kind::text, "WHAT",
     "step (default: seconds by GFLOPs of a rank's step) or checkpoint (seconds by megabytes)",
     "step,checkpoint"},
    {"device", StudyOption::Kind::text, "NAME", "of runs on this device only", "cpu,cuda"},
    {"at", StudyOption::Kind::numbers, "A,B", "predict for these sizes"},
    {"nodes", StudyOption::Kind::numbers, "A,B",
     "of a trial: speed, time and cost on so many nodes"},
    {"revocations", StudyOption::Kind::number, "R",
     "of a trial: nodes taken away per node and hour (default: as in the record)"},
    {"hours", StudyOption::Kind::number, "H", "of a trial: how good its metric is after so long"},
    {"money", StudyOption::Kind::number, "M",
     "of a trial: how good its metric is once so much is spent"},
    {"partition", StudyOption::Kind::text, "NAME",
     "of a trial: with this partition's price and revocations (default: the sweep's)"},
    {"simulated", StudyOption::Kind::text, {}, {}},
};

DataTable predicted_table(const std::vector<Regression>& fits, const std::vector<double>& at,
                          bool for_scripts) {
  using Shows = DataColumn::Shows;
  DataTable table;
  table.key = "predictions";
  table.columns = {{"x", "x", Shows::number}};
  for (const Regression& fit : fits)
    table.columns.push_back({fit.model, fit.model, Shows::finite});
  table.columns.push_back({"best", "best"});
  if (for_scripts) table.columns.push_back({"outside", "outside", Shows::flag});
  for (const double x : at) {
    auto& cells = table.rows.emplace_back();
    cells = {x};
    for (const Regression& fit : fits)
      cells.emplace_back(fit.tells(x) ? fit.at(x) : unknown);
    const Regression* const best = jobspec::advise::best_at(fits, x);
    const bool outside = fits.front().outside(x);
    cells.emplace_back(best->model + (outside && !for_scripts ? " (outside)" : ""));
    if (for_scripts) cells.emplace_back(outside);
  }
  return table;
}

/// Nothing where no size is outside.
std::vector<std::string> outside_notes(const std::vector<Regression>& fits,
                                       const std::vector<double>& at) {
  const auto outside =
      std::find_if(at.rbegin(), at.rend(), [&](double x) { return fits.front().outside(x); });
  if (outside == at.rend()) return {};
  const Regression* const best = jobspec::advise::best_at(fits, *outside);
  return {fmt::format(
      "outside: no sample has {}; {} extrapolates from the range {:.4g} to {:.4g}, which nothing "
      "here confirms{}",
      at.size() == 1 ? "this size" : "these sizes", best->model, best->min_x, best->max_x,
      fits.back().coefficients.empty() ? ", and a kernel model knows nothing there" : "")};
}

}  // namespace

DataTable fitted_table(const SizesAndTimes& data, const std::vector<double>& at, bool for_scripts) {
  using Shows = DataColumn::Shows;
  std::vector<jobspec::advise::Sample> samples;
  for (std::size_t i = 0; i < data.x.size(); ++i)
    samples.push_back({data.x[i], data.y[i]});
  const auto fits = jobspec::advise::fit_regressions(samples);
  DataTable table;
  table.title =
      fmt::format("{} samples: {} by {}", grouped(static_cast<std::int64_t>(samples.size())),
                  data.y_name, data.x_name);
  table.columns = {{"model", "model"},
                   {"cv_mae", "CV error", Shows::number},
                   {"cv_mape", "of y", Shows::percent},
                   {"r2", "R²", Shows::number},
                   {"constant", "constant", Shows::finite},
                   {"slope", "x", Shows::finite},
                   {"square", "x²", Shows::finite}};
  for (const Regression& fit : fits) {
    auto& cells = table.rows.emplace_back();
    cells = {fit.model, fit.cv_mae, fit.cv_mape, fit.r2};
    for (std::size_t i = 0; i < 3; ++i)
      cells.emplace_back(i < fit.coefficients.size() ? fit.coefficients[i] : unknown);
  }
  table.facts = {{{"x", ""}, data.x_name},
                 {{"y", ""}, data.y_name},
                 {{"samples", "", Shows::integer}, static_cast<double>(samples.size())},
                 {{"skipped", "", Shows::integer}, static_cast<double>(data.skipped)}};
  if (data.skipped > 0)
    table.notes.push_back(count_of(data.skipped, "line") + " without two numbers left out");
  if (fits.empty()) {
    table.summary = {"no prediction: at least 3 different sizes are needed"};
    return table;
  }
  table.facts.push_back(
      {{"best", "least error by cross-validation"}, jobspec::advise::best_of(fits)->model});
  if (at.empty()) return table;
  table.further = {predicted_table(fits, at, for_scripts)};
  for (std::string& note : outside_notes(fits, at))
    table.notes.push_back(std::move(note));
  return table;
}

namespace {

DataTable predicted_sizes(ReadStore& store, const StudyRequest& request) {
  const std::string of = request.text("of");
  const auto measured =
      analysis::read_measurements(store, of.empty() ? "step" : of, request.text("device"));
  SizesAndTimes data{measured.x_name, measured.y_name};
  for (const analysis::Measurement& each : measured.points) {
    data.x.push_back(each.x);
    data.y.push_back(each.y);
  }
  return fitted_table(data, request.numbers("at"), request.for_scripts);
}

std::optional<double> from_zero(const StudyRequest& request, std::string_view option) {
  const auto value = request.number(option);
  if (value && *value < 0)
    throw std::invalid_argument(fmt::format("{}: expected a number from 0 on", option));
  return value;
}

/// "2:3800.5,4:7100": samples per second by nodes.
std::map<double, double> simulated_speeds(const StudyRequest& request) {
  const std::string text = request.text("simulated");
  const auto wrong = [&] {
    return std::invalid_argument("simulated=" + text +
                                 ": expected nodes and samples/s: simulated=2:3800");
  };
  std::map<double, double> speeds;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto read = [&](char behind) {
    double value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    const bool last = rest == end && behind == ',';
    if (error != std::errc() || !(value > 0) || !(last || (rest != end && *rest == behind)))
      throw wrong();
    at = last ? end : rest + 1;
    return value;
  };
  while (at != end) {
    const double nodes = read(':');
    speeds[nodes] = read(',');
  }
  return speeds;
}

std::string speed_source(const ForecastRow& row) {
  return row.measured ? "measured" : row.simulated ? "simulated" : "predicted";
}

/// Columns in which no row has anything are for scripts alone.
DataTable forecast_rows(const Forecast& forecast, bool for_scripts) {
  using Shows = DataColumn::Shows;
  const auto any = [&](double ForecastRow::*member) {
    return for_scripts ||
           std::any_of(forecast.rows.begin(), forecast.rows.end(),
                       [&](const ForecastRow& row) { return std::isfinite(row.*member); });
  };
  struct Number {
    DataColumn head;
    double ForecastRow::*member;
  };
  const std::string currency = forecast.currency.empty() ? "money" : forecast.currency;
  std::vector<Number> numbers{
      {{"samples_per_s", "samples/s", Shows::number}, &ForecastRow::samples_per_s},
      {{"efficiency", "of sum", Shows::share}, &ForecastRow::efficiency},
      {{"seconds", "time", Shows::duration}, &ForecastRow::seconds}};
  if (forecast.revocations > 0 || for_scripts)
    numbers.push_back(
        {{"expected_seconds", "expected", Shows::duration}, &ForecastRow::expected_seconds});
  numbers.push_back({{"node_hours", "node-hours", Shows::number}, &ForecastRow::node_hours});
  if (any(&ForecastRow::money))
    numbers.push_back({{"money", currency, Shows::finite}, &ForecastRow::money});
  if (any(&ForecastRow::value))
    numbers.push_back({{"value", "value", Shows::finite}, &ForecastRow::value});
  DataTable table;
  table.columns = {{"nodes", "nodes", Shows::number}, {"speed", ""}};
  for (const Number& number : numbers)
    table.columns.push_back(number.head);
  for (const ForecastRow& row : forecast.rows) {
    auto& cells = table.rows.emplace_back();
    cells = {row.nodes, speed_source(row)};
    for (const Number& number : numbers)
      cells.emplace_back(row.*number.member);
  }
  return table;
}

std::vector<std::string> forecast_limits(const Forecast& forecast,
                                         const analysis::ForecastOptions& options) {
  std::vector<std::string> lines;
  if (options.hours)
    lines.push_back(fmt::format("value: {} after {:.4g} h", forecast.metric, *options.hours));
  if (options.money)
    lines.push_back(fmt::format("value: {} for {:.4g} {}", forecast.metric, *options.money,
                                forecast.currency.empty() ? "money" : forecast.currency));
  if (std::isfinite(forecast.mape))
    lines.push_back(
        fmt::format("speeds predicted from fewer nodes missed by {:.1f} %", 100 * forecast.mape));
  if (forecast.revocations > 0)
    lines.push_back(fmt::format(
        "with {:.4g} revocations per node and hour, {:.4g} s a checkpoint, {:.4g} s a restart",
        forecast.revocations, forecast.checkpoint_s, forecast.restart_s));
  return lines;
}

DataTable predicted_nodes(ReadStore& store, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  analysis::ForecastOptions options;
  options.nodes = request.numbers("nodes");
  if (options.nodes.empty()) throw std::invalid_argument("nodes is missing: nodes=1,2,4");
  for (const double nodes : options.nodes)
    if (nodes < 1 || nodes != std::floor(nodes))
      throw std::invalid_argument(
          fmt::format("nodes={:g}: expected numbers of nodes: nodes=1,2,4", nodes));
  options.revocations = from_zero(request, "revocations");
  options.hours = from_zero(request, "hours");
  options.money = from_zero(request, "money");
  if (options.hours && options.money) throw std::invalid_argument("either hours or money");
  options.simulated = simulated_speeds(request);
  options.price = request.partition.price;
  options.currency = request.partition.currency;
  options.like = request.partition.sweeps;
  if (request.trials.size() > 1) throw std::invalid_argument("one trial at a time");
  const Forecast forecast = analysis::forecast_trial(store, request.trials.front(), options);
  DataTable table = forecast_rows(forecast, request.for_scripts);
  table.title = fmt::format("trial {} to {}: {:.0f} samples, {:g} at a time", forecast.trial,
                            forecast.until, forecast.samples, forecast.batch);
  for (const auto& [key, text] :
       {std::pair{"trial", forecast.trial}, std::pair{"metric", forecast.metric},
        std::pair{"until", forecast.until}, std::pair{"currency", forecast.currency},
        std::pair{"link_of", forecast.link_of}})
    table.facts.push_back({{key, ""}, text});
  for (const auto& [key, number] :
       {std::pair{"batch", forecast.batch}, std::pair{"samples", forecast.samples},
        std::pair{"bottleneck", forecast.bottleneck}, std::pair{"mape", forecast.mape},
        std::pair{"revocations", forecast.revocations},
        std::pair{"checkpoint_s", forecast.checkpoint_s},
        std::pair{"restart_s", forecast.restart_s},
        std::pair{"measured_nodes", forecast.measured_nodes},
        std::pair{"measured_samples_per_s", forecast.measured_samples_per_s},
        std::pair{"sample_us", forecast.sample_us}, std::pair{"update_ms", forecast.update_ms},
        std::pair{"link_gbit", forecast.link_gbit}})
    table.facts.push_back({{key, "", Shows::number}, number});
  table.summary = forecast_limits(forecast, options);
  table.notes = forecast.notes;
  return table;
}

DataTable run_predict(ReadStore& store, const StudyRequest& request) {
  return request.trials.empty() ? predicted_sizes(store, request) : predicted_nodes(store, request);
}

}  // namespace

extern const Study predict_study;
const Study predict_study{
    "predict",
    "predict times from sizes, or runs on other node counts",
    "Fits a line, a parabola and a kernel model (a Gaussian process) to what earlier runs "
    "measured, or to two columns of a CSV file. That is seconds of a step by the GFLOPs of a rank, "
    "or of a checkpoint by its megabytes. A file needs headings, but no controller. Each is "
    "validated by cross-validation (10 folds): its mean error, and that as a share of the time. "
    "Sizes outside the data are marked, and no kernel model is asked there. "
    "Of a trial, or a sweep's best one, it predicts speed, time to its target and cost on other "
    "numbers of nodes. Speeds are as measured. Beyond that they follow a fitted law (Gunther's, "
    "leveling off), with how far such predictions missed what was measured. Where one number was "
    "measured, or with --simulate, a few steps of the trial's own file run on simulated ranks. "
    "Passes and updates take as long as measured, links are those of --link and --latency-us. "
    "Without --link they are as fast as sums of gradients of about its size were in earlier runs. "
    "With --no-simulation, or where it cannot be simulated, such speeds are sums of nodes' speeds. "
    "With --revocations the expected time has checkpoints at the best interval. Without it nodes "
    "are taken away as often as in the record of the partition. Node-hours and money, at that "
    "partition's price, follow. So does the best value of its metric by --hours, or for --money.",
    "thalweg predict --of checkpoint --at 100,500\n"
    "thalweg predict times.csv --x megabytes --y seconds --at 100\n"
    "thalweg predict 12 --nodes 1,2,4,8 --revocations 0.05 --hours 2\n"
    "thalweg predict 12.3 --nodes 8,64 --simulate --link 100",
    "regression estimate forecast speed",
    predict_options,
    "",
    run_predict,
    Study::Of::record};

}  // namespace thalweg::db
