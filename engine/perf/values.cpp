#include "engine/perf/values.h"

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/comm/reduction/half.h"

namespace thalweg::engine::perf {
namespace {

using comm::Op;
using comm::Type;

constexpr std::size_t kHugePage = 2U << 20U;

double as_double(comm::F16 x) {
  return comm::to_float(x);
}
double as_double(comm::Bf16 x) {
  return comm::to_float(x);
}
template <class T>
double as_double(T x) {
  return static_cast<double>(x);
}

template <class T>
T from_int(int x) {
  return static_cast<T>(x);
}
template <>
comm::F16 from_int<comm::F16>(int x) {
  return comm::to_f16(static_cast<float>(x));
}
template <>
comm::Bf16 from_int<comm::Bf16>(int x) {
  return comm::to_bf16(static_cast<float>(x));
}

/// f(T{}) with the C++ type of `type`.
template <class F>
auto with_type(Type type, F&& f) {
  switch (type) {
    case Type::f64:
      return f(double{});
    case Type::f32:
      return f(float{});
    case Type::f16:
      return f(comm::F16{});
    case Type::bf16:
      return f(comm::Bf16{});
    case Type::i32:
      return f(std::int32_t{});
    case Type::i64:
      break;
  }
  return f(std::int64_t{});
}

/// Relative rounding error of one operation; integers have none.
double epsilon(Type type) {
  switch (type) {
    case Type::f64:
      return 0x1p-52;
    case Type::f32:
      return 0x1p-23;
    case Type::f16:
      return 0x1p-10;
    case Type::bf16:
      return 0x1p-7;
    default:
      return 0;
  }
}

std::uint8_t byte_at(std::size_t key, std::size_t at) {
  return static_cast<std::uint8_t>(at % 251 + key * 31);
}

}  // namespace

Buffer::Buffer(comm::Group& group, std::size_t bytes, bool group_memory) : bytes_(bytes) {
  if (group_memory) {
    group_ = group.allocate(bytes);
    return;
  }
  const bool huge = bytes >= kHugePage;
  const std::size_t page = huge ? kHugePage : 4096;
  const std::size_t size = std::max(page, (bytes + page - 1) / page * page);
  ordinary_.reset(static_cast<std::byte*>(std::aligned_alloc(page, size)));
  if (!ordinary_) throw std::bad_alloc();
  if (huge) ::madvise(ordinary_.get(), size, MADV_HUGEPAGE);
  clear();
}

void Buffer::Free::operator()(std::byte* data) const {
  std::free(data);
}

void Buffer::clear() {
  if (bytes_ > 0) std::memset(data(), 0, bytes_);
}

Expected expected(int contributors, Type type, Op op) {
  Expected result{std::vector<double>(kPeriod), 0};
  double largest = 0;
  for (std::size_t at = 0; at < kPeriod; ++at) {
    double sum = 0, size = 0, low = value(0, at), high = low;
    for (std::size_t r = 0; r < static_cast<std::size_t>(contributors); ++r) {
      const double x = value(r, at);
      sum += x;
      size += std::abs(x);
      low = std::min(low, x);
      high = std::max(high, x);
    }
    const double average = sum / contributors;
    result.values[at] = op == Op::sum       ? sum
                        : op == Op::average ? average
                        : op == Op::min     ? low
                                            : high;
    largest = std::max(largest, size);
  }
  // Each of at most `contributors` roundings errs by half an epsilon of a partial sum; a 16-bit
  // wire or the division adds one each.
  if (op == Op::sum || op == Op::average) {
    result.tolerance = contributors * epsilon(type) * largest;
  }
  return result;
}

void put_values(std::byte* data, std::size_t first, std::size_t count, Type type,
                std::size_t rank) {
  with_type(type, [&](auto zero) {
    using T = decltype(zero);
    auto* into = reinterpret_cast<T*>(data);
    for (std::size_t i = 0; i < count; ++i) {
      into[i] = from_int<T>(value(rank, first + i));
    }
  });
}

std::uint64_t count_wrong(const std::byte* data, std::size_t first, std::size_t count, Type type,
                          const Expected& expected) {
  return with_type(type, [&](auto zero) {
    const auto* from = reinterpret_cast<const decltype(zero)*>(data);
    std::uint64_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double miss = as_double(from[i]) - expected.values[(first + i) % kPeriod];
      if (!(std::abs(miss) <= expected.tolerance)) ++wrong;  // also NaN
    }
    return wrong;
  });
}

void put_bytes(std::byte* data, std::size_t count, std::size_t key) {
  for (std::size_t i = 0; i < count; ++i) {
    data[i] = std::byte{byte_at(key, i)};
  }
}

std::uint64_t count_wrong_bytes(const std::byte* data, std::size_t count, std::size_t key) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (data[i] != std::byte{byte_at(key, i)}) ++wrong;
  }
  return wrong;
}

}  // namespace thalweg::engine::perf
