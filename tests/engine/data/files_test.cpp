// Several files of one set: which ones, in which order, and what is said where they do not fit.
#include "engine/data/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class ManyFiles : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string text(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories((folder_.path() / name).parent_path());
    test::write_file(folder_.path() / name, content);
    return path(name);
  }
  /// Rows of `width` numbers: `first`, `first` + 1 ...
  std::string floats(const std::string& name, std::size_t rows, std::size_t width, float first) {
    std::vector<float> values;
    for (std::size_t i = 0; i < rows * width; ++i)
      values.push_back(first + static_cast<float>(i / width));
    return text(name, test::npy_text("<f4", {rows, width}, values));
  }
  std::string labels(const std::string& name, std::vector<std::uint8_t> values) {
    return text(name, test::npy_text("|u1", {values.size()}, values));
  }
  static std::vector<float> firsts(const Dataset& dataset) {
    std::vector<float> sample(input_floats(dataset.form())), all;
    for (std::size_t i = 0; i < dataset.size(); ++i) {
      dataset.copy(i, sample.data());
      all.push_back(sample[0]);
    }
    return all;
  }
  static std::vector<int> labels_of(const Dataset& dataset) {
    std::vector<int> all;
    for (std::size_t i = 0; i < dataset.size(); ++i)
      all.push_back(dataset.label(i));
    return all;
  }

  test::TempDir folder_;
};

TEST_F(ManyFiles, ListsPatternsAndFolders) {
  for (const char* name : {"d/b.npy", "d/a10.npy", "d/a2.npy", "d/.hidden", "d/sub/c.npy"})
    text(name, "x");
  const auto names = [&](const Value& value) {
    std::vector<std::string> found;
    for (const std::string& file : data::files_of(value))
      found.push_back(file.substr(folder_.path().string().size() + 1));
    return found;
  };
  EXPECT_THAT(names(path("d")), ElementsAre("d/a10.npy", "d/a2.npy", "d/b.npy"));
  EXPECT_THAT(names(path("d/a*.npy")), ElementsAre("d/a10.npy", "d/a2.npy"));
  EXPECT_THAT(names(path("d/[ab]?.npy")), ElementsAre("d/a2.npy"));
  EXPECT_THAT(names(List{path("d/b.npy"), path("d/a*.npy")}),
              ElementsAre("d/b.npy", "d/a10.npy", "d/a2.npy"))
      << "a list's order stays";
  EXPECT_THAT(names(path("missing.npy")), ElementsAre("missing.npy")) << "its reader says so";
  for (const char* name : {"e/1.h5", "e/2.h5"})
    text(name, "x");
  EXPECT_THAT(names(path("e/*.h5:group/x")), ElementsAre("e/1.h5:group/x", "e/2.h5:group/x"));
  text("odd/[ab].npy", "x");
  text("odd/a.npy", "x");
  EXPECT_THAT(names(path("odd/[ab].npy")), ElementsAre("odd/[ab].npy")) << "a file of that name";
  std::filesystem::create_directories(folder_.path() / "none");
  for (const std::string& nothing : {path("none"), path("z*.npy")})
    try {
      data::files_of(nothing);
      ADD_FAILURE() << nothing;
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), HasSubstr(nothing + ": "));
    }
}

TEST_F(ManyFiles, ArraysAreOneDataset) {
  floats("x/1.npy", 3, 2, 10);
  floats("x/2.npy", 1, 2, 20);
  floats("x/3.npy", 2, 2, 30);
  labels("y/1.npy", {0, 1, 2});
  labels("y/2.npy", {3});
  labels("y/3.npy", {4, 5});
  Value data = Map{{"name", "arrays"}, {"inputs", path("x")}, {"labels", path("y/*.npy")}};
  const auto dataset = load_dataset(data);
  EXPECT_THAT(firsts(*dataset), ElementsAre(10, 11, 12, 20, 30, 31));
  EXPECT_THAT(labels_of(*dataset), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(dataset->classes(), 6) << "the largest label of all files + 1";
  EXPECT_EQ(dataset->describe(4, false), "row 0 of " + path("x/3.npy"));
  EXPECT_EQ(dataset->describe(3, true), "row 0 of " + path("y/2.npy"));

  data.set("inputs", List{path("x/3.npy"), path("x/1.npy")});
  data.set("labels", List{path("y/3.npy"), path("y/1.npy")});
  data.set("validation_inputs", List{path("x/2.npy"), path("x/3.npy")});
  data.set("validation_labels", List{path("y/2.npy"), path("y/3.npy")});
  const auto sets = load_dataset(data);
  EXPECT_EQ(sets->own_validation(), 3u);
  EXPECT_THAT(firsts(*sets), ElementsAre(30, 31, 10, 11, 12, 20, 30, 31));
  EXPECT_THAT(labels_of(*sets), ElementsAre(4, 5, 0, 1, 2, 3, 4, 5));
}

TEST_F(ManyFiles, WhatDoesNotFitIsNamed) {
  floats("x/1.npy", 3, 2, 10);
  floats("x/2.npy", 2, 2, 20);
  labels("y/1.npy", {0, 1, 2});
  Value data = Map{{"name", "arrays"}, {"inputs", path("x")}, {"labels", path("y/*")}};
  EXPECT_THAT(complaint(data), HasSubstr("data.labels: 1 files for the 2 of data.inputs"));
  labels("y/2.npy", {3});
  EXPECT_THAT(complaint(data), AllOf(HasSubstr(path("y/2.npy") + ": 1 rows for 2 samples in"),
                                     HasSubstr(path("x/2.npy"))));
  labels("y/2.npy", {3, 4});
  EXPECT_EQ(complaint(data), "accepted");
  floats("x/2.npy", 2, 3, 20);
  EXPECT_THAT(complaint(data),
              AllOf(HasSubstr(path("x/2.npy") + ": its samples are 3 with 1 labels, those of "),
                    HasSubstr(path("x/1.npy") + " are 2 with 1 labels")));
  text("x/2.npy", "no array");
  EXPECT_THAT(complaint(data), HasSubstr(path("x/2.npy") + ": "));
}

TEST_F(ManyFiles, NarrowNumbersStayStored) {
  labels("x/1.npy", {1, 2});
  labels("x/2.npy", {3});
  labels("y/1.npy", {0, 1});
  labels("y/2.npy", {0});
  const auto dataset =
      load_dataset(Map{{"name", "arrays"}, {"inputs", path("x")}, {"labels", path("y")}});
  ASSERT_NE(dataset->stored(), nullptr);
  EXPECT_EQ(*dataset->stored_sample(2), 3);
}

TEST_F(ManyFiles, OfIdxTokensAndText) {
  const auto idx = [](std::string sizes, std::string values) {
    return std::string("\0\0\x08", 3) + static_cast<char>(sizes.size()) + [&] {
      std::string words;
      for (const char size : sizes)
        words += std::string(3, '\0') + size;
      return words;
    }() + values;
  };
  text("i/a", idx(std::string("\2\1\1"), std::string("\x0a\x0b")));
  text("i/b", idx(std::string("\1\1\1"), std::string("\x0c")));
  text("l/a", idx(std::string("\2"), std::string("\0\1", 2)));
  text("l/b", idx(std::string("\1"), std::string("\2")));
  const auto images = load_dataset(
      Map{{"name", "idx"}, {"images", path("i/*")}, {"labels", List{path("l/a"), path("l/b")}}});
  EXPECT_THAT(labels_of(*images), ElementsAre(0, 1, 2));
  EXPECT_FLOAT_EQ(firsts(*images)[2], 12.0f / 255);

  text("t/1", "abcdefg");
  text("t/2", "xyzXYZ!");
  Value tokens =
      Map{{"name", "tokens"}, {"file", path("t")}, {"type", "u8"}, {"length", 3}, {"stride", 3}};
  EXPECT_THAT(firsts(*load_dataset(tokens)), ElementsAre('a', 'd', 'x', 'X'))
      << "no sample is of two files";
  tokens.set("name", "text");
  EXPECT_THAT(firsts(*load_dataset(tokens)), ElementsAre('a', 'd', 'x', 'X'));
}

TEST_F(ManyFiles, TextsAreReadInTheFirstOnesPairs) {
  std::string cats, dogs;
  for (int i = 0; i < 200; ++i) {
    cats += "the cat sat on the mat ";
    dogs += "a dog ran to a log ";
  }
  const std::string a = text("a.txt", cats), b = text("b.txt", dogs);
  Value data = Map{{"name", "text"},
                   {"file", List{a, b}},
                   {"vocabulary", "bpe"},
                   {"vocabulary_size", 270},
                   {"length", 4}};
  const auto both = load_dataset(data);
  data.set("file", a);
  const std::size_t of_cats = load_dataset(data)->size();
  data.set("validation_file", b);
  const auto apart = load_dataset(data);
  ASSERT_EQ(both->size(), apart->size());
  EXPECT_GT(apart->own_validation(), 0u);
  EXPECT_EQ(apart->size() - apart->own_validation(), of_cats);
  EXPECT_EQ(firsts(*both), firsts(*apart));
}

}  // namespace
}  // namespace thalweg::engine
