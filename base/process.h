// Other programs of this build: where they stand, and how they are run.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"

namespace thalweg {

/// What posix_spawn needs, freed at the end. The child gets no blocked and no ignored signals.
struct Spawn {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  Spawn();
  ~Spawn();
  Spawn(const Spawn&) = delete;
  Spawn& operator=(const Spawn&) = delete;

  /// The last file action: nothing of ours stays open in the child, whatever forgot its
  /// close-on-exec. `inherited`: but this one, which is number 3 there; -1 = none.
  void close_private_files(int inherited = -1);
  /// A name without a slash is looked for in PATH. `flags` as posix_spawnattr_setflags has them.
  /// `environment`: NAME=value; empty = this process's own. Throws std::system_error.
  pid_t start(const std::vector<std::string>& arguments, short flags,
              const std::vector<std::string>& environment = {});
};

/// Both ends are closed where another program is started. Throws std::system_error.
struct Pipe {
  Pipe();
  Descriptor read, write;
};

struct ProgramOutput {
  int code = -1;  ///< exit code; -1 = killed
  std::string out, err;
  bool timed_out = false;
};

/// Runs a program (a path) to its end; blocks up to the time limit, in seconds, then kills it.
/// `environment` as Spawn::start has it; `input`: its standard input, -1 = /dev/null. Throws
/// std::system_error where it cannot start.
ProgramOutput run_program(const std::vector<std::string>& arguments, double timeout_s,
                          const std::vector<std::string>& environment = {}, int input = -1);

/// The program beside our own binary, else in PATH; empty where it is in neither. A name with a
/// slash is taken as it is.
std::filesystem::path find_program(const std::string& name);

/// A file of this installation: `path` ("share/thalweg/...") below the folder that holds the one
/// of our own binary (PREFIX of PREFIX/bin); empty where there is none.
std::filesystem::path find_in_prefix(const std::filesystem::path& path);

}  // namespace thalweg
