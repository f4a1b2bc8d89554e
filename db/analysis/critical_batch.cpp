// The fit is one-dimensional: for a given B_crit the best S_min is a mean of logs. So the search is
// a grid over log B_crit and a golden section, without starting values that could mislead.
#include "db/analysis/critical_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <stdexcept>

#include "db/analysis/bootstrap.h"
#include "db/analysis/names.h"
#include "db/analysis/noise.h"
#include "db/analysis/records.h"
#include "db/analysis/students_t.h"

namespace thalweg::db::analysis {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Points = std::vector<std::pair<double, double>>;

struct Residuals {
  double log_s_min = 0;
  double squares = 0;
};

Residuals residuals_at(const Points& points, double log_b_crit) {
  const double b_crit = std::exp(log_b_crit);
  std::vector<double> logs;
  double sum = 0;
  for (const auto& [batch, steps] : points) {
    logs.push_back(std::log(steps) - std::log1p(b_crit / batch));
    sum += logs.back();
  }
  Residuals residuals;
  residuals.log_s_min = sum / static_cast<double>(points.size());
  for (const double log : logs)
    residuals.squares += (log - residuals.log_s_min) * (log - residuals.log_s_min);
  return residuals;
}

/// Where `value` is least between the two ends, which enclose one minimum.
template <class Function>
double golden_section(Function value, double low, double high) {
  const double ratio = (std::sqrt(5.0) - 1) / 2;
  constexpr int rounds = 100;
  for (int i = 0; i < rounds; ++i) {
    const double a = high - ratio * (high - low), b = low + ratio * (high - low);
    (value(a) < value(b) ? high : low) = value(a) < value(b) ? b : a;
  }
  return (low + high) / 2;
}

/// The crossing of `value` and `level` between an end inside and one outside.
template <class Function>
double crossing(Function value, double inside, double outside, double level) {
  constexpr int rounds = 100;
  for (int i = 0; i < rounds; ++i) {
    const double middle = (inside + outside) / 2;
    (value(middle) <= level ? inside : outside) = middle;
  }
  return inside;
}

}  // namespace

std::optional<BatchFit> fit_batches(const Points& points, double known_variance) {
  std::set<double> batches;
  for (const auto& [batch, steps] : points)
    batches.insert(batch);
  if (batches.size() < 3) return std::nullopt;
  // Beyond a thousandth of the smallest or a thousand times the largest batch nothing is told
  // apart.
  constexpr double far = 1000;
  constexpr int grid = 400;
  const double first = std::log(*batches.begin() / far), last = std::log(*batches.rbegin() * far);
  const double width = (last - first) / grid;
  const auto squares = [&](double u) { return residuals_at(points, u).squares; };
  int best = 0;
  for (int i = 1; i <= grid; ++i)
    if (squares(first + i * width) < squares(first + best * width)) best = i;
  const double u = golden_section(squares, first + std::max(0, best - 1) * width,
                                  first + std::min(grid, best + 1) * width);
  const Residuals least = residuals_at(points, u);
  const auto freedom = points.size() - 2;
  const double t = students_t_quantile(0.975, static_cast<double>(freedom));
  constexpr double normal = 1.96;
  const double level =
      least.squares + std::max(t * t * least.squares / static_cast<double>(freedom),
                               normal * normal * known_variance);
  BatchFit fit;
  fit.s_min = std::exp(least.log_s_min);
  fit.b_crit = std::exp(u);
  fit.e_min = fit.s_min * fit.b_crit;
  fit.residual = std::sqrt(least.squares / static_cast<double>(points.size()));
  fit.within = best > 0 && best < grid;
  fit.low = squares(first) <= level ? 0 : std::exp(crossing(squares, u, first, level));
  fit.high = squares(last) <= level ? infinity : std::exp(crossing(squares, u, last, level));
  return fit;
}

std::string regime_of(double batch, double critical_batch) {
  const double derivative = -1 / (1 + batch / critical_batch);
  constexpr double steep = -0.8, flat = -0.2;
  return derivative < steep  ? "perfect scaling"
         : derivative > flat ? "maximal data parallelism"
                             : "diminishing returns";
}

namespace {

/// Trials of a configuration of a sweep.
struct Candidate {
  std::vector<const TrialRecord*> trials;
  const std::vector<std::string>* others = nullptr;  ///< names of the other parameters

  std::vector<double> steps() const {
    std::vector<double> values;
    for (const TrialRecord* trial : trials)
      if (!std::isnan(trial->steps)) values.push_back(trial->steps);
    return values;
  }
};

struct Read {
  std::vector<std::string> others;
  std::vector<TrialRecord> records;
};

Read read_sweep(ReadStore& store, std::int64_t id, BatchStudy& study,
                std::optional<double> target) {
  const auto sweep = store.sweep(id);
  if (!sweep) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
  if (!target) target = sweep->target;
  if (!target)
    throw std::invalid_argument(fmt::format(
        "sweep {} has no target: steps to which value of {}? (--target 0.1)", id, sweep->metric));
  if (!study.metric.empty() && (study.metric != sweep->metric || study.target != *target))
    throw std::invalid_argument(
        fmt::format("sweep {} counts {} to {}, sweep {} {} to {}: give a target of one metric",
                    study.sweeps.front(), study.metric, study.target, id, sweep->metric, *target));
  study.sweeps.push_back(id);
  study.metric = sweep->metric;
  study.target = *target;
  Read read;
  read.others = varied_parameters(store, id);
  std::erase_if(read.others, [](const std::string& name) { return name.starts_with("batch."); });
  read.records = read_records(store, {id, study.by, read.others, study.metric,
                                      sweep->goal == jobspec::Goal::maximize, study.target});
  return read;
}

/// By batch; `group`: of the trials that have these values of BatchStudy::by alone.
std::map<double, std::vector<Candidate>> candidates_of(
    const std::vector<Read>& sweeps, const std::vector<jobspec::Value>* group = nullptr) {
  std::map<double, std::map<std::pair<std::int64_t, std::int64_t>, Candidate>> by_batch;
  for (const Read& read : sweeps)
    for (const TrialRecord& record : read.records) {
      if (!(record.global_batch > 0) || record.batch_grows) continue;
      if (group && record.group != *group) continue;
      Candidate& candidate = by_batch[record.global_batch][{record.id.sweep, record.configuration}];
      candidate.trials.push_back(&record);
      candidate.others = &read.others;
    }
  std::map<double, std::vector<Candidate>> candidates;
  for (auto& [batch, of_batch] : by_batch)
    for (auto& [key, candidate] : of_batch)
      candidates[batch].push_back(std::move(candidate));
  return candidates;
}

/// Of the logarithm of the trials' median steps, as far as it is known: a target is seen where the
/// metric is reported, so steps are right to one interval, and seeds differ.
double log_variance_of(const std::vector<const TrialRecord*>& trials) {
  std::vector<double> logs;
  double interval = 0;
  for (const TrialRecord* trial : trials) {
    if (!(std::isfinite(trial->steps) && trial->steps > 0)) continue;
    logs.push_back(std::log(trial->steps));
    if (trial->steps_per_look > 0)
      interval = std::max(interval, std::min(1.0, trial->steps_per_look / trial->steps));
  }
  const double rounding = interval * interval / 12;
  if (logs.size() < 2) return rounding;
  const auto n = static_cast<double>(logs.size());
  double mean = 0, squares = 0;
  for (const double log : logs)
    mean += log / n;
  for (const double log : logs)
    squares += (log - mean) * (log - mean);
  // The median of two is their mean; of more it varies pi / 2 times as much as the mean.
  const double median_to_mean = logs.size() > 2 ? std::numbers::pi / 2 : 1;
  return rounding + median_to_mean * squares / (n - 1) / n;
}

BatchPoint point_of(double batch, const std::vector<Candidate>& candidates) {
  BatchPoint point;
  point.batch = batch;
  point.configurations = static_cast<std::int64_t>(candidates.size());
  const Candidate* best = &candidates.front();
  const auto score = [](const Candidate& candidate) {
    const double steps = median(candidate.steps());
    return std::isnan(steps) ? infinity : steps;
  };
  for (const Candidate& candidate : candidates)
    if (score(candidate) < score(*best)) best = &candidate;
  point.steps = bootstrap_median(best->steps());
  point.samples = point.steps.median * batch;
  point.log_variance = log_variance_of(best->trials);
  for (const TrialRecord* trial : best->trials) {
    point.trials.push_back(trial->id.to_string());
    ++point.seeds;
    point.reached += std::isfinite(trial->steps) ? 1 : 0;
  }
  const TrialRecord& first = *best->trials.front();
  for (std::size_t i = 0; i < best->others->size(); ++i)
    if (!first.others[i].is_null()) point.chosen[(*best->others)[i]] = first.others[i].to_text();
  return point;
}

using NoiseScales = std::map<std::pair<std::int64_t, std::int64_t>, double>;  ///< by trial

/// Settled ones; 0 where a trial measured for too short a time.
NoiseScales read_noise_scales(ReadStore& store, const std::vector<std::int64_t>& sweeps) {
  NoiseScales scales;
  for (const std::int64_t sweep : sweeps)
    for (const auto& [trial, scale] : noise_scales(store, sweep))
      scales[{sweep, trial}] = scale;
  return scales;
}

double noise_scale_of(const std::vector<Candidate>& candidates, const NoiseScales& scales) {
  std::vector<double> reached, all;
  for (const Candidate& candidate : candidates)
    for (const TrialRecord* trial : candidate.trials) {
      const auto scale = scales.find({trial->id.sweep, trial->id.trial});
      if (scale == scales.end() || !(scale->second > 0)) continue;
      all.push_back(scale->second);
      if (std::isfinite(trial->steps)) reached.push_back(scale->second);
    }
  return median(std::move(reached.empty() ? all : reached));
}

void put_fit(const BatchStudy& study, BatchCurve& curve) {
  Points points;
  double variance = 0;
  std::int64_t missed = 0;
  for (const BatchPoint& point : curve.points) {
    if (!(std::isfinite(point.steps.median) && point.steps.median > 0)) {
      ++missed;
      continue;
    }
    points.emplace_back(point.batch, point.steps.median);
    variance += point.log_variance;
  }
  if (missed > 0)
    curve.notes.push_back(fmt::format("{} of {} batches did not get to {} {}: not in the fit",
                                      missed, curve.points.size(), study.metric, study.target));
  const auto fit = fit_batches(points, variance / static_cast<double>(points.size()));
  if (!fit) {
    curve.notes.push_back("a fit needs three batches that reached the target");
    return;
  }
  if (!fit->within) {
    curve.notes.push_back(fit->b_crit > curve.points.back().batch
                              ? "steps fall with every batch: the critical batch is beyond them all"
                              : "no batch saves steps: the critical batch is below them all");
    return;
  }
  curve.fitted = true;
  curve.s_min = fit->s_min;
  curve.e_min = fit->e_min;
  curve.b_crit = fit->b_crit;
  curve.b_crit_low = fit->low;
  curve.b_crit_high = fit->high;
  curve.residual = fit->residual;
  for (BatchPoint& point : curve.points) {
    point.fitted = fit->steps_at(point.batch);
    point.regime = regime_of(point.batch, fit->b_crit);
  }
}

/// A point for each batch, and their fit.
void put_curve(const BatchStudy& study, const std::map<double, std::vector<Candidate>>& by_batch,
               const NoiseScales& scales, BatchCurve& curve) {
  bool chosen = false;
  for (const auto& [batch, candidates] : by_batch) {
    curve.points.push_back(point_of(batch, candidates));
    const double scale = curve.points.back().noise_scale = noise_scale_of(candidates, scales);
    if (std::isnan(curve.noise_scale)) curve.noise_scale = scale;
    chosen = chosen || candidates.size() > 1;
  }
  put_fit(study, curve);
  if (chosen)
    curve.notes.push_back(
        "each batch at its configuration of the fewest steps, chosen by the same seeds: steps and "
        "samples come out somewhat low, the critical batch does not");
}

void put_groups(const std::vector<Read>& reads, const NoiseScales& scales, BatchStudy& study) {
  std::vector<std::vector<jobspec::Value>> groups;
  for (const Read& read : reads)
    for (const TrialRecord& record : read.records)
      if (std::find(groups.begin(), groups.end(), record.group) == groups.end())
        groups.push_back(record.group);
  for (const auto& values : groups) {
    BatchGroup group;
    for (std::size_t i = 0; i < values.size(); ++i)
      group.group[study.by[i]] = values[i].to_text();
    put_curve(study, candidates_of(reads, &values), scales, group);
    if (!group.points.empty()) study.groups.push_back(std::move(group));
  }
}

}  // namespace

BatchStudy study_batches(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                         const BatchOptions& options) {
  BatchStudy study;
  if (!options.by.empty()) study.by = ParameterNames(store, sweeps).all_of(options.by);
  std::vector<Read> reads;
  for (const std::int64_t sweep : sweeps)
    reads.push_back(read_sweep(store, sweep, study, options.target));
  const NoiseScales scales = read_noise_scales(store, sweeps);
  put_curve(study, candidates_of(reads), scales, study);
  if (!study.by.empty()) put_groups(reads, scales, study);
  if (!scales.empty() && std::isnan(study.noise_scale))
    study.notes.push_back(
        "the noise scale has not settled in any trial: its running mean needs more steps");
  std::int64_t growing = 0;
  for (const Read& read : reads)
    growing += std::count_if(read.records.begin(), read.records.end(),
                             [](const TrialRecord& record) { return record.batch_grows; });
  if (growing > 0)
    study.notes.push_back(fmt::format("trials left out, as their batch grows: {}", growing));
  for (std::string& line : which_is_better(store, sweeps))
    study.notes.push_back(std::move(line));
  return study;
}

}  // namespace thalweg::db::analysis
