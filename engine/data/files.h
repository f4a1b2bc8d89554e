// Several files of one set: lists, patterns and folders.
#pragma once

#include <string>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::engine::data {

/// The files that a path option's value names, in the order in which their samples follow: those of
/// a list one after another; of a pattern (* ? [ of glob(7) in FILE, FILE.npz:NAME or FILE.h5:NAME)
/// and of a folder (but for those whose names begin with a dot) in the order of their names'
/// bytes. A file of just that name is taken before a pattern. Throws DataError where a pattern or
/// folder has none.
std::vector<std::string> files_of(const jobspec::Value& value);

}  // namespace thalweg::engine::data
