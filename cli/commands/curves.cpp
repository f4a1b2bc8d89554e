// Which trials a command line means, and what the controller has of them.
#include "cli/commands/curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/value.h"

namespace thalweg::cli {

using daemon::api::CurveAnswer;
using daemon::api::CurvesAnswer;
using daemon::api::SweepSnapshot;
using daemon::api::TrialAnswer;
using daemon::api::TrialMessage;

std::vector<std::string> metric_names(const TrialAnswer& trial) {
  std::vector<std::string> names;
  for (const auto& [name, value] : trial.metrics)
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

/// `which`: as GET /v1/sweeps/12 takes it.
SweepSnapshot sweep_of(Context& context, const jobspec::Id& id, const std::string& which) {
  const std::string path = path_of({id.sweep, 0, 0});
  return read_answer<SweepSnapshot>(context.controller().get(path + which));
}

/// Names the metrics that are there.
[[noreturn]] void no_such_metric(const std::string& metric, const TrialAnswer& trial) {
  const std::vector<std::string> names = metric_names(trial);
  const std::string what = trial.id + " has no points of '" + printable(metric) + "'";
  if (names.empty())
    throw CommandError(exit_not_found, what, "it has reported nothing yet: it is " + trial.state);
  throw CommandError(exit_not_found, what, hint(metric, names, "it has " + join(names, ", ")));
}

[[noreturn]] void nothing_reported(const SweepSnapshot& sweep) {
  throw CommandError(exit_not_found, "no trial of sweep " + sweep.id + " has reported anything yet",
                     "thalweg watch " + sweep.id + " follows it");
}

/// "adamw, lr=0.1, seed 2"
std::string label_of(const daemon::api::AboutTrial& trial) {
  const std::string label = parameter_label(trial.parameters);
  return fmt::format("{}{}seed {}", label, label.empty() ? "" : ", ", trial.seed);
}

/// The best trials of a sweep that have reported its metric, best first. Those that have not
/// validated yet have a curve of train/loss all the same.
void add_best(CurveChoice& choice, const SweepSnapshot& sweep) {
  if (sweep.trials.empty()) nothing_reported(sweep);
  if (const auto all = sweep.reporting.value_or(0); all > static_cast<std::int64_t>(max_curves))
    choice.note =
        fmt::format("the best {} of {} trials; name others by their ids", max_curves, all);
  for (const TrialMessage& trial : sweep.trials)
    choice.curves.push_back({parse_id(trial.id), label_of(trial), {}});
}

/// The full names of `by`, which may be the last parts of names. Throws CommandError (bad input)
/// where no trial of the sweep has such a parameter, or several have.
std::vector<std::string> full_names(const SweepSnapshot& sweep,
                                    const std::vector<std::string>& by) {
  std::set<std::string> known;
  for (const TrialMessage& trial : sweep.trials)
    for (const auto& [name, value] : trial.parameters.items())
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
void add_groups(CurveChoice& choice, const SweepSnapshot& sweep,
                const std::vector<std::string>& by) {
  const std::vector<std::string> names = full_names(sweep, by);
  for (const TrialMessage& trial : sweep.trials) {
    Json values = Json::object();
    for (const std::string& name : names) {
      const bool has = trial.parameters.is_object() && trial.parameters.contains(name);
      values[name] = has ? trial.parameters.at(name) : Json("unset");
    }
    if (trial.progress.step)
      choice.curves.push_back({parse_id(trial.id), parameter_label(values), {}});
  }
  if (choice.curves.empty()) nothing_reported(sweep);
}

TrialAnswer trial_of(Context& context, const jobspec::Id& id) {
  return read_answer<TrialAnswer>(context.controller().get(path_of(id)));
}

/// Trials that were named one by one.
void add_labels(Context& context, CurveChoice& choice) {
  for (Curve& curve : choice.curves)
    if (curve.label.empty()) curve.label = label_of(trial_of(context, curve.trial));
}

}  // namespace

CurveChoice choose_curves(Context& context, const std::vector<std::string>& words,
                          const std::vector<std::string>& by) {
  CurveChoice choice;
  std::vector<std::string> ids = words;
  if (ids.empty()) ids.push_back(id_or_newest(context, "").to_string());
  if (ids.size() > 1 && !jobspec::Id::parse(ids.back())) {
    choice.metric = ids.back();
    ids.pop_back();
  }
  std::string metric;
  for (const std::string& word : ids) {
    const jobspec::Id id = find_id(context, word);
    if (!by.empty() && (!is_sweep(id) || ids.size() > 1))
      throw CommandError(exit_bad_input, "--by takes one sweep, not " + join(ids, " "),
                         fmt::format("thalweg curve {} --by {}", id.sweep, join(by, ",")));
    if (is_sweep(id)) {
      const SweepSnapshot sweep =
          sweep_of(context, id, by.empty() ? fmt::format("?best={}", max_curves) : "");
      choice.title = sweep.name;
      if (metric.empty()) metric = sweep.metric;
      by.empty() ? add_best(choice, sweep) : add_groups(choice, sweep, by);
    } else {
      // An attempt's curve is part of its trial's.
      choice.curves.push_back({{id.sweep, id.trial, 0}, "", {}});
    }
  }
  if (choice.metric.empty())
    choice.metric =
        metric.empty() ? sweep_of(context, choice.curves[0].trial, "?trials=0").metric : metric;
  return choice;
}

namespace {

/// The trials of one sweep, by one question.
void fetch_sweep(Context& context, const std::string& query, std::vector<Curve*>& curves) {
  // Longer lists would not fit a request's head; then it is asked for all.
  constexpr std::size_t max_listed = 500;
  std::string path = path_of({curves[0]->trial.sweep, 0, 0}) + "/curves" + query + "&trials=";
  if (curves.size() > max_listed) path.resize(path.rfind('&'));
  for (std::size_t i = 0; i < curves.size() && curves.size() <= max_listed; ++i)
    path += (i == 0 ? "" : ",") + std::to_string(curves[i]->trial.trial);
  auto answer = read_answer<CurvesAnswer>(context.controller().get(path));
  std::map<std::string, std::vector<CurvePoint>> points;
  for (auto& curve : answer.curves)
    points[curve.id] = std::move(curve.points);
  for (Curve* curve : curves)
    curve->points = points[curve->trial.to_string()];
}

}  // namespace

void fetch_points(Context& context, std::int64_t points, CurveChoice& choice) {
  std::string query = "?metric=" + daemon::api::url_encode(choice.metric);
  if (points > 0) query += "&points=" + std::to_string(points);
  if (choice.curves.size() == 1) {
    Curve& curve = choice.curves[0];
    const Json answer = context.controller().get(path_of(curve.trial) + "/curve" + query);
    curve.points = read_answer<CurveAnswer>(answer).points;
  } else {
    std::map<std::int64_t, std::vector<Curve*>> sweeps;
    for (Curve& curve : choice.curves)
      sweeps[curve.trial.sweep].push_back(&curve);
    for (auto& [sweep, curves] : sweeps)
      fetch_sweep(context, query, curves);
    add_labels(context, choice);
  }
  if (std::all_of(choice.curves.begin(), choice.curves.end(),
                  [](const Curve& c) { return c.points.empty(); }))
    no_such_metric(choice.metric, trial_of(context, choice.curves[0].trial));
}

std::vector<PlotPoint> points_of(const std::vector<CurvePoint>& points) {
  std::vector<PlotPoint> found;
  for (const CurvePoint& point : points)
    found.push_back({static_cast<double>(point.step), point.value});
  return found;
}

std::vector<CurveGroup> groups_of(const CurveChoice& choice, Band band) {
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
    groups[i].median = median_of(curves[i], band);
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
               {"high", "high", Align::right},
               {"finite", "finite", Align::right}});
  for (const CurveGroup& group : groups)
    for (std::size_t i = 0; i < group.median.points.size(); ++i) {
      const PlotPoint& p = group.median.points[i];
      const PlotBand band = band_at(group.median, i);
      table.add({group.label, fmt::format("{}", group.trials.size()), fmt::format("{}", p.x),
                 fmt::format("{}", p.y), fmt::format("{}", band.low), fmt::format("{}", band.high),
                 fmt::format("{}", group.median.counted[i].finite)});
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

std::vector<PlotSeries> series_of(const CurveChoice& choice,
                                  const std::vector<CurveGroup>& groups) {
  std::vector<PlotSeries> all;
  for (const CurveGroup& group : groups) {
    all.push_back(group.median);
    all.back().label = fmt::format("{} ({})", group.label,
                                   count_of(static_cast<long long>(group.trials.size()), "trial"));
  }
  if (!groups.empty()) return all;
  for (const Curve& curve : choice.curves) {
    all.emplace_back();
    all.back().points = points_of(curve.points);
    all.back().label = choice.curves.size() == 1
                           ? curve.trial.to_string()
                           : fmt::format("{}  {}", curve.trial.to_string(), curve.label);
  }
  return all;
}

Table point_table(const CurveChoice& choice) {
  Table table({{"sweep", "sweep", Align::right},
               {"trial", "trial", Align::right},
               {"step", "step", Align::right},
               {"value", "value", Align::right},
               {"time", "time"},
               {"attempt", "attempt", Align::right}});
  for (const Curve& curve : choice.curves)
    for (const CurvePoint& point : curve.points) {
      std::vector<Cell> row{std::to_string(curve.trial.sweep), std::to_string(curve.trial.trial)};
      for (const Json& value : daemon::api::to_json(point))
        row.emplace_back(plain_text(value));
      table.add(std::move(row));
    }
  return table;
}

Json json_of(const CurveChoice& choice) {
  if (choice.curves.size() == 1) return daemon::api::to_json(CurveAnswer{choice.curves[0].points});
  CurvesAnswer all{choice.metric, {}};
  for (const Curve& curve : choice.curves)
    all.curves.push_back({{curve.points}, curve.trial.to_string()});
  return daemon::api::to_json(all);
}

}  // namespace thalweg::cli
