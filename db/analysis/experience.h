// What earlier runs tell advice about the next ones.
#pragma once

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

}  // namespace thalweg::db::analysis
