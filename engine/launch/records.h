// What a launch leaves in its folder: the claim, the rank that failed, the end. Formats: README.md.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace thalweg::engine::launch {

/// How a launch ended, or which rank made it fail.
struct Ending {
  int code = 0;            ///< of the whole launch
  int signal = 0;          ///< that killed the rank; 0: none
  int rank = -1;           ///< the first that failed; -1: none
  bool timed_out = false;  ///< stopped or cut off because of the time limit
  pid_t pid = 0;
  std::string message;  ///< empty: nothing failed
};

/// Writes the records of one launch; all calls do nothing where there is no folder.
class Records {
 public:
  /// Throws std::system_error where the folder cannot be written.
  Records(std::filesystem::path folder, std::string token);

  /// The right to run this attempt: launch.json, created whole or not at all. False: somebody else
  /// has it (a launcher, or a controller that declared the attempt void).
  bool claim(int ranks, const std::vector<std::string>& command);
  void failure(const Ending& ending);  ///< failure.launch.json
  void end(const Ending& ending);      ///< exit.json

 private:
  std::filesystem::path folder_;
  std::string token_;
};

}  // namespace thalweg::engine::launch
