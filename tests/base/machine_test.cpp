#include "base/machine.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using thalweg::process_start_time;
using thalweg::process_stat;

TEST(Machine, AProcessIsNamedByItsStart) {
  ASSERT_EQ(prctl(PR_SET_NAME, "a) Z 1 (b"), 0);  // its name stands in the same line
  const auto own = process_stat(getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->session, getsid(0));
  EXPECT_GT(own->start_time, 0);
  EXPECT_EQ(process_start_time(getpid()), own->start_time);
  EXPECT_FALSE(process_stat(1 << 30));
}

TEST(Machine, AProcessThatEndedIsNone) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(process_stat(pid)) << "nobody has waited for it";
  waitpid(pid, nullptr, 0);
}

TEST(Machine, AProcessThatEndsWhileItIsReadIsNone) {
  const auto before = signal(SIGCHLD, SIG_IGN);  // the kernel waits for them itself
  for (int i = 0; i < 500; ++i) {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    while (process_stat(pid)) {
    }
    EXPECT_EQ(thalweg::process_file(pid, "cmdline"), "");
  }
  signal(SIGCHLD, before);
}

TEST(Machine, NamesAreThere) {
  EXPECT_FALSE(thalweg::host_name().empty());
  EXPECT_EQ(thalweg::boot_id(), thalweg::boot_id());
  EXPECT_GT(thalweg::unix_now(), 1.7e9);
}

TEST(Machine, UsersHaveNamesOrNumbers) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(thalweg::user_name(0), "root");
    EXPECT_EQ(thalweg::user_name(4'000'000'000u), "4000000000");
  }
}

}  // namespace
