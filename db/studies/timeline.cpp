// Where the time of trials went: their attempts, each from its launch to its end, in parts.
#include "db/analysis/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "db/studies/study.h"

namespace thalweg::db {
namespace {

using analysis::AttemptTimeline;
using analysis::RankTime;
using analysis::TimelinePart;

std::vector<AttemptTimeline> asked_attempts(ReadStore& store, const StudyRequest& request) {
  std::vector<AttemptTimeline> all;
  for (const Id& id : request.trials) {
    auto attempts = analysis::timeline(store, {id.sweep, id.trial, 0}, request.now);
    if (id.attempt != 0)
      std::erase_if(attempts, [&](const AttemptTimeline& each) { return each.id != id; });
    if (attempts.empty())
      throw std::out_of_range(id.attempt == 0 ? id.to_string() + " has not been launched yet"
                                              : "there is no attempt " + id.to_string());
    std::move(attempts.begin(), attempts.end(), std::back_inserter(all));
  }
  return all;
}

DataTable attempt_table(const std::vector<AttemptTimeline>& attempts, bool for_scripts) {
  using Shows = DataColumn::Shows;
  DataTable table;
  table.key = "attempts";
  table.columns = {{"attempt", "attempt"},
                   {"state", "state"},
                   {"ranks", "ranks", Shows::integer},
                   {"nodes", "nodes", Shows::integer},
                   {"steps", "steps", Shows::count},
                   {"waited", "waited before", Shows::duration},
                   {"seconds", "launch to end", Shows::duration},
                   {"bottleneck", "most of it"}};
  if (for_scripts) table.columns.push_back({"advice", "advice"});
  for (const AttemptTimeline& each : attempts) {
    table.rows.push_back({each.id.to_string(), std::string(name_of(each.state)),
                          static_cast<double>(each.ranks), static_cast<double>(each.nodes),
                          static_cast<double>(each.steps), each.waited, each.seconds,
                          each.bottleneck});
    if (for_scripts) table.rows.back().emplace_back(each.advice);
  }
  return table;
}

/// People are spared an attempt's only rank.
DataTable rank_table(const std::vector<AttemptTimeline>& attempts, bool for_scripts) {
  using Shows = DataColumn::Shows;
  DataTable table;
  table.key = "ranks";
  table.title = "ms a step of each rank";
  table.columns = {{"attempt", "attempt"},
                   {"rank", "rank", Shows::integer},
                   {"node", "node"},
                   {"data_ms", "data", Shows::number},
                   {"compute_ms", "compute", Shows::number},
                   {"comm_exposed_ms", "sums", Shows::number},
                   {"skew_ms", "skew", Shows::number},
                   {"optimizer_ms", "update", Shows::number}};
  for (const AttemptTimeline& each : attempts)
    if (for_scripts || each.per_rank.size() > 1)
      for (const RankTime& rank : each.per_rank)
        table.rows.push_back({each.id.to_string(), static_cast<double>(rank.rank), rank.node,
                              rank.data_ms, rank.compute_ms, rank.comm_exposed_ms, rank.skew_ms,
                              rank.optimizer_ms});
  return table;
}

DataChart timeline_chart(const StudyRequest& request,
                         const std::vector<AttemptTimeline>& attempts) {
  std::string trials;
  for (const Id& id : request.trials)
    trials += (trials.empty() ? "" : ", ") + id.to_string();
  DataChart chart{"Where the time of " + trials + " went", "", "s"};
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    chart.bars.push_back(attempts[i].id.to_string());
    std::size_t next = 0;  // a part stands behind the one before it, in every attempt
    for (const TimelinePart& part : attempts[i].parts) {
      auto series = std::find_if(chart.series.begin(), chart.series.end(),
                                 [&](const DataSeries& each) { return each.label == part.name; });
      if (series == chart.series.end())
        series = chart.series.insert(chart.series.begin() + static_cast<std::ptrdiff_t>(next),
                                     {part.name});
      series->y.resize(i);
      series->y.push_back(part.seconds);
      next = static_cast<std::size_t>(series - chart.series.begin()) + 1;
    }
  }
  return chart;
}

DataTable run_timeline(ReadStore& store, const StudyRequest& request) {
  using Shows = DataColumn::Shows;
  const auto attempts = asked_attempts(store, request);
  DataTable table;
  table.columns = {
      {"attempt", "attempt", Shows::text, "The attempt's id: sweep, trial, attempt."},
      {"part", "part", Shows::text,
       "From launch to end, in their order; what none of them accounts for is other."},
      {"seconds", "time", Shows::duration,
       "Seconds of the attempt in this part, from its journal and the record."},
      {"share", "share", Shows::portion, "The part's seconds over those from launch to end."}};
  for (const AttemptTimeline& attempt : attempts) {
    for (const TimelinePart& part : attempt.parts)
      table.rows.push_back({attempt.id.to_string(), part.name, part.seconds,
                            attempt.seconds > 0 ? part.seconds / attempt.seconds : 0.0});
    if (!attempt.bottleneck.empty())
      table.summary.push_back(fmt::format("most of {}: {}: {}", attempt.id.to_string(),
                                          attempt.bottleneck, attempt.advice));
  }
  table.further = {attempt_table(attempts, request.for_scripts),
                   rank_table(attempts, request.for_scripts)};
  std::erase_if(table.further, [](const DataTable& each) { return each.rows.empty(); });
  table.charts = {timeline_chart(request, attempts)};
  return table;
}

}  // namespace

extern const Study timeline_study;
const Study timeline_study{
    "timeline",
    "show where the time of a trial went",
    "Each attempt from its launch to its end, in parts. held: until Slurm might have started it (a "
    "hold, a begin time, a dependency). queued: until Slurm gave it its nodes. start-up: opening "
    "data and connecting ranks. kernels: measuring them. data: waiting for samples. compute: "
    "forward and backward. communication: waiting for sums of gradients. skew: waiting for ranks "
    "that are slower to compute. optimizer: the update. validation and checkpoints. other: what "
    "none of these accounts for. They are rank 0's times and add up to the attempt's. The largest "
    "part is named, with what makes it smaller, and a rank that computes much longer than the "
    "median one. With several ranks a table has each rank's ms a step, as of its newest "
    "validation; so has the view ranks.",
    "thalweg timeline 12.3\nthalweg timeline 12.3 --svg timeline.svg",
    "time profile bottleneck where slow performance",
    {},
    "",
    run_timeline,
    Study::Of::trials,
    true};

}  // namespace thalweg::db
