// What simulations of verdicts share: draws that are the same on every machine, and whether a
// comparison of such trials claims a difference.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "db/analysis/verdict.h"

namespace thalweg::test {

/// Independent of the library's own distributions, so that every machine draws the same.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  double uniform() { return (static_cast<double>(engine_() >> 11) + 0.5) * 0x1p-53; }
  double normal() {
    return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * 3.14159265358979 * uniform());
  }
  int below(int n) { return static_cast<int>(uniform() * n); }

 private:
  std::mt19937_64 engine_;
};

/// How a comparison is asked for.
struct Asked {
  db::analysis::Statistic statistic = db::analysis::Statistic::median;
  bool by_results = false;  ///< the search draws by results
  bool newest = false;      ///< of each trial the newest value counts
  bool imported = false;    ///< seeds may be no more than numbers of runs
};

/// Whether any row of a comparison ranked by this member (smaller is better) is called worse or
/// different. `best_over`: places in TrialRecord::others.
inline bool claims(std::vector<db::analysis::TrialRecord> records, db::analysis::Member ranked_by,
                   const std::vector<std::size_t>& best_over = {}, const Asked& asked = {}) {
  using namespace db::analysis;
  BestOver over{best_over, ranked_by, &TrialRecord::best};
  const bool choosing = !best_over.empty();
  const bool renumbered = choosing && align_seeds(records);
  const UnitTable table = choosing ? at_best(records, over) : units_of(records);
  EXPECT_EQ(choosing, over.divided());
  if (why_untested(table, choosing ? &over : nullptr, asked.statistic, asked.by_results,
                   asked.newest) != Untested::no)
    return false;
  std::vector<Contender> contenders;
  for (const UnitRow& row : table.rows)
    contenders.push_back({{}, scores_of(row, ranked_by, false)});
  order(contenders, asked.statistic);
  judge(contenders, table.by_seeds ? "seed" : "configuration", !renumbered && !asked.imported);
  for (const Contender& contender : contenders) {
    const std::string& verdict = contender.row.verdict;
    if (verdict.starts_with("worse") || verdict.starts_with("different")) return true;
  }
  return false;
}

/// Of so many sweeps the share in which `claimed`, which draws one, says true.
template <class Claimed>
double share_of(int draws, std::uint64_t seed, const Claimed& claimed) {
  Random random(seed);
  int count = 0;
  for (int i = 0; i < draws; ++i)
    count += claimed(random) ? 1 : 0;
  return static_cast<double>(count) / draws;
}

}  // namespace thalweg::test
