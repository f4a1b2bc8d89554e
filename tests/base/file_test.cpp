#include "base/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "tests/support/process.h"

namespace {

using testing::HasSubstr;
using thalweg::AtomicFile;
using thalweg::read_file;
namespace fs = std::filesystem;

struct FileTest : testing::Test {
  thalweg::test::TempDir dir;
  fs::path file = dir.path() / "file";
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(dir.path()), fs::directory_iterator()));
  }
};

TEST_F(FileTest, AppearsWithItsCommitOnly) {
  thalweg::test::write_file(file, "old");
  {
    AtomicFile given_up(file);
    given_up.write("new");
    EXPECT_EQ(read_file(file), "old");
  }
  EXPECT_EQ(entries(), 1u) << "something was left behind";
  AtomicFile made(file, 0600);
  made.write("new");
  made.commit();
  EXPECT_EQ(read_file(file), "new");
  EXPECT_EQ(entries(), 1u);
  struct stat info {};
  ASSERT_EQ(stat(file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(FileTest, WhatWasGivenUpDoesNotLendItsMode) {
  thalweg::test::write_file(file.string() + AtomicFile::kEnding, "a longer text");
  fs::permissions(file.string() + AtomicFile::kEnding, fs::perms::all);
  AtomicFile made(file, 0600);
  made.write("new");
  made.commit();
  EXPECT_EQ(read_file(file), "new");
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(FileTest, OnlyTheFirstMakesANewOne) {
  AtomicFile first(file, dir.path() / "a", 0644), second(file, dir.path() / "b", 0644);
  first.write("first");
  second.write("second");
  EXPECT_TRUE(first.commit_new());
  EXPECT_FALSE(second.commit_new());
  EXPECT_EQ(read_file(file), "first");
}

TEST_F(FileTest, ErrorsNameTheFile) {
  for (const fs::path& wrong : {file, dir.path()}) {
    try {
      read_file(wrong);
      ADD_FAILURE() << wrong << " was read";
    } catch (const std::system_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("cannot read " + wrong.string() + ": "));
    }
  }
  EXPECT_THROW(AtomicFile(dir.path() / "no" / "file"), std::system_error);
}

}  // namespace
