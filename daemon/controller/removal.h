// What is left to do of a sweep's removal, which is done in turns with others'.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "jobspec/trial.h"

namespace thalweg::daemon {

/// Nothing in it needs to survive: what was interrupted begins anew, and what is gone is passed
/// over.
struct RemovalWork {
  struct Attempt {
    jobspec::Id id;
    std::filesystem::path folder;
  };
  std::vector<Attempt> attempts;
  std::size_t next = 0;  ///< the first that is not done with
  std::size_t emptied =
      0;  ///< those before it have been emptied as their owner, where there is one
  std::set<std::filesystem::path> folders;  ///< of the sweep itself
  double begun = 0;                         ///< this and last_end: ControllerOptions::steady
  bool asked = false;                       ///< for a look at the backend
  double last_end = -std::numeric_limits<double>::infinity();  ///< of its attempts
  std::string problem;         ///< why something cannot be removed; empty = all was, so far
  std::string owners_problem;  ///< the same by the process that worked as the owner
};

}  // namespace thalweg::daemon
