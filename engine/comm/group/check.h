// Checked mode: before a collective, its ranks compare what they call.
#pragma once

#include "engine/comm/group/operation.h"

namespace thalweg::engine::comm {

/// `body`, after every rank of the operation's link has told all others what it calls. Where they
/// do not agree, all throw the same CommError, which names those that call something other than
/// the most. The operation must stay until the task has ended.
Task checked(const Operation& operation, Task body);

}  // namespace thalweg::engine::comm
