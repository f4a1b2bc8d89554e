// What a search tried: its trials that have ended, and configurations with a value each.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/analysis/records.h"

namespace thalweg::db::analysis {

/// Of a sweep: trials that have ended. Those that were cancelled and winners of a study that ran
/// once more are left out.
struct EndedTrials {
  std::string metric;  ///< the sweep's
  bool maximize = false;
  std::vector<TrialRecord> trials;  ///< in the order of their numbers
  std::int64_t open = 0;            ///< trials that have not ended or were cancelled
};

/// Throws std::invalid_argument where there is no such sweep.
EndedTrials ended_trials(ReadStore& store, std::int64_t sweep, const std::vector<std::string>& by);

/// Notes below a table of these: how many trials are left out, and which values are better.
void add_search_notes(const std::string& metric, bool maximize, std::int64_t open,
                      std::vector<std::string>& notes);

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
  std::int64_t open = 0;                  ///< as EndedTrials::open
};

/// Of its ended trials. Throws std::invalid_argument where there is no such sweep.
Configurations configurations_of(ReadStore& store, std::int64_t sweep,
                                 const std::vector<std::string>& by);

}  // namespace thalweg::db::analysis
