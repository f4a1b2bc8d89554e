// Which samples validate and test: drawn, by groups, the last ones, and sets of their own.
#include "engine/data/split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "engine/data/array.h"
#include "jobspec/value.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Split, HoldsOutTheSameSamplesAlways) {
  const Split parts = split(600, {.validation = 50});
  EXPECT_EQ(parts.training.size(), 550u);
  EXPECT_EQ(parts.validation.size(), 50u);
  std::vector<std::uint32_t> all = parts.training;
  all.insert(all.end(), parts.validation.begin(), parts.validation.end());
  std::sort(all.begin(), all.end());
  std::vector<std::uint32_t> expected(600);
  std::iota(expected.begin(), expected.end(), 0u);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(split(600, {.validation = 50}).validation, parts.validation);
}

TEST(Split, FractionKeepsPartOfBoth) {
  const Split whole = split(600, {.validation = 50}),
              part = split(600, {.validation = 50, .fraction = 0.1});
  EXPECT_EQ(part.training.size(), 55u);
  EXPECT_EQ(part.validation.size(), 5u);
  EXPECT_TRUE(std::includes(whole.validation.begin(), whole.validation.end(),
                            part.validation.begin(), part.validation.end()));
}

TEST(Split, DuplicatesTrainingSamplesOnly) {
  const Split once = split(60, {.validation = 5, .fraction = 0.5}),
              thrice = split(60, {.validation = 5, .fraction = 0.5, .duplicate = 3});
  EXPECT_EQ(thrice.validation, once.validation);
  ASSERT_EQ(thrice.training.size(), 3 * once.training.size());
  for (std::size_t i = 0; i < thrice.training.size(); ++i)
    EXPECT_EQ(thrice.training[i], once.training[i % once.training.size()]);
}

TEST(Split, RefusesToHoldOutEverything) {
  EXPECT_THROW(split(100, {.validation = 100}), std::invalid_argument);
  EXPECT_THROW(split(100, {.validation = 0}), std::invalid_argument);
}

TEST(Split, ATestSetLeavesTheValidationSamplesAsTheyAre) {
  const Split without = split(600, {.validation = 50});
  const Split parts = split(600, {.validation = 50, .test = 100});
  EXPECT_EQ(parts.validation, without.validation);
  EXPECT_EQ(parts.test.size(), 100u);
  EXPECT_EQ(parts.training.size(), 450u);
  std::set<std::uint32_t> all(parts.training.begin(), parts.training.end());
  all.insert(parts.validation.begin(), parts.validation.end());
  all.insert(parts.test.begin(), parts.test.end());
  EXPECT_EQ(all.size(), 600u);
  const Split part = split(600, {.validation = 50, .test = 100, .fraction = 0.1});
  EXPECT_EQ(part.test, parts.test) << "a test is never thinned out";
}

TEST(Split, TheLastSamplesAreTheFuture) {
  const Split parts = split(10, {.validation = 2, .test = 3, .by = SplitRule::By::last});
  EXPECT_THAT(parts.training, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(parts.validation, ElementsAre(5, 6));
  EXPECT_THAT(parts.test, ElementsAre(7, 8, 9));
}

TEST(Split, SetsOfTheirOwnStandLast) {
  const Split parts = split(10, {.own_validation = 2, .own_test = 3, .by = SplitRule::By::random});
  EXPECT_THAT(parts.training, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(parts.validation, ElementsAre(5, 6));
  EXPECT_THAT(parts.test, ElementsAre(7, 8, 9));
  const Split mixed = split(10, {.validation = 2, .own_test = 3});
  EXPECT_EQ(mixed.training.size(), 5u);
  EXPECT_LT(mixed.validation.back(), 7u);
  EXPECT_THAT(mixed.test, ElementsAre(7, 8, 9));
}

TEST(Split, NoGroupIsOnTwoSides) {
  SplitRule rule{.validation = 30, .test = 20, .by = SplitRule::By::groups};
  for (std::int64_t i = 0; i < 300; ++i)
    rule.groups.push_back(i % 23 * 1000003 - 7);
  const Split parts = split(300, rule);
  const auto groups = [&](const std::vector<std::uint32_t>& samples) {
    std::set<std::int64_t> found;
    for (const std::uint32_t sample : samples)
      found.insert(rule.groups[sample]);
    return found;
  };
  EXPECT_GE(parts.validation.size(), 30u);
  EXPECT_GE(parts.test.size(), 20u);
  EXPECT_EQ(parts.training.size() + parts.validation.size() + parts.test.size(), 300u);
  EXPECT_EQ(
      groups(parts.training).size() + groups(parts.validation).size() + groups(parts.test).size(),
      23u);
  rule.groups.pop_back();
  EXPECT_THROW(split(300, rule), std::invalid_argument);
  rule.groups.assign(300, 1);
  EXPECT_THROW(split(300, rule), std::invalid_argument) << "nothing is left to train on";
}

/// NPY files of n rows whose every number is `first` + the row.
struct Files {
  test::TempDir folder;

  template <class T>
  std::string write(const std::string& name, const char* type, std::size_t rows,
                    std::size_t columns, T first) {
    std::vector<T> values;
    for (std::size_t i = 0; i < rows * columns; ++i)
      values.push_back(static_cast<T>(first + static_cast<T>(i / columns)));
    const std::vector<std::size_t> shape =
        columns == 1 ? std::vector{rows} : std::vector{rows, columns};
    test::write_file(folder.path() / name, test::npy_text(type, shape, values));
    return (folder.path() / name).string();
  }
};

Value complete_data(Value data) {
  for (const auto& [key, value] : Map{{"validation", "auto"},
                                      {"test_samples", 0},
                                      {"split", "random"},
                                      {"fraction", 1.0},
                                      {"duplicate", 1}})
    if (data.find(key) == nullptr) data.set(key, value);
  return data;
}

std::string split_complaint(const Value& data) {
  try {
    const auto dataset = load_dataset(data);
    split_samples(*dataset, complete_data(data));
  } catch (const std::exception& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Sets, FilesOfTheirOwnValidateAndTest) {
  Files files;
  Value data = Map{{"name", "arrays"},
                   {"inputs", files.write<float>("x.npy", "<f4", 20, 3, 0)},
                   {"labels", files.write<std::int64_t>("y.npy", "<i8", 20, 1, 0)},
                   {"validation_inputs", files.write<float>("vx.npy", "<f4", 4, 3, 100)},
                   {"validation_labels", files.write<std::int64_t>("vy.npy", "<i8", 4, 1, 5)},
                   {"test_inputs", files.write<float>("tx.npy", "<f4", 6, 3, 200)},
                   {"test_labels", files.write<std::int64_t>("ty.npy", "<i8", 6, 1, 20)}};
  const auto dataset = load_dataset(data);
  const Split parts = split_samples(*dataset, complete_data(data));
  EXPECT_EQ(parts.training.size(), 20u);
  EXPECT_EQ(parts.validation.size(), 4u);
  EXPECT_EQ(parts.test.size(), 6u);
  EXPECT_EQ(dataset->classes(), 26) << "the largest label of all sets + 1";
  float row[3];
  dataset->copy(parts.validation.front(), row);
  EXPECT_EQ(row[0], 100);
  dataset->copy(parts.test.back(), row);
  EXPECT_EQ(row[2], 205);
  EXPECT_EQ(dataset->label(parts.test.back()), 25);

  data.set("validation", 3);
  EXPECT_THAT(split_complaint(data),
              HasSubstr("data.validation: there is a validation set of 4 samples"));
  data.set("validation", "auto");
  data.set("test_samples", 3);
  EXPECT_THAT(split_complaint(data),
              HasSubstr("data.test_samples: there is a test set of 6 samples"));
  data.set("test_samples", 0);
  Value odd = data;
  odd.set("validation_labels", Value());
  EXPECT_THAT(split_complaint(odd), HasSubstr("data.validation_labels is missing"));
  odd = data;
  odd.set("test_targets", "t.npy");
  EXPECT_THAT(split_complaint(odd), HasSubstr("data.test_targets is set"));
  odd = data;
  odd.set("test_inputs", files.write<float>("wide.npy", "<f4", 6, 4, 0));
  EXPECT_THAT(split_complaint(odd), HasSubstr("do not have the shape"));
}

TEST(Sets, StoredFormsStayWhereTheyAreAlike) {
  Files files;
  const auto labels = [&](const char* name) {
    return files.write<std::uint8_t>(name, "|u1", 12, 1, 0);
  };
  Value data = Map{{"name", "arrays"},
                   {"inputs", files.write<std::uint8_t>("x.npy", "|u1", 12, 2, 7)},
                   {"labels", labels("y.npy")},
                   {"test_inputs", files.write<std::uint8_t>("tx.npy", "|u1", 12, 2, 70)},
                   {"test_labels", labels("ty.npy")}};
  const auto bytes = load_dataset(data);
  ASSERT_NE(bytes->stored(), nullptr);
  EXPECT_EQ(*bytes->stored_sample(12), 70);
  data.set("test_inputs", files.write<float>("fx.npy", "<f4", 12, 2, 0.5f));
  const auto mixed = load_dataset(data);
  EXPECT_EQ(mixed->stored(), nullptr);
  float row[2];
  mixed->copy(0, row);
  EXPECT_EQ(row[0], 7);
  mixed->copy(12, row);
  EXPECT_EQ(row[0], 0.5f);
}

TEST(Sets, GroupsComeFromAFile) {
  Files files;
  Value data = Map{{"name", "arrays"},
                   {"inputs", files.write<float>("x.npy", "<f4", 20, 3, 0)},
                   {"labels", files.write<std::int64_t>("y.npy", "<i8", 20, 1, 0)},
                   {"split", "groups"},
                   {"groups", files.write<std::int32_t>("g.npy", "<i4", 20, 1, 0)}};
  EXPECT_EQ(split_complaint(data), "accepted");
  data.set("groups", files.write<std::int32_t>("few.npy", "<i4", 19, 1, 0));
  EXPECT_THAT(split_complaint(data), HasSubstr("data.groups: 19 groups for 20 samples"));
  data.set("groups", files.write<float>("real.npy", "<f4", 20, 1, 0));
  EXPECT_THAT(split_complaint(data), HasSubstr("whole numbers"));
}

TEST(Sets, AValidationTextIsReadInTheTrainingTextsPairs) {
  const test::TempDir folder;
  std::string text;
  for (int i = 0; i < 200; ++i)
    text += "the cat sat on the mat " + std::to_string(i % 7);
  const auto write = [&](const char* name, const std::string& content) {
    test::write_file(folder.path() / name, content);
    return (folder.path() / name).string();
  };
  Value data = Map{{"name", "text"},
                   {"file", write("a.txt", text)},
                   {"vocabulary", "bpe"},
                   {"vocabulary_size", 300},
                   {"length", 8}};
  const auto alone = load_dataset(data);
  // Another text would have learnt other pairs; the training text itself must give its own tokens.
  write("b.txt", std::string(300, 'z') + text);
  data.set("validation_file", (folder.path() / "b.txt").string());
  const auto joined = load_dataset(data);
  EXPECT_EQ(joined->classes(), alone->classes());
  std::vector<float> tokens(8);
  joined->copy(alone->size(), tokens.data());
  for (const float token : tokens)
    EXPECT_EQ(token, 'z') << "no pair of z was learnt from the training text";
}

}  // namespace
}  // namespace thalweg::engine
