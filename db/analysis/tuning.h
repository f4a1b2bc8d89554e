// Sweeps of `study`: draws choose the best configuration of each value, and trials with fresh seeds
// evaluate it. What is read of the one must not be mixed with the other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db/analysis/records.h"
#include "jobspec/search/study.h"

namespace thalweg::db::analysis {

/// Of those sweeps that are studies.
using Studies = std::map<std::int64_t, jobspec::StudySeeds>;
Studies studies_of(ReadStore& store, const std::vector<std::int64_t>& sweeps);

/// Whether the trial evaluates a winner.
bool is_final(const Studies& studies, const TrialRecord& record);
/// Takes the draws of studies out of the records, and returns them.
std::vector<TrialRecord> take_draws(std::vector<TrialRecord>& records, const Studies& studies);

/// Whether the draws of `better` are really better than those of `worse`, or luck may have made
/// them so: the two-sided p of an exact permutation test. The better half of all draws is ranked
/// and a draw's score is its rank from the middle upwards; the others have none (Gastwirth, Journal
/// of the American Statistical Association 60, 1965). So it looks at what a choice of the best
/// looks at. Equal values count against `better`. By the normal approximation from 60 draws each
/// on. Smaller values are better; infinities allowed, no NaN. 1 where one has none.
double better_half_p(const std::vector<double>& better, const std::vector<double>& worse);

}  // namespace thalweg::db::analysis
