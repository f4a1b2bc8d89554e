// The sums behind validation's metrics, counted by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/device/labels.h"
#include "engine/device/reference/layer.h"
#include "engine/nn/graph.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;

double metric(const LossPlan& plan, const ShardResult& result, const std::string& name) {
  for (const Metric& m : plan.kind->metrics)
    if (m.name == name && (!m.applies || m.applies(plan))) return m.value(result.sums.data());
  return -1;
}

ShardResult judge(const LossPlan& plan, const std::vector<float>& outputs, const Batch& batch) {
  LossCall<float> call;
  call.outputs = outputs.data();
  call.batch = &batch;
  const ShardResult reference = plan.kind->reference->f32(plan, call);
  const ShardResult cpu = plan.kind->cpu(plan, call);
  for (std::size_t i = 0; i < max_sums; ++i)  // losses are no counts
    EXPECT_NEAR(reference.sums[i], cpu.sums[i], i == position_loss ? 1e-5 : 0) << i;
  return reference;
}

// Five pixels of three classes, class 0 the background: labels 0 0 1 2 1, predicted 0 1 1 1 1.
TEST(Metrics, OfSegmentsLeaveTheBackgroundOut) {
  const InputShape data{{1, 1, 5}, 3, 5};
  const std::vector<float> logits{9, 0, 0, 0, 0,   //
                                  0, 9, 9, 9, 9,   //
                                  0, 0, 0, 1, 0};  // (classes, h, w)
  const std::vector<std::int32_t> labels{0, 0, 1, 2, 1};
  Batch batch;
  batch.labels = labels.data();
  batch.samples = 1;
  for (const char* name : {"cross_entropy", "dice"}) {
    const LossPlan plan = plan_loss(Map{{"name", name}}, data, {3, 1, 5});
    const ShardResult result = judge(plan, logits, batch);
    EXPECT_DOUBLE_EQ(metric(plan, result, "error"), 2.0 / 5) << name;
    EXPECT_DOUBLE_EQ(metric(plan, result, "iou"), 2.0 / 4) << name;
  }
  // One answer a sample has no segments.
  const LossPlan plain = plan_loss(Map{{"name", "cross_entropy"}}, {{4}, 3}, {3});
  const std::vector<std::int32_t> label{1};
  batch.labels = label.data();
  EXPECT_EQ(metric(plain, judge(plain, {0, 1, 0}, batch), "iou"), -1);
}

// Samples with three labels and with one: probabilities 1/2, 1/4, 1/4 of the labels, and 1/8.
TEST(Metrics, PerplexityIsOverPositions) {
  const InputShape data{{3}, 2, 3};
  const LossPlan plan = plan_loss(Map{{"name", "cross_entropy"}}, data, {3, 2});
  const auto odds = [](float of_one_to) { return std::log(of_one_to); };
  const std::vector<float> logits{0,       0, 0, odds(3), odds(3), 0,  //
                                  odds(7), 0, 9, 9,       1,       2};
  const std::vector<std::int32_t> labels{0, 0, 1, 1, no_label, no_label};
  Batch batch;
  batch.labels = labels.data();
  batch.samples = 2;
  const ShardResult result = judge(plan, logits, batch);
  EXPECT_NEAR(metric(plan, result, "perplexity"), std::pow(2.0 * 4 * 4 * 8, 0.25), 1e-5);
  const double of_samples = (std::log(2.0 * 4 * 4) / 3 + std::log(8.0)) / 2;
  EXPECT_NEAR(result.loss_sum / 2, of_samples, 1e-5) << "the loss counts samples alike";
}

TEST(Metrics, OfBinaryTargetsCountSides) {
  const LossPlan plan = plan_loss(Map{{"name", "bce"}}, {{4}, 0, 0, 5}, {5});
  const std::vector<float> targets{1, 1, 0, 0, 0.9f};
  Batch batch;
  batch.targets = targets.data();
  batch.samples = 1;
  const ShardResult result = judge(plan, {2, -1, 3, -4, 0.5f}, batch);
  EXPECT_DOUBLE_EQ(metric(plan, result, "error"), 2.0 / 5);
  EXPECT_DOUBLE_EQ(metric(plan, result, "iou"), 2.0 / 4);
}

}  // namespace
}  // namespace thalweg::engine
