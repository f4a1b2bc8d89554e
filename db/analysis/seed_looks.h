// Looks at seeds (jobspec/seed_looks.h): which configurations get no more, and what the record has
// of looks that were taken.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "db/analysis/rank_test.h"
#include "db/analysis/verdict.h"
#include "db/store.h"
#include "jobspec/seed_looks.h"

namespace thalweg::db::analysis {

/// A configuration with the values of its seeds.
struct SeedRow {
  std::int64_t configuration = 0;
  std::vector<Score> scores;
};

/// At a look: why a configuration gets no more seeds.
struct ClosedRow {
  std::int64_t configuration = 0;
  std::int64_t best = 0;  ///< than which it is worse; 0: none of its seeds has a value
  double p = 1;           ///< of that test, not corrected
};

struct SeedLook {
  std::int64_t best = 0;  ///< the configuration with the best median; 0: none has a value
  std::vector<ClosedRow> closed;
  std::string over{};  ///< why nothing can be told by any number of seeds; empty: it can
};

/// The test of compare for two rows of the same seeds: signed ranks of the differences by seed
/// where enough are in common and it can reach the level, else the rank sum with its check of the
/// spread. Which of them depends on the seeds alone, never on values. direction -1: b is worse.
RankTest test_at_look(const std::vector<Score>& a, const std::vector<Score>& b, double level);

/// Of the rows that are open, each against that with the best median. Pure.
SeedLook look_at(const std::vector<SeedRow>& open, double level);

/// The same of a sweep's record, where all trials have ended.
SeedLook take_look(ReadStore& store, const SweepRow& sweep, const jobspec::SeedPlan& plan,
                   const std::set<std::int64_t>& closed);

/// Verdicts of ordered rows from the looks alone: of each against the first the smallest p-value of
/// the first `taken` looks that both took part in, times SeedPlan::tests(). So any number of looks
/// and whatever they closed claims a difference in at most 5 % of sweeps without any (Bonferroni).
Tested judge_at_looks(std::vector<Contender>& contenders, const jobspec::SeedPlan& plan,
                      std::size_t taken);

/// What the record has of a sweep's looks.
struct RecordedLooks {
  jobspec::SeedPlan plan;
  std::size_t taken = 0;
  std::set<std::int64_t> closed;     ///< configurations
  std::vector<std::string> reasons;  ///< why each of them was
  bool over = false;                 ///< the sweep has ended
};
std::optional<RecordedLooks> looks_of(ReadStore& store, std::int64_t sweep);

/// By sweep, those that have looks.
using Looks = std::map<std::int64_t, RecordedLooks>;
Looks all_looks(ReadStore& store, const std::vector<std::int64_t>& sweeps);

/// Where the looks themselves cannot be used: leaves the seeds that every configuration has,
/// however the looks went, and notes that.
void keep_first_seeds(const Looks& looks, std::vector<TrialRecord>& records,
                      Comparison& comparison);

/// A row that a look closed was worse than the best one of that time; its few seeds may have a
/// better median than the many of others. Sets rank.
void put_closed_last(const RecordedLooks& looks, const std::vector<TrialRecord>& records,
                     std::vector<Contender>& contenders);

}  // namespace thalweg::db::analysis
