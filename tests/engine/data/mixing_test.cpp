// Blended samples: shares and boxes, and that nothing but (seed, epoch, place) decides them.
#include "engine/data/mixing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/data/loader.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using testing::ElementsAreArray;
using testing::HasSubstr;

const SampleForm kImages{.input = {2, 6, 8}, .classes = 3};

std::string mixing_complaint(const Map& options, const SampleForm& form) {
  try {
    const Mixer mixer(options, form);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(Mixer, SharesAreOfTheBetaDistribution) {
  // Beta(a, a) has mean 1/2 and variance 1 / (4 (2 a + 1)).
  for (const double alpha : {0.2, 1.0, 4.0}) {
    const Mixer mixer(Map{{"mixup", alpha}}, kImages);
    constexpr int kCount = 20000;
    double sum = 0, squares = 0, samples_b = 0;
    for (std::uint64_t i = 0; i < kCount; ++i) {
      const Blend blend = mixer.blend(3, 1, i, 1000);
      ASSERT_FALSE(blend.box);
      ASSERT_LT(blend.sample_b, 1000U);
      const auto share = static_cast<double>(blend.share);
      sum += share / kCount;
      squares += share * share / kCount;
      samples_b += static_cast<double>(blend.sample_b) / kCount;
    }
    EXPECT_NEAR(sum, 0.5, 0.015) << alpha;
    EXPECT_NEAR(squares - sum * sum, 1 / (4 * (2 * alpha + 1)), 0.004) << alpha;
    EXPECT_NEAR(samples_b, 499.5, 10);
  }
}

TEST(Mixer, MixupIsAWeightedSum) {
  const Mixer mixer(Map{{"mixup", 1.0}}, {.input = {3}, .classes = 2});
  Blend blend;
  blend.share = 0.25f;
  std::vector<float> own{4, 8, 12};
  const std::vector<float> inputs_b{0, 0, 4};
  mixer.apply(blend, inputs_b.data(), own.data());
  EXPECT_EQ(own, (std::vector<float>{3, 6, 10}));
}

TEST(Mixer, CutmixPutsABoxWhoseVolumeIsTheShare) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{2, 6, 8}, std::vector<std::int64_t>{2, 4, 6, 8}}) {
    const SampleForm form{.input = shape, .classes = 3};
    const Mixer mixer(Map{{"cutmix", 1.0}}, form);
    const std::size_t floats = input_floats(form);
    const std::vector<float> inputs_b(floats, 1);
    double mean = 0;
    for (std::uint64_t i = 0; i < 500; ++i) {
      const Blend blend = mixer.blend(1, 0, i, 10);
      ASSERT_TRUE(blend.box);
      std::vector<float> own(floats, 0);
      mixer.apply(blend, inputs_b.data(), own.data());
      const double changed = std::accumulate(own.begin(), own.end(), 0.0);
      EXPECT_NEAR(changed / static_cast<double>(floats), static_cast<double>(blend.share), 1e-6);
      mean += static_cast<double>(blend.share) / 500;
    }
    // Half of the image where no edge cuts the box.
    EXPECT_GT(mean, 0.2);
    EXPECT_LT(mean, 0.5);
  }
}

TEST(Mixer, TargetsOfPixelsAreCutWithTheirImage) {
  const SampleForm form{.input = {3, 4, 6}, .labels = 0, .targets = 2 * 24, .answers = {2, 4, 6}};
  const Mixer mixer(Map{{"cutmix", 1.0}}, form);
  Blend blend;
  blend.box = true;
  blend.share = 0.25f;
  blend.first = {0, 1, 2};
  blend.end = {1, 3, 5};
  std::vector<float> own(48, 0), inputs(72, 0);
  mixer.apply_to_targets(blend, std::vector<float>(48, 1).data(), own);
  mixer.apply(blend, std::vector<float>(72, 1).data(), inputs.data());
  EXPECT_EQ(own, std::vector<float>(inputs.begin(), inputs.begin() + 48));
  EXPECT_EQ(std::accumulate(own.begin(), own.end(), 0.0), 2 * 6);
  // What the whole image has, has its share.
  const Mixer whole(Map{{"cutmix", 1.0}}, {.input = {3, 4, 6}, .labels = 0, .targets = 2});
  std::vector<float> two{0, 4};
  whole.apply_to_targets(blend, std::vector<float>{1, 0}.data(), two);
  EXPECT_EQ(two, (std::vector<float>{0.25f, 3}));
  EXPECT_THAT(mixing_complaint(Map{{"cutmix", 1.0}},
                               {.input = {1, 4, 6}, .labels = 0, .targets = 6, .answers = {2, 3}}),
              HasSubstr("not the image's pixels"));
}

TEST(Mixer, BothAndTheirChance) {
  const Mixer mixer(Map{{"mixup", 1.0}, {"cutmix", 1.0}, {"mixing_chance", 0.4}}, kImages);
  int boxes = 0, sums = 0;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const Blend blend = mixer.blend(1, 0, i, 10);
    boxes += blend.box ? 1 : 0;
    sums += !blend.box && blend.share > 0 ? 1 : 0;
  }
  EXPECT_NEAR(boxes, 1000, 120);
  EXPECT_NEAR(sums, 1000, 120);
}

TEST(Mixer, RefusesWhatCannotBeBlended) {
  const Map mixup{{"mixup", 0.2}}, cutmix{{"cutmix", 1.0}};
  EXPECT_THAT(mixing_complaint(mixup, {.input = {8}, .classes = 9, .vocabulary = 9}),
              HasSubstr("tokens"));
  EXPECT_THAT(mixing_complaint(mixup, {.input = {1, 4, 4}, .classes = 2, .labels = 16}),
              HasSubstr("a label of its own"));
  EXPECT_EQ(mixing_complaint(cutmix, {.input = {1, 4, 4}, .classes = 2, .labels = 16}), "");
  EXPECT_THAT(mixing_complaint(Map{{"mixup", 0.2}, {"cutmix", 1.0}},
                               {.input = {1, 4, 4}, .classes = 2, .labels = 16}),
              HasSubstr("augment.mixup"));
  EXPECT_THAT(mixing_complaint(cutmix, {.input = {1, 4, 4}, .classes = 2, .labels = 4}),
              HasSubstr("not the image's pixels"));
  EXPECT_THAT(mixing_complaint(cutmix, {.input = {8}, .classes = 9}), HasSubstr("augment.cutmix"));
  EXPECT_EQ(mixing_complaint(Map{{"cutmix", 0.0}}, {.input = {8}, .classes = 9, .vocabulary = 9}),
            "");
}

/// Sample i is the numbers i and 1, its target 10 i.
class MixedNumbers final : public Dataset {
 public:
  explicit MixedNumbers(bool labels)
      : Dataset(labels ? SampleForm{.input = {2}, .classes = 60}
                       : SampleForm{.input = {2}, .classes = 0, .labels = 0, .targets = 1}) {}
  std::size_t size() const override { return 60; }
  void copy(std::size_t index, float* out) const override {
    out[0] = static_cast<float>(index);
    out[1] = 1;
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = static_cast<std::int32_t>(index);
  }
  void copy_targets(std::size_t index, float* out) const override {
    *out = 10 * static_cast<float>(index);
  }
};

LoaderPlan plan(const Mixer& mixer) {
  LoaderPlan p;
  p.global_batch = p.positions = 12;
  p.end_step = 15;
  p.mixer = &mixer;
  return p;
}

std::vector<std::uint32_t> all_mixed() {
  std::vector<std::uint32_t> v(60);
  std::iota(v.begin(), v.end(), 0u);
  return v;
}

TEST(Loader, BlendsInputsWithTheirLabelsAndTargets) {
  const Mixer mixer(Map{{"mixup", 1.0}}, {.input = {2}, .classes = 60});
  const MixedNumbers labelled(true), with_targets(false);
  Loader a(labelled, all_mixed(), plan(mixer)), b(with_targets, all_mixed(), plan(mixer));
  int blended = 0;
  for (int step = 0; step < 15; ++step) {
    const PreparedBatch& batch = a.next();
    const PreparedBatch& same = b.next();
    for (std::size_t i = 0; i < 12; ++i) {
      const float s = batch.shares_b[i];
      const float value =
          (1 - s) * static_cast<float>(batch.labels[i]) + s * static_cast<float>(batch.labels_b[i]);
      EXPECT_NEAR(batch.inputs[2 * i], value, 1e-4);
      EXPECT_NEAR(batch.inputs[2 * i + 1], 1, 1e-6);
      EXPECT_NEAR(same.targets[i], 10 * value, 1e-3);
      blended += s > 0.1f && s < 0.9f ? 1 : 0;
    }
  }
  EXPECT_GT(blended, 100);
}

TEST(Loader, BatchesDoNotDependOnWorkersNorOnRanks) {
  const Mixer mixer(Map{{"mixup", 0.4}}, {.input = {2}, .classes = 60});
  const MixedNumbers numbers(true);
  LoaderPlan many = plan(mixer), half = plan(mixer), late = plan(mixer);
  many.workers = 4;
  many.ahead = 6;
  half.first_position = 5;
  half.positions = 7;
  half.workers = 2;
  late.first_step = 9;
  Loader one(numbers, all_mixed(), plan(mixer)), four(numbers, all_mixed(), many),
      part(numbers, all_mixed(), half), resumed(numbers, all_mixed(), late);
  for (int step = 0; step < 15; ++step) {
    const PreparedBatch& batch = one.next();
    const PreparedBatch& same = four.next();
    EXPECT_EQ(same.step, step);
    EXPECT_THAT(same.inputs, ElementsAreArray(batch.inputs));
    EXPECT_THAT(same.labels_b, ElementsAreArray(batch.labels_b));
    EXPECT_THAT(same.shares_b, ElementsAreArray(batch.shares_b));
    const PreparedBatch& tail = part.next();
    EXPECT_THAT(tail.inputs, ElementsAreArray(batch.inputs.subspan(10)));
    if (step >= 9) {
      EXPECT_THAT(resumed.next().inputs, ElementsAreArray(batch.inputs));
    }
  }
}

}  // namespace
}  // namespace thalweg::engine
