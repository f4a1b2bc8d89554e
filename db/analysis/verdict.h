// Order of the rows and the verdict of each against the first. No database here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/analysis/compare.h"
#include "db/analysis/rank_test.h"
#include "db/analysis/units.h"

namespace thalweg::db::analysis {

/// A configuration's or seed's value: smaller is better, infinity for a missed target.
struct Score {
  double value = 0;
  std::vector<int> others;              ///< the other parameters' values, as in Unit
  std::optional<std::uint64_t> seed{};  ///< of a unit that is a single trial
};

/// One row with what it is ranked by.
struct Contender {
  ComparisonRow row;
  std::vector<Score> scores;         ///< one per unit with a value
  std::vector<double> tie_breaks{};  ///< smaller is better, for rows with equal medians
};

/// What the tests rest on, for the notes.
struct Tested {
  std::size_t tests = 0;    ///< rows that were tested against the first
  std::size_t pairs = 0;    ///< of rows that a test could tell apart: what p is corrected for
  bool blocked = false;     ///< compared where other parameters are the same
  bool joined = false;      ///< units of a row that differ in what the other row lacks count once
  std::size_t spread = 0;   ///< rows that the exact test alone would have told apart
  std::size_t luck = 0;     ///< rows whose difference the luck of tuning may explain
  std::size_t needed = 0;   ///< units a row needs so that a test can say anything; 0: all have them
  std::size_t by_seed = 0;  ///< of `tests`: of the differences between trials of the same seed
};

/// At which verdicts say that rows differ, after all corrections.
inline constexpr double kVerdictLevel = 0.05;

std::vector<double> numbers_of(const std::vector<Score>& scores);

/// The first row's value less the other's for each seed that both have. Nothing where most seeds
/// are of one row only, or where that many differences could not be significant at `level`: the
/// ranks of all values need fewer seeds. Seeds alone decide that, never the values.
std::vector<double> differences_by_seed(const std::vector<Score>& a, const std::vector<Score>& b,
                                        double level);

/// "worse", "different" or "no clear difference", with p, which is corrected.
std::string verdict_words(const RankTest& test, double p);

/// Values of the row's units; `maximize` turns those of TrialRecord::best round.
std::vector<Score> scores_of(const UnitRow& row, Member member, bool maximize);

/// Best first by this statistic of the scores; rows without scores last, otherwise in the order
/// given. Sets rank.
void order(std::vector<Contender>& contenders, Statistic statistic = Statistic::median);

/// Sets verdict, p and the probability of improvement of ordered rows by exact two-sided rank tests
/// of each row against the first (rank_test.h), at 5 % over all rows: "worse", "no clear
/// difference", "different" (the test says that the row is the better one, its median that it is
/// not), or how many units are needed
/// ("3 configurations, 6 needed"). `unit`: "seed" or "configuration". Two rows are compared in
/// blocks: units with the same values of those other parameters that vary in both rows and have
/// values in common; units without a counterpart are a block of their own. Units of a block that
/// differ in nothing but parameters that the other row does not have share what that block does to
/// the row: they count once, as their median. Rows without blocks are told apart only where
/// unequal spreads would not do it, too (rank_test.h). `seeds_pair`: a seed stands for the same
/// first weights and order of samples in all rows. Where seeds are the units and two rows have
/// enough of them in common, the signed ranks of the differences by seed are tested: 6 seeds of two
/// rows, 8 of three or four, and three quarters of the larger row's.
Tested judge(std::vector<Contender>& contenders, const std::string& unit, bool seeds_pair);

/// Of rows that are the winners of a study, after judge(): takes a verdict back where the draws
/// that chose the winners do not tell the two rows apart as well. Where the rows' values do the
/// same, winners differ by the luck of their draws, which no number of fresh seeds shows. `draws`:
/// with the groups of the rows, one score for each configuration, infinity where it has none. Draws
/// at the same points are compared pair by pair (signed ranks), others by better_half_p(), with the
/// correction for all pairs of rows; p becomes the larger of both.
void allow_for_tuning(std::vector<Contender>& contenders, std::vector<Contender>& draws,
                      Tested& tested);

/// Why the rows of a table cannot be tested against each other.
enum class Untested {
  no,              ///< they can
  best_of_many,    ///< Statistic::best: of unlike many values
  same_seeds,      ///< rows at their best were chosen on the seeds that they are evaluated on
  unlike_choices,  ///< rows at their best had other values to choose among (UnitTable::chose_alike)
  unlike_looks,    ///< rows report their metric unequally often (UnitTable::looked_alike)
  by_results,      ///< the search drew configurations by the values of earlier ones
  equal_seeds,     ///< no value depends on the seed
  unfinished       ///< trials that run may yet reach the target that rows are ranked by
};
/// `best_over`: null where rows are not at the best of something. `by_results`: a sweep's search
/// draws by results, so that a configuration depends on the values of those before it. Seeds of
/// configurations that are there are tested all the same. `newest`: of each trial the newest value
/// counts, so it does not matter how often it reports.
Untested why_untested(const UnitTable& table, const BestOver* best_over, Statistic statistic,
                      bool by_results = false, bool newest = false);

/// Gives every row but the first this word instead.
void leave_unjudged(std::vector<Contender>& contenders, const std::string& why);

/// "best, 3 of 6 failed": the first of ordered rows is not simply the best where trials of it
/// failed.
void say_failed(std::vector<ComparisonRow>& rows);

/// Units each of two rows needs, in one block, for a verdict to be possible among `rows` rows.
std::size_t units_needed(std::size_t rows);

}  // namespace thalweg::db::analysis
