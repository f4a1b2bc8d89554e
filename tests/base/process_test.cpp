#include "base/process.h"

#include <gtest/gtest.h>

#include <system_error>

namespace thalweg {
namespace {

TEST(Process, RunsAProgramWithATimeLimit) {
  const auto good = run_program({"/bin/sh", "-c", "echo out; echo err >&2; exit 3"}, 600);
  EXPECT_EQ(good.code, 3);
  EXPECT_EQ(good.out, "out\n");
  EXPECT_EQ(good.err, "err\n");
  const auto slow = run_program({"/bin/sh", "-c", "exec sleep 30"}, 0.2);
  EXPECT_TRUE(slow.timed_out);
  EXPECT_THROW(run_program({"/nowhere"}, 600), std::system_error);
}

TEST(Process, FindsPrograms) {
  EXPECT_TRUE(find_program("/bin/sh").is_absolute());
  EXPECT_FALSE(find_program("sh").empty());
  EXPECT_TRUE(find_program("no-such-program-anywhere").empty());
  EXPECT_TRUE(find_program("/no/such").empty());
}

TEST(Process, FindsFilesOfItsInstallation) {
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(find_in_prefix(self.parent_path().filename() / self.filename()), self);
  EXPECT_TRUE(find_in_prefix("share/thalweg/nothing").empty());
}

}  // namespace
}  // namespace thalweg
