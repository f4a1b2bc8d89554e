// Which memory a machine handed out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace thalweg::engine::gpu {

/// Thread-safe.
class MemoryRanges {
 public:
  void add(const void* begin, std::size_t bytes);
  /// How many bytes it had; 0 where nothing begins there.
  std::size_t remove(const void* begin) noexcept;
  /// Whether all of them lie in one range.
  bool holds(const void* begin, std::size_t bytes) const;
  std::size_t total() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, std::size_t> ranges_;
  std::size_t total_ = 0;
};

}  // namespace thalweg::engine::gpu
