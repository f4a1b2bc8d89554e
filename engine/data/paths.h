// What ~ and $NAME in the paths of `train.data` stand for.
#pragma once

#include <string>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::engine::data {

/// "~" and "~/x": the home folder; $NAME and ${NAME}: that environment variable; $$: a dollar sign.
/// A relative path becomes an absolute one in the working directory, unless a variable made it
/// relative. Throws std::invalid_argument, with `key` in front, on that and on a variable that is
/// not set.
std::string whole_path(const std::string& path, const std::string& key);

/// The tree with every option that is a path made whole; defaults ("auto") and words stay.
jobspec::Value with_whole_paths(const jobspec::Value& tree,
                                const std::vector<jobspec::Option>& options);

}  // namespace thalweg::engine::data
