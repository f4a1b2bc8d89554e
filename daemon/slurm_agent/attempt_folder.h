// An attempt's folder, made and emptied by a child that is the user already:
// <runs>/<sweep>/<trial>/<attempt>, where all but the last are the controller's.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/slurm_agent/messages.h"

namespace thalweg::slurm_agent {

struct AttemptPath {
  std::string runs;
  std::string sweep, trial, attempt;
};

/// Of `folder` in one of the folders `runs`. Nothing where it is in none, or is not named as
/// attempts' folders are ("12/3/1", "12/3/1-0a1b2c3d"): then there is no "..", no second slash and
/// no name that could be anything else.
std::optional<AttemptPath> attempt_path(const std::vector<std::string>& runs,
                                        const std::string& folder);

/// What is wrong with names and sizes of the files; empty: nothing.
std::string wrong_files(const std::map<std::string, std::string>& files);

struct AttemptPlan {
  AttemptPath path;
  uid_t service = 0;        ///< owns the folders above
  gid_t service_group = 0;  ///< of all of them: the new one has it by its parent's setgid bit
  uid_t user = 0;
  struct File {
    std::string name, aside, text;
  };
  std::vector<File> files;
};

/// Why it could not be made.
struct AttemptProblem {
  int error = 0;        ///< errno; 0 = `what` says all
  char what[160] = {};  ///< empty: it was made
};

/// Follows no symbolic link below `runs`. What is there already must be the user's; its files are
/// replaced. Allocates nothing: for ChildCall::work.
AttemptProblem make_attempt(const AttemptPlan& plan) noexcept;

/// Empties folders that are this user's, for some seconds. Follows no symbolic link below `runs`.
/// In a child that runs nothing else.
Result<Remove::Answer> empty_attempts(const Remove& asked);

}  // namespace thalweg::slurm_agent
