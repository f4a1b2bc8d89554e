// What compare() does otherwise where sweeps are studies.
#pragma once

#include <string>
#include <vector>

#include "db/analysis/compare.h"
#include "db/analysis/tuning.h"
#include "db/analysis/units.h"
#include "db/analysis/verdict.h"

namespace thalweg::db::analysis {

/// What a study compares, where all sweeps are studies of it; else empty.
std::string compared_by(const Studies& studies, const std::vector<std::int64_t>& sweeps);

/// Without anything that was asked, rows are what is compared. Throws std::invalid_argument where
/// the best values are to be chosen once more.
CompareOptions for_studies(CompareOptions options, const Studies& studies,
                           const std::vector<std::int64_t>& sweeps);

/// Rows are at the best values of their draws. `others`: names of TrialRecord::others.
void tell_choices(const std::vector<TrialRecord>& draws, const std::vector<std::string>& others,
                  UnitTable& table, Comparison& comparison);

/// Of each row one score for each configuration that was drawn, for allow_for_tuning().
std::vector<Contender> contenders_of_draws(const std::vector<TrialRecord>& draws,
                                           const Comparison& comparison, Member member);

}  // namespace thalweg::db::analysis
