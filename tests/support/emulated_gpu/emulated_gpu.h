// The emulated GPU: all that a GPU does, done on the host, for tests of what stands above.
#pragma once

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

/// Thread-safe; one for the life of the process.
Gpu& emulated_gpu();

}  // namespace thalweg::engine::gpu
