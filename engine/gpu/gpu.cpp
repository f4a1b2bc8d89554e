#include "engine/gpu/gpu.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "engine/gpu/machines.h"

namespace thalweg::engine::gpu {
namespace {

bool wants_emulation() {
  const char* const wish = std::getenv("THALWEG_GPU");
  return wish != nullptr && std::string_view(wish) == "emulated";
}

}  // namespace

Gpu& gpu(int number) {
  return wants_emulation() ? emulated_gpu() : cuda_gpu(number);
}

int gpu_count() noexcept {
  return wants_emulation() ? 1 : cuda_count();
}

std::string why_no_gpu() {
  return gpu_count() > 0 ? "" : why_no_cuda();
}

int gpu_of_rank(int local_rank) {
  const int count = gpu_count();
  if (count == 0) throw GpuError(why_no_gpu());
  return local_rank % count;
}

Memory::Memory(Gpu& gpu, std::size_t bytes, const std::string& what, bool pinned)
    : gpu_(&gpu),
      data_(pinned ? gpu.allocate_pinned(bytes) : gpu.allocate(bytes, what)),
      bytes_(bytes),
      pinned_(pinned) {}

Memory::~Memory() {
  if (data_ == nullptr) return;
  if (pinned_) {
    gpu_->release_pinned(data_);
  } else {
    gpu_->release(data_);
  }
}

Memory::Memory(Memory&& other) noexcept
    : gpu_(other.gpu_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      pinned_(other.pinned_) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  Memory taken(std::move(other));
  std::swap(gpu_, taken.gpu_);
  std::swap(data_, taken.data_);
  std::swap(bytes_, taken.bytes_);
  std::swap(pinned_, taken.pinned_);
  return *this;
}

}  // namespace thalweg::engine::gpu
