// A study's rows in a comparison: the winners, with what they were chosen from.
#include "db/analysis/study_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <stdexcept>

namespace thalweg::db::analysis {

std::string compared_by(const Studies& studies, const std::vector<std::int64_t>& sweeps) {
  std::string name;
  for (const std::int64_t id : sweeps) {
    const auto study = studies.find(id);
    if (study == studies.end() || (!name.empty() && name != study->second.compare)) return "";
    name = study->second.compare;
  }
  return name;
}

CompareOptions for_studies(CompareOptions options, const Studies& studies,
                           const std::vector<std::int64_t>& sweeps) {
  if (studies.empty()) return options;
  if (!options.best_over.empty())
    throw std::invalid_argument(
        "the draws of a study chose the best values, and only these have final seeds: leave out "
        "--best-over");
  if (const std::string name = compared_by(studies, sweeps); options.by.empty() && !name.empty())
    options.by = {name};
  return options;
}

void tell_choices(const std::vector<TrialRecord>& draws, const std::vector<std::string>& others,
                  UnitTable& table, Comparison& comparison) {
  std::set<std::uint64_t> choosing, judging;
  for (UnitRow& row : table.rows) {
    std::set<std::int64_t> tried;
    for (const TrialRecord& draw : draws)
      if (draw.group == row.group) tried.insert(draw.configuration);
    for (const TrialRecord* trial : row.trials)
      judging.insert(trial->seed);
    const auto known = std::find_if(row.trials.begin(), row.trials.end(),
                                    [](const auto* trial) { return !std::isnan(trial->best); });
    if (known != row.trials.end()) row.choice = Choice{(*known)->others, tried.size()};
  }
  for (const TrialRecord& draw : draws)
    choosing.insert(draw.seed);
  comparison.best_over = others;
  comparison.choosing.assign(choosing.begin(), choosing.end());
  comparison.judging.assign(judging.begin(), judging.end());
}

std::vector<Contender> contenders_of_draws(const std::vector<TrialRecord>& draws,
                                           const Comparison& comparison, Member member) {
  std::vector<Contender> contenders;
  const bool turned = comparison.goal == Goal::maximize && member == &TrialRecord::best;
  for (const UnitRow& row : units_of(draws).rows) {
    Contender& contender = contenders.emplace_back();
    for (std::size_t i = 0; i < comparison.by.size(); ++i)
      contender.row.group.emplace_back(comparison.by[i], row.group[i]);
    for (const Unit& unit : row.units) {
      const double value = value_of(unit, member);
      contender.scores.push_back({std::isnan(value) ? std::numeric_limits<double>::infinity()
                                  : turned          ? -value
                                                    : value,
                                  unit.others});
    }
  }
  return contenders;
}

}  // namespace thalweg::db::analysis
