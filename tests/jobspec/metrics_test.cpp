// The metric of a sweep file, and what its trials can cost at most.
#include "jobspec/metrics.h"

#include <gmock/gmock.h>
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

TEST(MetricNames, TellWhichValuesAreBetter) {
  for (const char* name : {"accuracy",
                           "val/accuracy",
                           "val_acc",
                           "top1",
                           "top5",
                           "acc1",
                           "f1",
                           "F1Score",
                           "f1score",
                           "MulticlassF1Score",
                           "BinaryAUROC",
                           "auc",
                           "mAP",
                           "mAP50",
                           "mIoU",
                           "nDCG@10",
                           "bleu",
                           "rouge1",
                           "precision",
                           "recall@5",
                           "reward",
                           "mean_reward",
                           "rollout/ep_rew_mean",
                           "meanReturn",
                           "success_rate",
                           "win_rate",
                           "elbo",
                           "fps",
                           "R2",
                           "mcc",
                           "throughput",
                           "tokens_per_second",
                           "img/sec",
                           "it/s",
                           "log_likelihood",
                           "neg_mean_squared_error",
                           "loss/accuracy",
                           "epoch",
                           "bertscore",
                           "exact_match",
                           "pass@1",
                           "hits@10",
                           "loss_improvement"})
    EXPECT_EQ(goal_by_name(name), Goal::maximize) << name;
  for (const char* name : {"loss",
                           "val/loss",
                           "valLoss",
                           "valloss",
                           "train_loss_epoch",
                           "train_loss_step",
                           "logloss",
                           "losses",
                           "error",
                           "val/top5_error",
                           "err",
                           "mean_squared_error",
                           "RMSE",
                           "MAPE",
                           "mae",
                           "perplexity",
                           "ppl",
                           "nll",
                           "neg_log_likelihood",
                           "cross_entropy",
                           "crossentropy",
                           "wer",
                           "fid",
                           "regret",
                           "reward_loss",
                           "accuracy/loss",
                           "score_time",
                           "time_to_accuracy",
                           "timeToAccuracy",
                           "seconds_per_step",
                           "loss_per_token",
                           "bits_per_dim",
                           "accuracy_gap",
                           "false_positive_rate",
                           "latency",
                           "loss_at_epoch_5",
                           "failures"})
    EXPECT_EQ(goal_by_name(name), Goal::minimize) << name;
  for (const char* name : {"", "value", "entropy", "objective", "x", "metric", "lr", "accuracy_std",
                           "one_minus_accuracy", "inverse_loss", "steps", "grad_norm", "loss_diff",
                           "signal_to_noise", "episode_length", "//", "größe"})
    EXPECT_EQ(goal_by_name(name), std::nullopt) << name;
}

TEST(MetricBlock, AGoalLeftOutIsTheOneThatTheNameTells) {
  const auto program = [](const std::string& metric) {
    return parse("command: [sh, '-c', 'true']\nseeds: 2\nmetric: " + metric + "\n");
  };
  const auto notes = [](const Sweep& sweep) {
    std::string all;
    for (const std::string& note : sweep.notes)
      all += note + '\n';
    return all;
  };
  const Sweep larger = program("{name: val/accuracy}");
  EXPECT_EQ(larger.metric.goal, Goal::maximize);
  EXPECT_THAT(notes(larger), testing::HasSubstr(":3: metric.goal: maximize, as the name"));
  const Sweep doubtful = program("{name: value}");
  EXPECT_EQ(doubtful.metric.goal, Goal::minimize);
  EXPECT_THAT(notes(doubtful), testing::HasSubstr("does not say which values are better"));
  EXPECT_EQ(program("{name: val/accuracy, goal: minimize}").metric.goal, Goal::minimize);
  for (const char* said : {"{name: val/accuracy, goal: minimize}", "{name: value, goal: maximize}",
                           "{name: val/loss}"})
    EXPECT_THAT(notes(program(said)), testing::Not(testing::HasSubstr("metric.goal"))) << said;
  // Also where no engine is there to say it.
  EXPECT_EQ(with("metric: {name: val/accuracy}").metric.goal, Goal::maximize);
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
            "at most 1 node-hour (1 trial x 1 node x 01:00:00), 0.5 EUR");
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
