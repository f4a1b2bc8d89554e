// Which pairs are compared in which blocks depends on the design alone, never on the values, so
// that dealing the values of a block anew gives the same blocks: that is what makes the tests
// exact.
#include "db/analysis/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/text.h"
#include "db/analysis/bootstrap.h"
#include "db/analysis/improvement.h"
#include "db/analysis/tuning.h"
#include "jobspec/advise/formulas.h"

namespace thalweg::db::analysis {
namespace {

constexpr double kLevel = kVerdictLevel;
// Beyond it every pair counts, also those that no test could tell apart: finding those costs more
// than it gains.
constexpr std::size_t kMaxRowsInPairs = 200;

/// By seed; empty where a unit has none, or two have the same.
std::map<std::uint64_t, double> values_by_seed(const std::vector<Score>& scores) {
  std::map<std::uint64_t, double> values;
  for (const Score& score : scores)
    if (!score.seed || !values.emplace(*score.seed, score.value).second) return {};
  return values;
}

struct Key {
  double score, tie_break;  ///< NaN: no data

  Key(const Contender& contender, Statistic statistic)
      : score(point_estimate(statistic, numbers_of(contender.scores))),
        tie_break(point_estimate(statistic, contender.tie_breaks)) {}

  bool operator<(const Key& other) const {
    if (std::isnan(score) != std::isnan(other.score)) return std::isnan(other.score);
    if (score != other.score) return score < other.score;
    if (std::isnan(tie_break) != std::isnan(other.tie_break)) return std::isnan(other.tie_break);
    return tie_break < other.tie_break;
  }
};

/// A row with the other parameters that vary in it.
struct Prepared {
  Contender* contender;
  std::map<std::size_t, std::set<int>> varied{};

  explicit Prepared(Contender& row) : contender(&row) {
    for (std::size_t i = 0; i < scores().front().others.size(); ++i) {
      std::set<int> values;
      for (const Score& score : scores())
        values.insert(score.others[i]);
      if (values.size() > 1) varied.emplace(i, std::move(values));
    }
  }
  const std::vector<Score>& scores() const { return contender->scores; }
};

struct Pair {
  std::vector<Block> blocks;
  bool blocked = false, joined = false;

  /// Of the smaller row, those that are compared with something.
  std::size_t units() const {
    std::size_t a = 0, b = 0;
    for (const Block& block : blocks) {
      a += block.a.size();
      b += block.b.size();
    }
    return std::min(a, b);
  }
};

/// Those that vary in `row` alone.
std::vector<std::size_t> own_of(const Prepared& row, const Prepared& other) {
  std::vector<std::size_t> own;
  for (const auto& [place, values] : row.varied)
    if (!other.varied.contains(place)) own.push_back(place);
  return own;
}

/// The row's units; those that differ in the parameters at `own` alone as one, with their median.
std::vector<Score> joined(const Prepared& row, const std::vector<std::size_t>& own) {
  if (own.empty()) return row.scores();
  std::map<std::vector<int>, std::vector<double>> values;
  for (const Score& score : row.scores()) {
    std::vector<int> others = score.others;
    for (const std::size_t place : own)
      others[place] = 0;
    values[others].push_back(score.value);
  }
  std::vector<Score> result;
  for (auto& [others, of_them] : values)
    result.push_back({median(std::move(of_them)), others});
  return result;
}

/// The other parameters that vary in both rows and have values in common.
std::vector<std::size_t> blocking(const Prepared& a, const Prepared& b) {
  std::vector<std::size_t> others;
  for (const auto& [other, values] : a.varied) {
    const auto same = b.varied.find(other);
    if (same == b.varied.end()) continue;
    if (std::any_of(values.begin(), values.end(),
                    [&](int value) { return same->second.contains(value); }))
      others.push_back(other);
  }
  return others;
}

Pair paired(const Prepared& a, const Prepared& b) {
  const std::vector<std::size_t> others = blocking(a, b);
  std::map<std::vector<int>, Block> by_values;
  const auto block_of = [&](const Score& score) -> Block& {
    std::vector<int> values;
    for (const std::size_t i : others)
      values.push_back(score.others[i]);
    return by_values[values];
  };
  const auto units_of = [&](const Prepared& row, const Prepared& other) {
    return others.empty() ? row.scores() : joined(row, own_of(row, other));
  };
  const std::vector<Score> of_a = units_of(a, b), of_b = units_of(b, a);
  for (const Score& score : of_a)
    block_of(score).a.push_back(score.value);
  for (const Score& score : of_b)
    block_of(score).b.push_back(score.value);
  Pair pair;
  pair.joined = of_a.size() + of_b.size() < a.scores().size() + b.scores().size();
  Block alone;
  for (auto& [values, block] : by_values) {
    if (!block.a.empty() && !block.b.empty()) {
      pair.blocked = !others.empty();
      pair.blocks.push_back(std::move(block));
      continue;
    }
    alone.a.insert(alone.a.end(), block.a.begin(), block.a.end());
    alone.b.insert(alone.b.end(), block.b.begin(), block.b.end());
  }
  if (!alone.a.empty() && !alone.b.empty()) pair.blocks.push_back(std::move(alone));
  return pair;
}

/// At the level of one of all pairs of `rows` rows.
std::vector<double> differences_by_seed(const Prepared& a, const Prepared& b, std::size_t rows) {
  return differences_by_seed(a.scores(), b.scores(), kLevel / static_cast<double>(pairs_of(rows)));
}

/// Pairs of rows for which some outcome is significant; only they can be called different.
std::size_t testable_pairs(const std::vector<Prepared>& rows, bool seeds_pair) {
  if (rows.size() > kMaxRowsInPairs) return pairs_of(rows.size());
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const bool plain = rows[i].varied.empty() || rows[j].varied.empty();
      const double smallest = plain ? smallest_p(rows[i].scores().size(), rows[j].scores().size())
                                    : smallest_p(paired(rows[i], rows[j]).blocks);
      const bool testable =
          smallest <= kLevel ||
          (seeds_pair && !differences_by_seed(rows[i], rows[j], rows.size()).empty());
      pairs += testable ? 1 : 0;
    }
  }
  return pairs;
}

/// How many units the smaller row of a pair would need.
std::size_t needed_of(const Pair& pair, double smallest, std::size_t rows) {
  const double level = kLevel / static_cast<double>(pairs_of(rows));
  if (pair.blocked) {  // more blocks like those that are there
    const double each = std::log(2 / smallest) / static_cast<double>(pair.units());
    return static_cast<std::size_t>(std::ceil(std::log(2 / level) / each - 1e-9));
  }
  const std::size_t a = pair.blocks.front().a.size(), b = pair.blocks.front().b.size();
  std::size_t n = std::min(a, b);
  while (smallest_p(std::max(n, a), std::max(n, b)) > level)
    ++n;
  return n;
}

}  // namespace

std::vector<double> numbers_of(const std::vector<Score>& scores) {
  std::vector<double> numbers;
  for (const Score& score : scores)
    numbers.push_back(score.value);
  return numbers;
}

std::vector<double> differences_by_seed(const std::vector<Score>& a, const std::vector<Score>& b,
                                        double level) {
  constexpr double least_share = 0.75;  // of the larger row's seeds
  const std::map<std::uint64_t, double> of_a = values_by_seed(a), of_b = values_by_seed(b);
  std::vector<double> differences;
  for (const auto& [seed, value] : of_a)
    if (const auto same = of_b.find(seed); same != of_b.end())
      differences.push_back(value == same->second ? 0 : value - same->second);  // both may miss
  const auto larger = static_cast<double>(std::max(of_a.size(), of_b.size()));
  const bool few = static_cast<double>(differences.size()) < least_share * larger ||
                   smallest_signed_p(differences.size()) > level;
  return few ? std::vector<double>() : differences;
}

std::string verdict_words(const RankTest& test, double p) {
  if (p > kLevel) return fmt::format("no clear difference (p={:.2g})", p);
  return fmt::format("{} (p={:.2g})", test.direction > 0 ? "different" : "worse", p);
}

Untested why_untested(const UnitTable& table, const BestOver* best_over, Statistic statistic,
                      bool by_results, bool newest) {
  if (statistic == Statistic::best) return Untested::best_of_many;
  if (best_over != nullptr && !best_over->divided()) return Untested::same_seeds;
  if (best_over != nullptr && !table.chose_alike()) return Untested::unlike_choices;
  if (!newest && !table.looked_alike()) return Untested::unlike_looks;
  if (by_results && !table.by_seeds) return Untested::by_results;
  if (table.seeds_change_nothing()) return Untested::equal_seeds;
  return Untested::no;
}

void leave_unjudged(std::vector<Contender>& contenders, const std::string& why) {
  for (Contender& contender : contenders)
    contender.row.verdict = contender.scores.empty() ? "no data" : why;
  if (contenders.empty() || contenders.front().scores.empty()) return;
  ComparisonRow& first = contenders.front().row;
  first.verdict = std::isinf(first.best.median) ? "diverged" : "best";
}

void say_failed(std::vector<ComparisonRow>& rows) {
  if (rows.empty() || rows.front().failed == 0 || rows.front().verdict != "best") return;
  rows.front().verdict +=
      fmt::format(", {} of {} failed", rows.front().failed, rows.front().trials.size());
}

std::size_t units_needed(std::size_t rows) {
  return static_cast<std::size_t>(
      jobspec::advise::seeds_for_verdict(static_cast<std::int64_t>(rows)));
}

std::vector<Score> scores_of(const UnitRow& row, Member member, bool maximize) {
  std::vector<Score> scores;
  for (const Unit& unit : row.units) {
    const double value = value_of(unit, member);
    if (std::isnan(value)) continue;
    scores.push_back({maximize && member == &TrialRecord::best ? -value : value, unit.others});
    if (unit.trials.size() == 1) scores.back().seed = unit.trials.front()->seed;
  }
  return scores;
}

void order(std::vector<Contender>& contenders, Statistic statistic) {
  std::vector<std::pair<Key, std::size_t>> keys;
  for (std::size_t i = 0; i < contenders.size(); ++i)
    keys.emplace_back(Key(contenders[i], statistic), i);
  std::stable_sort(keys.begin(), keys.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Contender> ordered;
  for (const auto& [key, place] : keys) {
    ordered.push_back(std::move(contenders[place]));
    ordered.back().row.rank = static_cast<std::int64_t>(ordered.size());
  }
  contenders = std::move(ordered);
}

Tested judge(std::vector<Contender>& contenders, const std::string& unit, bool seeds_pair) {
  seeds_pair = seeds_pair && unit == "seed";
  leave_unjudged(contenders, "");
  Tested tested;
  std::vector<Prepared> rows;
  for (Contender& contender : contenders)
    if (!contender.scores.empty()) rows.emplace_back(contender);
  if (rows.size() < 2) return tested;
  std::vector<Pair> pairs;
  std::vector<RankTest> tests;
  std::vector<double> p;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    pairs.push_back(paired(rows[0], rows[i]));
    const std::vector<double> by_seed =
        seeds_pair ? differences_by_seed(rows[0], rows[i], rows.size()) : std::vector<double>();
    if (!by_seed.empty()) {
      tests.push_back(signed_rank_test(by_seed));
      p.push_back(tests.back().p);
      ++tested.by_seed;
      continue;
    }
    tests.push_back(blocked_rank_test(pairs.back().blocks));
    const double unequal = unequal_spread_p(pairs.back().blocks);
    tested.spread += tests.back().p <= kLevel && unequal > kLevel ? 1 : 0;
    p.push_back(std::max(tests.back().p, unequal));
    tested.blocked = tested.blocked || pairs.back().blocked;
    tested.joined = tested.joined || pairs.back().joined;
  }
  tested.tests = tests.size();
  tested.pairs = testable_pairs(rows, seeds_pair);
  const std::size_t pairs_at_least = std::max<std::size_t>(tested.pairs, 1);
  const std::vector<double> corrected = correct_for_best(p, rows.size(), pairs_at_least);
  for (std::size_t i = 0; i < tests.size(); ++i) {
    ComparisonRow& row = rows[i + 1].contender->row;
    row.p = corrected[i];
    // Of a single value it would be 0 or 1, which reads as certainty.
    if (pairs[i].units() > 1) row.improvement = probability_of_improvement(pairs[i].blocks);
    if (corrected[i] > kLevel && tests[i].smallest * static_cast<double>(pairs_at_least) > kLevel) {
      const std::size_t needed = needed_of(pairs[i], tests[i].smallest, rows.size());
      row.verdict = fmt::format(
          "{}, {} needed", count_of(static_cast<std::int64_t>(pairs[i].units()), unit), needed);
      tested.needed = std::max(tested.needed, needed);
    } else {
      row.verdict = verdict_words(tests[i], corrected[i]);
    }
  }
  return tested;
}

namespace {

/// Two-sided p of the draws of one row against those of another that is said to be worse.
double draws_p(Contender& better, Contender& worse) {
  if (better.scores.empty() || worse.scores.empty()) return 1;
  const Pair pair = paired(Prepared(better), Prepared(worse));
  const bool same_points =
      pair.blocked && std::all_of(pair.blocks.begin(), pair.blocks.end(), [](const Block& block) {
        return block.a.size() == 1 && block.b.size() == 1;
      });
  if (!same_points) return better_half_p(numbers_of(better.scores), numbers_of(worse.scores));
  const RankTest test = blocked_rank_test(pair.blocks);
  return test.direction < 0 ? test.p : 1;
}

}  // namespace

void allow_for_tuning(std::vector<Contender>& contenders, std::vector<Contender>& draws,
                      Tested& tested) {
  const auto draws_of = [&](const Contender& contender) {
    return std::find_if(draws.begin(), draws.end(), [&](const Contender& of_row) {
      return of_row.row.group == contender.row.group;
    });
  };
  const double pairs = static_cast<double>(std::max<std::size_t>(tested.pairs, 1));
  for (std::size_t i = 1; i < contenders.size(); ++i) {
    ComparisonRow& row = contenders[i].row;
    const bool worse = row.verdict.starts_with("worse");
    if (!worse && !row.verdict.starts_with("different")) continue;
    auto first = draws_of(contenders.front()), other = draws_of(contenders[i]);
    double p = 1;
    if (first != draws.end() && other != draws.end())
      p = std::min(1.0, pairs * draws_p(worse ? *first : *other, worse ? *other : *first));
    row.p = std::max(*row.p, p);
    if (p <= kLevel) {
      row.verdict = fmt::format("{} (p={:.2g})", worse ? "worse" : "different", *row.p);
      continue;
    }
    row.verdict = fmt::format("no clear difference (p={:.2g})", *row.p);
    ++tested.luck;
  }
}

}  // namespace thalweg::db::analysis
