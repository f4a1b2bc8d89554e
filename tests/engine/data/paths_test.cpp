// ~, $NAME and relative paths of `train.data`.
#include "engine/data/paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "engine/data/dataset.h"
#include "jobspec/value.h"

namespace thalweg::engine {
namespace {

using data::whole_path;
using testing::HasSubstr;
using testing::StartsWith;

struct Variables {
  Variables() {
    setenv("THALWEG_TEST_FOLDER", "/far", 1);
    setenv("THALWEG_TEST_REL", "rel", 1);
    setenv("HOME", "/home/someone", 1);
  }
  ~Variables() {
    unsetenv("THALWEG_TEST_FOLDER");
    unsetenv("THALWEG_TEST_REL");
    setenv("HOME", home.c_str(), 1);
  }
  std::string home = std::getenv("HOME") == nullptr ? "/" : std::getenv("HOME");
};

std::string path_complaint(const std::string& path) {
  try {
    whole_path(path, "data.file");
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "accepted";
}

TEST(DataPaths, HomeAndVariables) {
  const Variables set;
  EXPECT_EQ(whole_path("~/x.npz:X", "k"), "/home/someone/x.npz:X");
  EXPECT_EQ(whole_path("~", "k"), "/home/someone");
  EXPECT_EQ(whole_path("$THALWEG_TEST_FOLDER/x", "k"), "/far/x");
  EXPECT_EQ(whole_path("/a/${THALWEG_TEST_REL}ative/b$$c$", "k"), "/a/relative/b$c$");
  const std::string here = std::filesystem::current_path().string();
  EXPECT_EQ(whole_path("x/~/y", "k"), here + "/x/~/y");
  EXPECT_EQ(whole_path("", "k"), "");
}

TEST(DataPaths, WhatIsWrongIsNamed) {
  const Variables set;
  EXPECT_THAT(path_complaint("$THALWEG_NOT_SET/x"),
              AllOf(StartsWith("data.file: "), HasSubstr("$THALWEG_NOT_SET is not set")));
  EXPECT_THAT(path_complaint("/a/${THALWEG_TEST_REL"), HasSubstr("expected $NAME or ${NAME}"));
  EXPECT_THAT(path_complaint("/a/$-b"), HasSubstr("expected $NAME or ${NAME}"));
  EXPECT_THAT(path_complaint("$THALWEG_TEST_REL/x"), HasSubstr("expected an absolute path"));
}

TEST(DataPaths, MessagesNameTheAbsolutePath) {
  const Variables set;
  const auto load = [](const char* file) {
    try {
      load_dataset(jobspec::Map{{"name", "text"}, {"file", file}});
    } catch (const DataError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(load("no/such.txt"), StartsWith(here + "/no/such.txt: cannot open"));
  EXPECT_THAT(load("$THALWEG_TEST_FOLDER/such.txt"), StartsWith("/far/such.txt: cannot open"));
}

}  // namespace
}  // namespace thalweg::engine
