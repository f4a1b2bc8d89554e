// The processes of one launch: started, signalled, waited for, cleaned up after.
#pragma once

#include <sched.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/file.h"

namespace thalweg::engine::launch {

/// How to start one rank.
struct RankPlan {
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::vector<int> cores;   ///< to run on; empty: as the launcher
  bool keep_input = false;  ///< the launcher's stdin instead of /dev/null
};

struct RankEnd {
  int rank;
  pid_t pid;
  int status;  ///< as waitpid gives it
};

/// Not thread-safe; start() must come from the main thread: the ranks are killed by the kernel when
/// that thread ends, however it ends.
class Ranks {
 public:
  Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// In a process group of its own, with `signal_mask`. Returns 0, or the errno with which the
  /// command could not be run.
  int start(const RankPlan& plan, const sigset_t& signal_mask);

  void signal_all(int signal);
  /// Ranks that ended since the last call, in the order in which they did (Linux 5.3 and later):
  /// what others do because a peer died comes after its death, but may be found in the same call.
  /// One that was killed comes first also where its last thread has not ended yet.
  std::vector<RankEnd> reap();
  int running() const { return running_; }
  /// Kills and reaps whatever the ranks left behind, also what has left their process groups, and
  /// removes shared memory of killed ones.
  void sweep();

 private:
  struct Rank {
    pid_t pid;
    bool running;
  };
  void take(pid_t pid, int status, std::vector<RankEnd>& ends);
  void add_dying(std::vector<RankEnd>& ends);

  std::vector<Rank> ranks_;
  int running_ = 0;
  rlimit files_{};    ///< how many files this process might open when it was started
  Descriptor order_;  ///< an epoll of pidfds: its events come in the order of the deaths
};

/// The cores this process may use.
std::vector<int> allowed_cores();
/// Rank's share of `cores`; empty where there are fewer cores than ranks.
std::vector<int> share_of(const std::vector<int>& cores, int rank, int ranks);

}  // namespace thalweg::engine::launch
