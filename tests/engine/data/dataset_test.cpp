#include "engine/data/dataset.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/engine/data/complaint.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Datasets, UnknownNameGetsTheNearestOne) {
  EXPECT_THAT(complaint(Map{{"name", "fashion-mnst"}}),
              HasSubstr("no dataset 'fashion-mnst', did you mean 'fashion-mnist'?"));
  EXPECT_THAT(complaint(Map{}), HasSubstr("data.name is missing"));
}

TEST(Datasets, MissingFashionMnistNamesThePackage) {
  EXPECT_THAT(complaint(Map{{"name", "fashion-mnist"}, {"dir", "/nonexistent"}}),
              AllOf(HasSubstr("/nonexistent/train-images-idx3-ubyte.gz"),
                    HasSubstr("dataset-fashion-mnist")));
}

TEST(Datasets, EnvironmentMayPointElsewhere) {
  const char* before = std::getenv("THALWEG_DATA");
  const std::string saved = before == nullptr ? "" : before;
  setenv("THALWEG_DATA", "/nonexistent/mine", 1);
  const std::string text = complaint(Map{{"name", "fashion-mnist"}});
  if (before == nullptr)
    unsetenv("THALWEG_DATA");
  else
    setenv("THALWEG_DATA", saved.c_str(), 1);
  EXPECT_THAT(text, HasSubstr("/nonexistent/mine/fashion-mnist/train-images"));
}

TEST(Datasets, FashionMnistIsNormalised) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz"))
    GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  const auto data =
      load_dataset(Map{{"name", "fashion-mnist"}, {"dir", "/usr/share/datasets/fashion-mnist"}});
  EXPECT_THAT(data->sample_shape(), ElementsAre(1, 28, 28));
  EXPECT_EQ(data->classes(), 10);
  ASSERT_EQ(data->size(), 60000u);
  double sum = 0, squares = 0;
  std::vector<float> image(784);
  for (std::size_t i = 0; i < 6000; ++i) {
    data->copy(i * 10, image.data());
    for (const float v : image) {
      sum += v;
      squares += static_cast<double>(v) * v;
    }
  }
  const double n = 6000.0 * 784;
  EXPECT_NEAR(sum / n, 0, 0.01);
  EXPECT_NEAR(std::sqrt(squares / n), 1, 0.01);
  EXPECT_EQ(data->own_validation(), 0u);
  const auto with_test = load_dataset(
      Map{{"name", "fashion-mnist"}, {"dir", "/usr/share/datasets/fashion-mnist"}, {"test", true}});
  EXPECT_EQ(with_test->size(), 65000u);
  EXPECT_EQ(with_test->own_validation(), 10000u);
  EXPECT_EQ(with_test->label(54999), data->label(54999));
  EXPECT_EQ(with_test->label(55000), 9);  // the first test image: an ankle boot
  EXPECT_EQ(with_test->label(55001), 2);  // the second: a pullover
}

TEST(Datasets, IdxByPath) {
  const std::filesystem::path folder =
      std::filesystem::path(THALWEG_SOURCE_DIR) / "tests/engine/data/valid";
  const auto data = load_dataset(Map{{"name", "idx"},
                                     {"images", (folder / "images.idx.gz").string()},
                                     {"labels", (folder / "labels.idx").string()}});
  EXPECT_EQ(data->size(), 3u);
  EXPECT_THAT(complaint(Map{{"name", "idx"}, {"images", "x"}}),
              HasSubstr("data.labels is missing"));
}

TEST(Datasets, SyntheticDependsOnItsSeedOnly) {
  const Value options = Map{{"name", "synthetic"}, {"samples", 100}, {"classes", 4}};
  Value other = options;
  other.set("seed", 2);
  const auto a = load_dataset(options), b = load_dataset(options), c = load_dataset(other);
  std::vector<float> x(16), y(16), z(16);
  a->copy(33, x.data());
  b->copy(33, y.data());
  c->copy(33, z.data());
  EXPECT_EQ(x, y);
  EXPECT_NE(x, z);
  EXPECT_EQ(a->classes(), 4);
  EXPECT_EQ(a->label(33), 1);
}

TEST(Datasets, SyntheticWithoutNoiseIsItsCentres) {
  const auto data = load_dataset(Map{{"name", "synthetic"},
                                     {"samples", 20},
                                     {"classes", 10},
                                     {"noise", 0.0},
                                     {"shape", jobspec::List{1, 4, 4}}});
  EXPECT_THAT(data->sample_shape(), ElementsAre(1, 4, 4));
  std::vector<float> x(16), y(16);
  data->copy(3, x.data());
  data->copy(13, y.data());
  EXPECT_EQ(x, y);
  EXPECT_THAT(complaint(Map{{"name", "synthetic"}, {"shape", jobspec::List{2, 2}}}),
              HasSubstr("data.shape"));
}

TEST(Datasets, SchemaListsEveryRow) {
  const auto sections = data_schema();
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[1].selector, "split");
  std::vector<std::string> names;
  for (const auto& variant : sections[0].variants)
    names.push_back(variant.name);
  EXPECT_THAT(names, ElementsAre("fashion-mnist", "cifar-10", "cifar-100", "idx", "arrays",
                                 "tokens", "text", "synthetic", "shapes", "gaussian-fields",
                                 "cells", "copy", "translation", "quadratic-deep"));
}

}  // namespace
}  // namespace thalweg::engine
