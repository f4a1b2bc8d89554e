#include <atomic>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {
namespace {

std::atomic<int> number{0};

}  // namespace

Gpu& chosen_gpu() {
  return gpu(number.load());
}

void choose_gpu(int chosen) {
  number.store(chosen);
}

}  // namespace thalweg::engine::gpu
