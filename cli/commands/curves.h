// What `thalweg curve` draws: the trials of a command line or of a sweep, their points, and groups
// of them for --by.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands/common.h"
#include "cli/output/plot.h"
#include "daemon/api/trial_messages.h"

namespace thalweg::cli {

constexpr std::size_t max_curves = 8;  ///< of a sweep: more cannot be told apart

using daemon::api::CurvePoint;

struct Curve {
  jobspec::Id trial;
  std::string label;  ///< what its trial varies, or of `by`; empty where only one is drawn
  std::vector<CurvePoint> points;
};

/// What to draw.
struct CurveChoice {
  std::vector<Curve> curves;
  std::string metric;
  std::string title;  ///< of the whole picture: the sweep
  std::string note;
};

/// What --by makes of the curves: trials with the same values, in the order of their first one.
struct CurveGroup {
  std::string label;
  std::vector<std::string> trials;
  PlotSeries median;
};

std::vector<std::string> metric_names(const daemon::api::TrialAnswer& trial);

/// Which words are ids (without any: the newest sweep), which one is the metric (without one it is
/// the sweep's). A sweep stands for
/// its best trials, or with `by` for all. Throws CommandError where there are none, or `by` names
/// no parameter of the sweep.
CurveChoice choose_curves(Context& context, const std::vector<std::string>& words,
                          const std::vector<std::string>& by);

/// Asks the controller for the points, at most so many of a trial (0: all), once for each sweep.
/// Throws CommandError where the metric has none.
void fetch_points(Context& context, std::int64_t points, CurveChoice& choice);

std::vector<PlotPoint> points_of(const std::vector<CurvePoint>& points);
std::vector<CurveGroup> groups_of(const CurveChoice& choice, Band band = Band::range);

/// One for each group, or where there are none for each trial, with labels.
std::vector<PlotSeries> series_of(const CurveChoice& choice, const std::vector<CurveGroup>& groups);

Table point_table(const CurveChoice& choice);
Table group_table(const std::vector<CurveGroup>& groups);
/// Of one curve it is the controller's answer.
Json json_of(const CurveChoice& choice);
Json json_of(const CurveChoice& choice, const std::vector<CurveGroup>& groups);

}  // namespace thalweg::cli
