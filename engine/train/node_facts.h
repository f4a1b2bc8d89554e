// What kinds of machines an attempt runs on.
#pragma once

#include <string>

#include "engine/comm/group.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

/// A list of {processor, cores, memory_gib, gpu?, nodes}: one entry for each kind of machine
/// (memory to the GiB: kernels keep different bits of it), with the names of its nodes. `gpu`: the
/// name of this rank's GPU; empty: none. Collective.
jobspec::Value node_kinds(comm::Group& group, const std::string& gpu);
/// Of such a list.
bool differ_in_processor(const jobspec::Value& kinds);

}  // namespace thalweg::engine
