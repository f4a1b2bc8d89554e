// Attempt folders are made by people's programs: nothing in one takes the controller's memory, its
// open files or its time.
#include "daemon/controller/tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/tree.h"
#include "daemon/controller/folder.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

namespace fs = std::filesystem;

/// So many folders in each other, with a file in the innermost.
void make_deep(const fs::path& outer, int levels) {
  fs::create_directory(outer);
  int at = ::open(outer.c_str(), O_RDONLY | O_DIRECTORY);
  for (int i = 0; i < levels; ++i) {
    ASSERT_EQ(::mkdirat(at, "deeper", 0700), 0);
    const int next = ::openat(at, "deeper", O_RDONLY | O_DIRECTORY);
    ::close(at);
    at = next;
  }
  ::close(::openat(at, "file", O_WRONLY | O_CREAT, 0600));
  ::close(at);
}

/// No more files open than that at once.
class FewFiles {
 public:
  explicit FewFiles(rlim_t max) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FewFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewFiles(const FewFiles&) = delete;
  FewFiles& operator=(const FewFiles&) = delete;

 private:
  rlimit before_{};
};

TEST(Tree, OfAnyDepthIsRemovedWithFewOpenFolders) {
  const test::TempDir dir;
  for (const int levels : {0, 1, 98, 99, 100, 101, 199, 200, 201, 5000}) {
    const fs::path outer = dir.path() / "outer";
    make_deep(outer, levels);
    fs::create_directory(outer / "beside");
    fs::create_symlink("/etc", outer / "link");
    {
      const FewFiles limit(256);
      EXPECT_GE(tree_size(outer).files, levels < 100 ? 2 : 1) << levels;
      EXPECT_EQ(remove_tree(outer).problem, "");
    }
    EXPECT_FALSE(fs::exists(fs::symlink_status(outer))) << levels;
  }
  EXPECT_TRUE(fs::exists("/etc/passwd")) << "links are not followed";
  EXPECT_EQ(remove_tree(dir.path() / "none").problem, "");
}

TEST(Failures, FilesThatAreTooLargeOrTooManyAreNotRead) {
  const test::TempDir dir;
  const auto write = [&](const std::string& name, std::size_t padding) {
    test::write_file(dir.path() / ("failure." + name + ".json"),
                     R"({"time": 5, "rank": 1, "reason": "it failed", "more": ")" +
                         std::string(padding, 'x') + "\"}");
  };
  write("rank1", 10);
  EXPECT_EQ(read_failures(dir.path()).size(), 1u);
  write("rank2", 1 << 20);
  EXPECT_EQ(read_failures(dir.path()).size(), 1u) << "a megabyte is no failure file of ours";
  write("rank3", 60'000);
  for (int i = 0; i < 1000; ++i)
    fs::create_hard_link(dir.path() / "failure.rank3.json",
                         dir.path() / ("failure.rank" + std::to_string(i + 10) + ".json"));
  EXPECT_LT(read_failures(dir.path()).size(), 100u);
}

TEST(Folder, TheReasonInStderrIsNotWhatSrunSaysOfOthersEnds) {
  const test::TempDir folder;
  const auto words = [&](const std::string& text) {
    test::write_file(folder.path() / "stderr.log", text);
    return stderr_words(folder.path());
  };
  const std::string notices =
      "srun: launch/slurm: _step_signal: Terminating StepId=2.0\n"
      "slurmstepd-n1: error: *** STEP 2.0 ON n1 CANCELLED AT 2026-11-28T15:05:38 ***\n"
      "srun: error: n1: task 0: Exited with exit code 2\n";
  const std::string missing = "slurmstepd: error: execve(): /opt/x: No such file or directory";
  const StderrWords none =
      words(missing + "\nsrun: error: n2: task 1: Exited with exit code 2\n" + notices + "\n");
  EXPECT_EQ(none.last, missing);
  EXPECT_EQ(none.node, "n2");
  EXPECT_EQ(words("trial.yaml:3: no such model\n" + notices).last, "trial.yaml:3: no such model");
  EXPECT_EQ(words(notices).last, "srun: error: n1: task 0: Exited with exit code 2");
  EXPECT_EQ(words("warning\nsrun: error: n1: task 0: Segmentation fault\n" + notices).last,
            "srun: error: n1: task 0: Segmentation fault");
  const StderrWords killed =
      words("srun: error: n2: task 1: Killed\n" + notices +
            "srun: error: n1: task 0: Killed\nsrun: Force Terminated StepId=8.0\n");
  EXPECT_EQ(killed.last, "srun: error: n2: task 1: Killed") << "the others were ended for that";
  EXPECT_EQ(killed.killed_rank, 1);
  EXPECT_EQ(killed.killed_node, "n2");
  const StderrWords several = words("srun: error: n[1-2]: tasks 0-1: Killed\n");
  EXPECT_EQ(several.killed_rank, std::nullopt);
  EXPECT_EQ(several.killed_node, "");
  EXPECT_EQ(words("").last + words("\n \t\n").last, "");
}

}  // namespace
}  // namespace thalweg::daemon
