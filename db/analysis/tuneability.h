// The three questions that DeepOBS (Schneider et al., ICLR 2019) asks of an optimizer on one
// problem: how good is it at its best setting, how fast, and how much does the setting matter.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

/// Of one curve, as DeepOBS counts: the index of the first evaluation that is as good as the
/// target, the one before training being 0; the number of evaluations, with that one, where none
/// is. `steps` and `values` are the curve's.
double evaluations_to(const std::vector<std::int64_t>& steps, const std::vector<double>& values,
                      double target, bool maximize);

/// One setting of the tuned parameters.
struct TunedSetting {
  std::map<std::string, std::string> values;  ///< of the tuned parameters
  std::int64_t runs = 0, diverged = 0;        ///< over seeds; whose last value is not finite
  double final_mean = std::numeric_limits<double>::quiet_NaN();  ///< of the runs' last values
  double final_sd = final_mean;                                  ///< of the population
  double speed = final_mean;  ///< mean of evaluations_to(); NaN without a target
};

struct TuneabilityRow {
  std::string group;
  TunedSetting best;  ///< by the mean of the last values; all runs must have one
  /// Share of the settings whose mean last value is as good as the target; NaN without one.
  double reached = std::numeric_limits<double>::quiet_NaN();
  std::vector<TunedSetting> settings;  ///< in the order of their trials
};

struct TuneabilityStudy {
  std::vector<std::int64_t> sweeps;
  std::vector<std::string> by, over;  ///< what makes groups, and what is tuned in each
  std::string metric;
  std::optional<double> target;
  std::vector<TuneabilityRow> rows;  ///< best first
  std::vector<std::string> notes;
};

/// Over sweeps of one problem: the same metric and target. Trials that have not ended, or were
/// cancelled, are left out. `by`: as ParameterNames::all_of takes them. Throws
/// std::invalid_argument where it is empty, a sweep is not there or has no such parameter, or
/// metrics or targets differ.
TuneabilityStudy study_tuneability(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                                   const std::vector<std::string>& by);

}  // namespace thalweg::db::analysis
