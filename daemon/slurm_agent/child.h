// One child process a call, which becomes the user for good before it does anything, and has
// nothing of the agent's but three descriptors. Needs CAP_SETUID and CAP_SETGID, or root.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "daemon/slurm_agent/person.h"

namespace thalweg::slurm_agent {

/// Becomes `person` for good: groups, gids and uids of every kind, no capability, no new
/// privileges, not to be traced by the user's other processes. In a fresh child only: async-signal
/// safe. Null, or what failed.
const char* become(const Person& person, const std::vector<gid_t>& groups) noexcept;

/// Without its end of line.
std::string last_line(std::string text);

struct ChildEnd {
  bool started = false;
  bool late = false;  ///< killed at the time limit, or where its user stopped it
  int status = 0;     ///< as waitpid has it
  std::string out;
  std::string err;  ///< the last line of it
};

struct ChildCall {
  std::vector<gid_t> more_groups{};  ///< beside the person's own
  std::string input{};
  std::chrono::milliseconds limit{50000};
  std::size_t max_output = 1u << 20;
  int keep = -1;  ///< a descriptor that the child has as its descriptor 3
  /// What the child does as the user, with input and output as its descriptors 0 and 1; then it
  /// ends. Allocates nothing: other threads of the agent may have held locks when it was made.
  std::function<void()> work;
};

/// Blocks until the child is gone, at the latest a little after the limit. Thread-safe.
ChildEnd run_as(const Person& person, const ChildCall& call);

/// For ChildCall::work: runs this program afresh with these arguments and next to no environment.
class OwnProgram {
 public:
  explicit OwnProgram(const std::vector<std::string>& arguments);
  ~OwnProgram();
  OwnProgram(const OwnProgram&) = delete;
  OwnProgram& operator=(const OwnProgram&) = delete;
  /// Of the program's file: ChildCall::keep.
  int descriptor() const { return program_; }
  void exec() const noexcept;

 private:
  int program_ = -1;
  std::vector<std::string> words_, settings_;
  std::vector<char*> argv_, environment_;
};

}  // namespace thalweg::slurm_agent
