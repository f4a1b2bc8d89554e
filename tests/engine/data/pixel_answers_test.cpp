// Labels and targets of pixels go where augmentation moves their pixels.
#include "engine/data/pixel_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "engine/data/loader.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::HasSubstr;

constexpr std::int64_t kHeight = 6, kWidth = 8;
constexpr std::size_t kPixels = kHeight * kWidth;

/// Images whose every pixel is its own number, plus a thousand for each sample: labels are those
/// numbers, targets the numbers of two channels. What moved apart is seen.
class Numbered final : public Dataset {
 public:
  explicit Numbered(bool labels)
      : Dataset(labels ? SampleForm{.input = {1, kHeight, kWidth},
                                    .classes = static_cast<int>(kPixels),
                                    .labels = kPixels,
                                    .answers = {kHeight, kWidth}}
                       : SampleForm{.input = {1, kHeight, kWidth},
                                    .labels = 0,
                                    .targets = 2 * kPixels,
                                    .answers = {2, kHeight, kWidth}}) {}
  std::size_t size() const override { return 8; }
  void copy(std::size_t index, float* out) const override {
    for (std::size_t i = 0; i < kPixels; ++i)
      out[i] = static_cast<float>(1000 * (index + 1) + i);
  }
  void copy_labels(std::size_t, std::int32_t* out) const override {
    for (std::size_t i = 0; i < kPixels; ++i)
      out[i] = static_cast<std::int32_t>(i);
  }
  void copy_targets(std::size_t index, float* out) const override {
    copy(index, out);
    copy(index, out + kPixels);
  }
};

std::vector<std::uint32_t> all() {
  return {0, 1, 2, 3, 4, 5, 6, 7};
}

LoaderPlan plan_of(const Augmenter& augmenter, const Mixer* mixer = nullptr) {
  LoaderPlan plan;
  plan.global_batch = plan.positions = 8;
  plan.end_step = 4;
  plan.augmenter = &augmenter;
  plan.mixer = mixer;
  return plan;
}

TEST(PixelAnswers, LabelsGoWithWholePixels) {
  const Numbered data(true);
  const Augmenter augmenter(
      Map{{"flip", 0.5}, {"flip_vertical", 0.5}, {"crop", 2.0}, {"fill", "zero"}}, data.form());
  Loader loader(data, all(), plan_of(augmenter));
  int moved = 0, outside = 0;
  for (int step = 0; step < 4; ++step) {
    const PreparedBatch& batch = loader.next();
    for (std::size_t i = 0; i < 8 * kPixels; ++i) {
      const float value = batch.inputs[i];
      const std::int32_t label = batch.labels[i];
      if (value == 0) {
        EXPECT_EQ(label, kNoLabel);
        ++outside;
      } else {
        EXPECT_EQ(label, static_cast<std::int32_t>(value) % 1000);
        moved += label != static_cast<std::int32_t>(i % kPixels) ? 1 : 0;
      }
    }
  }
  EXPECT_GT(moved, 100);
  EXPECT_GT(outside, 100);
}

TEST(PixelAnswers, BetweenPixelsTheNearestLabelCounts) {
  const Numbered data(true);
  const Augmenter augmenter(Map{{"rotate", 30.0}, {"scale", 0.2}}, data.form());
  ASSERT_TRUE(augmenter.moves_answers());
  std::vector<float> image(kPixels), turned(kPixels), row(kPixels), turned_row(kPixels);
  std::vector<std::int32_t> labels(kPixels), moved(kPixels);
  data.copy_labels(0, labels.data());
  for (std::size_t i = 0; i < kPixels; ++i) {
    image[i] = static_cast<float>(i % kWidth);
    row[i] = static_cast<float>(i / kWidth);
  }
  int counted = 0;
  for (std::uint64_t sample = 0; sample < 20; ++sample) {
    const augment::Change change = augmenter.draw(1, 0, sample);
    augmenter.apply(change, image.data(), turned.data());
    augmenter.apply(change, row.data(), turned_row.data());
    augmenter.move(change, labels.data(), moved.data());
    for (std::int64_t y = 1; y + 1 < kHeight; ++y)
      for (std::int64_t x = 1; x + 1 < kWidth; ++x) {
        const augment::Between place = augment::between(change.geometry, y, x);
        const bool inside =
            place.y >= 0 && place.y + 1 < kHeight && place.x >= 0 && place.x + 1 < kWidth;
        if (!inside) continue;
        const auto at = static_cast<std::size_t>(y * kWidth + x);
        // The interpolated coordinates are the place itself.
        EXPECT_LE(std::abs(static_cast<float>(moved[at] % kWidth) - turned[at]), 0.5f + 1e-4f);
        EXPECT_LE(std::abs(static_cast<float>(moved[at] / kWidth) - turned_row[at]), 0.5f + 1e-4f);
        ++counted;
      }
  }
  EXPECT_GT(counted, 200);
}

TEST(PixelAnswers, TargetsGoWithTheirImageAndItsPartner) {
  const Numbered data(false);
  const Map options{{"rotate", 40.0}, {"flip", 0.5},   {"crop", 2.0},
                    {"fill", "wrap"}, {"cutmix", 1.0}, {"mixing_chance", 0.5}};
  const Augmenter augmenter(options, data.form());
  const Mixer mixer(options, data.form());
  Loader loader(data, all(), plan_of(augmenter, &mixer));
  for (int step = 0; step < 4; ++step) {
    const PreparedBatch& batch = loader.next();
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t p = 0; p < kPixels; ++p)
        for (std::size_t channel = 0; channel < 2; ++channel)
          ASSERT_EQ(batch.targets[(2 * i + channel) * kPixels + p], batch.inputs[i * kPixels + p]);
  }
}

TEST(PixelAnswers, CutmixTakesTheLabelsOfItsBoxAlong) {
  const Numbered data(true);
  const Map options{{"crop", 1.0}, {"flip", 0.5}, {"cutmix", 1.0}, {"mixing_chance", 0.8}};
  const Augmenter augmenter(options, data.form());
  const Mixer mixer(options, data.form());
  const LoaderPlan plan = plan_of(augmenter, &mixer);
  Loader loader(data, all(), plan);
  LoaderPlan gpus = plan;
  gpus.form = gpu_batches(data, &augmenter, &mixer, 2, 4, 0);
  Loader raw(data, all(), gpus);
  int mixed = 0;
  for (int step = 0; step < 4; ++step) {
    const PreparedBatch &batch = loader.next(), &there = raw.next();
    EXPECT_TRUE(batch.labels_b.empty() && batch.shares_b.empty())
        << "a position has one label: the loss has nothing to blend";
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t first = i * kPixels;
      const auto sample = [&](std::size_t p) {
        return static_cast<int>(batch.inputs[first + p]) / 1000;
      };
      std::set<int> samples;
      for (std::size_t p = 0; p < kPixels; ++p) {
        const float value = batch.inputs[first + p];
        ASSERT_EQ(batch.labels[first + p],
                  value == 0 ? kNoLabel : static_cast<std::int32_t>(value) % 1000);
        if (value != 0) samples.insert(sample(p));
      }
      mixed += samples.size() == 2 ? 1 : 0;
      EXPECT_EQ(std::memcmp(there.memory + gpus.form.layout.sample(BatchLayout::labels, i),
                            batch.labels.data() + first, kPixels * sizeof(std::int32_t)),
                0)
          << "as for a GPU, which blends the images itself";
    }
  }
  EXPECT_GT(mixed, 10);
}

TEST(PixelAnswers, BatchesThatAGpuAugmentsHaveThemMovedToo) {
  const Numbered data(true);
  const Augmenter augmenter(Map{{"flip", 0.5}, {"crop", 2.0}, {"rotate", 20.0}}, data.form());
  Loader host(data, all(), plan_of(augmenter));
  LoaderPlan plan = plan_of(augmenter);
  plan.form = gpu_batches(data, &augmenter, nullptr, 2, 4, 0);
  ASSERT_TRUE(plan.form.raw.has_value());
  Loader raw(data, all(), plan);
  const PreparedBatch &expected = host.next(), &found = raw.next();
  std::vector<std::int32_t> labels(kPixels);
  for (std::size_t i = 0; i < 8; ++i) {
    std::memcpy(labels.data(), found.memory + plan.form.layout.sample(BatchLayout::labels, i),
                kPixels * sizeof labels[0]);
    const auto first = expected.labels.begin() + static_cast<std::ptrdiff_t>(i * kPixels);
    EXPECT_TRUE(std::equal(labels.begin(), labels.end(), first)) << i;
  }
}

TEST(PixelAnswers, VolumesMoveAlongAllAxes) {
  const SampleForm form{.input = {1, 2, 2, 2}, .classes = 8, .labels = 8, .answers = {2, 2, 2}};
  const Augmenter augmenter(Map{{"flip_depth", 1.0}}, form);
  const std::vector<std::int32_t> labels{0, 1, 2, 3, 4, 5, 6, 7};
  std::vector<std::int32_t> moved(8);
  augmenter.move(augmenter.draw(1, 0, 0), labels.data(), moved.data());
  EXPECT_EQ(moved, (std::vector<std::int32_t>{4, 5, 6, 7, 0, 1, 2, 3}));
}

TEST(PixelAnswers, VolumesTurnWithTheirLabels) {
  constexpr std::size_t kVoxels = 27;
  const SampleForm form{
      .input = {1, 3, 3, 3}, .classes = kVoxels, .labels = kVoxels, .answers = {3, 3, 3}};
  const Augmenter augmenter(
      Map{{"rotate90", 0.5}, {"rotate90_3d", 0.7}, {"flip_depth", 0.5}, {"crop", 1.0}}, form);
  std::vector<float> image(kVoxels), turned(kVoxels);
  std::vector<std::int32_t> labels(kVoxels), moved(kVoxels);
  for (std::size_t i = 0; i < kVoxels; ++i) {
    image[i] = static_cast<float>(i + 1);
    labels[i] = static_cast<std::int32_t>(i);
  }
  int elsewhere = 0;
  for (std::uint64_t sample = 0; sample < 50; ++sample) {
    const augment::Change change = augmenter.draw(1, 0, sample);
    augmenter.apply(change, image.data(), turned.data());
    augmenter.move(change, labels.data(), moved.data());
    for (std::size_t i = 0; i < kVoxels; ++i) {
      ASSERT_EQ(moved[i], turned[i] == 0 ? kNoLabel : static_cast<std::int32_t>(turned[i]) - 1);
      elsewhere += moved[i] != labels[i] ? 1 : 0;
    }
  }
  EXPECT_GT(elsewhere, 500);
}

TEST(PixelAnswers, WhatBelongsToPixelsIsToldByItsDimensions) {
  const auto of = [](std::int64_t labels, std::int64_t targets, std::vector<std::int64_t> answers,
                     std::vector<std::int64_t> input = {3, 4, 6}) {
    return answers_of({.input = std::move(input),
                       .classes = labels > 0 ? 2 : 0,
                       .labels = labels,
                       .targets = targets,
                       .answers = std::move(answers)});
  };
  EXPECT_EQ(of(1, 0, {}), Answers::of_sample);
  EXPECT_EQ(of(24, 0, {}), Answers::of_pixels);
  EXPECT_EQ(of(24, 0, {4, 6}), Answers::of_pixels);
  EXPECT_EQ(of(24, 0, {6, 4}), Answers::of_other_places);
  EXPECT_EQ(of(6, 0, {2, 3}), Answers::of_other_places);
  EXPECT_EQ(of(0, 3, {3}), Answers::of_sample);
  EXPECT_EQ(of(0, 48, {48}), Answers::of_pixels);
  EXPECT_EQ(of(0, 48, {2, 4, 6}), Answers::of_pixels);
  EXPECT_EQ(of(0, 6, {2, 3}), Answers::of_other_places);
  EXPECT_EQ(of(0, 24, {24}, {7}), Answers::of_sample);
}

std::string answers_complaint(const Value& options, const SampleForm& form) {
  try {
    Augmenter(options, form);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(PixelAnswers, WhatCannotMoveAlongIsRefused) {
  const SampleForm targets{.input = {1, 4, 4}, .labels = 0, .targets = 16, .answers = {4, 4}};
  EXPECT_THAT(answers_complaint(Map{{"crop", 1.0}}, targets),
              AllOf(HasSubstr("augment.crop"), HasSubstr("augment.fill to edge or wrap")));
  EXPECT_EQ(answers_complaint(Map{{"flip", 0.5}, {"brightness", 0.1}}, targets), "accepted");
  EXPECT_EQ(answers_complaint(Map{{"crop", 1.0}, {"fill", "edge"}}, targets), "accepted");
  const SampleForm half{.input = {1, 4, 4}, .classes = 2, .labels = 4, .answers = {2, 2}};
  EXPECT_THAT(answers_complaint(Map{{"flip", 0.5}}, half), HasSubstr("not the image's pixels"));
  EXPECT_EQ(answers_complaint(Map{{"contrast", 0.5}}, half), "accepted");
}

}  // namespace
}  // namespace thalweg::engine
