// The metric of a sweep file, and what its trials can cost at most.
#include "jobspec/metrics.h"

#include <gtest/gtest.h>

#include "jobspec/cost.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

constexpr const char* kTrain =
    "train: {model: {name: mlp}, data: {name: fashion-mnist}, batch: {global: 128}, optimizer: "
    "{name: adamw}}\n";

Sweep with(const std::string& block) {
  return parse(block + "\n" + kTrain);
}

TEST(MetricNames, AreFoundInOtherSpellings) {
  const std::vector<std::string> names{"train/loss",   "val/loss",       "val/error",
                                       "val/accuracy", "val/top5_error", "perf/samples_per_s"};
  const std::pair<const char*, const char*> spellings[] = {
      {"val_loss", "val/loss"},
      {"accuracy", "val/accuracy"},
      {"validation.top5_error", "val/top5_error"},
      {"valid_acc", "val/accuracy"},
      {"Loss", "val/loss"},
      {"train-loss", "train/loss"},
      {"val/eror", "val/error"},
      {"samples_per_s", "perf/samples_per_s"},
      {"wall_clock_hours", ""}};
  for (const auto& [spelling, meant] : spellings)
    EXPECT_EQ(nearest_metric(spelling, names), meant) << spelling;
}

TEST(MetricBlock, WhetherItIsGivenIsKnown) {
  EXPECT_FALSE(with("seeds: 2").metric_given);
  const Sweep sweep = with("seeds: 2\nmetric:\n  name: val/error");
  EXPECT_TRUE(sweep.metric_given);
  EXPECT_FALSE(sweep.goal_given);
  EXPECT_TRUE(with("metric: {name: val/error, goal: minimize}").goal_given);
  EXPECT_EQ(sweep.places.at("metric.name").line, 3);
}

TEST(Cost, IsTrialsTimesNodesTimesTimeLimits) {
  const Sweep sweep = with("seeds: 3\nresources: {nodes: 4, time: \"01:30:00\"}");
  const Expansion expansion = expand(sweep, test_schema());
  EXPECT_EQ(max_node_hours(expansion), 18);
  EXPECT_EQ(describe_cost(sweep, expansion),
            "at most 18 node-hours (3 trials x 4 nodes x 01:30:00); a trial that fails is tried "
            "again up to 2 times");
}

TEST(Cost, IsMoneyWhereThePriceIsKnown) {
  const Sweep sweep = with("limits: {max_retries: 0}\nslurm: {partition: spot}");
  const Prices prices{"EUR", 3, {{"spot", 0.5}}};
  EXPECT_EQ(describe_cost(sweep, expand(sweep, test_schema()), prices),
            "at most 1 node-hours (1 trial x 1 node x 01:00:00), 0.5 EUR");
}

TEST(Cost, NodesThatVaryAreAddedUp) {
  const Sweep sweep = with(
      "method: grid\nlimits: {max_retries: 0, node_hours: 5}\nparameters: {resources.nodes: "
      "{values: [1, 3]}}");
  const Expansion expansion = expand(sweep, test_schema());
  EXPECT_EQ(max_node_hours(expansion), 4);
  EXPECT_EQ(describe_cost(sweep, expansion),
            "at most 4 node-hours (2 trials x their nodes x 01:00:00); limits.node_hours: 5 is "
            "enough for each of them once");
}

}  // namespace
}  // namespace thalweg::jobspec
