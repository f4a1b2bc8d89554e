// Means and deviations of channels, given or found, and inputs as targets.
#include "engine/data/normalised.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/data/augment.h"
#include "engine/data/loader.h"
#include "engine/data/split.h"
#include "jobspec/value.h"
#include "tests/engine/data/complaint.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kRows = 40;

class Channels : public testing::Test {
 protected:
  /// An arrays dataset whose number i is value(i).
  template <class T, class Make>
  Value arrays(const char* type, const std::vector<std::size_t>& shape, Make value) {
    std::size_t count = 1;
    for (const std::size_t n : shape)
      count *= n;
    std::vector<T> numbers;
    for (std::size_t i = 0; i < count; ++i)
      numbers.push_back(static_cast<T>(value(i)));
    const auto x = folder_.path() / "x.npy", y = folder_.path() / "y.npy";
    test::write_file(x, test::npy_text(type, shape, numbers));
    test::write_file(y, test::npy_text("|u1", {shape[0]}, std::vector<std::uint8_t>(shape[0])));
    return Map{{"name", "arrays"},
               {"inputs", x.string()},
               {"labels", y.string()},
               {"classes", 2},
               {"validation", 10}};
  }
  /// Mean and deviation of every channel of (c, pixels) over samples, in plain double sums.
  static std::vector<std::pair<double, double>> moments(const Dataset& dataset,
                                                        const std::vector<std::uint32_t>& samples,
                                                        std::size_t channels) {
    std::vector<float> sample(input_floats(dataset.form()));
    const std::size_t each = sample.size() / channels;
    std::vector<std::pair<double, double>> found;
    for (std::size_t c = 0; c < channels; ++c) {
      double sum = 0, squares = 0;
      for (const std::uint32_t s : samples) {
        dataset.copy(s, sample.data());
        for (std::size_t i = c * each; i < (c + 1) * each; ++i) {
          sum += static_cast<double>(sample[i]);
          squares += static_cast<double>(sample[i]) * static_cast<double>(sample[i]);
        }
      }
      const double n = static_cast<double>(each * samples.size());
      found.emplace_back(sum / n, std::sqrt(squares / n - sum / n * sum / n));
    }
    return found;
  }

  test::TempDir folder_;
};

/// Three channels of very different sizes.
double unlike(std::size_t i) {
  const auto channel = static_cast<double>(i / 4 % 3);
  return 1e4 * channel + (channel + 1) * std::sin(static_cast<double>(i) * 1.7);
}

TEST_F(Channels, GivenOnesAreEachChannelsOwn) {
  Value data = arrays<std::uint8_t>("|u1", {kRows, 3, 2, 2}, [](std::size_t i) { return i % 12; });
  data.set("mean", List{1.0, 4, 8.5});
  data.set("deviation", List{0.5, 2.0, 1});
  const auto dataset = load_dataset(data);
  float sample[12];
  dataset->copy(3, sample);
  EXPECT_THAT(sample, ElementsAre(-2, 0, 2, 4, 0, 0.5f, 1, 1.5f, -0.5f, 0.5f, 1.5f, 2.5f));
  ASSERT_NE(dataset->stored(), nullptr) << "a table for each channel";
  EXPECT_EQ(dataset->stored()->tables(), 3u);
  data.set("deviation", 2.0);
  load_dataset(data)->copy(3, sample);
  EXPECT_EQ(sample[1], 0);
  EXPECT_EQ(sample[5], 0.5f) << "one number is everybody's";
  data.set("mean", List{1.0, 2.0});
  EXPECT_THAT(complaint(data), HasSubstr("data.mean: 2 numbers for 3 channels"));
}

TEST_F(Channels, FoundOverTheTrainingSamplesOnly) {
  Value data = arrays<float>("<f4", {kRows, 3, 2, 2}, unlike);
  const auto raw = load_dataset(data);
  data.set("mean", "auto");
  data.set("deviation", "auto");
  const auto dataset = load_dataset(data);
  const Split parts = split_samples(*dataset, data);
  ASSERT_EQ(parts.training.size(), kRows - 10);
  for (const auto& [mean, deviation] : moments(*dataset, parts.training, 3)) {
    EXPECT_NEAR(mean, 0, 1e-3);  // of floats about 1e4
    EXPECT_NEAR(deviation, 1, 1e-3);
  }
  // Validation samples are scaled by the same numbers, not by their own.
  float before[12], after[12];
  const auto expected = moments(*raw, parts.training, 3);
  raw->copy(parts.validation[4], before);
  dataset->copy(parts.validation[4], after);
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(after[i],
                (static_cast<double>(before[i]) - expected[i / 4].first) / expected[i / 4].second,
                2e-3);
  ASSERT_EQ(dataset->facts().size(), 1u) << "for the record";
  EXPECT_THAT(dataset->facts()[0], HasSubstr("data.{mean: ["));

  // What trains is what counts.
  data.set("fraction", 0.5);
  EXPECT_NE(load_dataset(data)->facts(), dataset->facts());
  data.set("fraction", 1.0);
  data.set("duplicate", 3);
  EXPECT_EQ(load_dataset(data)->facts(), dataset->facts());
}

TEST_F(Channels, OfStoredNumbersAsOfFloats) {
  const auto value = [](std::size_t i) { return i * 37 % 251 / (1 + i / 4 % 3); };
  for (const bool found : {true, false}) {
    std::vector<std::vector<float>> all;
    for (const bool narrow : {true, false}) {
      Value data = narrow ? arrays<std::uint16_t>("<u2", {kRows, 3, 2, 2}, value)
                          : arrays<std::int32_t>("<i4", {kRows, 3, 2, 2}, value);
      data.set("mean", found ? Value("auto") : Value(List{1.0, 2.0, 3.0}));
      data.set("deviation", found ? Value("auto") : Value(3.0));
      const auto dataset = load_dataset(data);
      EXPECT_EQ(dataset->stored() != nullptr, narrow);
      all.emplace_back(12 * kRows);
      for (std::size_t i = 0; i < kRows; ++i)
        dataset->copy(i, all.back().data() + 12 * i);
    }
    EXPECT_EQ(all[0], all[1]);
  }
}

TEST_F(Channels, FeaturesAreChannels) {
  Value data =
      arrays<std::uint8_t>("|u1", {kRows, 2}, [](std::size_t i) { return i % 2 == 0 ? 7 : i / 2; });
  data.set("mean", "auto");
  data.set("deviation", "auto");
  const auto features = load_dataset(data);
  EXPECT_EQ(features->stored(), nullptr) << "GPUs know tables of (c, ...) samples only";
  const auto training = split_samples(*features, data).training;
  const auto found = moments(*features, training, 2);
  EXPECT_EQ(found[0].first, 0) << "a constant is only moved";
  EXPECT_NEAR(found[1].second, 1, 1e-6);

  Value sequences =
      arrays<float>("<f4", {kRows, 5, 2}, [](std::size_t i) { return i % 2 == 0 ? 3.0 : 8.0; });
  sequences.set("sequences", true);
  sequences.set("mean", List{1.0, 2.0});
  float sample[10];
  load_dataset(sequences)->copy(0, sample);
  EXPECT_THAT(sample, ElementsAre(2, 6, 2, 6, 2, 6, 2, 6, 2, 6)) << "of (positions, features)";
}

TEST_F(Channels, NumbersThatAreNotFiniteAreNamed) {
  const std::uint32_t bad = split(kRows, {.validation = 10}).training[7];
  Value data = arrays<float>("<f4", {kRows, 3},
                             [bad](std::size_t i) { return i == 3 * bad + 1 ? NAN : 1.0f; });
  data.set("mean", "auto");
  EXPECT_THAT(complaint(data),
              HasSubstr("the inputs hold NaN, first in row " + std::to_string(bad) + " of "));
}

TEST_F(Channels, InputsMayBeTheTargets) {
  Value data = arrays<std::uint8_t>("|u1", {kRows, 1, 4, 4}, [](std::size_t i) { return i % 16; });
  data.set("mean", List{8.0});
  data.set("labels", Value());
  data.set("targets", "inputs");
  const auto dataset = load_dataset(data);
  EXPECT_EQ(dataset->form().targets, 16);
  EXPECT_EQ(dataset->form().labels, 0);
  EXPECT_THAT(dataset->form().answers, ElementsAre(1, 4, 4));
  float input[16], target[16];
  dataset->copy(3, input);
  dataset->copy_targets(3, target);
  EXPECT_EQ(input[0], -8) << "normalised";
  EXPECT_TRUE(std::equal(input, input + 16, target));
  EXPECT_EQ(dataset->describe(2, true), dataset->describe(2, false));

  // A validation set of its own has inputs alone, too.
  data.set("validation_inputs", *data.find("inputs"));
  data.set("validation", "auto");
  EXPECT_EQ(load_dataset(data)->own_validation(), kRows);

  // They move with the image; its colours are the input's alone.
  const Augmenter augmenter(Map{{"flip", 1.0}, {"brightness", 3.0}}, dataset->form());
  LoaderPlan plan;
  plan.global_batch = plan.positions = 4;
  plan.end_step = 1;
  plan.augmenter = &augmenter;
  Loader loader(*dataset, {0, 1, 2, 3}, plan);
  const PreparedBatch& batch = loader.next();
  EXPECT_EQ(batch.targets[0], 3 - 8) << "flipped";
  const float brighter = batch.inputs[0] - batch.targets[0];
  EXPECT_NE(brighter, 0);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(batch.inputs[i] - batch.targets[i], brighter, 1e-5f);
}

TEST(InputsAsTargets, OfGeneratedDataAndNotOfTokens) {
  const auto shapes =
      load_dataset(Map{{"name", "shapes"}, {"samples", 4}, {"size", 8}, {"targets", "inputs"}});
  EXPECT_EQ(shapes->form().targets, 3 * 64);
  EXPECT_EQ(shapes->classes(), 0);
  EXPECT_GT(load_dataset(Map{{"name", "shapes"}, {"samples", 4}, {"targets", "own"}})->classes(),
            0);
  try {
    load_dataset(Map{{"name", "copy"}, {"targets", "inputs"}});
    ADD_FAILURE() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("data.targets: the inputs are tokens"));
  }
}

}  // namespace
}  // namespace thalweg::engine
