// Folders are taken away whatever their modes are, by the user whose they are: each case works as a
// user without privilege.
#include "base/tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "tests/support/fuzz.h"
#include "tests/support/process.h"

namespace thalweg {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uid_t nobody = 65534;

/// What `work` says is wrong, done by a user to whom modes matter. Empty: nothing.
std::string as_nobody(const std::function<std::string()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    std::string wrong = "cannot become the user";
    if (::geteuid() != 0 || (::setgid(nobody) == 0 && ::setuid(nobody) == 0)) {
      try {
        wrong = work();
      } catch (const std::exception& error) {
        wrong = error.what();
      }
    }
    [[maybe_unused]] const ssize_t n = ::write(ends[1], wrong.data(), wrong.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string wrong;
  char block[4096];
  for (ssize_t n; (n = ::read(ends[0], block, sizeof block)) > 0;)
    wrong.append(block, static_cast<std::size_t>(n));
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return wrong;
}

class TreeTest : public testing::Test {
 protected:
  /// Anybody may make something in it.
  void SetUp() override { fs::permissions(dir_.path(), fs::perms(0777)); }
  void TearDown() override { remove_tree(dir_.path()); }

  test::TempDir dir_;
};

/// Why it is still there; empty: it is not.
std::string removed(const fs::path& folder) {
  const Removal removal = remove_tree(folder);
  struct stat status {};
  if (::lstat(folder.c_str(), &status) == 0) return "still there: " + removal.problem;
  return removal.failed == 0 && !removal.more ? "" : "gone, but: " + removal.problem;
}

TEST_F(TreeTest, OfEveryModeIsRemovedByItsOwner) {
  const std::string wrong = as_nobody([&]() -> std::string {
    for (mode_t mode = 0; mode <= 0777; ++mode) {
      const fs::path outer = dir_.path() / "outer", inner = outer / "middle/inner";
      fs::create_directories(inner);
      test::write_file(inner / "file", "x");
      test::write_file(outer / "file", "x");
      for (const fs::path& each : {inner, outer / "middle", outer})
        ::chmod(each.c_str(), mode);
      if (const std::string why = removed(outer); !why.empty())
        return fmt::format("mode {:04o}: {}", mode, why);
    }
    std::string made = (dir_.path() / "XXXXXX").string();
    if (::mkdtemp(made.data()) == nullptr) return "no mkdtemp";
    return removed(made);
  });
  EXPECT_EQ(wrong, "");
}

/// Folders, files, pipes and links by seed, with modes as they come.
void grow(const fs::path& folder, const fs::path& outside, std::mt19937& random, int depth) {
  const fs::path targets[] = {outside, outside / "file", "/etc", "..", "../..", "nowhere"};
  for (std::size_t i = random() % 6; i > 0; --i) {
    const fs::path each = folder / std::to_string(i);
    switch (random() % 6) {
      case 0:
        fs::create_symlink(test::one_of(targets, random), each);
        break;
      case 1:
        ::mkfifo(each.c_str(), random() % 01000);
        break;
      case 2:
        if (::link((outside / "file").c_str(), each.c_str()) == 0) break;
        [[fallthrough]];
      case 3:
        test::write_file(each, "x");
        ::chmod(each.c_str(), random() % 01000);
        break;
      default:
        fs::create_directory(each);
        if (depth < 6) grow(each, outside, random, depth + 1);
        ::chmod(each.c_str(), random() % 010000);
    }
  }
}

std::string what_is(const fs::path& folder) {
  std::string all;
  struct stat status {};
  for (const char* name : {".", "file", "folder", "folder/file"}) {
    if (::lstat((folder / name).c_str(), &status) != 0) return all + name + " is gone";
    all += fmt::format("{} {:o} {}\n", name, status.st_mode, status.st_size);
  }
  return all;
}

TEST_F(TreeTest, OfAnyKindIsRemovedAndNothingOutside) {
  const fs::path outside = dir_.path() / "outside";
  fs::create_directories(outside / "folder");
  for (const char* name : {"file", "folder/file"})
    test::write_file(outside / name, "precious");
  for (const fs::path& each : {outside, outside / "folder", outside / "file"})
    ASSERT_EQ(::geteuid() == 0 ? ::chown(each.c_str(), nobody, nobody) : 0, 0);
  const std::string before = what_is(outside);
  test::fuzz(100, [&](int, std::mt19937& random) {
    const std::string wrong = as_nobody([&] {
      const fs::path tree = dir_.path() / "tree";
      fs::create_directory(tree);
      grow(tree, outside, random, 0);
      return removed(tree);
    });
    EXPECT_EQ(wrong, "");
    EXPECT_EQ(what_is(outside), before);
  });
}

TEST_F(TreeTest, WhatIsAnotherUsersStaysAndIsToldWithARemedy) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's folders";
  const fs::path tree = dir_.path() / "tree";
  const std::string made = as_nobody([&] {
    fs::create_directories(tree / "own/theirs");
    for (const char* name : {"a", "own/b", "z"})
      test::write_file(tree / name, "x");
    return "";
  });
  ASSERT_EQ(made, "");
  const fs::path theirs = tree / "own/theirs";
  test::write_file(theirs / "file", "x");
  ASSERT_EQ(::chown(theirs.c_str(), 0, 0), 0);
  for (const mode_t mode : {0755, 0700, 0}) {
    ASSERT_EQ(::chmod(theirs.c_str(), mode), 0);
    const std::string told = as_nobody([&] { return remove_tree(tree).problem; });
    EXPECT_THAT(told, HasSubstr("cannot remove " + theirs.string()));
    EXPECT_THAT(told, HasSubstr(fmt::format("folder {} is uid 0's (mode {:04o}), who can let it go",
                                            theirs.string(), mode)));
    EXPECT_TRUE(fs::exists(theirs / "file"));
    for (const char* name : {"a", "own/b", "z"})
      EXPECT_FALSE(fs::exists(tree / name)) << "what can be removed is, whatever else is there";
  }
}

TEST_F(TreeTest, ATimeThatIsOverLeavesTheRestForLater) {
  const fs::path tree = dir_.path() / "tree";
  for (int i = 0; i < 30; ++i) {
    fs::create_directories(tree / std::to_string(i));
    for (int file = 0; file < 100; ++file)
      test::write_file(tree / std::to_string(i) / std::to_string(file), "");
  }
  int turns = 1;
  for (; remove_tree(tree, RemovalClock::now() + std::chrono::milliseconds(1)).more; ++turns)
    ASSERT_LT(turns, 4000) << "each turn gets further";
  EXPECT_GT(turns, 1);
  EXPECT_FALSE(fs::exists(tree));
}

}  // namespace
}  // namespace thalweg
