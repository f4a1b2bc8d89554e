// Errors of CUDA's runtime as sentences. For this folder only.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace thalweg::engine::gpu {

/// What failed, CUDA's own words and what to do.
std::string cuda_message(cudaError_t error, const std::string& call);
/// Throws GpuError where `error` is one. Errors that do not last are taken off the thread.
void check_cuda(cudaError_t error, const char* call);

}  // namespace thalweg::engine::gpu
