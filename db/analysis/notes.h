// The sentences under a comparison: how it was ranked and tested, and what to be careful about.
#pragma once

#include <string>
#include <vector>

#include "db/analysis/compare.h"
#include "db/analysis/units.h"
#include "db/analysis/verdict.h"

namespace thalweg::db::analysis {

struct Ranking {
  RankBy by;
  const char* words;
  Member member;
};

/// Trials that have reported and not ended, and have not reached the target that rows are ranked
/// by; 0 where that is no target.
std::int64_t may_yet_reach(const std::vector<TrialRecord>& records, const Ranking& ranking);

struct RecordedLooks;

struct Noted {
  const std::vector<TrialRecord>& records;
  const UnitTable& table;
  const std::vector<std::string>& others;  ///< names of TrialRecord::others
  const Ranking& ranking;
  const Tested& tested;
  Untested untested;
  std::vector<std::pair<Id, std::string>> emulated;  ///< emulated_trials()
  bool extensible;              ///< one sweep, of a file that could give more seeds (no import)
  bool one_seed;                ///< its method takes no more
  std::string method;           ///< that chose configurations by results; empty = none did
  bool of_newest = false;       ///< trials of earlier generations were left out
  std::size_t draws = 0;        ///< of studies: trials that chose the rows
  std::size_t final_seeds = 0;  ///< of a single study
  const RecordedLooks* looks = nullptr;  ///< that verdicts come from
  std::int64_t added_late = 0;           ///< added_after_enough()
};

/// Appends to comparison.notes.
void write_notes(Comparison& comparison, const Noted& noted);

}  // namespace thalweg::db::analysis
