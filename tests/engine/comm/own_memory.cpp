// Tests that look at what launches leave in /dev/shm and in System V memory have both to themselves
// where they may (root): tests beside them launch too, and are killed.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>

namespace {

struct OwnMemory : testing::Environment {
  void SetUp() override {
    if (unshare(CLONE_NEWIPC | CLONE_NEWNS) != 0) return;
    mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, nullptr);
  }
};

const testing::Environment* const added = testing::AddGlobalTestEnvironment(new OwnMemory);

}  // namespace
