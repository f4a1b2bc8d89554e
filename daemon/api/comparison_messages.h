// The answer to GET /v1/sweeps/12/compare, as the server fills it and clients read it. README.md
// describes the JSON.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/fields.h"

namespace thalweg::daemon::api {

/// What stands for the units of a row, their median unless another statistic was asked for, and its
/// interval; NaN where no unit has a value.
struct EstimateMessage {
  std::optional<double> median, low, high;

  static void each_field(auto& self, auto&& field) {
    field("median", self.median);
    field("low", self.low);
    field("high", self.high);
  }
};

/// Infinite where not even half of the units got there.
struct ToTargetMessage : EstimateMessage {
  std::optional<std::int64_t> reached;  ///< trials that got there

  static void each_field(auto& self, auto&& field) {
    EstimateMessage::each_field(self, field);
    field("reached", self.reached);
  }
};

struct OtherTargetMessage {
  double target = 0;
  ToTargetMessage steps, samples, seconds, node_seconds, money;

  static void each_field(auto& self, auto&& field) {
    field("target", self.target);
    field("steps", self.steps);
    field("samples", self.samples);
    field("seconds", self.seconds);
    field("node_seconds", self.node_seconds);
    field("money", self.money);
  }
};

struct ComparisonRowMessage {
  std::int64_t rank = 0;                        ///< from 1
  std::map<std::string, nlohmann::json> group;  ///< by parameter
  std::map<std::string, nlohmann::json> chosen;
  std::int64_t choices = 0, n = 0, configurations = 0;
  std::optional<std::int64_t> trials_used;
  std::int64_t finished = 0, failed = 0;
  std::optional<std::int64_t> ended_early;  ///< of those finished: by early_terminate
  EstimateMessage best;
  ToTargetMessage steps_to_target, samples_to_target, seconds_to_target, node_seconds_to_target;
  ToTargetMessage money_to_target;
  std::vector<OtherTargetMessage> other_targets;
  EstimateMessage cost_node_seconds, money, samples_per_s;
  std::vector<std::string> trials;
  std::string verdict;
  std::optional<double> p;
  EstimateMessage improvement;  ///< probability of being better than the first row

  static void each_field(auto& self, auto&& field) {
    field("rank", self.rank);
    field("group", self.group);
    field("chosen", self.chosen);
    field("choices", self.choices);
    field("n", self.n);
    field("configurations", self.configurations);
    field("trials_used", self.trials_used);
    field("finished", self.finished);
    field("failed", self.failed);
    field("ended_early", self.ended_early);
    field("best", self.best);
    field("steps_to_target", self.steps_to_target);
    field("samples_to_target", self.samples_to_target);
    field("seconds_to_target", self.seconds_to_target);
    field("node_seconds_to_target", self.node_seconds_to_target);
    field("money_to_target", self.money_to_target);
    field("other_targets", self.other_targets);
    field("cost_node_seconds", self.cost_node_seconds);
    field("money", self.money);
    field("samples_per_s", self.samples_per_s);
    field("trials", self.trials);
    field("verdict", self.verdict);
    field("p", self.p);
    field("improvement", self.improvement);
  }
};

struct ComparisonMessage {
  std::string sweep;                ///< the first one
  std::vector<std::string> sweeps;  ///< all of them
  std::string metric, goal;
  std::optional<double> target;
  std::vector<double> other_targets;
  std::vector<std::string> by, best_over;
  std::string unit;       ///< "seed" | "configuration"
  std::string statistic;  ///< "median" | "mean" | "best": what stands for a row
  bool priced = false;    ///< some sweep has a price, so money is known
  std::string currency;
  std::vector<std::uint64_t> choosing_seeds, judging_seeds;
  std::int64_t rows_in_all = 0;
  std::vector<ComparisonRowMessage> rows;  ///< best first
  std::vector<std::string> notes;

  static void each_field(auto& self, auto&& field) {
    field("sweep", self.sweep);
    field("sweeps", self.sweeps);
    field("metric", self.metric);
    field("goal", self.goal);
    field("target", self.target, Field::null);
    field("other_targets", self.other_targets);
    field("by", self.by);
    field("best_over", self.best_over);
    field("unit", self.unit);
    field("statistic", self.statistic);
    field("priced", self.priced);
    field("currency", self.currency);
    field("choosing_seeds", self.choosing_seeds);
    field("judging_seeds", self.judging_seeds);
    field("rows_in_all", self.rows_in_all);
    field("rows", self.rows);
    field("notes", self.notes);
  }
};

}  // namespace thalweg::daemon::api
