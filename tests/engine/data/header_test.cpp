// Headers alone: what they tell is what the loaded data are, and nothing else is read.
#include "engine/data/header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <filesystem>

#include "engine/data/array.h"
#include "engine/data/split.h"
#include "jobspec/value.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

/// With what every tree has when it is complete.
Value complete(Value data) {
  for (const auto& [key, value] : Map{{"validation", "auto"},
                                      {"test_samples", 0},
                                      {"split", "random"},
                                      {"fraction", 1.0},
                                      {"duplicate", 1}})
    if (data.find(key) == nullptr) data.set(key, value);
  return data;
}

void expect_same(const StoredForm* a, const StoredForm* b) {
  ASSERT_EQ(a == nullptr, b == nullptr);
  if (a == nullptr) return;
  EXPECT_EQ(a->bytes, b->bytes);
  EXPECT_EQ(a->tables(), b->tables());
}

/// That the header tells what loading finds.
void expect_header(const Value& tree) {
  const Value data = complete(tree);
  SCOPED_TRACE(data.to_json());
  const auto loaded = load_dataset(data);
  const DataHeader header = read_data_header(data);
  ASSERT_NE(header.dataset, nullptr);
  EXPECT_THAT(header.facts.unseen, IsEmpty());
  const SampleForm &a = loaded->form(), &b = header.dataset->form();
  EXPECT_EQ(a.input, b.input);
  EXPECT_EQ(a.classes, b.classes);
  EXPECT_EQ(a.labels, b.labels);
  EXPECT_EQ(a.targets, b.targets);
  EXPECT_EQ(a.vocabulary, b.vocabulary);
  EXPECT_EQ(a.answers, b.answers);
  EXPECT_EQ(loaded->size(), header.dataset->size());
  EXPECT_EQ(loaded->own_validation(), header.dataset->own_validation());
  EXPECT_EQ(loaded->own_test(), header.dataset->own_test());
  EXPECT_EQ(loaded->notes(), header.dataset->notes());
  expect_same(loaded->stored(), header.dataset->stored());
  const Split split = split_samples(*loaded, data);
  const auto sizes = split_sizes(*header.dataset, data);
  ASSERT_TRUE(sizes);
  EXPECT_EQ(sizes->training, split.training.size());
  EXPECT_EQ(sizes->validation, split.validation.size());
  EXPECT_EQ(sizes->test, split.test.size());
}

Value with(Map data, const Map& more) {
  data.insert(data.end(), more.begin(), more.end());
  return data;
}

TEST(Header, OfGeneratorsIsInTheirOptions) {
  expect_header(Map{{"name", "synthetic"}, {"samples", 50}, {"shape", List{1, 4, 6}}});
  expect_header(Map{{"name", "shapes"}, {"samples", 50}, {"classes", 4}});
  expect_header(Map{{"name", "gaussian-fields"}, {"samples", 40}, {"parameters", 2}});
  expect_header(Map{{"name", "gaussian-fields"}, {"samples", 40}, {"classes", 5}});
  for (const char* predict : {"kinds", "inside", "object"})
    expect_header(Map{{"name", "cells"}, {"samples", 40}, {"predict", predict}});
  expect_header(Map{{"name", "copy"}, {"samples", 40}, {"words", 7}});
  expect_header(Map{{"name", "translation"}, {"samples", 40}});
  expect_header(Map{{"name", "quadratic-deep"}});
  expect_header(Map{{"name", "shapes"}, {"samples", 50}, {"targets", "inputs"}});
}

TEST(Header, SplitsAsSamplesDo) {
  const Map data{{"name", "synthetic"}, {"samples", 100}};
  expect_header(with(data, {{"validation", 7}, {"fraction", 0.3}, {"duplicate", 3}}));
  expect_header(with(data, {{"test_samples", 11}, {"split", "last"}}));
  const Value none = complete(with(data, {{"validation", 100}}));
  EXPECT_THROW(split_sizes(*read_data_header(none).dataset, none), std::invalid_argument);
}

struct Files {
  test::TempDir folder;

  std::string write(const std::string& name, const std::string& text) const {
    test::write_file(folder.path() / name, text);
    return (folder.path() / name).string();
  }
  template <class T>
  std::string npy(const std::string& name, const char* type, std::vector<std::size_t> shape) const {
    std::size_t count = 1;
    for (const std::size_t n : shape)
      count *= n;
    std::vector<T> values;
    for (std::size_t i = 0; i < count; ++i)
      values.push_back(static_cast<T>(i % 3));
    return write(name, test::npy_text(type, shape, values));
  }
  /// An NPY file of that shape without any contents on the disk.
  std::string hole(const std::string& name, const char* type, std::vector<std::int64_t> shape,
                   std::size_t bytes) const {
    const std::string header = npy_header(type, shape);
    const std::string path = write(name, header);
    EXPECT_EQ(truncate(path.c_str(), static_cast<off_t>(header.size() + bytes)), 0);
    return path;
  }
};

TEST(Header, OfArraysIsInTheirFiles) {
  const Files files;
  const std::string x = files.npy<std::uint8_t>("x.npy", "|u1", {20, 9, 10, 3}),
                    y = files.npy<std::int64_t>("y.npy", "<i8", {20}),
                    t = files.npy<float>("t.npy", "<f4", {20, 4}),
                    g = files.npy<std::int32_t>("g.npy", "<i4", {20});
  const Map data{{"name", "arrays"}, {"inputs", x}, {"labels", y}};
  expect_header(data);
  expect_header(with(data, {{"classes", 12}}));
  expect_header(with(data, {{"mean", "auto"}, {"deviation", "auto"}}));
  expect_header(with(data, {{"validation_inputs", x}, {"validation_labels", y}}));
  expect_header(with(data, {{"split", "groups"}, {"groups", g}, {"validation", 4}}));
  expect_header(Map{{"name", "arrays"}, {"inputs", List{x, x}}, {"labels", List{y, y}}});
  expect_header(Map{{"name", "arrays"}, {"inputs", t}, {"targets", t}});
  expect_header(Map{{"name", "arrays"}, {"inputs", x}, {"targets", "inputs"}});
  const fs::path valid = fs::path(THALWEG_SOURCE_DIR) / "tests/engine/data/valid";
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::string file = (valid / name).string();
    const Array all = read_array(file + ":x"), header = read_array(file + ":x", {}, Extent::header);
    EXPECT_EQ(all.shape, header.shape);
    EXPECT_EQ(all.type, header.type);
  }
}

TEST(Header, OfFilesOfImagesAndTokens) {
  const Files files;
  const fs::path valid = fs::path(THALWEG_SOURCE_DIR) / "tests/engine/data/valid";
  for (const char* images : {"images.idx", "images.idx.gz"})
    expect_header(Map{{"name", "idx"},
                      {"images", (valid / images).string()},
                      {"labels", (valid / "labels.idx").string()},
                      {"validation", 1}});
  for (int i = 1; i <= 5; ++i)
    files.write("data_batch_" + std::to_string(i) + ".bin", std::string(3 * 3073, '\1'));
  files.write("test_batch.bin", std::string(2 * 3073, '\1'));
  for (const char* set : {"test", "test_set"})
    expect_header(Map{{"name", "cifar-10"}, {"dir", files.folder.path().string()}, {set, true}});
  const std::string text = files.write("text.txt", std::string(1000, 'a'));
  expect_header(Map{{"name", "text"}, {"file", text}, {"length", 16}});
  expect_header(Map{{"name", "tokens"}, {"file", text}, {"type", "u8"}, {"length", 16}});
}

TEST(Header, OfCompressedHdf5IsItsDataspace) {
  const test::TempDir folder;
  const std::string file = (folder.path() / "x.h5").string();
  const hid_t f = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hsize_t sizes[2] = {1'000'000'000, 64}, chunk[2] = {1000, 64};
  const hid_t packed = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(packed, 2, chunk);
  H5Pset_deflate(packed, 6);
  const hid_t space = H5Screate_simple(2, sizes, nullptr);
  H5Dclose(H5Dcreate2(f, "x", H5T_IEEE_F32LE, space, H5P_DEFAULT, packed, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(packed);
  H5Fclose(f);
  const Array array = read_array(file + ":x", {}, Extent::header);
  EXPECT_THAT(array.shape, ElementsAre(1'000'000'000, 64));
  EXPECT_EQ(array.type, NumberType::f32);
}

/// Files of 400 GB with nothing on the disk: whoever reads them does not end.
TEST(Header, ReadsNoContentsAndSaysWhatItCannotSee) {
  const Files files;
  constexpr std::size_t samples = 100'000'000;
  Value data = complete(Map{{"name", "arrays"},
                            {"inputs", files.hole("x.npy", "<f4", {samples, 1000}, samples * 4000)},
                            {"labels", files.hole("y.npy", "<i8", {samples}, samples * 8)},
                            {"mean", "auto"}});
  const DataHeader open = read_data_header(data);
  EXPECT_EQ(open.dataset->size(), samples);
  EXPECT_TRUE(open.facts.classes_unknown);
  ASSERT_EQ(open.facts.unseen.size(), 2u);
  EXPECT_EQ(open.facts.unseen[1].what, "data.classes");
  EXPECT_THAT(open.facts.unseen[1].why, HasSubstr("y.npy was not read; set it"));
  EXPECT_EQ(split_sizes(*open.dataset, data)->validation, samples / 12);
  data.set("classes", 10);
  const DataHeader told = read_data_header(data);
  EXPECT_FALSE(told.facts.classes_unknown);
  EXPECT_EQ(told.dataset->classes(), 10);
  EXPECT_EQ(told.facts.unseen.size(), 1u);

  Value tokens = complete(Map{{"name", "tokens"},
                              {"file", files.hole("t.npy", "<i8", {samples}, samples * 8)},
                              {"length", 100}});
  EXPECT_TRUE(read_data_header(tokens).facts.classes_unknown);
  EXPECT_EQ(read_data_header(tokens).dataset->size(), samples / 100 - 1);

  const DataHeader pairs = read_data_header(complete(
      Map{{"name", "text"}, {"file", files.write("a.txt", "abc")}, {"vocabulary", "bpe"}}));
  EXPECT_EQ(pairs.dataset, nullptr);
  EXPECT_EQ(pairs.facts.unseen.size(), 1u);
}

TEST(Header, SmallLabelsAreChecked) {
  const Files files;
  const Value data = Map{{"name", "arrays"},
                         {"inputs", files.npy<float>("x.npy", "<f4", {6, 2})},
                         {"labels", files.npy<std::int64_t>("y.npy", "<i8", {6})},
                         {"classes", 2}};
  EXPECT_THROW(read_data_header(data), DataError);
}

TEST(Header, SamplesCannotBeAskedFor) {
  const DataHeader header = read_data_header(Map{{"name", "synthetic"}, {"samples", 10}});
  float x[16];
  std::int32_t label;
  EXPECT_THROW(header.dataset->copy(0, x), std::logic_error);
  EXPECT_THROW(header.dataset->copy_labels(0, &label), std::logic_error);
  EXPECT_EQ(header.facts.held_bytes, 10 * 16 * sizeof(float));
}

}  // namespace
}  // namespace thalweg::engine
