// A row that is closed has fewer seeds than the others, and which row is depends on the values. So
// verdicts come from the looks, which are fixed before anything runs, never from all values
// together.
#include "db/analysis/seed_looks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/text.h"
#include "db/analysis/bootstrap.h"
#include "db/analysis/improvement.h"
#include "db/analysis/records.h"
#include "jobspec/advise/formulas.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

/// Those before a look after so many seeds; nothing where the row was closed before.
std::vector<Score> scores_until(const std::vector<Score>& scores, std::int64_t seeds) {
  std::vector<Score> result;
  std::uint64_t last = 0;
  for (const Score& score : scores) {
    last = std::max(last, score.seed.value_or(0));
    if (score.seed.value_or(0) <= static_cast<std::uint64_t>(seeds)) result.push_back(score);
  }
  return last < static_cast<std::uint64_t>(seeds) ? std::vector<Score>() : result;
}

/// The look that tells most about two rows; p = 1 where they shared none.
RankTest best_look(const std::vector<Score>& a, const std::vector<Score>& b,
                   const jobspec::SeedPlan& plan, std::size_t taken) {
  RankTest best;
  for (std::size_t i = 0; i < std::min(taken, plan.looks.size()); ++i) {
    const std::vector<Score> of_a = scores_until(a, plan.looks[i]),
                             of_b = scores_until(b, plan.looks[i]);
    if (of_a.empty() || of_b.empty()) continue;
    RankTest test = test_at_look(of_a, of_b, plan.level());
    const double smallest = std::min(test.smallest, best.smallest);
    if (test.p < best.p) best = test;
    best.smallest = smallest;
  }
  return best;
}

}  // namespace

RankTest test_at_look(const std::vector<Score>& a, const std::vector<Score>& b, double level) {
  if (const auto differences = differences_by_seed(a, b, level); !differences.empty())
    return signed_rank_test(differences);
  const std::vector<Block> block{{numbers_of(a), numbers_of(b)}};
  RankTest test = blocked_rank_test(block);
  test.p = std::max(test.p, unequal_spread_p(block));
  return test;
}

SeedLook look_at(const std::vector<SeedRow>& open, double level) {
  SeedLook look;
  const SeedRow* best = nullptr;
  double best_median = std::numeric_limits<double>::infinity();
  for (const SeedRow& row : open) {
    if (row.scores.empty()) continue;
    const double of_row = median(numbers_of(row.scores));
    if (best != nullptr && of_row >= best_median) continue;
    best = &row;
    best_median = of_row;
  }
  if (best != nullptr) look.best = best->configuration;
  for (const SeedRow& row : open) {
    if (row.scores.empty()) {
      look.closed.push_back({row.configuration, 0, 1});
      continue;
    }
    if (&row == best) continue;
    const RankTest test = test_at_look(best->scores, row.scores, level);
    if (test.direction < 0 && test.p <= level)
      look.closed.push_back({row.configuration, best->configuration, test.p});
  }
  return look;
}

SeedLook take_look(ReadStore& store, const SweepRow& sweep, const jobspec::SeedPlan& plan,
                   const std::set<std::int64_t>& closed) {
  const bool maximize = sweep.goal == jobspec::Goal::maximize;
  std::vector<TrialRecord> records = read_bests(store, sweep.id, sweep.metric, maximize);
  std::erase_if(records,
                [&](const TrialRecord& record) { return closed.count(record.configuration) > 0; });
  for (TrialRecord& record : records)
    record.group = {jobspec::Value(record.configuration)};
  const UnitTable table = units_of(records);
  std::vector<SeedRow> open;
  for (const UnitRow& row : table.rows)
    open.push_back(
        {row.trials.front()->configuration, scores_of(row, &TrialRecord::best, maximize)});
  const Untested untested = why_untested(table, nullptr, Statistic::median);
  if (untested == Untested::no) return look_at(open, plan.level());
  SeedLook look;
  look.over = untested == Untested::equal_seeds
                  ? "all seeds of a configuration give the same value: they are repetitions of one "
                    "run"
                  : "trials of different configurations do not report the metric equally often, so "
                    "their best values cannot be compared";
  return look;
}

Tested judge_at_looks(std::vector<Contender>& contenders, const jobspec::SeedPlan& plan,
                      std::size_t taken) {
  leave_unjudged(contenders, taken == 0 ? "not tested" : "");
  Tested tested;
  if (taken == 0 || contenders.empty()) return tested;
  const std::vector<Score>& first = contenders.front().scores;
  const auto looks = static_cast<std::int64_t>(plan.looks.size());
  for (std::size_t i = 1; i < contenders.size() && !first.empty(); ++i) {
    Contender& contender = contenders[i];
    if (contender.scores.empty()) continue;
    const RankTest test = best_look(first, contender.scores, plan, taken);
    ++tested.tests;
    ComparisonRow& row = contender.row;
    row.p = std::min(1.0, test.p * plan.tests());
    if (first.size() > 1 && contender.scores.size() > 1)
      row.improvement =
          probability_of_improvement({{numbers_of(first), numbers_of(contender.scores)}});
    if (*row.p > kVerdictLevel && test.smallest * plan.tests() > kVerdictLevel) {
      row.verdict = fmt::format(
          "{}, {} needed", count_of(static_cast<std::int64_t>(contender.scores.size()), "seed"),
          jobspec::advise::seeds_for_verdict(plan.rows, looks));
    } else {
      row.verdict = verdict_words(test, *row.p);
    }
  }
  tested.pairs = pairs_of(static_cast<std::size_t>(plan.rows));
  return tested;
}

std::optional<RecordedLooks> looks_of(ReadStore& store, std::int64_t sweep) {
  constexpr const char* kPlan =
      "SELECT json_extract(data, '$.seed_plan') FROM events"
      " WHERE sweep = ? AND trial = 0 AND kind = 'submitted'";
  constexpr const char* kTaken =
      "SELECT data FROM events WHERE sweep = ? AND trial = 0 AND kind = 'seed_look' ORDER BY "
      "number";
  constexpr std::int64_t max_rows = 100'000;
  const auto ask = [&](const char* sql) {
    return store.query(sql, max_rows, kQuerySeconds, {jobspec::Value(sweep)}).rows;
  };
  const auto submitted = ask(kPlan);
  if (submitted.empty() || submitted[0][0].is_null()) return {};
  RecordedLooks result;
  const jobspec::Value plan = jobspec::read_yaml(submitted[0][0].as_string(), "seed_plan");
  result.plan.rows = plan.find("rows")->as_int();
  for (const jobspec::Value& seeds : plan.find("looks")->as_list())
    result.plan.looks.push_back(seeds.as_int());
  for (const auto& row : ask(kTaken)) {
    const jobspec::Value look = jobspec::read_yaml(row[0].as_string(), "seed_look");
    ++result.taken;
    for (const jobspec::Value& closed : look.find("closed")->as_list()) {
      result.closed.insert(closed.find("configuration")->as_int());
      result.reasons.push_back(closed.find("reason")->as_string());
    }
  }
  const auto row = store.sweep(sweep);
  result.over = row && row->state != SweepPhase::active;
  return result;
}

Looks all_looks(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  Looks looks;
  for (const std::int64_t sweep : sweeps)
    if (auto recorded = looks_of(store, sweep)) looks.emplace(sweep, *std::move(recorded));
  return looks;
}

void keep_first_seeds(const Looks& looks, std::vector<TrialRecord>& records,
                      Comparison& comparison) {
  const auto later = [&](const TrialRecord& record) {
    const auto found = looks.find(record.id.sweep);
    return found != looks.end() &&
           record.seed > static_cast<std::uint64_t>(found->second.plan.looks.front());
  };
  for (const auto& [sweep, recorded] : looks)
    if (std::any_of(records.begin(), records.end(), [&, id = sweep](const TrialRecord& record) {
          return record.id.sweep == id && later(record);
        }))
      comparison.notes.push_back(
          fmt::format("of sweep {} only the seeds 1 to {} count, which every configuration has: "
                      "results decided which got more",
                      sweep, recorded.plan.looks.front()));
  std::erase_if(records, later);
}

void put_closed_last(const RecordedLooks& looks, const std::vector<TrialRecord>& records,
                     std::vector<Contender>& contenders) {
  std::map<Id, std::int64_t> configurations;
  for (const TrialRecord& record : records)
    configurations.emplace(record.id, record.configuration);
  const auto with_data =
      std::find_if(contenders.begin(), contenders.end(),
                   [](const Contender& contender) { return contender.scores.empty(); });
  std::stable_partition(contenders.begin(), with_data, [&](const Contender& contender) {
    return looks.closed.count(configurations.at(contender.row.trials.front())) == 0;
  });
  for (std::size_t i = 0; i < contenders.size(); ++i)
    contenders[i].row.rank = static_cast<std::int64_t>(i + 1);
}

}  // namespace thalweg::db::analysis
