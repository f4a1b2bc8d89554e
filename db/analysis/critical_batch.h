// Steps to a target against the batch: how far larger batches still save steps (McCandlish et al.,
// arXiv:1812.06162; Shallue et al., arXiv:1811.03600).
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/analysis/estimate.h"
#include "db/store.h"

namespace thalweg::db::analysis {

/// S = S_min (1 + B_crit / B), which is (S / S_min - 1)(E / E_min - 1) = 1 with E = B S.
struct BatchFit {
  double s_min = 0;          ///< steps that no batch undercuts
  double e_min = 0;          ///< samples that no batch undercuts
  double b_crit = 0;         ///< e_min / s_min: twice as many of both as at least
  double low = 0, high = 0;  ///< of b_crit, 95 %: profile likelihood, approximate
  double residual = 0;       ///< root of the mean squared log residual
  bool within = true;        ///< the batches tell b_crit; else it is a bound of the search

  double steps_at(double batch) const { return s_min * (1 + b_crit / batch); }
};

/// Least squares of log S over (batch, steps), all above 0 and finite; nothing for fewer than three
/// batches. `known_variance`: of log S at the least, as a mean over the points: few points may lie
/// on a curve by chance.
std::optional<BatchFit> fit_batches(const std::vector<std::pair<double, double>>& points,
                                    double known_variance = 0);

/// How a batch stands to the critical one, by the derivative of log S by log B: "perfect scaling"
/// (below -0.8), "diminishing returns", "maximal data parallelism" (above -0.2).
std::string regime_of(double batch, double critical_batch);

/// A batch at the best of the configurations that have it: that of the fewest steps, by the median
/// over its seeds.
struct BatchPoint {
  double batch = 0;
  std::int64_t configurations = 0;      ///< that have this batch
  std::int64_t seeds = 0, reached = 0;  ///< trials of the best one, and those that got there
  Estimate steps;
  double samples = std::numeric_limits<double>::quiet_NaN();
  double fitted = std::numeric_limits<double>::quiet_NaN();  ///< steps of the fit
  std::string regime;                                        ///< empty without a fit
  double log_variance = 0;  ///< of log steps: intervals between reports, and seeds
  /// Median of the settled noise scales (noise.h) of this batch's trials, of any configuration; of
  /// those that got to the target, where any did.
  double noise_scale = std::numeric_limits<double>::quiet_NaN();
  std::map<std::string, std::string> chosen;  ///< the best one's values of other parameters
  std::vector<std::string> trials;            ///< of the best one
};

/// Steps against the batch, and their fit.
struct BatchCurve {
  std::vector<BatchPoint> points;  ///< by ascending batch
  bool fitted = false;             ///< then the next six numbers are
  double s_min = 0, e_min = 0, b_crit = 0, b_crit_low = 0, b_crit_high = 0, residual = 0;
  /// Of the smallest batch that has one: its trials make the most steps.
  double noise_scale = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::string> notes;
};

/// Of the trials that have these values.
struct BatchGroup : BatchCurve {
  std::map<std::string, std::string> group;
};

struct BatchStudy : BatchCurve {
  std::vector<std::int64_t> sweeps;
  std::string metric;
  double target = 0;
  std::vector<std::string> by;     ///< names in BatchGroup::group
  std::vector<BatchGroup> groups;  ///< in the order of the first trials; empty without `by`
};

struct BatchOptions {
  std::optional<double> target{};  ///< instead of the sweeps' own
  /// A fit for each combination of values of these parameters, too; names as ParameterNames takes.
  std::vector<std::string> by{};
};
/// Of several sweeps together; they must have the same metric. Throws std::invalid_argument where a
/// sweep is not there, has no target or another metric, or where there is no parameter of `by`.
BatchStudy study_batches(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                         const BatchOptions& options = {});

}  // namespace thalweg::db::analysis
