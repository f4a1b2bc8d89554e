// A fast 64-bit hash of numbers, to see whether replicas are equal; not for files or strangers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace thalweg::engine {

/// FNV-1a (Fowler, Noll, Vo) over 32-bit words.
class Hash {
 public:
  void add(const float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t word = 0;
      std::memcpy(&word, values + i, sizeof word);
      value_ = (value_ ^ word) * 0x100000001b3u;
    }
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

}  // namespace thalweg::engine
