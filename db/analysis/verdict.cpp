#include "db/analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "db/analysis/bootstrap.h"
#include "db/analysis/rank_test.h"

namespace thalweg::db::analysis {
namespace {

constexpr double kLevel = 0.05;

/// NaN (no data) behind everything.
double key(const std::vector<double>& scores, bool& known) {
  const double middle = median(scores);
  known = !std::isnan(middle);
  return known ? middle : 0;
}

bool before(const Contender& a, const Contender& b) {
  bool a_known = false, b_known = false;
  const double a_score = key(a.scores, a_known), b_score = key(b.scores, b_known);
  if (a_known != b_known) return a_known;
  if (a_score != b_score) return a_score < b_score;
  const double a_tie = key(a.tie_breaks, a_known), b_tie = key(b.tie_breaks, b_known);
  if (a_known != b_known) return a_known;
  return a_tie < b_tie;
}

/// Seeds a row would need in each of two rows for a verdict to be possible among so many tests.
std::size_t seeds_needed(std::size_t tests) {
  std::size_t n = 2;
  while (smallest_p(n, n) * static_cast<double>(tests) > kLevel)
    ++n;
  return n;
}

}  // namespace

void order(std::vector<Contender>& contenders) {
  std::stable_sort(contenders.begin(), contenders.end(), before);
  std::int64_t rank = 0;
  for (Contender& contender : contenders)
    contender.row.rank = ++rank;
}

void judge(std::vector<Contender>& contenders) {
  if (contenders.empty()) return;
  for (Contender& contender : contenders) {
    contender.row.verdict = contender.scores.empty() ? "no data" : "best";
  }
  const Contender& first = contenders.front();
  std::vector<Contender*> tested;
  std::vector<double> p;
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    if (contenders[i].scores.empty()) continue;
    tested.push_back(&contenders[i]);
    p.push_back(rank_sum_test(first.scores, contenders[i].scores));
  }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    ComparisonRow& row = tested[i]->row;
    row.p = corrected[i];
    const double possible = smallest_p(first.scores.size(), tested[i]->scores.size()) *
                            static_cast<double>(tested.size());
    if (possible > kLevel) {
      row.verdict = fmt::format("too few seeds (n={}, {} needed)",
                                std::min(first.scores.size(), tested[i]->scores.size()),
                                seeds_needed(tested.size()));
    } else {
      row.verdict = fmt::format(
          "{} (p={:.2g})", corrected[i] <= kLevel ? "worse" : "no clear difference", corrected[i]);
    }
  }
}

}  // namespace thalweg::db::analysis
