// What an administrator looks at first: programs, configuration, home, record, run folders, Slurm.
#pragma once

#include <string>
#include <vector>

#include "daemon/api/client.h"

namespace thalweg::daemon {

struct Finding {
  std::string what;    ///< "record"
  std::string level;   ///< "ok", "warning" or "error"
  std::string text;    ///< what was found
  std::string remedy;  ///< empty where nothing is to be done
};

/// Looks, changes nothing, and needs no controller. Each program that is asked has ten seconds.
/// `site`: the home is one of thalwegd --site. Blocks.
std::vector<Finding> check_installation(const api::Home& home, bool site);

/// Prints them, as JSON or one below the other. The exit code: exit_failed where one is an error.
int print_check(const api::Home& home, bool site, bool as_json);

}  // namespace thalweg::daemon
