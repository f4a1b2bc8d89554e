#include "engine/gpu/gpu.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "engine/gpu/machines.h"

namespace thalweg::engine::gpu {
namespace {

std::string wish() {
  const char* const text = std::getenv("THALWEG_GPU");
  return text == nullptr ? "" : text;
}
bool is_known(const std::string& wish) {
  return wish.empty() || (wish == "emulated" && emulated_machine() != nullptr);
}
std::string unknown(const std::string& wish) {
  if (wish == "emulated")
    return "THALWEG_GPU is 'emulated' in the environment, which only programs of the tests can "
           "have; unset it";
  return "THALWEG_GPU is '" + wish + "' in the environment: expected nothing";
}

/// Set before main(), whatever file is initialized first.
constinit EmulatedMachine emulated{};

}  // namespace

void set_emulated_machine(const EmulatedMachine& machine) {
  emulated = machine;
}
const EmulatedMachine* emulated_machine() {
  return emulated.gpu == nullptr ? nullptr : &emulated;
}

Gpu& gpu(int number) {
  const std::string wished = wish();
  if (!is_known(wished)) throw GpuError(unknown(wished));
  return wished.empty() ? cuda_gpu(number) : emulated_machine()->gpu();
}

int gpu_count() noexcept {
  const char* const wished = std::getenv("THALWEG_GPU");
  if (wished == nullptr || *wished == '\0') return cuda_count();
  return std::string_view(wished) == "emulated" && emulated_machine() != nullptr ? 1 : 0;
}

std::string why_no_gpu() {
  if (gpu_count() > 0) return "";
  const std::string wished = wish();
  return is_known(wished) ? why_no_cuda() : unknown(wished);
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
