// Objects out of volumes with a network that is right by construction, and the score of what it
// finds.
#include "engine/train/flood_filling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/device/executor.h"
#include "engine/nn/model_table.h"
#include "engine/tensor/buffer.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using testing::ElementsAre;

/// A volume of boxes with their own values on a ground of 0.
struct Boxes {
  VolumeSize size;
  std::vector<float> image;
  std::vector<std::int32_t> numbers;

  explicit Boxes(const VolumeSize& s) : size(s), image(voxels_of(s)), numbers(voxels_of(s)) {}
  void put(const VolumeSize& first, const VolumeSize& end, float value, std::int32_t number) {
    for (std::int64_t z = first[0]; z < end[0]; ++z)
      for (std::int64_t y = first[1]; y < end[1]; ++y)
        for (std::int64_t x = first[2]; x < end[2]; ++x) {
          const auto at = static_cast<std::size_t>((z * size[1] + y) * size[2] + x);
          image[at] = value, numbers[at] = number;
        }
  }
};

constexpr VolumeSize kField{5, 5, 5};

/// Of the object: what has the value of what is known, if that is no ground's.
void same_value(const float* inputs, float* logits) {
  const std::size_t n = voxels_of(kField);
  float value = 0;
  for (std::size_t i = 0; i < n; ++i)
    if (inputs[n + i] == 1) value = inputs[i];
  for (std::size_t i = 0; i < n; ++i)
    logits[i] = value != 0 && inputs[i] == value ? 6.0f : -6.0f;
}

std::vector<std::int32_t> flooded(const Boxes& boxes, int* calls = nullptr) {
  FloodRule rule;
  rule.field = kField;
  rule.least = 4;
  return flood_fill(boxes.image, 1, boxes.size, rule, [&](const float* inputs, float* logits) {
    if (calls != nullptr) ++*calls;
    same_value(inputs, logits);
  });
}

TEST(FloodFilling, FollowsObjectsBeyondItsFieldOfView) {
  Boxes boxes({9, 12, 30});
  boxes.put({2, 1, 0}, {4, 4, 30}, 1, 1);    // longer than the field, to the border
  boxes.put({2, 4, 10}, {4, 12, 12}, 1, 1);  // round a corner
  boxes.put({6, 1, 1}, {9, 9, 8}, 2, 2);
  boxes.put({6, 1, 8}, {9, 9, 15}, 3, 3);     // touches the second
  boxes.put({7, 10, 25}, {8, 11, 27}, 4, 0);  // of two voxels: too small to count
  const auto found = flooded(boxes);
  const SegmentationScore score = score_segmentation(found, boxes.numbers);
  EXPECT_EQ(score.found, 3);
  EXPECT_EQ(score.truth, 3);
  EXPECT_EQ(score.rand_error, 0);
  EXPECT_EQ(score.iou, 1);
  EXPECT_EQ(flooded(boxes), found);
}

TEST(FloodFilling, WhatIsNotConnectedIsAnotherObject) {
  Boxes boxes({8, 8, 20});
  boxes.put({2, 2, 2}, {6, 6, 9}, 1, 1);
  boxes.put({2, 2, 10}, {6, 6, 18}, 1, 2);  // of the same value, within the field's reach
  const SegmentationScore score = score_segmentation(flooded(boxes), boxes.numbers);
  EXPECT_EQ(score.found, 2);
  EXPECT_EQ(score.rand_error, 0);
}

TEST(FloodFilling, SeedsInNoObjectAreTurnedDownAtOnce) {
  const Boxes empty({10, 10, 10});
  int calls = 0;
  const auto found = flooded(empty, &calls);
  EXPECT_EQ(std::set<std::int32_t>(found.begin(), found.end()), (std::set<std::int32_t>{0}));
  EXPECT_EQ(calls, 1000) << "one look for each seed, a step of 1 apart";
}

TEST(FloodFilling, NoVoxelChangesHands) {
  // A network that takes everything: the first object has all that the field may reach.
  const Boxes boxes({6, 6, 6});
  FloodRule rule;
  rule.field = kField;
  const auto all = [](const float*, float* logits) {
    std::fill_n(logits, voxels_of(kField), 9.0f);
  };
  const auto found = flood_fill(boxes.image, 1, boxes.size, rule, all);
  EXPECT_EQ(std::set<std::int32_t>(found.begin(), found.end()), (std::set<std::int32_t>{1}));
  // One that is sure of its seed's surroundings but moves nowhere: objects do not overlap.
  rule.least = 1;
  const auto some = [](const float* inputs, float* logits) {
    for (std::size_t i = 0; i < voxels_of(kField); ++i)
      logits[i] = inputs[voxels_of(kField) + i] == 1 ? 2.0f : 1.0f;  // 0.88 and 0.73: kept
  };
  const auto objects = flood_fill(boxes.image, 1, boxes.size, rule, some);
  std::vector<std::int32_t> sizes(
      1 + static_cast<std::size_t>(*std::max_element(objects.begin(), objects.end())));
  for (const std::int32_t number : objects)
    ++sizes[static_cast<std::size_t>(number)];
  EXPECT_EQ(sizes[0], 0);
  EXPECT_EQ(sizes[1], 27) << "of the first corner, all of the field that is inside";
  EXPECT_GT(sizes.size(), 2u);
}

TEST(FloodFilling, ExecutorsTellWhatTheirModelPutsOut) {
  // A linear layer by hand: of two samples in a program for three.
  const jobspec::Map model{
      {"name", "graph"},
      {"layers", jobspec::List{jobspec::Map{{"kind", "linear"}, {"outputs", 2}}}}};
  const std::vector<float> inputs{1, 2, 3, -4, 5, 0.5f}, targets(4);
  for (const char* device : {"cpu", "reference"}) {
    const InputShape shape{.sample = {3}, .classes = 0, .labels = 0, .targets = 2};
    const auto made = build_model(model, shape, 3, device, jobspec::Map{{"name", "mse"}});
    const std::vector<float> plain{1, 10, 100, 2, 20, 200, 0.25f, 0.5f};  // weights, bias
    ASSERT_EQ(made->parameter_count(), 8);
    Buffer parameters = Buffer::of_floats(made->parameter_floats());
    made->from_plain(plain.data(), parameters.floats());
    std::vector<float> outputs(6, -1);
    ShardResult result;
    Shard shard;
    shard.batch.inputs = inputs.data();
    shard.batch.targets = targets.data();
    shard.batch.samples = 2;
    shard.parameters = parameters.floats();
    shard.result = &result;
    shard.outputs = outputs.data();
    made->executor()->evaluate(nullptr, shard);
    EXPECT_THAT(outputs, ElementsAre(321.25f, 642.5f, 96.25f, 192.5f, -1, -1)) << device;
  }
}

TEST(SegmentationScore, IsTheOneOfScikitImage) {
  // skimage.metrics.adapted_rand_error's documentation and by hand: pairs of voxels.
  const std::vector<std::int32_t> truth{1, 1, 1, 2, 2, 0}, split{7, 7, 8, 9, 9, 9},
      merged{5, 5, 5, 5, 5, 0}, none(6, 0);
  const SegmentationScore of_split = score_segmentation(split, truth);
  EXPECT_DOUBLE_EQ(of_split.precision, 1);
  EXPECT_DOUBLE_EQ(of_split.recall, 2.0 / 4);  // 1 + 1 of 3 + 1 pairs
  EXPECT_DOUBLE_EQ(of_split.rand_error, 1 - 2 * 2.0 / (2 + 4));
  EXPECT_DOUBLE_EQ(of_split.iou, 5.0 / 6);
  EXPECT_EQ(of_split.found, 3);
  const SegmentationScore of_merged = score_segmentation(merged, truth);
  EXPECT_DOUBLE_EQ(of_merged.precision, 4.0 / 10);
  EXPECT_DOUBLE_EQ(of_merged.recall, 1);
  EXPECT_DOUBLE_EQ(of_merged.iou, 1);
  EXPECT_DOUBLE_EQ(score_segmentation(truth, truth).rand_error, 0);
  EXPECT_DOUBLE_EQ(score_segmentation(none, truth).iou, 0);
}

}  // namespace
}  // namespace thalweg::engine
