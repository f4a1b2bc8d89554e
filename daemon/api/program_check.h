// What can be seen from here of a sweep that runs a program of the user's own: whether the program,
// its interpreter, its image and the files that `setup` reads are there, and the command line.
#pragma once

#include <string>
#include <vector>

#include "jobspec/diagnostic.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon::api {

struct ProgramCheckRequest {
  std::vector<std::string> environment;  ///< NAME=VALUE, the attempts' own; empty: ours
  bool elsewhere = false;                ///< the trials will not run on this machine
};

/// Looks at the sweep (which has a program) and its first trial, whose command line becomes a note.
/// Throws jobspec::InputError with the mistakes; what is not here although the trials run elsewhere
/// is only noted, as is what nobody can see before `setup` has run.
void check_program(const ProgramCheckRequest& request, const jobspec::Expansion& expansion,
                   jobspec::Sweep& sweep);

}  // namespace thalweg::daemon::api
