// Vectors of any type, with contents that tell rank and place apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/comm/group.h"
#include "engine/comm/reduction/types.h"

namespace thalweg::engine::perf {

/// Group memory (collective) or ordinary memory, zeros at first.
class Buffer {
 public:
  Buffer(comm::Group& group, std::size_t bytes, bool group_memory);
  std::byte* data() const { return group_ ? group_->data() : ordinary_.get(); }
  std::size_t bytes() const { return bytes_; }
  void clear();

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::size_t bytes_;
  std::unique_ptr<comm::Memory> group_;
  std::unique_ptr<std::byte, Free> ordinary_;
};

/// Elements repeat with this period: a prime, so that segments of equal length differ.
constexpr std::size_t kPeriod = 1009;

/// A small whole number, of element `at` on `rank`.
inline int value(std::size_t rank, std::size_t at) {
  return static_cast<int>((at % kPeriod * 7 + rank * 5) % 11) - 3;
}

/// What a reduction over `contributors` vectors must give, element `at` of all kPeriod, and by how
/// much rounding may miss it.
struct Expected {
  std::vector<double> values;
  double tolerance = 0;
};
Expected expected(int contributors, comm::Type type, comm::Op op);

/// Elements [first, first + count) of a vector as `rank` contributes it; data points to the first.
void put_values(std::byte* data, std::size_t first, std::size_t count, comm::Type type,
                std::size_t rank);
/// How many of them are not what is expected.
std::uint64_t count_wrong(const std::byte* data, std::size_t first, std::size_t count,
                          comm::Type type, const Expected& expected);

/// The same for bytes that are only moved; `key` tells vectors apart.
void put_bytes(std::byte* data, std::size_t count, std::size_t key);
std::uint64_t count_wrong_bytes(const std::byte* data, std::size_t count, std::size_t key);

}  // namespace thalweg::engine::perf
