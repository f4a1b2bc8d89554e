// Launchers that are killed together with all their ranks, at random moments: nobody is left to
// clean up, so the next launch does, and a launch beside them keeps what is its own.
#include <gtest/gtest.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/machine.h"
#include "engine/comm/transport/leftovers.h"
#include "tests/engine/comm/ranks.h"
#include "tests/support/process.h"

namespace {

namespace fs = std::filesystem;
using thalweg::process_start_time;
using thalweg::test::milliseconds;

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    names.insert(entry.path().filename());
  }
  return names;
}

/// Of those that hold memory: one that is killed within the call that makes a file leaves an empty
/// one, which goes when it is old enough not to be somebody's who is making it.
std::set<std::string> files_with_memory(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& name : names_in(folder)) {
    std::error_code gone;
    if (fs::file_size(folder / name, gone) > 0 && !gone) names.insert(name);
  }
  return names;
}

/// System V segments, by number, that nobody has attached; of these makers, where any are named:
/// other tests beside this one make and leave some, too.
std::set<std::string> unattached_segments(const std::set<std::string>& makers = {}) {
  std::set<std::string> found;
  std::ifstream table("/proc/sysvipc/shm");
  std::string line;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream words(line);
    std::string key, id, perms, size, creator, last, attached;
    words >> key >> id >> perms >> size >> creator >> last >> attached;
    if (attached == "0" && (makers.empty() || makers.contains(creator))) found.insert(id);
  }
  return found;
}

class KillAll : public testing::Test {
 protected:
  KillAll() {
    options_.env["TMPDIR"] = tmp_.path();
    options_.env["KILL_ALL_TEST"] = tmp_.path();
  }
  pid_t start_ranks() const {
    const std::string program = std::string("exec ") + VICTIM_PROGRAM +
                                " allreduce auto 65536 started -1 0 0 60000 > " + said().string() +
                                ".$PMIX_RANK";
    return thalweg::test::start({"thalweg-launch", "-n", "3", "--", "sh", "-c", program}, options_);
  }
  fs::path said() const { return out_.path() / "said"; }
  int launch_once_more() const {
    return thalweg::test::run({"thalweg-launch", "-n", "2", "--", RANK_PROGRAM, "hello"}, options_)
        .code;
  }
  /// A launcher and its ranks, in a moment when no more of them begin.
  void kill_together(pid_t launcher) {
    kill(launcher, SIGSTOP);
    waitpid(launcher, nullptr, WUNTRACED);
    std::vector<pid_t> all{launcher};
    std::ifstream children("/proc/" + std::to_string(launcher) + "/task/" +
                           std::to_string(launcher) + "/children");
    for (pid_t pid = 0; children >> pid;) {
      all.push_back(pid);
    }
    for (const pid_t pid : all) {
      kill(pid, SIGKILL);
      killed_.insert(std::to_string(pid));
    }
    waitpid(launcher, nullptr, 0);
    for (const pid_t pid : all) {
      EXPECT_TRUE(thalweg::test::eventually([&] { return !process_start_time(pid); })) << pid;
    }
  }

  thalweg::test::TempDir tmp_, out_;
  thalweg::test::RunOptions options_;
  std::set<std::string> killed_;  ///< pids
};

TEST_F(KillAll, TheNextLaunchRemovesWhatIsLeftAndALivingNeighbourKeepsItsOwn) {
  const char* given = std::getenv("THALWEG_TEST_SEED");
  const unsigned seed =
      given ? static_cast<unsigned>(std::strtoul(given, nullptr, 10)) : std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string memory = thalweg::engine::comm::memory_folder();
  const pid_t neighbour = start_ranks();
  ASSERT_TRUE(thalweg::test::all_work(said(), 3));
  const auto folder_of_neighbour = names_in(tmp_.path());
  EXPECT_FALSE(folder_of_neighbour.empty());
  const auto files = files_with_memory(memory);
  for (int round = 0; round < 25; ++round) {
    const pid_t launcher = start_ranks();
    thalweg::test::sleep_for(milliseconds(random() % 150));
    kill_together(launcher);
  }
  EXPECT_EQ(0, launch_once_more());
  EXPECT_EQ(names_in(tmp_.path()), folder_of_neighbour);
  // What other programs of this machine are making just now goes again.
  const auto nothing_new = [](const auto& now, const auto& before) {
    return thalweg::test::eventually([&] {
      const auto names = now();
      return std::includes(before.begin(), before.end(), names.begin(), names.end());
    });
  };
  EXPECT_TRUE(nothing_new([&] { return unattached_segments(killed_); }, std::set<std::string>{}))
      << "System V memory is left";
  EXPECT_TRUE(nothing_new([&] { return files_with_memory(memory); }, files)) << memory;
  EXPECT_EQ(kill(neighbour, 0), 0) << "the launch beside them has ended";
  kill_together(neighbour);
  EXPECT_EQ(0, launch_once_more());
  EXPECT_TRUE(names_in(tmp_.path()).empty());
}

TEST_F(KillAll, ASegmentThatOnlyItsMakerKnewGoesWithTheNextLaunch) {
  /// Made by a process that has ended.
  const auto abandoned = [](std::size_t bytes, bool attached) {
    int result[2];
    EXPECT_EQ(pipe(result), 0);
    const pid_t maker = fork();
    if (maker == 0) {
      const int id = shmget(IPC_PRIVATE, bytes, IPC_CREAT | 0600);
      if (attached) shmat(id, nullptr, 0);
      _exit(write(result[1], &id, sizeof id) == sizeof id ? 0 : 1);
    }
    int id = -1;
    EXPECT_EQ(read(result[0], &id, sizeof id), static_cast<ssize_t>(sizeof id));
    waitpid(maker, nullptr, 0);
    close(result[0]);
    close(result[1]);
    return id;
  };
  const int probe = abandoned(4096, false), large = abandoned(1 << 20, false),
            used = abandoned(4096, false), tried = abandoned(4096, true);
  shmdt(shmat(used, nullptr, 0));  // by another than its maker
  const int own = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  EXPECT_EQ(0, launch_once_more());
  const auto segments = unattached_segments();
  EXPECT_EQ(segments.count(std::to_string(probe)), 0u);
  EXPECT_EQ(segments.count(std::to_string(tried)), 0u);
  for (const int id : {large, used, own}) {
    EXPECT_EQ(segments.count(std::to_string(id)), 1u) << "may be somebody's";
    shmctl(id, IPC_RMID, nullptr);
  }
}

TEST_F(KillAll, AFileOfUcxWithoutAnOwnerGoesWithTheNextLaunch) {
  const fs::path left = fs::path(thalweg::engine::comm::memory_folder()) /
                        ("ucx_shm_posix_test" + std::to_string(getpid()));
  thalweg::test::write_file(left, "queue");
  EXPECT_EQ(0, launch_once_more());
  EXPECT_FALSE(fs::exists(left));
  fs::remove(left);
}

}  // namespace
