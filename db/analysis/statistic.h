// What stands for the values of a row: their median, mean or best, with how sure it is.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "db/analysis/estimate.h"

namespace thalweg::db::analysis {

enum class Statistic {
  median,  ///< with the bootstrap's interval (bootstrap.h)
  mean,    ///< with Student's t interval: exact for normal values, else approximate
  best     ///< the extreme value; there is no interval, and more values make it better
};

/// "median", "mean", "best".
const char* name_of(Statistic statistic);
/// Nothing for another word.
std::optional<Statistic> find_statistic(std::string_view name);

/// Infinities (a missed target) allowed, NaN left out. `larger_is_better` says which one is the
/// best. Empty: NaN. A mean with an infinity among its values is infinite and has no interval.
Estimate estimate(Statistic statistic, std::vector<double> values, bool larger_is_better = false);

/// The same without its interval.
double point_estimate(Statistic statistic, std::vector<double> values,
                      bool larger_is_better = false);

/// Mean with its two-sided t interval of n - 1 degrees of freedom (Student, Biometrika 6, 1908);
/// one value has no interval.
Estimate student_mean(const std::vector<double>& values, double confidence = 0.95);

}  // namespace thalweg::db::analysis
