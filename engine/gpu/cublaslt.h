// Matrix products by cuBLASLt. For this folder only.
#pragma once

#include <memory>

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// As Library::product(), on GPU `number`. Throws GpuError: no cuBLASLt, or no algorithm to do
/// that.
std::unique_ptr<Call> cublaslt_product(int number, const Product& shape);

/// As cuBLASLt counts. Throws GpuError where there is none.
std::size_t cublaslt_version();

}  // namespace thalweg::engine::gpu
