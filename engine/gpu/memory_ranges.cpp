#include "engine/gpu/memory_ranges.h"

#include <iterator>

namespace thalweg::engine::gpu {

void MemoryRanges::add(const void* begin, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  ranges_[reinterpret_cast<std::uintptr_t>(begin)] = bytes;
  total_ += bytes;
}

std::size_t MemoryRanges::remove(const void* begin) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(reinterpret_cast<std::uintptr_t>(begin));
  if (found == ranges_.end()) return 0;
  const std::size_t bytes = found->second;
  ranges_.erase(found);
  total_ -= bytes;
  return bytes;
}

bool MemoryRanges::holds(const void* begin, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  auto next = ranges_.upper_bound(at);
  if (next == ranges_.begin()) return false;
  const auto& [first, size] = *std::prev(next);
  return at - first <= size && bytes <= size - (at - first);
}

std::size_t MemoryRanges::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

}  // namespace thalweg::engine::gpu
