// Which trials a command line means, and what the controller has of them.
#include "cli/commands/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/value.h"

namespace thalweg::cli {

std::vector<std::string> metric_names(const Json& trial) {
  std::vector<std::string> names;
  if (const Json& metrics = member(trial, "metrics"); metrics.is_object())
    for (const auto& [name, value] : metrics.items())
      names.push_back(name);
  return names;
}

namespace {

/// "did you mean val/loss? it has train/loss, val/loss": `known` is what there is, in words.
std::string hint(const std::string& word, const std::vector<std::string>& names,
                 const std::string& known) {
  const std::string near = jobspec::nearest(word, names);
  return (near.empty() ? "" : "did you mean " + near + "? ") + known;
}

/// Names the metrics that are there.
[[noreturn]] void no_such_metric(const std::string& metric, const Json& trial) {
  const std::vector<std::string> names = metric_names(trial);
  const std::string what = text_at(trial, "id") + " has no points of '" + printable(metric) + "'";
  if (names.empty())
    throw CommandError(exit_not_found, what,
                       "it has reported nothing yet: it is " + text_at(trial, "state"));
  throw CommandError(exit_not_found, what, hint(metric, names, "it has " + join(names, ", ")));
}

[[noreturn]] void nothing_reported(const Json& sweep) {
  throw CommandError(exit_not_found,
                     "no trial of sweep " + text_at(sweep, "id") + " has reported anything yet",
                     "thalweg watch " + text_at(sweep, "id") + " follows it");
}

/// The best trials of a sweep that have reported its metric, best first.
void add_best(CurveChoice& choice, const Json& sweep) {
  std::vector<std::pair<double, const Json*>> found;
  for (const Json& trial : list_at(sweep, "trials"))
    if (const auto best = number_at(member(trial, "progress"), "best"))
      found.emplace_back(text_at(sweep, "goal") == "maximize" ? -*best : *best, &trial);
  // Trials that have not validated yet have a curve of train/loss all the same.
  if (found.empty())
    for (const Json& trial : list_at(sweep, "trials"))
      if (number_at(member(trial, "progress"), "step")) found.emplace_back(0, &trial);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (found.empty()) nothing_reported(sweep);
  if (found.size() > max_curves) {
    choice.note =
        fmt::format("the best {} of {} trials; name others by their ids", max_curves, found.size());
    found.resize(max_curves);
  }
  for (const auto& [value, trial] : found)
    choice.curves.push_back({parse_id(text_at(*trial, "id")), "", {}});
}

/// The full names of `by`, which may be the last parts of names. Throws CommandError (bad input)
/// where no trial of the sweep has such a parameter, or several have.
std::vector<std::string> full_names(const Json& sweep, const std::vector<std::string>& by) {
  std::set<std::string> known;
  for (const Json& trial : list_at(sweep, "trials"))
    for (const auto& [name, value] : member(trial, "parameters").items())
      known.insert(name);
  const std::vector<std::string> names(known.begin(), known.end());
  std::vector<std::string> full;
  for (const std::string& name : by) {
    std::vector<std::string> matches;
    for (const std::string& each : names)
      if (each == name || last_part(each) == name) matches.push_back(each);
    if (known.count(name) != 0) matches = {name};
    if (matches.size() > 1)
      throw CommandError(exit_bad_input,
                         "'" + printable(name) + "' may be " + join(matches, " or "),
                         "write the whole name");
    if (matches.size() == 1) {
      full.push_back(matches[0]);
      continue;
    }
    const std::string varied = names.empty() ? "nothing but the seed" : join(names, ", ");
    throw CommandError(exit_bad_input, "the sweep varies no parameter '" + printable(name) + "'",
                       hint(name, names, "it varies " + varied));
  }
  return full;
}

/// All trials of a sweep that have started, labelled by their values of `by`: "adamw, lr=0.1".
void add_groups(CurveChoice& choice, const Json& sweep, const std::vector<std::string>& by) {
  const std::vector<std::string> names = full_names(sweep, by);
  for (const Json& trial : list_at(sweep, "trials")) {
    Json values = Json::object();
    for (const std::string& name : names)
      values[name] = member(trial, "parameters").value(name, Json("unset"));
    if (number_at(member(trial, "progress"), "step"))
      choice.curves.push_back({parse_id(text_at(trial, "id")), parameter_label(values), {}});
  }
  if (choice.curves.empty()) nothing_reported(sweep);
}

}  // namespace

CurveChoice choose_curves(Context& context, const std::vector<std::string>& words,
                          const std::vector<std::string>& by) {
  CurveChoice choice;
  std::vector<std::string> ids = words;
  if (ids.size() > 1 && !jobspec::Id::parse(ids.back())) {
    choice.metric = ids.back();
    ids.pop_back();
  }
  for (const std::string& word : ids) {
    const jobspec::Id id = find_id(context, word);
    if (!by.empty()) {
      if (!is_sweep(id) || ids.size() > 1)
        throw CommandError(exit_bad_input, "--by takes one sweep, not " + join(ids, " "),
                           fmt::format("thalweg curve {} --by {}", id.sweep, join(by, ",")));
      const Json sweep = context.controller().get(path_of(id));
      choice.title = text_at(sweep, "name");
      add_groups(choice, sweep, by);
    } else if (is_sweep(id)) {
      const Json sweep = context.controller().get(path_of(id));
      choice.title = text_at(sweep, "name");
      add_best(choice, sweep);
    } else {
      // An attempt's curve is part of its trial's.
      choice.curves.push_back({{id.sweep, id.trial, 0}, "", {}});
    }
  }
  if (choice.metric.empty())
    choice.metric =
        text_at(context.controller().get(path_of({choice.curves[0].trial.sweep, 0, 0})), "metric");
  return choice;
}

void fetch_points(Context& context, std::int64_t points, CurveChoice& choice) {
  std::string query = "/curve?metric=" + daemon::api::url_encode(choice.metric);
  if (points > 0) query += "&points=" + std::to_string(points);
  for (Curve& curve : choice.curves) {
    curve.points = list_at(context.controller().get(path_of(curve.trial) + query), "points");
    if (!curve.label.empty() || (choice.curves.size() == 1 && !curve.points.empty())) continue;
    const Json trial = context.controller().get(path_of(curve.trial));
    if (curve.points.empty()) no_such_metric(choice.metric, trial);
    curve.label = parameter_label(member(trial, "parameters"));
    const std::string seed = "seed " + text_at(trial, "seed");
    curve.label += curve.label.empty() ? seed : ", " + seed;
  }
  if (std::all_of(choice.curves.begin(), choice.curves.end(),
                  [](const Curve& c) { return c.points.empty(); }))
    no_such_metric(choice.metric, context.controller().get(path_of(choice.curves[0].trial)));
}

std::vector<PlotPoint> points_of(const Json& points) {
  std::vector<PlotPoint> found;
  for (const Json& point : points)
    if (point.is_array() && point.size() >= 2)
      found.push_back({number_of(point[0]).value_or(0), number_of(point[1]).value_or(0)});
  return found;
}

std::vector<CurveGroup> groups_of(const CurveChoice& choice) {
  std::vector<CurveGroup> groups;
  std::vector<std::vector<std::vector<PlotPoint>>> curves;
  for (const Curve& curve : choice.curves) {
    if (curve.points.empty()) continue;
    const auto at = std::find_if(groups.begin(), groups.end(),
                                 [&](const CurveGroup& g) { return g.label == curve.label; });
    const auto number = static_cast<std::size_t>(at - groups.begin());
    if (at == groups.end()) groups.push_back({curve.label, {}, {}}), curves.emplace_back();
    groups[number].trials.push_back(curve.trial.to_string());
    curves[number].push_back(points_of(curve.points));
  }
  for (std::size_t i = 0; i < groups.size(); ++i)
    groups[i].median = median_of(curves[i]);
  return groups;
}

namespace {

/// Of one curve alone it is the curve.
PlotBand band_at(const PlotSeries& series, std::size_t i) {
  const PlotPoint& p = series.points[i];
  return series.band.empty() ? PlotBand{p.x, p.y, p.y} : series.band[i];
}

}  // namespace

Table group_table(const std::vector<CurveGroup>& groups) {
  Table table({{"group", "group"},
               {"trials", "trials", Align::right},
               {"step", "step", Align::right},
               {"median", "median", Align::right},
               {"low", "low", Align::right},
               {"high", "high", Align::right}});
  for (const CurveGroup& group : groups)
    for (std::size_t i = 0; i < group.median.points.size(); ++i) {
      const PlotPoint& p = group.median.points[i];
      const PlotBand band = band_at(group.median, i);
      table.add({group.label, fmt::format("{}", group.trials.size()), fmt::format("{}", p.x),
                 fmt::format("{}", p.y), fmt::format("{}", band.low),
                 fmt::format("{}", band.high)});
    }
  return table;
}

Json json_of(const CurveChoice& choice, const std::vector<CurveGroup>& groups) {
  Json list = Json::array();
  for (const CurveGroup& group : groups) {
    Json points = Json::array();
    for (std::size_t i = 0; i < group.median.points.size(); ++i) {
      const PlotPoint& p = group.median.points[i];
      const PlotBand band = band_at(group.median, i);
      points.push_back({p.x, p.y, band.low, band.high});
    }
    list.push_back({{"label", group.label}, {"trials", group.trials}, {"points", points}});
  }
  return {{"metric", choice.metric}, {"groups", std::move(list)}};
}

Table point_table(const CurveChoice& choice) {
  Table table({{"sweep", "sweep", Align::right},
               {"trial", "trial", Align::right},
               {"step", "step", Align::right},
               {"value", "value", Align::right},
               {"time", "time"},
               {"attempt", "attempt", Align::right}});
  for (const Curve& curve : choice.curves)
    for (const Json& point : curve.points) {
      if (!point.is_array() || point.size() < 2) continue;
      std::vector<Cell> row{std::to_string(curve.trial.sweep), std::to_string(curve.trial.trial)};
      for (const Json& value : point)
        row.emplace_back(plain_text(value));
      table.add(std::move(row));
    }
  return table;
}

Json json_of(const CurveChoice& choice) {
  if (choice.curves.size() == 1) return {{"points", choice.curves[0].points}};
  Json curves = Json::array();
  for (const Curve& curve : choice.curves)
    curves.push_back({{"id", curve.trial.to_string()}, {"points", curve.points}});
  return {{"metric", choice.metric}, {"curves", std::move(curves)}};
}

}  // namespace thalweg::cli
