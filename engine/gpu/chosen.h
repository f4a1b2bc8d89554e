// For this folder only.
#pragma once

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

/// What chosen_gpu() returns instead of a real one; null: a real one.
void choose_planned(Gpu* only_planned);

}  // namespace thalweg::engine::gpu
