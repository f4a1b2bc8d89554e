// Memory for tensors: aligned for vector loads, zeroed, in huge pages where it is large.
#pragma once

#include <cstddef>
#include <utility>

namespace thalweg::engine {

/// One cache line and one AVX-512 register.
inline constexpr std::size_t alignment_bytes = 64;
inline constexpr std::size_t alignment_floats = alignment_bytes / sizeof(float);

inline constexpr std::size_t round_up(std::size_t n, std::size_t multiple) {
  return (n + multiple - 1) / multiple * multiple;
}

/// Owns `bytes` zero bytes, aligned to 64, to 2 MiB (and offered to the kernel as huge pages) from
/// 4 MiB on. Throws std::bad_alloc. Movable; not thread-safe to move or destroy while in use.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  ~Buffer();
  Buffer(Buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  static Buffer of_floats(std::size_t count) { return Buffer(count * sizeof(float)); }

  void* data() { return data_; }
  const void* data() const { return data_; }
  float* floats() { return static_cast<float*>(data_); }
  const float* floats() const { return static_cast<const float*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace thalweg::engine
