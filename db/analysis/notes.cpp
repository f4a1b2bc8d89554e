#include "db/analysis/notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "db/analysis/bootstrap.h"
#include "db/analysis/seed_looks.h"
#include "jobspec/metrics.h"

namespace thalweg::db::analysis {
namespace {

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string list_of(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

/// "seeds 1 to 4", "seeds 3, 5 and 9", "9 seeds".
std::string seeds_text(const std::vector<std::uint64_t>& seeds) {
  constexpr std::size_t max_listed = 6;
  if (seeds.size() == 1) return fmt::format("seed {}", seeds.front());
  if (seeds.back() - seeds.front() + 1 == seeds.size())
    return fmt::format("seeds {} to {}", seeds.front(), seeds.back());
  if (seeds.size() > max_listed) return fmt::format("{} seeds", seeds.size());
  std::vector<std::string> parts;
  for (const std::uint64_t seed : seeds)
    parts.push_back(std::to_string(seed));
  return "seeds " + list_of(parts);
}

template <class Test>
std::int64_t how_many(const std::vector<ComparisonRow>& rows, const Test& test) {
  return std::count_if(rows.begin(), rows.end(), test);
}

void note_ranking(Comparison& comparison, const Ranking& ranking) {
  auto& notes = comparison.notes;
  const bool by_value = ranking.by == RankBy::best || ranking.by == RankBy::last;
  const std::string statistic =
      comparison.statistic == Statistic::best && ranking.by == RankBy::best
          ? ""
          : fmt::format("{} ", name_of(comparison.statistic));
  notes.push_back(fmt::format(
      "ranked by the {}{}{} of {} ({} is better)", statistic, ranking.words,
      comparison.target && !by_value ? fmt::format(" {}", *comparison.target) : std::string(),
      comparison.metric, jobspec::better_values(comparison.goal)));
  if (comparison.target && ranking.by == RankBy::best)
    notes.push_back(fmt::format("no trial has reached the target {} yet", *comparison.target));
}

/// The smallest and the largest number of values in a row that has any; zeros where none has.
std::pair<std::int64_t, std::int64_t> units_per_row(const Comparison& comparison) {
  std::int64_t fewest = 0, most = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.n == 0) continue;
    fewest = fewest == 0 ? row.n : std::min(fewest, row.n);
    most = std::max(most, row.n);
  }
  return {fewest, most};
}

void note_statistic(Comparison& comparison) {
  const auto [fewest, most] = units_per_row(comparison);
  // Below six values the bootstrap's interval is their range, which misses the median where all lie
  // on one side of it.
  constexpr std::int64_t enough = 6;
  if (comparison.statistic == Statistic::median && fewest > 1 && fewest < enough)
    comparison.notes.push_back(fmt::format(
        "intervals are approximate: of {} values it is their range, which holds the true median "
        "in {:.0f} % of cases, not in 95 %",
        fewest, 100 * (1 - std::exp2(1 - static_cast<double>(fewest)))));
  if (comparison.statistic == Statistic::mean)
    comparison.notes.push_back(
        fmt::format("means with Student's t intervals at 95 %: approximate unless values are "
                    "normal; a {} without the target makes its row's mean infinite",
                    comparison.unit));
  if (comparison.statistic != Statistic::best) return;
  comparison.notes.push_back(fmt::format(
      "the best of {}{}: it says what luck can reach, not what to expect, so nothing is tested{}",
      fewest == most ? fmt::format("{} ", most) : fmt::format("{} to {} ", fewest, most),
      comparison.unit + "s", fewest == most ? "" : "; the best of more is better by chance alone"));
}

/// "; `thalweg extend 12 --seeds +3` adds what is missing"; empty where there is nothing to extend.
std::string how_to_extend(const Comparison& comparison, const Noted& noted, std::size_t needed) {
  std::set<std::uint64_t> seeds;
  for (const TrialRecord& record : noted.records)
    seeds.insert(record.seed);
  if (!noted.extensible || seeds.empty() || seeds.size() >= needed) return "";
  return fmt::format("; `thalweg extend {} --seeds +{}` adds only what is missing",
                     comparison.sweeps.front(), needed - seeds.size());
}

void note_choice(Comparison& comparison, const Noted& noted) {
  if (comparison.best_over.empty() || comparison.rows.empty()) return;
  const std::string names = list_of(comparison.best_over);
  if (comparison.choosing != comparison.judging) {
    comparison.notes.push_back(
        fmt::format("each row is at its best {}: chosen on {}, all else is from {}", names,
                    seeds_text(comparison.choosing), seeds_text(comparison.judging)));
  } else {
    const auto rows = how_many(comparison.rows, [](const auto& row) { return row.n > 0; });
    const std::size_t needed =
        comparison.unit == "seed" ? units_needed(static_cast<std::size_t>(rows)) + 2 : 2;
    comparison.notes.push_back(fmt::format(
        "each row is at its best {}, chosen and evaluated on the same {}: every row looks better "
        "than it is, so nothing is tested. With `seeds: {}` some choose and others evaluate{}",
        names, counted(static_cast<std::int64_t>(comparison.judging.size()), "seed", "seeds"),
        needed, how_to_extend(comparison, noted, needed)));
  }
  if (noted.untested == Untested::unlike_choices)
    comparison.notes.push_back(fmt::format(
        "rows had different values of {} to choose from, which may explain their differences: "
        "nothing is tested (a grid, or `method: random` with `each`, gives all rows the same)",
        names));
  std::int64_t fewest = 0, most = 0;
  for (const ComparisonRow& row : comparison.rows) {
    if (row.choices == 0) continue;
    fewest = fewest == 0 ? row.choices : std::min(fewest, row.choices);
    most = std::max(most, row.choices);
  }
  if (fewest == most) return;
  comparison.notes.push_back(fmt::format(
      "rows chose among {} to {} values of {}: the best of more is better by chance alone "
      "(`method: random` with `each` draws as many for each)",
      fewest, most, names));
}

void note_mixtures(Comparison& comparison, const Noted& noted) {
  std::vector<std::string> mixed;
  for (std::size_t i = 0; i < noted.table.max_mixed.size(); ++i) {
    if (noted.table.max_mixed[i] > 1)
      mixed.push_back(fmt::format("{} values of {}", noted.table.max_mixed[i], noted.others[i]));
  }
  if (mixed.empty()) return;
  const bool many = std::any_of(comparison.rows.begin(), comparison.rows.end(),
                                [](const auto& row) { return row.trials_used > row.n; });
  comparison.notes.push_back(fmt::format(
      "rows mix {}{}: n counts configurations{}", noted.table.rows.size() > 1 ? "up to " : "",
      list_of(mixed), many ? ", each with its median over seeds" : ""));
  if (comparison.best_over.empty())
    comparison.notes.push_back("each row at its best value of a mixed parameter: --best-over NAME");
}

void note_looks(Comparison& comparison, const Noted& noted) {
  if (noted.untested != Untested::unlike_looks) return;
  double fewest = 0, most = 0;
  for (const UnitRow& row : noted.table.rows) {
    const double looks = median(values_of(row.units, &TrialRecord::looks));
    if (std::isnan(looks)) continue;
    fewest = fewest == 0 ? looks : std::min(fewest, looks);
    most = std::max(most, looks);
  }
  comparison.notes.push_back(fmt::format(
      "trials of one row report {} {}, those of another {:g} times: the best of more values is "
      "better by chance, so nothing is tested. Let all report equally often, or use --rank-by last",
      comparison.metric, fewest == 1 ? "once" : fmt::format("{:g} times", fewest), most));
}

void note_search(Comparison& comparison, const Noted& noted) {
  if (noted.untested != Untested::by_results) return;
  comparison.notes.push_back(
      fmt::format("`method: {}` chose configurations from the values of earlier ones: these are "
                  "not independent draws, so nothing is tested. A grid, `method: random` and the "
                  "seeds of single configurations can be tested",
                  noted.method));
}

void note_generations(Comparison& comparison, const Noted& noted) {
  if (!noted.of_newest) return;
  comparison.notes.push_back(
      "only trials of the newest generation count: they continue trials of earlier ones (`thalweg "
      "show` names which)");
}

void note_equal_seeds(Comparison& comparison, const Noted& noted) {
  if (noted.untested != Untested::equal_seeds) return;
  comparison.notes.push_back(fmt::format(
      "all seeds of a row give the same {}, to the last digit: they repeat one run, so nothing is "
      "tested. Does the program use its seed, or does the sweep file set another?",
      comparison.metric));
}

void note_unfinished(Comparison& comparison, const Noted& noted) {
  if (noted.untested != Untested::unfinished) return;
  const std::int64_t open = may_yet_reach(noted.records, noted.ranking);
  comparison.notes.push_back(
      fmt::format("{} still {} and may yet reach the target: left out of {}, and nothing is tested "
                  "until {} ended",
                  counted(open, "trial", "trials"), open == 1 ? "runs" : "run", noted.ranking.words,
                  open == 1 ? "it has" : "they have"));
}

/// Selection bias: what won a choice looks better than it is.
void note_draws(Comparison& comparison, const Noted& noted) {
  if (noted.draws == 0) return;
  comparison.notes.push_back(fmt::format(
      "evaluated on the final seeds alone: the {} that chose the winners count in no number here",
      counted(static_cast<std::int64_t>(noted.draws), "draw", "draws")));
  if (noted.tested.tests > 0 && comparison.unit == "seed")
    comparison.notes.push_back(
        "verdicts also require that the better half of the draws distinguishes the two rows: "
        "otherwise another tuning of the same budget might find other winners, which fresh seeds "
        "cannot show");
  if (noted.tested.luck > 0)
    comparison.notes.push_back(fmt::format(
        "{} on the final seeds, but the draws do not distinguish them: it may be the luck of this "
        "tuning. Compare with a larger study.budget, or with six or more studies of other `seed`s "
        "together",
        counted(static_cast<std::int64_t>(noted.tested.luck), "row differs", "rows differ")));
}

void note_needed(Comparison& comparison, const Noted& noted) {
  if (noted.tested.needed == 0) return;
  if (noted.final_seeds > 0 && comparison.unit == "seed") {
    const auto rows = how_many(comparison.rows, [](const auto& row) { return row.n > 0; });
    const std::size_t wanted = units_needed(static_cast<std::size_t>(rows));
    if (wanted > noted.final_seeds)
      comparison.notes.push_back(
          fmt::format("for a verdict on every row: `thalweg extend {} --set study.final_seeds={}`",
                      comparison.sweeps.front(), wanted));
    return;
  }
  if (comparison.unit == "seed") {
    const auto rows = how_many(comparison.rows, [](const auto& row) { return row.n > 0; });
    const std::size_t needed = units_needed(static_cast<std::size_t>(rows)) +
                               (comparison.best_over.empty() ? 0 : comparison.choosing.size());
    comparison.notes.push_back(
        noted.one_seed
            ? fmt::format("the method trains one seed of each row; for a verdict, give the best "
                          "more: `thalweg submit --from {} --best --seeds {}`",
                          comparison.sweeps.front(), needed)
            : fmt::format("for a verdict on every row: `seeds: {}`{}", needed,
                          how_to_extend(comparison, noted, needed)));
  } else {
    comparison.notes.push_back(fmt::format(
        "for a verdict on every row: {} configurations in each{}; more seeds do not help",
        noted.tested.needed,
        noted.tested.blocked ? " that share the values of the other parameters" : ""));
  }
}

constexpr const char* kBySeed =
    "signed-rank test of the differences between trials of the same seed";

std::vector<std::string> words_of(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> words;
  for (const std::int64_t number : numbers)
    words.push_back(std::to_string(number));
  return words;
}

std::string basis_of_looks(const Noted& noted) {
  const jobspec::SeedPlan& plan = noted.looks->plan;
  return fmt::format(
      "verdicts: exact two-sided rank tests of {} against the first row at the looks after {} "
      "seeds ({} of {} taken), p <= 0.05 after correction for {} and {} (Bonferroni)",
      noted.ranking.words, list_of(words_of(plan.looks)), noted.looks->taken, plan.looks.size(),
      counted(static_cast<std::int64_t>(plan.looks.size()), "look", "looks"),
      counted(static_cast<std::int64_t>(noted.tested.pairs), "pair of rows", "pairs of rows"));
}

/// Why rows have unlike numbers of seeds.
void note_seed_looks(Comparison& comparison, const Noted& noted) {
  constexpr std::size_t max_told = 8;
  if (noted.looks == nullptr) return;
  const auto& reasons = noted.looks->reasons;
  if (noted.looks->taken == 0)
    comparison.notes.push_back(
        noted.looks->over
            ? fmt::format("no look was taken, since the sweep ended before all seeds 1 to {} had, "
                          "and nothing is tested; `thalweg retry {} --state cancelled` runs them",
                          noted.looks->plan.looks.front(), comparison.sweeps.front())
            : fmt::format("no look has been taken yet: the first is when all seeds 1 to {} have "
                          "ended, and nothing is tested before",
                          noted.looks->plan.looks.front()));
  for (std::size_t i = 0; i < std::min(max_told, reasons.size()); ++i)
    comparison.notes.push_back(reasons[i]);
  if (reasons.size() > max_told)
    comparison.notes.push_back(
        fmt::format("{} more configurations got no more seeds (`thalweg show {}`)",
                    reasons.size() - max_told, comparison.sweeps.front()));
}

/// What the verdicts rest on. Where no pair of rows could be told apart there are none.
std::string basis_of_verdicts(const Comparison& comparison, const Noted& noted) {
  if (noted.looks != nullptr) return basis_of_looks(noted);
  if (noted.tested.pairs == 0)
    return fmt::format(
        "no verdicts: with so few {}s no exact rank test can tell two rows apart at p <= 0.05",
        comparison.unit);
  const std::string ranks = fmt::format(
      "rank test over {}s{}", comparison.unit,
      noted.tested.blocked ? ", among those that share values of the other parameters" : "");
  return fmt::format(
      "verdicts: exact two-sided {} on {} against the first row, p <= 0.05 after correction for {} "
      "(the data picked the first row)",
      noted.tested.by_seed > 0 && noted.tested.by_seed == noted.tested.tests ? kBySeed
                                                                             : ranks.c_str(),
      noted.ranking.words,
      counted(static_cast<std::int64_t>(noted.tested.pairs), "pair of rows", "pairs of rows"));
}

void note_tests(Comparison& comparison, const Noted& noted) {
  if (noted.tested.tests == 0) return;
  comparison.notes.push_back(
      basis_of_verdicts(comparison, noted) +
      (comparison.statistic == Statistic::median
           ? fmt::format("; intervals: 95 % bootstrap of the median over {}s", comparison.unit)
           : ""));
  if (noted.tested.by_seed > 0 && noted.tested.by_seed < noted.tested.tests)
    comparison.notes.push_back(fmt::format(
        "{} enough seeds in common with the first: {} by the {}",
        counted(static_cast<std::int64_t>(noted.tested.by_seed), "row has", "rows have"),
        noted.tested.by_seed == 1 ? "it is tested" : "they are tested", kBySeed));
  if (noted.tested.spread > 0)
    comparison.notes.push_back(fmt::format(
        "{} another spread than the first: Brunner and Munzel's test, which allows for that, sees "
        "no clear difference",
        counted(static_cast<std::int64_t>(noted.tested.spread), "row has", "rows have")));
  if (noted.tested.joined)
    comparison.notes.push_back(
        "configurations that differ only in parameters that the other row does not have count once "
        "in a test, as their median: they share what else they have");
  const bool odd = how_many(comparison.rows, [](const auto& row) {
                     return row.verdict.starts_with("different");
                   }) > 0;
  if (odd)
    comparison.notes.push_back(
        "different: the row's median is not better, yet the test says that it is the better one");
  note_needed(comparison, noted);
}

void note_added_seeds(Comparison& comparison, const Noted& noted) {
  if (noted.added_late == 0) return;
  comparison.notes.push_back(
      fmt::format("seeds were added {} when there were enough for a verdict: p takes all of them "
                  "as planned from "
                  "the start. Adding seeds until rows differ makes false verdicts likelier; "
                  "`seeds: auto` allows "
                  "for its looks",
                  noted.added_late == 1 ? "once" : fmt::format("{} times", noted.added_late)));
}

/// What failed seeds had reached may be less than others lost: a row that fails half of the time
/// is not simply the best.
void note_failures(Comparison& comparison) {
  if (comparison.rows.empty() || comparison.rows.front().failed == 0 ||
      comparison.rows.front().n == 0)
    return;
  const ComparisonRow& first = comparison.rows.front();
  comparison.notes.push_back(fmt::format(
      "{} of {} failed in the first row: what they reached before counts{}, so the row may look "
      "better than it is",
      first.failed, counted(static_cast<std::int64_t>(first.trials.size()), "trial", "trials"),
      comparison.target ? ", and without the target it counts as missed"
                        : ", and those without any value are left out"));
}

/// "rows 1 (3 of 8) and 2 (4 of 8)", where that is short.
std::string early_ends_by_row(const std::vector<ComparisonRow>& rows) {
  constexpr std::size_t max_listed = 6;
  std::vector<std::string> parts;
  for (const ComparisonRow& row : rows)
    if (row.ended_early > 0)
      parts.push_back(fmt::format("{} ({} of {})", row.rank, row.ended_early, row.trials.size()));
  if (rows.size() < 2 || parts.empty() || parts.size() > max_listed) return {};
  return fmt::format(", in {} {}", parts.size() == 1 ? "row" : "rows", list_of(parts));
}

/// A trial that was told to end may have got there yet: whether it did is not known.
void note_early_ends(Comparison& comparison, const std::vector<TrialRecord>& records) {
  std::int64_t ended = 0, missed = 0;
  for (const TrialRecord& record : records) {
    ended += record.ended_early ? 1 : 0;
    missed += record.ended_early && std::isinf(record.steps) ? 1 : 0;
  }
  if (ended == 0) return;
  std::string target;
  if (comparison.target && missed > 0)
    target = fmt::format("; {} without the target, which counts as missed",
                         missed == ended ? "all" : fmt::format("{} of them", missed));
  comparison.notes.push_back(
      fmt::format("{} of {} were ended before their time{}{}: what they would have "
                  "reached is not known",
                  ended, counted(static_cast<std::int64_t>(records.size()), "trial", "trials"),
                  early_ends_by_row(comparison.rows), target));
}

void note_trials(Comparison& comparison, const std::vector<TrialRecord>& records) {
  const auto single =
      how_many(comparison.rows, [](const auto& row) { return row.trials_used == 1; });
  if (single > 0) {
    comparison.notes.push_back(
        fmt::format("{} a single run: what sets it apart may be nothing but its seed",
                    counted(single, "row is", "rows are each")));
  }
  const auto open = std::count_if(records.begin(), records.end(),
                                  [](const TrialRecord& record) { return !record.ended(); });
  if (open > 0) {
    comparison.notes.push_back(fmt::format("{} not ended: the numbers will change",
                                           counted(open, "trial has", "trials have")));
  }
  const auto diverged = std::count_if(records.begin(), records.end(),
                                      [](const TrialRecord& record) { return record.diverged; });
  if (diverged > 0) {
    comparison.notes.push_back(fmt::format(
        "{}, with a newest {} that is no finite number: worse than any value{}, whatever it was "
        "before",
        counted(diverged, "trial has diverged", "trials have diverged"), comparison.metric,
        comparison.target ? ", and the target counts as missed" : ""));
  }
  note_early_ends(comparison, records);
  const auto lost = std::count_if(records.begin(), records.end(), [](const TrialRecord& record) {
    return record.ended() && std::isnan(record.best);
  });
  if (lost > 0) {
    comparison.notes.push_back(
        fmt::format("{} without any value of {}: left out of `best`{}",
                    counted(lost, "trial ended", "trials ended"), comparison.metric,
                    comparison.target ? "; failed ones count as target missed" : ""));
  }
}

/// Never unlabelled: their seconds, cost and rates are of a machine that is none.
void note_emulated(Comparison& comparison, const Noted& noted) {
  std::map<std::string, std::int64_t> trials;
  for (const auto& [trial, what] : noted.emulated)
    ++trials[what];
  for (const auto& [what, count] : trials)
    comparison.notes.push_back(
        fmt::format("{} of {} ran emulated, {}: {} seconds, cost and samples/s are of no real "
                    "machine",
                    counted(count, "trial", "trials"), noted.records.size(), what,
                    count == 1 ? "its" : "their"));
  const auto plain =
      std::count_if(noted.records.begin(), noted.records.end(), [&](const TrialRecord& record) {
        return std::none_of(noted.emulated.begin(), noted.emulated.end(),
                            [&](const auto& e) { return e.first == record.id; });
      });
  if (trials.size() > 1 || (trials.size() == 1 && plain > 0))
    comparison.notes.push_back(
        "not all ran on the same emulated machine: steps and values compare, times do not "
        "(--by emulate.preset sets them apart)");
}

}  // namespace

std::int64_t may_yet_reach(const std::vector<TrialRecord>& records, const Ranking& ranking) {
  return std::count_if(records.begin(), records.end(), [&](const TrialRecord& record) {
    return !record.ended() && !std::isnan(record.best) && std::isnan(record.*ranking.member);
  });
}

void write_notes(Comparison& comparison, const Noted& noted) {
  note_ranking(comparison, noted.ranking);
  note_statistic(comparison);
  note_choice(comparison, noted);
  note_looks(comparison, noted);
  note_search(comparison, noted);
  note_generations(comparison, noted);
  note_draws(comparison, noted);
  note_equal_seeds(comparison, noted);
  note_unfinished(comparison, noted);
  note_mixtures(comparison, noted);
  note_tests(comparison, noted);
  note_seed_looks(comparison, noted);
  note_added_seeds(comparison, noted);
  note_failures(comparison);
  note_trials(comparison, noted.records);
  note_emulated(comparison, noted);
}

}  // namespace thalweg::db::analysis
