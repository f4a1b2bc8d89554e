// data.stage: copies that are made once, kept, and made anew where the source has changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/data/dataset.h"
#include "engine/data/table.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::HasSubstr;

namespace fs = std::filesystem;

struct Folders {
  test::TempDir folder;
  fs::path source = folder.path() / "far/text.txt", near = folder.path() / "near";
  Value tree =
      Map{{"name", "text"}, {"length", 3}, {"file", source.string()}, {"stage", near.string()}};
  Folders() {
    fs::create_directories(source.parent_path());
    test::write_file(source, "abcdefgh");
  }
  std::size_t copies() const {
    std::size_t n = 0;
    for (const auto& entry : fs::directory_iterator(near))
      n += entry.path().filename() != ".lock";
    return n;
  }
};

float first_token(const Value& tree) {
  float tokens[3];
  load_dataset(tree)->copy(0, tokens);
  return tokens[0];
}

data::Options options_of(const Value& tree) {
  return data::read_options(data::text(), tree);
}

TEST(Stage, CopiesOnceAndAgainWhereTheSourceChanged) {
  const Folders f;
  EXPECT_EQ(data::local_file(options_of(Map{}), f.source), f.source);
  const fs::path copy = data::local_file(options_of(f.tree), f.source);
  EXPECT_EQ(copy.parent_path(), f.near);
  EXPECT_EQ(test::read_file(copy), "abcdefgh");
  // What has the same size and time is taken as it is.
  const auto time = fs::last_write_time(f.source);
  test::write_file(copy, "xbcdefgh");
  fs::last_write_time(copy, time);
  EXPECT_EQ(first_token(f.tree), 'x');
  fs::last_write_time(f.source, time + std::chrono::seconds(5));
  EXPECT_EQ(first_token(f.tree), 'a');
  EXPECT_EQ(f.copies(), 1u);
  // Another file of the same name is another copy.
  const fs::path other = f.folder.path() / "text.txt";
  test::write_file(other, "ABCDEFGH");
  EXPECT_NE(data::local_file(options_of(f.tree), other), copy);
  EXPECT_EQ(f.copies(), 2u);
}

TEST(Stage, ManyAtOnceGetOneCopy) {
  const Folders f;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { EXPECT_EQ(first_token(f.tree), 'a'); });
  for (std::thread& t : threads)
    t.join();
  EXPECT_EQ(f.copies(), 1u);
}

TEST(Stage, ArraysAndMissingFiles) {
  const Folders f;
  const fs::path valid = fs::path(THALWEG_SOURCE_DIR) / "tests/engine/data/valid";
  const auto data = load_dataset(Map{{"name", "arrays"},
                                     {"inputs", (valid / "stored.npz").string() + ":x"},
                                     {"labels", (valid / "stored.npz").string() + ":y"},
                                     {"stage", f.near.string()}});
  EXPECT_EQ(data->label(1), 2);
  EXPECT_EQ(f.copies(), 1u);
  const auto complaint = [&](const char* key, const std::string& value) {
    Value tree = f.tree;
    tree.set(key, value);
    try {
      load_dataset(tree);
    } catch (const DataError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(complaint("file", "/nonexistent/a.txt"),
              HasSubstr("/nonexistent/a.txt: cannot open"));
  EXPECT_THAT(complaint("stage", "/proc/nowhere"), HasSubstr("data.stage: cannot create"));
}

}  // namespace
}  // namespace thalweg::engine
