// Data that need no files: what they promise about themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <random>
#include <set>

#include "engine/data/dataset.h"
#include "engine/data/fourier.h"
#include "engine/data/split.h"
#include "engine/tensor/numpy_random.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> inputs_of(const Dataset& data, std::size_t index) {
  std::vector<float> x(input_floats(data.form()));
  data.copy(index, x.data());
  return x;
}
std::vector<std::int32_t> labels_of(const Dataset& data, std::size_t index) {
  std::vector<std::int32_t> y(static_cast<std::size_t>(data.form().labels));
  data.copy_labels(index, y.data());
  return y;
}

TEST(Generators, SameSeedSameSamples) {
  for (const char* name : {"shapes", "gaussian-fields", "cells", "copy", "translation"}) {
    Value options = Map{{"name", name}, {"samples", 50}};
    const auto a = load_dataset(options), b = load_dataset(options);
    options.set("seed", 2);
    const auto c = load_dataset(options);
    EXPECT_EQ(a->size(), 50u) << name;
    EXPECT_EQ(inputs_of(*a, 33), inputs_of(*b, 33)) << name;
    EXPECT_NE(inputs_of(*a, 33), inputs_of(*c, 33)) << name;
    EXPECT_NE(inputs_of(*a, 33), inputs_of(*a, 34)) << name;
    for (const float v : inputs_of(*a, 7))
      ASSERT_TRUE(std::isfinite(v)) << name;
  }
}

TEST(Generators, CopyRepeatsAndTranslationTranslates) {
  const Map options{{"name", "copy"}, {"samples", 9}, {"words", 5}, {"symbols", 7}};
  const auto data = load_dataset(options);
  EXPECT_EQ(data->form().vocabulary, 8);
  const auto x = inputs_of(*data, 3);
  const auto y = labels_of(*data, 3);
  ASSERT_EQ(x.size(), 10u);
  EXPECT_EQ(x[5], 7);  // the separator
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(y[i], kNoLabel);
    EXPECT_LT(x[i], 7);
    EXPECT_EQ(static_cast<float>(y[5 + i]), x[i]);
    if (i < 4) {
      EXPECT_EQ(x[6 + i], x[i]);
    }
  }
  Map other = options;
  other[0].second = "translation";
  const auto translated = load_dataset(other);
  std::map<float, std::int32_t> dictionary;
  for (std::size_t s = 0; s < 9; ++s) {
    const auto from = inputs_of(*translated, s);
    const auto to = labels_of(*translated, s);
    for (std::size_t i = 0; i < 5; ++i) {
      const auto [entry, fresh] = dictionary.try_emplace(from[i], to[9 - i]);
      EXPECT_EQ(entry->second, to[9 - i]) << fresh;
    }
  }
  std::set<std::int32_t> words;
  for (const auto& [from, to] : dictionary)
    words.insert(to);
  EXPECT_EQ(words.size(), dictionary.size());
}

TEST(Generators, ShapesHaveTheirClassAndFillTheirArea) {
  const auto data =
      load_dataset(Map{{"name", "shapes"}, {"samples", 20}, {"noise", 0.0}, {"channels", 1}});
  EXPECT_THAT(data->sample_shape(), ElementsAre(1, 32, 32));
  EXPECT_EQ(data->classes(), 10);
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(data->label(i), static_cast<int>(i % 10));
    const auto x = inputs_of(*data, i);
    const std::set<float> values(x.begin(), x.end());
    ASSERT_EQ(values.size(), 2u) << i;  // figure and ground
    const auto part = std::count(x.begin(), x.end(), x[0]);
    EXPECT_GT(part, 300) << i;
    EXPECT_LT(part, 1024 - 30) << i;
  }
}

std::vector<float> targets_of(const Dataset& data, std::size_t index) {
  std::vector<float> y(static_cast<std::size_t>(data.form().targets));
  data.copy_targets(index, y.data());
  return y;
}

Value cells(List shape, const char* predict, double noise = 0) {
  return Map{{"name", "cells"},
             {"samples", 40},
             {"shape", std::move(shape)},
             {"predict", predict},
             {"noise", noise}};
}

TEST(Cells, LabelsAreWhereTheObjectsAre) {
  for (const List& shape : {List{2, 24, 32}, List{1, 12, 16, 12}}) {
    const auto data = load_dataset(cells(shape, "kinds"));
    EXPECT_EQ(data->classes(), 5);
    const auto pixels = static_cast<std::size_t>(data->form().labels);
    const std::vector<std::int64_t> space(data->sample_shape().begin() + 1,
                                          data->sample_shape().end());
    EXPECT_EQ(data->form().answers, space);
    std::map<std::int32_t, int> seen;
    for (std::size_t i = 0; i < data->size(); ++i) {
      const auto x = inputs_of(*data, i);
      const auto y = labels_of(*data, i);
      for (std::size_t p = 0; p < pixels; ++p) {
        ++seen[y[p]];
        ASSERT_EQ(y[p] > 0, x[p] >= 0.6f) << i << ' ' << p;
        ASSERT_TRUE(y[p] > 0 || x[p] == 0 || x[p] == -1);
        ASSERT_EQ(x[p] == 0, x[x.size() - pixels + p] == 0) << "every channel shows the same";
      }
    }
    const int all = static_cast<int>(pixels * data->size());
    EXPECT_GT(seen[0], all / 4) << "the ground";
    for (std::int32_t kind = 1; kind <= 4; ++kind)
      EXPECT_GT(seen[kind], all / 150) << "kind " << kind;
  }
}

TEST(Cells, MasksAreOfAnyObjectOrOfTheOneAtTheCentre) {
  const List shape{1, 12, 16, 12};
  const auto kinds = load_dataset(cells(shape, "kinds")),
             inside = load_dataset(cells(shape, "inside")),
             object = load_dataset(cells(shape, "object")),
             noisy = load_dataset(cells(shape, "object", 0.5));
  constexpr std::size_t kPixels = 12 * 16 * 12, kCentre = (6 * 16 + 8) * 12 + 6;
  EXPECT_THAT(object->sample_shape(), ElementsAre(2, 12, 16, 12));
  EXPECT_EQ(inside->form().targets, static_cast<std::int64_t>(kPixels));
  double known = 0, whole = 0, others = 0;
  for (std::size_t i = 0; i < object->size(); ++i) {
    const auto label = labels_of(*kinds, i);
    const auto any = targets_of(*inside, i);
    const auto one = targets_of(*object, i);
    const auto x = inputs_of(*object, i), worse = inputs_of(*noisy, i);
    ASSERT_EQ(one[kCentre], 1) << i;
    ASSERT_EQ(x[kPixels + kCentre], 1) << "known from the start, sample " << i;
    const float value = x[kCentre];
    EXPECT_NE(worse[kCentre], value);
    for (std::size_t p = 0; p < kPixels; ++p) {
      ASSERT_EQ(any[p], label[p] > 0 ? 1 : 0);
      if (one[p] == 1) {
        ASSERT_EQ(x[p], value) << "one object has one value";
      }
      ASSERT_LE(x[kPixels + p], one[p]) << "what is known is right";
      ASSERT_EQ(x[kPixels + p], worse[kPixels + p]) << "without noise";
      whole += static_cast<double>(one[p]);
      known += static_cast<double>(x[kPixels + p]);
      others += one[p] == 0 && x[p] > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(whole, 1.2 * known);
  EXPECT_GT(known, 0.1 * whole);
  EXPECT_GT(others, 0.15 * whole) << "brightness alone does not tell which";
}

TEST(Cells, TheCentreMayBeAnywhere) {
  Value options = cells(List{1, 12, 12, 12}, "object");
  const auto always = load_dataset(options);
  options.set("anywhere", 0.5);
  const auto data = load_dataset(options);
  constexpr std::size_t kPixels = 12 * 12 * 12, kCentre = (6 * 12 + 6) * 12 + 6;
  int nothing = 0, same = 0;
  for (std::size_t i = 0; i < data->size(); ++i) {
    const auto x = inputs_of(*data, i), target = targets_of(*data, i);
    const auto found = std::count(target.begin(), target.end(), 1.0f);
    ASSERT_EQ(x[kPixels + kCentre], 1) << "the seed";
    ASSERT_EQ(target[kCentre] == 1, x[kCentre] >= 0.6f);
    ASSERT_EQ(found > 0, target[kCentre] == 1);
    nothing += found == 0 ? 1 : 0;
    same += x == inputs_of(*always, i) ? 1 : 0;
    if (found == 0) {
      EXPECT_EQ(std::count(x.begin() + kPixels, x.end(), 1.0f), 1) << "nothing but the seed";
    }
  }
  EXPECT_GT(nothing, 5);
  EXPECT_GT(same, 10);
  EXPECT_LT(same, 30);
}

TEST(Cells, RefusesShapesWithoutRoom) {
  for (const List& shape : {List{1, 32, 4}, List{32, 32}, List{1, 8, 8, 8, 8}})
    try {
      load_dataset(cells(shape, "kinds"));
      ADD_FAILURE() << Value(shape).to_text();
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr("data.shape: "));
    }
}

TEST(Fourier, IsTheSumThatDefinesIt) {
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  const std::vector<std::int64_t> shape{2, 4, 8};
  std::vector<std::complex<double>> x(64), y;
  for (auto& v : x)
    v = {normal(random), normal(random)};
  y = x;
  fourier(y, shape, false);
  for (std::size_t k = 0; k < 64; ++k) {
    std::complex<double> sum = 0;
    for (std::size_t i = 0; i < 64; ++i) {
      const double phase = static_cast<double>((k / 32) * (i / 32)) / 2 +
                           static_cast<double>((k / 8 % 4) * (i / 8 % 4)) / 4 +
                           static_cast<double>((k % 8) * (i % 8)) / 8;
      sum += x[i] * std::polar(1.0, -2 * std::numbers::pi * phase);
    }
    EXPECT_NEAR(std::abs(y[k] - sum), 0, 1e-12) << k;
  }
  fourier(y, shape, true);
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_NEAR(std::abs(y[i] / 64.0 - x[i]), 0, 1e-13) << i;
}

TEST(GaussianFields, HaveTheSpectrumOfTheirLabel) {
  const auto data = load_dataset(Map{
      {"name", "gaussian-fields"}, {"samples", 40}, {"shape", List{1, 64, 64}}, {"parameters", 2}});
  EXPECT_EQ(data->form().targets, 2);
  EXPECT_EQ(data->form().labels, 0);
  for (std::size_t s = 0; s < 40; ++s) {
    float target[2];
    data->copy_targets(s, target);
    const double slope = 2.0 + 1.5 * static_cast<double>(target[0]);
    const auto x = inputs_of(*data, s);
    std::vector<std::complex<double>> modes(x.begin(), x.end());
    fourier(modes, {64, 64}, false);
    EXPECT_NEAR(std::abs(modes[0]), 0, 1e-2);
    // Mean power of two rings of waves: their ratio tells the slope.
    double power[2] = {0, 0}, count[2] = {0, 0}, mean_log[2] = {0, 0};
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 64; ++j) {
        const double k = std::hypot(std::min(i, 64 - i), std::min(j, 64 - j));
        const int ring = k >= 3 && k < 6 ? 0 : k >= 20 && k < 30 ? 1 : -1;
        if (ring < 0) continue;
        power[ring] += std::norm(modes[static_cast<std::size_t>(64 * i + j)]) * std::pow(k, slope);
        ++count[ring];
        mean_log[ring] += std::log(k);
      }
    const double between = mean_log[1] / count[1] - mean_log[0] / count[0];
    EXPECT_NEAR(std::log(power[1] / count[1] / (power[0] / count[0])) / between, 0, 0.6) << s;
    double square = 0;
    for (const float v : x)
      square += static_cast<double>(v) * static_cast<double>(v);
    const double amplitude = std::exp(0.7 * static_cast<double>(target[1]));
    EXPECT_NEAR(std::log(std::sqrt(square / 4096) / amplitude), 0, 0.7) << s;
  }
}

TEST(GaussianFields, ClassesAndVolumes) {
  const auto data = load_dataset(Map{
      {"name", "gaussian-fields"}, {"samples", 400}, {"shape", List{2, 8, 4, 8}}, {"classes", 4}});
  EXPECT_THAT(data->sample_shape(), ElementsAre(2, 8, 4, 8));
  std::vector<int> seen(4);
  for (std::size_t i = 0; i < 400; ++i)
    ++seen.at(static_cast<std::size_t>(data->label(i)));
  for (const int n : seen)
    EXPECT_NEAR(n, 100, 40);
  const auto refused = [](const Map& options) {
    try {
      load_dataset(options);
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused(Map{{"name", "gaussian-fields"}, {"shape", List{1, 12, 12}}}),
              HasSubstr("12 is not a power of two"));
  EXPECT_THAT(refused(Map{{"name", "gaussian-fields"}, {"shape", List{16}}}),
              HasSubstr("[channels, height, width]"));
  EXPECT_THAT(refused(Map{{"name", "gaussian-fields"}, {"classes", 1}}), HasSubstr("data.classes"));
}

TEST(NumpyRandom, GivesNumPysNumbers) {
  // numpy.random.RandomState(42): .random_sample() twice; another one's .normal() three times
  NumpyRandom uniform(42), normal(42);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.3745401188473625);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.9507143064099162);
  EXPECT_DOUBLE_EQ(normal.normal(), 0.4967141530112327);
  EXPECT_DOUBLE_EQ(normal.normal(), -0.13826430117118466);
  EXPECT_DOUBLE_EQ(normal.normal(), 0.6476885381006925);
}

TEST(QuadraticDeep, HasItsOwnValidationSamples) {
  const auto data = load_dataset(Map{{"name", "quadratic-deep"}});
  EXPECT_EQ(data->size(), 1896u);
  EXPECT_EQ(data->own_validation(), 896u);
  EXPECT_EQ(inputs_of(*data, 5), std::vector<float>{0});
  std::vector<float> x(100);
  data->copy_targets(0, x.data());
  EXPECT_FLOAT_EQ(x[0], static_cast<float>(0.6 * 0.4967141530112327) - 1);
}

TEST(Split, TailIsTheDatasOwn) {
  const Split parts = split(10, {.own_validation = 3});
  EXPECT_THAT(parts.validation, ElementsAre(7, 8, 9));
  EXPECT_THAT(parts.training, ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

}  // namespace
}  // namespace thalweg::engine
