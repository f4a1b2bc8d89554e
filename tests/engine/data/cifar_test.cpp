// CIFAR's binary files, made small: the reader takes any number of records.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/data/dataset.h"
#include "jobspec/value.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

/// Labels, then red, green and blue planes of one value each.
std::string record(std::string labels, char red, char green, char blue) {
  return labels + std::string(1024, red) + std::string(1024, green) + std::string(1024, blue);
}

void write_batches(const std::filesystem::path& folder, const std::string& last) {
  for (int i = 1; i <= 5; ++i)
    test::write_file(folder / ("data_batch_" + std::to_string(i) + ".bin"),
                     i == 5 ? last : record(std::string(1, static_cast<char>(i)), 0, 0, 0));
}

TEST(Cifar, TenClassesInFiveFiles) {
  const test::TempDir folder;
  write_batches(folder.path(), record("\x07", '\0', '\xff', '\x33') + record("\x09", 1, 1, 1));
  const auto data = load_dataset(Map{{"name", "cifar-10"}, {"dir", folder.path().string()}});
  EXPECT_EQ(data->size(), 6u);
  EXPECT_EQ(data->classes(), 10);
  EXPECT_THAT(data->sample_shape(), ElementsAre(3, 32, 32));
  EXPECT_EQ(data->label(0), 1);
  EXPECT_EQ(data->label(4), 7);
  EXPECT_EQ(data->label(5), 9);
  std::vector<float> image(3072);
  data->copy(4, image.data());
  EXPECT_FLOAT_EQ(image[0], static_cast<float>((0 - 0.4914) / 0.2470));
  EXPECT_FLOAT_EQ(image[1024], static_cast<float>((1 - 0.4822) / 0.2435));
  EXPECT_FLOAT_EQ(image[3071], static_cast<float>((0.2 - 0.4465) / 0.2616));
}

TEST(Cifar, TheTestBatchValidatesOrTests) {
  const test::TempDir folder;
  write_batches(folder.path(), record("\x07", 0, 0, 0));
  test::write_file(folder.path() / "test_batch.bin",
                   record("\x03", 1, 1, 1) + record("\x04", 2, 2, 2));
  Map options{{"name", "cifar-10"}, {"dir", folder.path().string()}};
  EXPECT_EQ(load_dataset(options)->size(), 5u);
  Map validated = options, tested = options;
  validated.emplace_back("test", true);
  tested.emplace_back("test_set", true);
  const auto validates = load_dataset(validated), tests = load_dataset(tested);
  EXPECT_EQ(validates->size(), 7u);
  EXPECT_EQ(validates->own_validation(), 2u);
  EXPECT_EQ(validates->own_test(), 0u);
  EXPECT_EQ(validates->label(6), 4);
  EXPECT_EQ(tests->own_validation(), 0u);
  EXPECT_EQ(tests->own_test(), 2u);
  EXPECT_EQ(*tests->stored_sample(5), 1);
  tested.emplace_back("test", true);
  EXPECT_THROW(load_dataset(tested), std::invalid_argument);
}

TEST(Cifar, HundredClassesOrTwenty) {
  const test::TempDir folder;
  test::write_file(folder.path() / "train.bin", record("\x13\x63", 0, 0, 0));
  Map options{{"name", "cifar-100"}, {"dir", folder.path().string()}};
  EXPECT_EQ(load_dataset(options)->label(0), 99);
  options.emplace_back("labels", "coarse");
  EXPECT_EQ(load_dataset(options)->label(0), 19);
  EXPECT_EQ(load_dataset(options)->classes(), 20);
}

std::string cifar_complaint(const std::string& last) {
  const test::TempDir folder;
  write_batches(folder.path(), last);
  try {
    load_dataset(Map{{"name", "cifar-10"}, {"dir", folder.path().string()}});
  } catch (const DataError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Cifar, BadFilesGiveFileOffsetAndReason) {
  const auto invalid = [](const char* name) {
    return test::read_file(std::filesystem::path(THALWEG_SOURCE_DIR) / "tests/engine/data/invalid" /
                           name);
  };
  EXPECT_THAT(cifar_complaint(invalid("cifar_record_cut.bin")),
              AllOf(HasSubstr("data_batch_5.bin: offset 3073:"), HasSubstr("has 100 bytes")));
  EXPECT_THAT(cifar_complaint(invalid("cifar_label_12.bin")),
              AllOf(HasSubstr("offset 3073: label 12"), HasSubstr("10 classes")));
  EXPECT_THAT(cifar_complaint(""), HasSubstr("offset 0: the file is empty"));
  try {
    load_dataset(Map{{"name", "cifar-100"}, {"dir", "/nonexistent"}});
    FAIL();
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), HasSubstr("/nonexistent/train.bin: cannot open: No such file"));
  }
}

}  // namespace
}  // namespace thalweg::engine
