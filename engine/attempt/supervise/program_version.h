// What tells the trials of a sweep apart where somebody edits the program meanwhile.
#pragma once

#include <string>
#include <vector>

#include "jobspec/program.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// Of the file that is run: `file`, `hash` of what is in it, `sources`: a hash of the source files
/// that it may import. Those are what git tracks in its repository (.py, .sh, .jl, .R and its own
/// suffix), as it is on disk, with `commit`; without git the files of its suffix beside it. Nothing
/// where a command names no file in the folder that it works in. Throws nothing; takes some seconds
/// at most.
jobspec::Map program_version(const jobspec::Program& program,
                             const std::vector<std::string>& command,
                             const jobspec::Environment& environment);

}  // namespace thalweg::engine
