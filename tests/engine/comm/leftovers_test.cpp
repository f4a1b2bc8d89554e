// What a killed process left in shared memory goes, and nothing that a living one has.
#include "engine/comm/transport/leftovers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

namespace thalweg::engine::comm {
namespace {

namespace fs = std::filesystem;

/// A folder in the memory that UCX uses, where there is one.
class LeftoversTest : public ::testing::Test {
 protected:
  LeftoversTest() {
    std::string name = fs::exists("/dev/shm") ? "/dev/shm/thalweg-test-XXXXXX" : "/tmp/tt-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~LeftoversTest() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text = "queue") const {
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }
  void clean() const { remove_abandoned_memory(folder_.string()); }

  fs::path folder_;
};

/// Another process that has the file, by descriptor or only mapped, until it is killed.
class Neighbour {
 public:
  Neighbour(const std::string& path, bool mapped) {
    int said[2];
    if (::pipe(said) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      const int fd = ::open(path.c_str(), O_RDWR);
      if (mapped) {
        void* const at = ::mmap(nullptr, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        ::close(fd);
        if (at == MAP_FAILED) ::_exit(1);
      }
      if (::write(said[1], "x", 1) == 1) ::pause();
      ::_exit(1);
    }
    char byte = 0;
    ready_ = ::read(said[0], &byte, 1) == 1;
    ::close(said[0]);
    ::close(said[1]);
  }
  ~Neighbour() { end(); }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;
  bool ready() const { return ready_; }
  void end() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }

 private:
  pid_t pid_ = -1;
  bool ready_ = false;
};

TEST_F(LeftoversTest, AFileThatNobodyHasIsRemoved) {
  const std::string of_ucx = file("ucx_shm_posix_1f"), of_nccl = file("nccl-Ab12Cd");
  clean();
  EXPECT_FALSE(fs::exists(of_ucx));
  EXPECT_FALSE(fs::exists(of_nccl));
}

TEST_F(LeftoversTest, ALivingProcessKeepsItsFileUntilItIsKilled) {
  for (const bool mapped : {false, true}) {
    SCOPED_TRACE(mapped ? "mapped, its descriptor closed" : "open");
    const std::string used = file("ucx_shm_posix_2e");
    Neighbour neighbour(used, mapped);
    ASSERT_TRUE(neighbour.ready());
    clean();
    EXPECT_TRUE(fs::exists(used));
    neighbour.end();
    clean();
    EXPECT_FALSE(fs::exists(used));
  }
}

TEST_F(LeftoversTest, OtherFilesStay) {
  const std::string other = file("somebody_elses"), linked = (folder_ / "ucx_shm_posix_3").string();
  fs::create_symlink(other, linked);
  fs::create_directory(folder_ / "ucx_shm_posix_4");
  // Made a moment ago: its maker may be about to open it.
  const std::string young = file("ucx_shm_posix_5", "");
  clean();
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::is_symlink(linked));
  EXPECT_TRUE(fs::exists(folder_ / "ucx_shm_posix_4"));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(LeftoversTest, AFolderThatIsNotThereIsNoError) {
  remove_abandoned_memory((folder_ / "none").string());
}

}  // namespace
}  // namespace thalweg::engine::comm
