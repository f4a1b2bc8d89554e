// What a group's start_ functions give.
#pragma once

#include <memory>

#include "engine/comm/group/operation.h"
#include "engine/comm/group/progress.h"

namespace thalweg::engine::comm {

/// Of an operation that has nothing to do.
std::unique_ptr<Request> done();

/// Runs `operation` as far as it goes at once; waits advance the rest.
std::unique_ptr<Request> begin(const std::shared_ptr<Progress>& progress,
                               std::unique_ptr<Operation> operation);

}  // namespace thalweg::engine::comm
