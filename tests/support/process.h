// Running the real programs from tests.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "tests/support/deadline.h"

namespace thalweg::test {

using std::chrono::milliseconds;

struct Outcome {
  int code = -1;  ///< exit status; -1 when ended by a signal or by the deadline
  int signal = 0;
  bool timed_out = false;
  std::string out, err;
};

struct RunOptions {
  std::map<std::string, std::string> env;  ///< added to this process's environment
  std::filesystem::path directory;
  milliseconds deadline{60000};  ///< of MachineClock; then SIGKILL to its whole process group
};

/// Runs to the end. argv[0] without a slash is looked for in the build's bin folder first, then in
/// PATH; with THALWEG_GPU=emulated in its environment before that among the programs that can have
/// an emulated GPU.
Outcome run(const std::vector<std::string>& argv, const RunOptions& options = {});

/// Starts without waiting, in a process group of its own, output to /dev/null.
pid_t start(const std::vector<std::string>& argv, const RunOptions& options = {});

/// Polls `condition` every 5 ms; false at the deadline, which MachineClock counts.
template <class F>
bool eventually(F condition, milliseconds deadline = milliseconds(20000));

/// A folder of this test's own, removed at the end (kept where the test failed; its path is
/// printed).
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void write_file(const std::filesystem::path& path, const std::string& text);
std::string read_file(const std::filesystem::path& path);

/// Pids of live processes whose environment holds `entry` ("THALWEG_HOME=/tmp/x").
std::vector<pid_t> processes_with_environment(const std::string& entry);
/// Pids of live processes (in any pid namespace below ours) whose program has this name.
std::vector<pid_t> processes_named(const std::string& program);
/// /proc/<pid>/cmdline with spaces between the words; empty where it is gone.
std::string command_line(pid_t pid);

void sleep_for(milliseconds time);

template <class F>
bool eventually(F condition, milliseconds deadline) {
  const Deadline end(deadline);
  while (!condition()) {
    if (end.passed()) return false;
    sleep_for(milliseconds(5));
  }
  return true;
}

}  // namespace thalweg::test
