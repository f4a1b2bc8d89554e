// Fresh seeds tell how much two configurations differ. They do not tell what another tuning would
// have found: where values do the same, two winners differ by the luck of their draws, and with
// enough seeds a test sees that. The draws know how large that luck is.
#include "db/analysis/tuning.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <iterator>

#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

constexpr std::size_t max_exact = 60;

/// Scores of the ranks from 1, the best, to `count`.
std::vector<std::size_t> half_scores(std::size_t count) {
  const std::size_t half = (count + 1) / 2;
  std::vector<std::size_t> scores;
  for (std::size_t rank = 1; rank <= count; ++rank)
    scores.push_back(rank <= half ? half + 1 - rank : 0);
  return scores;
}

/// The share of all choices of n of the scores whose sum is at least `sum`.
double share_of_choices(const std::vector<std::size_t>& scores, std::size_t n, std::size_t sum) {
  std::size_t most = 0;
  for (std::size_t i = 0; i < n; ++i)
    most += scores[i];  // they fall
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const std::size_t score : scores)
    for (std::size_t taken = n; taken-- > 0;)
      for (std::size_t s = most + 1 - std::min(most + 1, score); s-- > 0;)
        ways[taken + 1][s + score] += ways[taken][s];
  double all = 0, as_large = 0;
  for (std::size_t s = 0; s <= most; ++s) {
    all += ways[n][s];
    if (s >= sum) as_large += ways[n][s];
  }
  return as_large / all;
}

double normal_share(const std::vector<std::size_t>& scores, std::size_t n, std::size_t sum) {
  const auto count = static_cast<double>(scores.size()), drawn = static_cast<double>(n);
  double mean = 0, squares = 0;
  for (const std::size_t score : scores) {
    mean += static_cast<double>(score) / count;
    squares += static_cast<double>(score * score) / count;
  }
  const double variance = drawn * (count - drawn) / (count - 1) * (squares - mean * mean);
  const double z = (static_cast<double>(sum) - 0.5 - drawn * mean) / std::sqrt(variance);
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

}  // namespace

Studies studies_of(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  Studies studies;
  for (const std::int64_t id : sweeps) {
    const auto sweep = store.sweep(id);
    if (!sweep) continue;
    try {
      const auto seeds = jobspec::study_seeds(jobspec::read_yaml(sweep->text, sweep->file_name));
      if (seeds) studies.emplace(id, *seeds);
    } catch (const std::exception&) {
      // An import has other files.
    }
  }
  return studies;
}

bool is_final(const Studies& studies, const TrialRecord& record) {
  const auto study = studies.find(record.id.sweep);
  return study != studies.end() && study->second.is_final(record.seed);
}

std::vector<TrialRecord> take_draws(std::vector<TrialRecord>& records, const Studies& studies) {
  const auto first =
      std::stable_partition(records.begin(), records.end(), [&](const TrialRecord& record) {
        return !studies.contains(record.id.sweep) || is_final(studies, record);
      });
  std::vector<TrialRecord> draws(std::make_move_iterator(first),
                                 std::make_move_iterator(records.end()));
  records.erase(first, records.end());
  return draws;
}

double better_half_p(const std::vector<double>& better, const std::vector<double>& worse) {
  if (better.empty() || worse.empty()) return 1;
  std::vector<std::pair<double, bool>> all;  // value, of `better`
  for (const double value : better)
    all.emplace_back(value, true);
  for (const double value : worse)
    all.emplace_back(value, false);  // first among equal ones
  std::sort(all.begin(), all.end());
  const std::vector<std::size_t> scores = half_scores(all.size());
  std::size_t sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i)
    sum += all[i].second ? scores[i] : 0;
  const bool exact = std::max(better.size(), worse.size()) <= max_exact;
  const double share = exact ? share_of_choices(scores, better.size(), sum)
                             : normal_share(scores, better.size(), sum);
  return std::min(1.0, 2 * share);
}

}  // namespace thalweg::db::analysis
