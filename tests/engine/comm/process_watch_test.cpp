#include "engine/comm/transport/process_watch.h"

#include <gtest/gtest.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

namespace thalweg::engine::comm {
namespace {

struct Made {
  int abandoned = -1;  ///< nobody has attached it
  int used = -1;       ///< the test has
  pid_t pid = 0;
};

/// A process that makes memory and ends; the test attaches one chunk before that.
class ProcessWatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int said[2], go[2];
    ASSERT_EQ(::pipe(said), 0);
    ASSERT_EQ(::pipe(go), 0);
    made_.pid = ::fork();
    if (made_.pid == 0) {
      const int ids[2] = {::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600),
                          ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600)};
      char byte;
      const bool told = ::write(said[1], ids, sizeof ids) == sizeof ids;
      ::_exit(told && ::read(go[0], &byte, 1) == 1 ? 0 : 1);
    }
    int ids[2];
    ASSERT_EQ(::read(said[0], ids, sizeof ids), static_cast<ssize_t>(sizeof ids));
    made_.abandoned = ids[0];
    made_.used = ids[1];
    attached_ = ::shmat(made_.used, nullptr, 0);
    ASSERT_NE(attached_, reinterpret_cast<void*>(-1));
    ASSERT_TRUE(watch_.add_process(3, made_.pid)) << "this kernel has no pidfd_open";
    ASSERT_EQ(::write(go[1], "x", 1), 1);
    for (const int fd : {said[0], said[1], go[0], go[1]}) {
      ::close(fd);
    }
  }

  void TearDown() override {
    ::shmdt(attached_);
    ::shmctl(made_.used, IPC_RMID, nullptr);
    ::shmctl(made_.abandoned, IPC_RMID, nullptr);
    ::waitpid(made_.pid, nullptr, 0);
  }

  static bool exists(int id) {
    shmid_ds memory{};
    return ::shmctl(id, IPC_STAT, &memory) == 0;
  }

  ProcessWatch watch_;
  Made made_;
  void* attached_ = nullptr;
};

TEST_F(ProcessWatchTest, NamesTheRankThatEndedAndRemovesMemoryItLeft) {
  EXPECT_EQ(watch_.wait(std::chrono::seconds(20)), std::vector<int>{3});
  EXPECT_FALSE(exists(made_.abandoned));
  EXPECT_TRUE(exists(made_.used)) << "somebody still has it";
  EXPECT_TRUE(watch_.wait(std::chrono::milliseconds(0)).empty()) << "told once";
}

}  // namespace
}  // namespace thalweg::engine::comm
