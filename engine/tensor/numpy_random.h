// numpy.random.RandomState: the Mersenne twister as NumPy seeds and uses it, bit for bit. For data
// sets that are defined by a NumPy script.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace thalweg::engine {

class NumpyRandom {
 public:
  explicit NumpyRandom(std::uint32_t seed) : bits_(seed) {}
  /// In [0, 1), 53 bits (random_sample).
  double uniform() {
    const std::uint32_t high = bits_() >> 5, low = bits_() >> 6;
    return (static_cast<double>(high) * 67108864.0 + static_cast<double>(low)) / 9007199254740992.0;
  }
  /// Standard normal, Marsaglia's polar method; every second one is kept from the call before.
  double normal() {
    if (kept_) {
      kept_ = false;
      return second_;
    }
    double x = 0, y = 0, square = 0;
    do {
      x = 2 * uniform() - 1;
      y = 2 * uniform() - 1;
      square = x * x + y * y;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * std::log(square) / square);
    second_ = factor * x;
    kept_ = true;
    return factor * y;
  }

 private:
  std::mt19937 bits_;
  bool kept_ = false;
  double second_ = 0;
};

}  // namespace thalweg::engine
