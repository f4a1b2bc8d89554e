// The attempt folder: trial.yaml on the way in; failure files and last words on the way out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "daemon/state/verdict.h"
#include "jobspec/fwd.h"

namespace thalweg::daemon {

/// runs/<sweep>/<trial>/<attempt>
std::filesystem::path attempt_folder(const std::filesystem::path& runs, const Id& attempt);

/// The attempt that a folder was made for, by its name (with a part of a token or without); nothing
/// where it is not named so.
std::optional<Id> attempt_of_folder(const std::filesystem::path& folder);

/// Makes a folder for a new attempt. Where that of its number is there already (another home of the
/// same user has the same `runs`, or an earlier database did), the token's first digits make it
/// unique: what lies there is of another attempt.
std::filesystem::path new_attempt_folder(const std::filesystem::path& runs, const Id& attempt,
                                         const std::string& token);

/// Names such a folder without making it, which is its user's to do: makes the sweep's and the
/// trial's, of the controller's user and group, through which others may pass and where none but
/// the controller may make anything (2771). Throws std::runtime_error where they are not so.
std::filesystem::path owned_attempt_folder(const std::filesystem::path& runs, const Id& attempt,
                                           const std::string& token);

/// Those of the attempts' folders that have checkpoints: their checkpoint folders.
std::vector<std::filesystem::path> resume_list(const std::vector<std::filesystem::path>& attempts);

/// The batch script's name in the attempt's folder.
inline constexpr const char* batch_script_name = "batch.sh";

/// Makes the folder (0700) with its trial.yaml and its batch script, where it has one; again, if it
/// is there already, with the same content. Throws std::runtime_error or
/// std::filesystem::filesystem_error.
void prepare_folder(const std::filesystem::path& folder, const jobspec::Trial& trial,
                    const std::string& script = {});

/// Tells the attempt's engine, which looks for it, to end itself: the file `fenced`, with the
/// reason. False where it cannot be written now.
bool fence_folder(const std::filesystem::path& folder, const std::string& reason);

/// failure.<who>.json; unreadable ones are left out.
/// At most 4 MiB of files of at most 64 KiB each.
std::vector<FailureFile> read_failures(const std::filesystem::path& folder);

/// Whether its program was ever started: stdout.log is there.
bool has_output(const std::filesystem::path& folder);

struct StderrWords {
  /// The last line of stderr.log that is not empty, without control characters, at most 300 bytes.
  /// What srun says of other processes' exit codes counts only where nothing else stands there.
  std::string last;
  std::string node;  ///< the first of whose exit code srun speaks
  /// The first rank of which srun says that a signal ended it, and its node.
  std::optional<int> killed_rank{};
  std::string killed_node{};
};
StderrWords stderr_words(const std::filesystem::path& folder);

}  // namespace thalweg::daemon
