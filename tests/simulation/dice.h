// All chance of a simulated run: the same seed, the same throws.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

namespace thalweg::simulation {

/// SplitMix64 (Steele, Lea and Flood, 2014).
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// 0 .. n - 1; 0 where n is 0.
  std::int64_t below(std::int64_t n) {
    return n <= 0 ? 0 : static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
  }
  double between(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1.0p-53;
  }
  bool chance(double p) { return between(0, 1) < p; }
  double exponential(double mean) { return -mean * std::log1p(-between(0, 1)); }
  template <class T>
  T& pick(std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace thalweg::simulation
