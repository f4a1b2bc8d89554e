// cuBLASLt's and cuDNN's calls on a real GPU. For this folder only.
#pragma once

#include <memory>

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// Of GPU `number`. Loads nothing before the first call is planned.
std::unique_ptr<Library> cuda_library(int number);

}  // namespace thalweg::engine::gpu
