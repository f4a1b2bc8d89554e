#include "db/analysis/units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "db/analysis/bootstrap.h"
#include "db/analysis/verdict.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

using Trials = std::vector<const TrialRecord*>;

/// Numbers for values: equal numbers for equal values.
class Numbering {
 public:
  int operator()(const jobspec::Value& value) {
    return numbers_.try_emplace(value.canonical(), static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<std::string, int> numbers_;
};

/// In the order of their first trial.
template <class Key>
std::vector<Trials> grouped(const Trials& trials, const Key& key) {
  std::vector<Trials> groups;
  std::map<decltype(key(*trials.front())), std::size_t> places;
  for (const TrialRecord* trial : trials) {
    const auto [place, fresh] = places.try_emplace(key(*trial), groups.size());
    if (fresh) groups.emplace_back();
    groups[place->second].push_back(trial);
  }
  return groups;
}

std::vector<Trials> configurations_of(const Trials& trials) {
  return grouped(trials, [](const TrialRecord& trial) { return trial.configuration; });
}

std::vector<Trials> rows_of(const Trials& trials) {
  return grouped(trials, [](const TrialRecord& trial) {
    return jobspec::Value(jobspec::List(trial.group)).canonical();
  });
}

Trials all_of(const std::vector<TrialRecord>& records) {
  Trials trials;
  for (const TrialRecord& record : records)
    trials.push_back(&record);
  return trials;
}

Trials with_seeds(const Trials& trials, const std::vector<std::uint64_t>& seeds) {
  Trials chosen;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(chosen),
               [&](const TrialRecord* trial) {
                 return std::binary_search(seeds.begin(), seeds.end(), trial->seed);
               });
  return chosen;
}

void make_units(UnitTable& table) {
  table.by_seeds = std::all_of(table.rows.begin(), table.rows.end(), [](const UnitRow& row) {
    return configurations_of(row.trials).size() <= 1;
  });
  const TrialRecord* any = nullptr;
  for (const UnitRow& row : table.rows)
    if (!row.trials.empty()) any = row.trials.front();
  std::vector<Numbering> numberings(any ? any->others.size() : 0);
  table.max_mixed.assign(numberings.size(), 0);
  for (UnitRow& row : table.rows) {
    std::vector<std::set<int>> mixed(numberings.size());
    for (const Trials& configuration : configurations_of(row.trials)) {
      std::vector<int> others;
      for (std::size_t i = 0; i < numberings.size(); ++i) {
        others.push_back(numberings[i](configuration.front()->others[i]));
        mixed[i].insert(others.back());
      }
      if (!table.by_seeds) {
        row.units.push_back({configuration, others});
        continue;
      }
      for (const TrialRecord* trial : configuration)
        row.units.push_back({{trial}, others});
    }
    for (std::size_t i = 0; i < mixed.size(); ++i)
      table.max_mixed[i] = std::max(table.max_mixed[i], static_cast<int>(mixed[i].size()));
  }
}

/// Median over configurations, smaller is better; NaN without data.
double score_of(const Trials& candidate, const BestOver& best_over, Member member) {
  std::vector<Unit> units;
  for (Trials& configuration : configurations_of(with_seeds(candidate, best_over.choosing)))
    units.push_back({std::move(configuration), {}});
  const double score = median(values_of(units, member));
  return best_over.maximize && member == &TrialRecord::best ? -score : score;
}

/// One row: the configurations with the best values, evaluated on their seeds.
UnitRow choose(const Trials& trials, const BestOver& best_over) {
  const auto values = [&](const TrialRecord& trial) {
    jobspec::List chosen;
    for (const std::size_t i : best_over.others)
      chosen.push_back(trial.others[i]);
    return chosen;
  };
  UnitRow row{trials.front()->group, trials};
  Choice choice;
  std::pair<double, double> least;
  for (const Trials& candidate : grouped(trials, [&](const TrialRecord& trial) {
         return jobspec::Value(values(trial)).canonical();
       })) {
    choice.tried.push_back(jobspec::Value(values(*candidate.front())).canonical());
    const std::pair score{score_of(candidate, best_over, best_over.score),
                          score_of(candidate, best_over, best_over.tie_break)};
    if (std::isnan(score.first)) continue;
    if (++choice.among > 1 && !(score < least)) continue;
    least = score;
    choice.values = values(*candidate.front());
    row.trials = with_seeds(candidate, best_over.judging);
  }
  std::sort(choice.tried.begin(), choice.tried.end());
  if (choice.among > 0) row.choice = std::move(choice);
  return row;
}

}  // namespace

double value_of(const Unit& unit, const Number& number) {
  if (unit.trials.size() == 1) return number(*unit.trials.front());
  std::vector<double> values;
  for (const TrialRecord* trial : unit.trials)
    values.push_back(number(*trial));
  return median(std::move(values));
}

std::vector<double> values_of(const std::vector<Unit>& units, const Number& number) {
  std::vector<double> values;
  for (const Unit& unit : units) {
    const double value = value_of(unit, number);
    if (!std::isnan(value)) values.push_back(value);
  }
  return values;
}

bool UnitTable::chose_alike() const {
  const std::vector<std::string>* tried = nullptr;
  for (const UnitRow& row : rows) {
    if (!row.choice) continue;
    if (tried != nullptr && row.choice->tried != *tried) return false;
    tried = &row.choice->tried;
  }
  return true;
}

bool UnitTable::looked_alike() const {
  constexpr double kUnlike = 1.25;  // less is a rest of the last interval
  const auto alike = [&](double TrialRecord::*what) {
    double smallest = std::numeric_limits<double>::infinity(), largest = 0;  // of the rows' medians
    for (const UnitRow& row : rows) {
      if (values_of(row.units, &TrialRecord::looks).empty()) continue;
      const double of_row = median(values_of(row.units, what));
      if (std::isnan(of_row)) return false;
      smallest = std::min(smallest, of_row);
      largest = std::max(largest, of_row);
    }
    return largest <= kUnlike * smallest;
  };
  return alike(&TrialRecord::looks) || alike(&TrialRecord::steps_per_look) ||
         alike(&TrialRecord::steps_per_next_look);
}

bool UnitTable::seeds_change_nothing() const {
  bool repeated = false;
  // Best values that saturate, as an error of 0 does, are alike; how long it took is not.
  for (const Number& number : {Number(&TrialRecord::best), Number(&TrialRecord::steps)})
    for (const UnitRow& row : rows) {
      std::vector<double> values = values_of(row.units, number);
      std::erase_if(values, [](double value) { return !std::isfinite(value); });
      if (std::any_of(values.begin(), values.end(), [&](double v) { return v != values.front(); }))
        return false;
      repeated = repeated || values.size() > 1;
    }
  return by_seeds && repeated;
}

UnitTable units_of(const std::vector<TrialRecord>& records) {
  UnitTable table;
  for (const Trials& trials : rows_of(all_of(records)))
    table.rows.push_back({trials.front()->group, trials});
  make_units(table);
  return table;
}

bool align_seeds(std::vector<TrialRecord>& records) {
  const auto aligned = [&](auto key) {
    using Seeds = std::map<std::uint64_t, std::uint64_t>;
    std::map<decltype(key(records.front())), Seeds> of_keys;
    std::set<std::uint64_t> all;
    std::size_t count = 0;
    for (const TrialRecord& record : records) {
      count += of_keys[key(record)].emplace(record.seed, 0).second ? 1 : 0;
      all.insert(record.seed);
    }
    if (of_keys.size() < 2 || count == of_keys.size() || all.size() < count) return false;
    for (auto& [of, seeds] : of_keys) {
      std::uint64_t number = 0;
      for (auto& [seed, ordinal] : seeds)
        ordinal = ++number;
    }
    for (TrialRecord& record : records)
      record.seed = of_keys[key(record)][record.seed];
    return true;
  };
  return aligned([](const TrialRecord& record) { return record.configuration; }) ||
         aligned([](const TrialRecord& record) {
           return jobspec::Value(jobspec::List(record.group)).canonical();
         });
}

UnitTable at_best(const std::vector<TrialRecord>& records, BestOver& best_over) {
  const std::vector<Trials> rows = rows_of(all_of(records));
  const auto table_of = [&] {
    UnitTable table;
    for (const Trials& trials : rows)
      table.rows.push_back(choose(trials, best_over));
    make_units(table);
    return table;
  };
  std::set<std::uint64_t> seeds;
  for (const TrialRecord& record : records)
    seeds.insert(record.seed);
  best_over.choosing.assign(seeds.begin(), seeds.end());
  best_over.judging = best_over.choosing;
  UnitTable undivided = table_of();
  const std::size_t evaluate = undivided.by_seeds ? units_needed(rows.size()) : 1;
  const std::size_t choose = undivided.by_seeds ? 2 : 1;
  if (seeds.size() < evaluate + choose) return undivided;
  const auto half = best_over.choosing.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                     seeds.size() / 2, seeds.size() - evaluate));
  best_over.judging.assign(half, best_over.choosing.end());
  best_over.choosing.erase(half, best_over.choosing.end());
  return table_of();
}

}  // namespace thalweg::db::analysis
