// What earlier runs tell advice about the next ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "db/store.h"
#include "jobspec/advise/study.h"

namespace thalweg::db::analysis {

using jobspec::advise::Experience;

/// Of trials of these models on these data (names, as `model.name`), the newest of which at most;
/// waits, failures and machines of every attempt. Throws db::Error where the database fails.
Experience read_experience(ReadStore& store, const std::vector<std::string>& models,
                           const std::vector<std::string>& data);

struct LostNodes {
  double node_seconds = 0;    ///< of every attempt that ran
  std::int64_t attempts = 0;  ///< that ended because a node or rank was lost
};
/// Of these sweeps; without them of the whole record, as far as query() shows it.
LostNodes lost_nodes(ReadStore& store, const std::optional<std::vector<std::int64_t>>& sweeps = {});

}  // namespace thalweg::db::analysis
