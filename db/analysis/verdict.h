// Order of the rows and the verdict of each against the first. No database here.
#pragma once

#include <string>
#include <vector>

#include "db/analysis/compare.h"

namespace thalweg::db::analysis {

/// One row with what it is ranked by: one number per trial, smaller is better, infinity for a
/// missed target.
struct Contender {
  ComparisonRow row;
  std::vector<double> scores;
  std::vector<double> tie_breaks;  ///< same, for rows with equal medians
};

/// Best first; rows without scores last, otherwise in the order given. Sets rank.
void order(std::vector<Contender>& contenders);

/// Sets verdict and p. A row is "worse" where the exact two-sided rank-sum test against the first
/// row gives p <= 0.05 after Holm's correction over all rows, "too few seeds" where no outcome with
/// these numbers of trials could.
void judge(std::vector<Contender>& contenders);

}  // namespace thalweg::db::analysis
