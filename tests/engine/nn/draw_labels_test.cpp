// Labels drawn from a model's own predictions.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/layer.h"
#include "jobspec/schema.h"

namespace thalweg::engine {
namespace {

const LossKind kLabels{"of labels", "", {}, true, nullptr, nullptr, nullptr, {}};
const LossKind kTargets{"of targets", "", {}, false, nullptr, nullptr, nullptr, {}};

LossPlan classes(int count) {
  LossPlan plan;
  plan.kind = &kLabels;
  plan.data.classes = count;
  plan.output = {count};
  plan.class_step = 1;
  return plan;
}

TEST(DrawLabels, PositionsAndClassesStandWhereTheLossSays) {
  // One sample of two positions, (classes, positions): position 0 is surely class 1, the other 0.
  LossPlan plan = classes(2);
  plan.output = {2, 2};
  plan.positions = 2;
  plan.position_step = 1;
  plan.class_step = 2;
  const std::vector<float> outputs{-99, 99, 99, -99};
  Batch batch;
  batch.samples = 1;
  std::vector<std::int32_t> labels;
  draw_labels(plan, outputs.data(), batch, labels);
  EXPECT_EQ(labels, (std::vector<std::int32_t>{1, 0}));
}

TEST(DrawLabels, ALossOfTargetsHasNone) {
  LossPlan plan = classes(2);
  plan.kind = &kTargets;
  std::vector<std::int32_t> labels;
  const float outputs[2] = {0, 0};
  EXPECT_THROW(draw_labels(plan, outputs, Batch{}, labels), std::invalid_argument);
}

TEST(DrawLabels, FollowTheSoftmax) {
  constexpr int rows = 20000;
  const std::array<float, 3> logits{std::log(0.2f) + 50, std::log(0.7f) + 50, std::log(0.1f) + 50};
  std::vector<float> all;
  for (int row = 0; row < rows; ++row)
    all.insert(all.end(), logits.begin(), logits.end());
  Batch batch;
  batch.samples = rows;
  std::vector<std::int32_t> labels;
  draw_labels(classes(3), all.data(), batch, labels);
  std::array<int, 3> seen{};
  for (const std::int32_t label : labels)
    ++seen.at(static_cast<std::size_t>(label));
  // Five standard deviations of a binomial count.
  EXPECT_NEAR(seen[0], 0.2 * rows, 283);
  EXPECT_NEAR(seen[1], 0.7 * rows, 324);
}

TEST(DrawLabels, DependOnThePlaceInTheGlobalBatchAlone) {
  std::vector<double> logits(12 * 4);
  for (std::size_t i = 0; i < logits.size(); ++i)
    logits[i] = std::sin(static_cast<double>(i));
  std::vector<std::int32_t> whole, part, parts, other;
  Batch batch;
  batch.seed = 5;
  batch.step = 7;
  batch.samples = 12;
  draw_labels(classes(4), logits.data(), batch, whole);
  batch.samples = 3;
  for (std::size_t i = 0; i < 4; ++i) {
    batch.first_sample = 3 * i;
    draw_labels(classes(4), logits.data() + i * 12, batch, part);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  EXPECT_EQ(parts, whole);
  batch.step = 8;
  batch.samples = 12;
  batch.first_sample = 0;
  draw_labels(classes(4), logits.data(), batch, other);
  EXPECT_NE(other, whole);
}

}  // namespace
}  // namespace thalweg::engine
