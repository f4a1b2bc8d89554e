// The best value so far, as trials ended one after the other: whether a search still finds better
// values, and what that has cost.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>

#include "base/text.h"
#include "db/analysis/configurations.h"
#include "db/store.h"
#include "db/studies/study.h"

namespace thalweg::db {
namespace {

struct EndedTrial {
  Id id;
  double value = 0;             ///< NaN: it has none
  double began = 0, ended = 0;  ///< Unix seconds; 0: not known, as of imported runs
  double node_seconds = 0;
};

struct SweepHistory {
  std::int64_t sweep = 0, open = 0;
  bool maximize = false;
  std::string metric;
  std::vector<EndedTrial> trials{};  ///< in the order of their ends
};

SweepHistory history_of(ReadStore& store, std::int64_t id) {
  const analysis::EndedTrials found = analysis::ended_trials(store, id, {});
  SweepHistory history{id, found.open, found.maximize, found.metric};
  std::map<std::int64_t, std::pair<double, double>> times;  // by trial: first start, last end
  for (const AttemptTimes& attempt : store.attempt_times(id)) {
    auto& [began, ended] = times[attempt.id.trial];
    if (attempt.started > 0 && (began == 0 || attempt.started < began)) began = attempt.started;
    ended = std::max(ended, attempt.ended);
  }
  for (const analysis::TrialRecord& trial : found.trials) {
    const auto [began, ended] = times[trial.id.trial];
    history.trials.push_back({trial.id, std::isfinite(trial.best) ? trial.best : NAN, began, ended,
                              std::isfinite(trial.node_seconds) ? trial.node_seconds : 0});
  }
  std::stable_sort(history.trials.begin(), history.trials.end(),
                   [](const EndedTrial& a, const EndedTrial& b) { return a.ended < b.ended; });
  return history;
}

bool is_better(const SweepHistory& history, double value, double than) {
  return !std::isnan(value) &&
         (std::isnan(than) || (history.maximize ? value > than : value < than));
}

DataChart chart_of(const std::vector<SweepHistory>& histories) {
  DataChart chart{"Best value so far", "trials that have ended", histories.front().metric};
  chart.caption = "A dot is a trial, the line the best value so far.";
  chart.note = "Trials in the order of their ends; a trial without a finite value has no dot.";
  double smallest = std::numeric_limits<double>::infinity(), largest = -smallest;
  for (const SweepHistory& history : histories) {
    const std::string of =
        histories.size() > 1 ? fmt::format("sweep {}: ", history.sweep) : std::string();
    DataSeries dots{of + "trials", true}, line{of + "best so far"};
    double best = NAN;
    for (std::size_t i = 0; i < history.trials.size(); ++i) {
      const double value = history.trials[i].value, at = static_cast<double>(i + 1);
      if (!std::isnan(value)) {
        dots.x.push_back(at);
        dots.y.push_back(value);
        smallest = std::min(smallest, value);
        largest = std::max(largest, value);
      }
      const bool better = is_better(history, value, best);
      if (better && !std::isnan(best)) {
        line.x.push_back(at);
        line.y.push_back(best);
      }
      if (better) best = value;
      if (better || (i + 1 == history.trials.size() && !std::isnan(best))) {
        line.x.push_back(at);
        line.y.push_back(best);
      }
    }
    chart.series.push_back(std::move(dots));
    chart.series.push_back(std::move(line));
  }
  constexpr double wide = 50;
  chart.log_y = smallest > 0 && largest / smallest > wide;
  return chart;
}

std::vector<DataColumn> columns_of(const std::string& metric, bool several) {
  using Shows = DataColumn::Shows;
  std::vector<DataColumn> columns;
  if (several) columns.push_back({"sweep", "sweep", Shows::integer, "The sweep's number."});
  columns.insert(
      columns.end(),
      {{"ended", "ended", Shows::count, "Trials that had ended by then, this one among them."},
       {"trial", "trial", Shows::text, "The trial that was better than all before it."},
       {"best", metric, Shows::number, "Its best value."},
       {"seconds", "time", Shows::duration, "From the sweep's first start to this trial's end.", 1},
       {"node_seconds", "node time", Shows::duration,
        "Nodes times time of all trials that had ended by then."}});
  return columns;
}

void add_improvements(const SweepHistory& history, bool several, DataTable& table) {
  double first = 0, spent = 0, best = NAN;
  for (const EndedTrial& trial : history.trials)
    if (trial.began > 0 && (first == 0 || trial.began < first)) first = trial.began;
  std::size_t last = 0;
  for (std::size_t i = 0; i < history.trials.size(); ++i) {
    const EndedTrial& trial = history.trials[i];
    spent += trial.node_seconds;
    if (!is_better(history, trial.value, best)) continue;
    best = trial.value;
    last = i + 1;
    std::vector<Datum> row;
    if (several) row.emplace_back(static_cast<double>(history.sweep));
    const bool timed = first > 0 && trial.ended > 0;
    row.insert(row.end(), {static_cast<double>(i + 1), trial.id.to_string(), best,
                           timed ? Datum(trial.ended - first) : Datum(), Datum(spent)});
    table.rows.push_back(std::move(row));
  }
  if (last == 0) return;
  const std::size_t since = history.trials.size() - last;
  table.summary.push_back(fmt::format(
      "{}{} after the last improvement", several ? fmt::format("sweep {}: ", history.sweep) : "",
      since == 0 ? "no trial has ended"
                 : count_of(static_cast<long long>(since), "trial") + " ended"));
}

DataTable run_history(ReadStore& store, const StudyRequest& request) {
  const bool several = request.sweeps.size() > 1;
  std::vector<SweepHistory> histories;
  for (const std::int64_t id : request.sweeps) {
    histories.push_back(history_of(store, id));
    const SweepHistory &one = histories.front(), &other = histories.back();
    if (one.metric != other.metric || one.maximize != other.maximize)
      throw std::invalid_argument(
          fmt::format("sweep {} is ranked by a different metric from the others", id));
  }
  DataTable table;
  table.columns = columns_of(histories.front().metric, several);
  std::size_t ended = 0;
  std::int64_t open = 0;
  for (const SweepHistory& history : histories) {
    add_improvements(history, several, table);
    ended += history.trials.size();
    open += history.open;
  }
  analysis::add_search_notes(histories.front().metric, histories.front().maximize, open,
                             table.notes);
  constexpr std::size_t least_trials = 4;
  table.telling = ended >= least_trials && !table.rows.empty();
  if (!table.rows.empty()) table.charts = {chart_of(histories)};
  return table;
}

}  // namespace

extern const Study history_study;
const Study history_study{
    "history",
    "the best value so far, trial by trial",
    "Every trial that was better than all that had ended before it, and what all of them had cost "
    "by then. It shows whether a search still improves. Trials count in the order of their ends.",
    "thalweg history 12\nthalweg history 12 13",
    "optimization-history best-so-far incumbent improvement progress",
    {},
    "Best value so far",
    run_history,
    Study::Of::sweeps,
    true};

}  // namespace thalweg::db
