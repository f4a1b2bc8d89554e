// Every metric that a run can report: what the names (jobspec/metric_names.h) mean, and which of
// them a given run will have.
#pragma once

#include <string>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/metric_names.h"

namespace thalweg::engine {

struct LossPlan;

namespace metric = jobspec::metric;

/// A number that a run may report.
struct MetricInfo {
  std::string name{};  ///< "val/error"
  std::string doc{};   ///< one line
  std::string unit{};  ///< empty: a plain number
  std::string when{};  ///< which runs report it, in words; empty: all
  bool larger_is_better = false;
};

/// "val" and "error" make "val/error".
std::string held_out_metric(const char* set, const std::string& name);

/// What decides which metrics a run has.
struct RunFacts {
  const LossPlan* loss = nullptr;
  bool tests = false;  ///< there are test samples
  bool several_ranks = false;
  bool several_steps = true;  ///< in all
  bool checkpoints = true;
  bool energy = false;         ///< the machines have counters
  bool grows = false;          ///< batch_growth
  bool stale = false;          ///< sync.mode async, hybrid or abs
  bool on_demand = false;      ///< sync.mode abs
  bool measures_noise = true;  ///< noise.every, several shards, and sums that are plain means
};

/// All that there are, of all losses and options; for `--schema` and documents.
std::vector<MetricInfo> metric_table();
/// Those of a run, in the order of the table.
std::vector<MetricInfo> reported_metrics(const RunFacts& facts);
/// What a sweep of such runs is ranked by, unless it says otherwise.
MetricInfo default_metric(const LossPlan& loss);

/// val/loss, which every run reports.
MetricInfo validation_loss();

/// The table for programs: a list of {name, doc, unit, when, better}.
jobspec::Value metrics_json(const std::vector<MetricInfo>& metrics);
/// The table for people.
std::string describe_metrics(const std::vector<MetricInfo>& metrics);

}  // namespace thalweg::engine
