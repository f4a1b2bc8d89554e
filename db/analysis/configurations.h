// The configurations of a sweep with a value each: what studies of a search look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/analysis/records.h"

namespace thalweg::db::analysis {

struct ConfigurationValue {
  std::int64_t number = 0;
  std::vector<jobspec::Value> group;  ///< as TrialRecord::group
  /// The median over its seeds of the best values of the sweep's metric, of two the better one; the
  /// infinity that is worse than any value where they have none.
  double value = 0;
  std::int64_t seeds = 0;
};

struct Configurations {
  std::string metric;  ///< the sweep's
  bool maximize = false;
  std::vector<ConfigurationValue> ended;  ///< in the order of their numbers
  std::int64_t open = 0;                  ///< trials that have not ended or were cancelled
};

/// Winners of a study that ran once more are left out. Throws std::invalid_argument where there is
/// no such sweep.
Configurations configurations_of(ReadStore& store, std::int64_t sweep,
                                 const std::vector<std::string>& by);

}  // namespace thalweg::db::analysis
