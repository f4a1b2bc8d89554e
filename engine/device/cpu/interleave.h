// Weights in bf16 as products take them, from floats that lie in the same blocks.
#pragma once

#include "engine/device/cpu/plan.h"

namespace thalweg::engine::cpu {

/// A kernel that copies `from` (floats, blocks of some rows of some columns) to `to` (bf16, the
/// same blocks, two rows interleaved), several times as fast as oneDNN does. Null where the layouts
/// are others.
Kernel interleave(TensorId from, const Desc& from_desc, TensorId to, const Desc& to_desc);

}  // namespace thalweg::engine::cpu
