// MLPerf's reference convergence points (MLCommons training policies, "RCP"): whether runs to a
// target need no fewer samples than the reference's could, so that a speed-up is one of the system
// and not of other hyperparameters.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

/// Of runs without the fastest and the slowest.
struct ConvergencePoint {
  std::int64_t runs = 0;  ///< of all
  /// Infinite where more than one run did not get there; NaN where there are fewer than 3.
  double mean = std::numeric_limits<double>::quiet_NaN();
  double sd = mean;  ///< of the population
};
/// `values`: samples, epochs or steps to the target; infinite where a run did not get there.
ConvergencePoint convergence_point(std::vector<double> values);

/// The fewest that `runs` runs may need in the mean (the fastest and the slowest left out): below,
/// an equal-variance one-sided t-test at 5 % says that they need fewer than the reference. NaN
/// where the reference has fewer than 4 runs that got there or `runs` is less than 3. MLPerf's text
/// has the deviation of the runs that are left, as here; its checker's code that of all runs. As
/// the ends are left out, about 7 to 10 % of equal groups fall below where the reference has twice
/// as many runs, not 5 (normal draws, groups of 3 to 20); with other sizes from 3 to nearly 30 %.
double min_allowed(const ConvergencePoint& reference, std::int64_t runs);

struct RcpRow {
  std::string group;
  std::int64_t runs = 0, reached = 0;
  double mean = std::numeric_limits<double>::quiet_NaN();
  double sd = mean;
  double fewest = mean;  ///< min_allowed() of as many runs as these
  double factor = mean;  ///< that times to the target are multiplied by: for fewer samples
  std::string
      verdict;  ///< "reference", "passes", "too fast", "did not converge", "2 runs, 3 needed"
};

struct RcpStudy {
  std::vector<std::int64_t> sweeps;
  std::vector<std::string> by;
  std::string metric;
  std::optional<double> target;
  std::string unit;  ///< "samples" or "steps"
  std::string reference;
  std::vector<RcpRow> rows;  ///< the reference, then by mean
  std::vector<std::string> notes;
};

struct RcpOptions {
  std::vector<std::string> by;   ///< empty: what varies; "sweep" where nothing does
  std::string reference;         ///< a group: its values, separated by ", "
  std::optional<double> target;  ///< instead of the sweeps' own
  bool steps = false;            ///< instead of samples
};

/// The runs of each group are its trials that have finished or failed. Throws std::invalid_argument
/// where a sweep is not there or has no target, their metrics differ, or no group is the reference.
RcpStudy study_rcp(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                   const RcpOptions& options);

}  // namespace thalweg::db::analysis
