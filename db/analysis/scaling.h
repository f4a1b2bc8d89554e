// What more ranks gain: speed-up, efficiency and where it stops being worth it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/analysis/estimate.h"
#include "db/store.h"
#include "jobspec/advise/formulas.h"

namespace thalweg::db::analysis {

using jobspec::advise::Speed;

struct Gain {
  double speedup = 1;     ///< times the samples per second
  double efficiency = 1;  ///< speedup over how many times the ranks (HetSeq's expansion)
};
/// Next to the first; in the same order, by ascending ranks.
std::vector<Gain> gains_of(const std::vector<Speed>& speeds);

struct ScalingRow {
  std::map<std::string, std::string> series;  ///< values of the other parameters; rows are compared
                                              ///< with those of equal ones
  std::string kind;  ///< next to the row of the fewest ranks that has the same batch: "strong"; the
                     ///< same batch a rank: "weak"; neither: "mixed"; empty where none has fewer
  std::int64_t nodes = 1, ranks = 1, trials = 0;
  double batch = std::numeric_limits<double>::quiet_NaN();  ///< global
  Estimate samples_per_s;
  /// Next to that row, which has 1; NaN where nothing is compared.
  double speedup = std::numeric_limits<double>::quiet_NaN(), efficiency = speedup;
  double tflops = speedup;  ///< of all ranks, forward and backward
  Estimate seconds_to_target, node_seconds_to_target;
  /// False where another rank gains less than half of what it costs, by a fit to the trials
  /// (jobspec/advise/scaling_law.h); true where they are too few to tell.
  bool worth = true;
};

struct ScalingStudy {
  std::vector<std::int64_t> sweeps;
  std::vector<std::string> by;   ///< names in ScalingRow::series
  std::vector<ScalingRow> rows;  ///< by series, then ranks, then nodes
  std::vector<std::string> notes;
};

/// Throws std::invalid_argument for a sweep that is not there.
ScalingStudy study_scaling(ReadStore& store, const std::vector<std::int64_t>& sweeps);

}  // namespace thalweg::db::analysis
