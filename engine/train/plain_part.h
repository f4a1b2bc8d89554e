// A rank's part of the flat parameters, which is a range of the device's layout, in the plain
// layout of checkpoints.
#pragma once

#include <vector>

#include "engine/comm/group.h"
#include "engine/nn/model.h"
#include "engine/sync/device/flat_vector.h"
#include "engine/train/checkpoint_slice.h"

namespace thalweg::engine {

/// Puts into `slice` which plain numbers `part` holds, and those of each of `states`, which must
/// lie in the host's memory. The parts of all ranks together are every number once. Takes memory
/// for one parameter beside the slice's own.
void take_plain_part(const Model& model, const comm::Group::Segment& part,
                     const std::vector<FlatVector>& states, CheckpointSlice& slice);

}  // namespace thalweg::engine
