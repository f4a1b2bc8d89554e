#include "db/analysis/profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <utility>

#include "db/analysis/compare.h"
#include "db/analysis/names.h"

namespace thalweg::db::analysis {

Times ratios_to_best(const Times& times) {
  Times ratios = times;
  const std::size_t workloads = times.empty() ? 0 : times.front().size();
  for (std::size_t w = 0; w < workloads; ++w) {
    double best = std::numeric_limits<double>::infinity();
    for (const auto& row : times)
      best = std::min(best, row.at(w));
    for (auto& row : ratios) {
      row[w] = std::isinf(best) ? best : row[w] / best;
    }
  }
  return ratios;
}

double profile_at(const std::vector<double>& ratios, double tau) {
  const auto within =
      std::count_if(ratios.begin(), ratios.end(), [&](double ratio) { return ratio <= tau; });
  return static_cast<double>(within) / static_cast<double>(ratios.size());
}

std::vector<double> profile_scores(const Times& times, double most) {
  std::vector<double> scores;
  for (const auto& ratios : ratios_to_best(times)) {
    double area = 0;
    for (const double ratio : ratios)
      area += std::max(0.0, most - ratio);
    scores.push_back(area / ((most - 1) * static_cast<double>(ratios.size())));
  }
  return scores;
}

std::vector<double> profile_scores_trapezoid(const Times& times, double most) {
  constexpr int points = 100;
  std::vector<double> scores;
  for (const auto& ratios : ratios_to_best(times)) {
    const auto at = [&](int i) { return profile_at(ratios, 1 + (most - 1) * i / (points - 1)); };
    double area = 0;
    for (int i = 0; i + 1 < points; ++i)
      area += (at(i) + at(i + 1)) / 2;
    scores.push_back(area / (points - 1));
  }
  return scores;
}

Times competition_times(Times times, const std::vector<HeldOut>& held_out, double most) {
  constexpr double missed = std::numeric_limits<double>::infinity();
  for (auto& row : times)
    for (const HeldOut& pair : held_out)
      if (std::isinf(row.at(pair.base))) row.at(pair.variant) = missed;
  const Times ratios = ratios_to_best(times);
  Times kept;
  for (std::size_t s = 0; s < times.size(); ++s) {
    auto& row = times[s];
    for (std::size_t w = 0; w < row.size(); ++w)
      if (!(ratios[s][w] <= most)) row[w] = missed;
    for (const HeldOut& pair : held_out)
      if (std::isinf(row[pair.variant])) row[pair.base] = missed;
    auto& left = kept.emplace_back();
    for (std::size_t w = 0; w < row.size(); ++w)
      if (std::none_of(held_out.begin(), held_out.end(),
                       [&](const HeldOut& pair) { return pair.variant == w; }))
        left.push_back(row[w]);
  }
  return kept;
}

namespace {

std::string name_of(const ComparisonRow& row) {
  std::string name;
  for (const auto& [parameter, value] : row.group)
    name += (name.empty() ? "" : ", ") + value.to_text();
  return name;
}

using ByGroup = std::map<std::string, std::vector<double>>;

/// Fills place `w` of every group that the sweep has.
void add_workload(ReadStore& store, std::int64_t sweep, const ProfileOptions& options,
                  std::size_t w, std::size_t workloads, ByGroup& groups) {
  CompareOptions wanted;
  wanted.by = options.by;
  wanted.best_over = options.best_over;
  wanted.target = options.target;
  const Comparison comparison = compare(store, sweep, wanted);
  if (!comparison.target)
    throw std::invalid_argument(
        fmt::format("sweep {} has no target: time to which value of {}? (--target 0.1)", sweep,
                    comparison.metric));
  for (const ComparisonRow& row : comparison.rows) {
    auto [found, fresh] = groups.try_emplace(name_of(row));
    if (fresh) found->second.assign(workloads, std::numeric_limits<double>::infinity());
    const double time = options.steps ? row.steps_to_target.median : row.seconds_to_target.median;
    if (!std::isnan(time)) found->second[w] = time;
  }
}

/// As places among the sweeps.
std::vector<HeldOut> held_out_places(const std::vector<std::int64_t>& sweeps,
                                     const ProfileOptions& options) {
  const auto place_of = [&](std::int64_t sweep) {
    const auto found = std::find(sweeps.begin(), sweeps.end(), sweep);
    if (found == sweeps.end())
      throw std::invalid_argument(fmt::format(
          "sweep {} is held out, or the base of one that is, and not among those that are scored",
          sweep));
    return static_cast<std::size_t>(found - sweeps.begin());
  };
  std::vector<HeldOut> places;
  for (const auto& [variant, base] : options.held_out)
    places.push_back({place_of(variant), place_of(base)});
  for (const auto& [variant, base] : options.held_out)
    for (const auto& [other, base_of_other] : options.held_out)
      if (base == other)
        throw std::invalid_argument(fmt::format(
            "sweep {} is held out itself: sweep {} needs a base that is scored", base, variant));
  return places;
}

/// Of the times that count, and which sweeps they are of.
void apply_held_out(const ProfileOptions& options, Times& times, ProfileStudy& study) {
  times = competition_times(std::move(times), held_out_places(study.sweeps, options));
  std::string pairs;
  for (const auto& [variant, base] : options.held_out) {
    std::erase(study.sweeps, variant);
    pairs += fmt::format("{}{} of {}", pairs.empty() ? "" : ", ", variant, base);
  }
  study.notes.push_back(
      fmt::format("held out ({}): not scored. A sweep's time counts only where that of each of its "
                  "variants does, and only up to 4 times the best, as in AlgoPerf's competition",
                  pairs));
}

}  // namespace

ProfileStudy study_profiles(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                            const ProfileOptions& options) {
  if (options.by.empty()) by_is_missing(store, sweeps);
  ProfileStudy study;
  study.sweeps = sweeps;
  study.by = options.by;
  study.unit = options.steps ? "steps" : "seconds";
  ByGroup groups;
  for (std::size_t w = 0; w < sweeps.size(); ++w)
    add_workload(store, sweeps[w], options, w, sweeps.size(), groups);
  Times times;
  for (const auto& [name, of_group] : groups)
    times.push_back(of_group);
  if (!options.held_out.empty()) apply_held_out(options, times, study);
  const Times ratios = ratios_to_best(times);
  const auto scores = options.trapezoid ? profile_scores_trapezoid(times) : profile_scores(times);
  std::size_t at = 0;
  for (const auto& [name, of_group] : groups) {
    study.rows.push_back({name, scores[at], times[at], ratios[at]});
    ++at;
  }
  std::stable_sort(study.rows.begin(), study.rows.end(),
                   [](const ProfileRow& a, const ProfileRow& b) { return a.score > b.score; });
  study.notes.push_back(
      fmt::format("score: the area under the performance profile from 1 to 4 times the best time{}",
                  options.trapezoid ? ", as a trapezoid over 100 points" : ""));
  if (study.sweeps.size() < 3)
    study.notes.push_back("profiles are meant for many workloads: a sweep each");
  for (std::string& line : which_is_better(store, sweeps))
    study.notes.push_back(std::move(line));
  return study;
}

}  // namespace thalweg::db::analysis
