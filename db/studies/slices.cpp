// Each parameter against the metric, one at a time: where the good values lie, and whether the
// best one lies at the edge of what was searched.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <stdexcept>

#include "db/analysis/configurations.h"
#include "db/analysis/parameters.h"
#include "db/store.h"
#include "db/studies/study.h"

namespace thalweg::db {
namespace {

using analysis::Configurations;
using analysis::ConfigurationValue;

constexpr std::size_t max_values = 8;  ///< of numbers; more are put into ranges
constexpr std::size_t max_ranges = 5;
constexpr double wide = 20;  ///< a factor from which on an axis is logarithmic

struct Slice {
  std::string label;
  std::vector<double> values;  ///< of the metric
};

/// Of one parameter: those configurations that have it.
struct Parameter {
  std::string name;
  bool numeric = true;
  std::vector<std::pair<jobspec::Value, double>> points;  ///< numbers by size
  std::vector<Slice> slices{};
};

std::string number_text(double value) {
  return fmt::format("{:.3g}", value);
}

/// Each value a slice, in the order of the points.
void slice_by_value(Parameter& parameter) {
  for (const auto& [value, result] : parameter.points) {
    const std::string label = value.to_text();
    auto slice = std::find_if(parameter.slices.begin(), parameter.slices.end(),
                              [&](const Slice& each) { return each.label == label; });
    if (slice == parameter.slices.end()) slice = parameter.slices.insert(slice, {label, {}});
    slice->values.push_back(result);
  }
}

/// Ranges of equally many configurations; equal values stay together.
void slice_by_range(Parameter& parameter) {
  const auto& points = parameter.points;
  const std::size_t n = points.size();
  for (std::size_t begin = 0, part = 1; begin < n; ++part) {
    std::size_t end = std::max(begin + 1, n * part / max_ranges);
    while (end < n && points[end].first.as_double() == points[end - 1].first.as_double())
      ++end;
    Slice slice{number_text(points[begin].first.as_double()), {}};
    const std::string last = number_text(points[end - 1].first.as_double());
    if (last != slice.label) slice.label += " to " + last;
    for (std::size_t i = begin; i < end; ++i)
      slice.values.push_back(points[i].second);
    parameter.slices.push_back(std::move(slice));
    begin = end;
  }
}

Parameter parameter_of(const std::string& name, std::size_t index, const Configurations& found) {
  Parameter parameter{name, true, {}};
  std::vector<double> numbers;
  for (const ConfigurationValue& configuration : found.ended) {
    const jobspec::Value& value = configuration.group[index];
    if (value.is_null()) continue;  // it does not have the parameter
    parameter.numeric = parameter.numeric && value.is_number();
    if (value.is_number()) numbers.push_back(value.as_double());
    parameter.points.emplace_back(value, configuration.value);
  }
  std::sort(numbers.begin(), numbers.end());
  const auto different = std::unique(numbers.begin(), numbers.end()) - numbers.begin();
  if (parameter.numeric)
    std::stable_sort(
        parameter.points.begin(), parameter.points.end(),
        [](const auto& a, const auto& b) { return a.first.as_double() < b.first.as_double(); });
  if (parameter.numeric && static_cast<std::size_t>(different) > max_values)
    slice_by_range(parameter);
  else
    slice_by_value(parameter);
  return parameter;
}

/// Of values of which infinities are worse than all others; nothing where it is one.
std::optional<double> quantile(std::vector<double> values, double share, bool maximize) {
  std::sort(values.begin(), values.end());
  if (maximize) std::reverse(values.begin(), values.end());
  const double value =
      values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool spans_widely(const std::vector<double>& values) {
  if (values.empty()) return false;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return *least > 0 && *most / *least > wide;
}

DataChart chart_of(const Parameter& parameter, const Configurations& found) {
  DataChart chart{parameter.name, "", found.metric};
  chart.note =
      "Each configuration by the median over its seeds of their best values; one without a finite "
      "value is not drawn. Other parameters vary from dot to dot.";
  if (parameter.numeric) {
    chart.x_name = parameter.name;
    chart.caption = "A dot is a configuration.";
    DataSeries& dots = chart.series.emplace_back(DataSeries{"configurations", true});
    for (const auto& [value, result] : parameter.points) {
      if (!std::isfinite(result)) continue;
      dots.x.push_back(value.as_double());
      dots.y.push_back(result);
    }
    chart.log_x = spans_widely(dots.x);
    chart.log_y = spans_widely(dots.y);
    return chart;
  }
  chart.caption = "The median over configurations of each value.";
  DataSeries& medians = chart.series.emplace_back(DataSeries{"median"});
  for (const Slice& slice : parameter.slices) {
    const auto middle = quantile(slice.values, 0.5, found.maximize);
    if (!middle || *middle < 0) continue;  // a bar begins at 0
    chart.bars.push_back(slice.label);
    medians.y.push_back(*middle);
  }
  return chart;
}

bool is_drawn(const DataChart& chart) {
  return chart.bars.size() > 1 ||
         (chart.bars.empty() && !chart.series.empty() && chart.series.front().x.size() > 2);
}

std::vector<DataColumn> columns_of(const std::string& metric) {
  using Shows = DataColumn::Shows;
  return {{"parameter", "parameter", Shows::text, "A parameter that varies in the sweep."},
          {"value", "value", Shows::text,
           "Its value; numbers with more than 8 values are put into ranges of equally many "
           "configurations."},
          {"configurations", "n", Shows::count, "Configurations with it, counted."},
          {"best", "best " + metric, Shows::number,
           "Of these configurations the best, each the median over its seeds."},
          {"median", "median", Shows::number, "Their median; half of them are worse."},
          {"without", "without", Shows::count,
           "Those of them without a finite value: failed or diverged.", 1}};
}

/// That the best configuration lies at the first or last value of a number that was searched.
std::string edge_note(const Parameter& parameter, const Configurations& found) {
  constexpr std::size_t least_values = 3;
  if (!parameter.numeric || parameter.slices.size() < least_values) return "";
  const auto best = std::min_element(
      parameter.points.begin(), parameter.points.end(), [&](const auto& a, const auto& b) {
        return found.maximize ? a.second > b.second : a.second < b.second;
      });
  if (!std::isfinite(best->second)) return "";
  const double at = best->first.as_double(), low = parameter.points.front().first.as_double(),
               high = parameter.points.back().first.as_double();
  if (at != low && at != high) return "";
  return fmt::format(
      "the best configuration has the {} {} that was tried, {}: better ones may lie beyond",
      at == low ? "smallest" : "largest", parameter.name, best->first.to_text());
}

DataTable run_slices(ReadStore& store, const StudyRequest& request) {
  if (request.sweeps.size() > 1) throw std::invalid_argument("slices takes one sweep");
  const std::int64_t id = request.sweeps.front();
  const std::vector<std::string> names = analysis::varied_parameters(store, id);
  const Configurations found = analysis::configurations_of(store, id, names);
  DataTable table;
  table.columns = columns_of(found.metric);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Parameter parameter = parameter_of(names[i], i, found);
    if (parameter.slices.size() < 2) continue;
    for (const Slice& slice : parameter.slices) {
      const auto shown = [&](double share) {
        const auto value = quantile(slice.values, share, found.maximize);
        return value ? Datum(*value) : Datum();
      };
      const auto without = std::count_if(slice.values.begin(), slice.values.end(),
                                         [](double value) { return !std::isfinite(value); });
      table.rows.push_back({parameter.name, slice.label, static_cast<double>(slice.values.size()),
                            shown(0), shown(0.5), static_cast<double>(without)});
    }
    if (const std::string note = edge_note(parameter, found); !note.empty())
      table.notes.push_back(note);
    if (DataChart chart = chart_of(parameter, found); is_drawn(chart))
      table.charts.push_back(std::move(chart));
  }
  analysis::add_search_notes(found.metric, found.maximize, found.open, table.notes);
  constexpr std::size_t least_configurations = 4;
  table.telling = found.ended.size() >= least_configurations && !table.rows.empty();
  return table;
}

}  // namespace

extern const Study slices_study;
const Study slices_study{"slices",
                         "each parameter against the metric",
                         "For each parameter that varies, how well its values do: the best and the "
                         "median of the configurations that have them, whatever their other "
                         "parameters are. It says where the best configuration is at the edge of "
                         "what was searched. A report draws a dot for each configuration.",
                         "thalweg slices 12",
                         "slice scatter parameter-plot edge range",
                         {},
                         "Each parameter against the metric",
                         run_slices};

}  // namespace thalweg::db
