// Every configuration with its seeds is a setting; within a group the best one speaks for it, as in
// DeepOBS' protocol: tune, then evaluate the best over seeds.
#include "db/analysis/tuneability.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/text.h"
#include "db/analysis/names.h"
#include "db/analysis/records.h"
#include "db/analysis/tuning.h"

namespace thalweg::db::analysis {

double evaluations_to(const std::vector<std::int64_t>& steps, const std::vector<double>& values,
                      double target, bool maximize) {
  // The evaluation before training may not have been made.
  const double before = steps.empty() || steps.front() > 0 ? 1 : 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && (maximize ? values[i] >= target : values[i] <= target))
      return static_cast<double>(i) + before;
  return static_cast<double>(values.size()) + before;
}

namespace {

double mean(const std::vector<double>& values) {
  if (values.empty()) return kUnknown;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Of the population, as DeepOBS takes it.
double deviation(const std::vector<double>& values) {
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values)
    squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

struct Runs {
  TunedSetting setting;
  std::vector<double> finals, speeds;
};

/// Groups, and in each its settings in the order of their trials.
using Groups = std::map<std::string, std::vector<Runs>>;

Runs& runs_of(std::vector<Runs>& all, const std::map<std::string, std::string>& values) {
  for (Runs& each : all)
    if (each.setting.values == values) return each;
  all.emplace_back();
  all.back().setting.values = values;
  return all.back();
}

class Reading {
 public:
  Reading(ReadStore& store, TuneabilityStudy& study)
      : store_(store), study_(study), presence_(store), studies_(studies_of(store, study.sweeps)) {}

  void add(std::int64_t id) {
    const SweepRow row = checked(id);
    maximize_ = row.goal == jobspec::Goal::maximize;
    for (const TrialRecord& trial :
         read_records(store_, {id, study_.by, study_.over, row.metric, maximize_, {}})) {
      // Winners were chosen: settings are judged by the draws, which had as many each.
      if (is_final(studies_, trial)) {
        ++final_;
        continue;
      }
      if (!trial.ended() || trial.state == TrialPhase::cancelled) {
        ++open_;
        continue;
      }
      add_trial(trial);
    }
  }

  std::vector<TuneabilityRow> rows() {
    std::vector<TuneabilityRow> rows;
    for (auto& [name, settings] : groups_)
      rows.push_back(row_of(name, settings));
    std::stable_sort(rows.begin(), rows.end(),
                     [&](const TuneabilityRow& a, const TuneabilityRow& b) {
                       return is_better(a.best.final_mean, b.best.final_mean);
                     });
    return rows;
  }

  std::int64_t open() const { return open_; }
  std::int64_t final() const { return final_; }

 private:
  SweepRow checked(std::int64_t id) {
    auto row = store_.sweep(id);
    if (!row) throw std::invalid_argument(fmt::format("there is no sweep {}", id));
    if (!study_.metric.empty() && (study_.metric != row->metric || study_.target != row->target))
      throw std::invalid_argument(fmt::format(
          "sweep {} has a different metric or target from sweep {}; the study is about one problem",
          id, study_.sweeps.front()));
    study_.metric = row->metric;
    study_.target = row->target;
    return *row;
  }

  void add_trial(const TrialRecord& trial) {
    std::map<std::string, std::string> values;
    for (std::size_t i = 0; i < study_.over.size(); ++i)
      values[study_.over[i]] =
          trial.others[i].is_null() && !presence_.any_has({trial.id}, study_.over[i])
              ? "unset"
              : trial.others[i].to_text();
    Runs& runs = runs_of(groups_[group_name(trial.group)], values);
    const std::vector<CurvePoint> curve = store_.curve(trial.id, study_.metric);
    ++runs.setting.runs;
    const double last = curve.empty() ? kUnknown : curve.back().value;
    if (std::isfinite(last))
      runs.finals.push_back(last);
    else
      ++runs.setting.diverged;
    if (!study_.target) return;
    std::vector<std::int64_t> steps;
    std::vector<double> points;
    for (const CurvePoint& point : curve) {
      steps.push_back(point.step);
      points.push_back(point.value);
    }
    runs.speeds.push_back(evaluations_to(steps, points, *study_.target, maximize_));
  }

  /// One without a value is worse than any.
  bool is_better(double a, double b) const {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    return maximize_ ? a > b : a < b;
  }

  TuneabilityRow row_of(const std::string& name, std::vector<Runs>& settings) const {
    TuneabilityRow row;
    row.group = name;
    std::int64_t reached = 0;
    for (Runs& each : settings) {
      TunedSetting& setting = each.setting;
      setting.speed = mean(each.speeds);
      if (setting.diverged == 0 && !each.finals.empty()) {
        setting.final_mean = mean(each.finals);
        setting.final_sd = deviation(each.finals);
      }
      if (row.settings.empty() || is_better(setting.final_mean, row.best.final_mean))
        row.best = setting;
      if (study_.target && !std::isnan(setting.final_mean) &&
          !is_better(*study_.target, setting.final_mean))
        ++reached;
      row.settings.push_back(setting);
    }
    if (study_.target)
      row.reached = static_cast<double>(reached) / static_cast<double>(row.settings.size());
    return row;
  }

  ReadStore& store_;
  TuneabilityStudy& study_;
  Presence presence_;
  const Studies studies_;
  Groups groups_;
  std::int64_t open_ = 0, final_ = 0;
  bool maximize_ = false;
};

void add_notes(std::int64_t open, std::int64_t final, TuneabilityStudy& study) {
  study.notes.push_back(
      "performance: mean and deviation (of the population) of the last value over the seeds of the "
      "best setting. The same seeds chose it, so it looks slightly better than it is");
  if (study.target)
    study.notes.push_back(
        "speed: mean index of the first evaluation as good as the target, the one before training "
        "being 0; where none is, the number of evaluations");
  const bool uneven = std::any_of(study.rows.begin(), study.rows.end(), [&](const auto& row) {
    return row.settings.size() != study.rows.front().settings.size();
  });
  if (uneven)
    study.notes.push_back("the groups have different numbers of settings: trying more finds more");
  if (final > 0)
    study.notes.push_back("left out, since the draws chose what they ran: " +
                          count_of(final, "trial") + " with final seeds");
  if (open > 0)
    study.notes.push_back("left out, since not ended or cancelled: " + count_of(open, "trial"));
}

}  // namespace

TuneabilityStudy study_tuneability(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                                   const std::vector<std::string>& by) {
  if (by.empty()) by_is_missing(store, sweeps);
  TuneabilityStudy study;
  study.sweeps = sweeps;
  const ParameterNames names(store, sweeps);
  study.by = names.all_of(by);
  study.over = names.varied_but(study.by);
  Reading reading(store, study);
  for (const std::int64_t sweep : sweeps)
    reading.add(sweep);
  study.rows = reading.rows();
  add_notes(reading.open(), reading.final(), study);
  for (std::string& line : which_is_better(store, sweeps))
    study.notes.push_back(std::move(line));
  return study;
}

}  // namespace thalweg::db::analysis
