// In place of cuda.cpp where the build found no CUDA.
#include "engine/gpu/machines.h"

namespace thalweg::engine::gpu {

Gpu& cuda_gpu(int) {
  throw GpuError(why_no_cuda());
}

int cuda_count() noexcept {
  return 0;
}

std::string why_no_cuda() {
  return "this build has no CUDA: install CUDA's toolkit and cuDNN 9, configure with "
         "-DTHALWEG_CUDA=ON and build again";
}

}  // namespace thalweg::engine::gpu
