// One program as a child process: its pipes, its end, and whatever it leaves behind.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "engine/attempt/supervise/placement.h"

namespace thalweg::engine {

struct ChildPlan {
  std::vector<std::string> words;
  Variables environment;
  std::filesystem::path directory;  ///< to run in; empty: ours
};

/// Its own process group. The kernel kills it when the thread that started it ends. SIGUSR1 is
/// ignored in it until it asks for it: schedulers send it to all processes of a job.
class Child {
 public:
  /// Throws std::system_error where it cannot be run (no such command, no such folder).
  explicit Child(const ChildPlan& plan);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  /// Kills it and every descendant that is left, its daemons included.
  ~Child();

  pid_t pid() const { return pid_; }
  int out() const { return out_.get(); }  ///< of its stdout, does not block; read by the owner
  int err() const { return err_.get(); }
  /// Readable when it has ended; -1 where the kernel has none.
  int ended_descriptor() const { return ended_.get(); }

  /// As waitpid gives it, once it has ended. Also takes in orphans.
  std::optional<int> status();
  /// To its process group.
  void signal(int number) const;
  /// Kills what is left of its group and all descendants; returns when they are gone.
  void sweep() const;

 private:
  pid_t pid_ = -1;
  std::optional<int> status_;
  Descriptor out_, err_, ended_;
};

/// "exited with code 3", "was killed by signal 9 (Killed)".
std::string how_it_ended(int status);

}  // namespace thalweg::engine
