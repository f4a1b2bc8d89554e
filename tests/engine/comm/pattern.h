// Vectors for the matrix of algorithms, types, rank counts and lengths: cheap to fill and to check.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "engine/comm/reduction/half.h"
#include "engine/comm/reduction/types.h"

namespace thalweg::engine::comm {

/// Elements after which the vectors repeat: a prime, so that no chunk or segment of an algorithm is
/// a multiple of it, and what lands at a wrong place is another number.
inline constexpr std::size_t kPeriod = 8191;

/// Any bits that depend on all of the arguments.
inline std::uint64_t noise(int rank, std::size_t i) {
  std::uint64_t x = (static_cast<std::uint64_t>(rank) << 40U) + i + 1;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 31U)) * 0x9E3779B97F4A7C15U;
  }
  return x ^ (x >> 29U);
}

/// Whether every sum over up to 16 ranks is exact, in any order: such elements have the same bits
/// whichever algorithm adds them.
inline bool is_exact(std::size_t i) {
  return i % 2 == 0;
}

/// Element i < kPeriod of a rank's vector. Integers: a 32nd of the whole range. Floats: exact ones
/// are integers of [-16, 16], the others are anywhere in [-1, 1).
template <class T>
T element_of(int rank, std::size_t i) {
  const std::uint64_t bits = noise(rank, i);
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<T>(bits) >> 5U);
  } else if (is_exact(i)) {
    return store<T>(static_cast<double>(bits % 33) - 16);
  } else {
    return store<T>(static_cast<double>(bits >> 11U) * 0x1p-52 - 1);
  }
}

template <class T>
std::vector<T> pattern_of(int rank) {
  std::vector<T> pattern(kPeriod);
  for (std::size_t i = 0; i < kPeriod; ++i) {
    pattern[i] = element_of<T>(rank, i);
  }
  return pattern;
}

/// Fills `data`, which begins at element `first` of an endless repetition of `pattern`.
template <class T>
void repeat(std::span<T> data, std::size_t first, const std::vector<T>& pattern) {
  for (std::size_t done = 0; done < data.size();) {
    const std::size_t at = (first + done) % kPeriod;
    const std::size_t n = std::min(kPeriod - at, data.size() - done);
    std::memcpy(data.data() + done, pattern.data() + at, n * sizeof(T));
    done += n;
  }
}

/// Numbers in the order of their values, -0 like 0; NaN stands outside of any bounds.
template <class T>
auto ordered(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else {
    const auto bits = static_cast<std::int16_t>(value.bits);
    const auto sign = static_cast<std::int16_t>(bits >> 15);
    return static_cast<std::int16_t>(((bits & 0x7FFF) ^ sign) - sign);
  }
}

template <class T>
T next_towards(T value, bool up) {
  if constexpr (std::is_floating_point_v<T>) {
    const T infinity = std::numeric_limits<T>::infinity();
    return std::nextafter(value, up ? infinity : -infinity);
  } else {
    const int next = ordered(value) + (up ? 1 : -1);
    return {static_cast<std::uint16_t>(next < 0 ? 0x8000 | -next : next)};
  }
}

template <class T>
constexpr double kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());
template <>
inline constexpr double kEpsilon<F16> = 0x1p-10;
template <>
inline constexpr double kEpsilon<Bf16> = 0x1p-7;

/// What a reduction may give, for every element of the period: integers, minima, maxima and exact
/// sums one number, other floats all within W * epsilon * (sum of magnitudes) of the sum in long
/// double (average: of its W-th).
template <class T>
struct Bounds {
  std::vector<T> low, high;
};

template <class T>
Bounds<T> bounds_of(int ranks, Op op) {
  Bounds<T> bounds;
  std::vector<std::vector<T>> patterns;
  for (int r = 0; r < ranks; ++r) {
    patterns.push_back(pattern_of<T>(r));
  }
  for (std::size_t i = 0; i < kPeriod; ++i) {
    long double result = load(patterns[0][i]), magnitude = std::fabs(result);
    for (std::size_t r = 1; r < patterns.size(); ++r) {
      const long double x = load(patterns[r][i]);
      magnitude += std::fabs(x);
      if (op == Op::min) {
        result = std::min(result, x);
      } else if (op == Op::max) {
        result = std::max(result, x);
      } else {
        result += x;
      }
    }
    const long double parts = op == Op::average ? ranks : 1;
    result /= parts;
    const bool exact = std::is_integral_v<T> || op == Op::min || op == Op::max || ranks == 1 ||
                       (op == Op::sum && is_exact(i));
    const long double tolerance = exact ? 0 : ranks * kEpsilon<T> * magnitude / parts;
    T low = store<T>(result - tolerance), high = store<T>(result + tolerance);
    if constexpr (!std::is_integral_v<T>) {
      if (load(low) < result - tolerance) low = next_towards(low, true);
      if (load(high) > result + tolerance) high = next_towards(high, false);
    }
    bounds.low.push_back(low);
    bounds.high.push_back(high);
  }
  return bounds;
}

template <class T>
std::size_t outside(const T* data, const T* low, const T* high, std::size_t count) {
  std::uint32_t wrong = 0;  // at most kPeriod
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = ordered(data[i]);
    wrong +=
        static_cast<std::uint32_t>(!((ordered(low[i]) <= value) & (value <= ordered(high[i]))));
  }
  return wrong;
}

/// "": every element of `data`, which begins at element `first` of the vector, is within `bounds`.
template <class T>
std::string wrong_elements(std::span<const T> data, std::size_t first, const Bounds<T>& bounds) {
  std::size_t wrong = 0, where = 0;
  for (std::size_t done = 0; done < data.size();) {
    const std::size_t at = (first + done) % kPeriod;
    const std::size_t n = std::min(kPeriod - at, data.size() - done);
    const T *low = bounds.low.data() + at, *high = bounds.high.data() + at;
    const std::size_t more = outside(data.data() + done, low, high, n);
    if (more > 0 && wrong == 0) {
      while (outside(data.data() + done + where, low + where, high + where, 1) == 0) {
        ++where;
      }
      where += done;
    }
    wrong += more;
    done += n;
  }
  if (wrong == 0) return {};
  const std::size_t i = (first + where) % kPeriod;
  std::ostringstream text;
  text.precision(17);
  text << wrong << " wrong elements, the first at " << first + where << ": " << load(data[where])
       << " instead of " << load(bounds.low[i]) << " to " << load(bounds.high[i]);
  return text.str();
}

}  // namespace thalweg::engine::comm
