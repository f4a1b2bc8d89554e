// Seeds that `thalweg extend` added: p-values hold for a number of seeds that was chosen before
// anybody looked.
#pragma once

#include <cstdint>
#include <vector>

#include "db/analysis/records.h"
#include "db/store.h"

namespace thalweg::db::analysis {

/// How often seeds were added to a sweep whose configurations had `enough` of them for a verdict
/// already: each time somebody may have looked, and gone on because none was there. `records`: of
/// all its trials.
std::int64_t added_after_enough(ReadStore& store, std::int64_t sweep,
                                const std::vector<TrialRecord>& records, std::int64_t enough);

}  // namespace thalweg::db::analysis
