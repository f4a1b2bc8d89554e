#include "engine/data/fourier.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace thalweg::engine {
namespace {

using Complex = std::complex<double>;

/// Cooley and Tukey's, radix 2, after reordering by reversed bits.
void transform(std::vector<Complex>& line, const std::vector<Complex>& roots) {
  const std::size_t n = line.size();
  for (std::size_t i = 1, j = 0; i < n; ++i) {
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j) std::swap(line[i], line[j]);
  }
  for (std::size_t length = 2; length <= n; length *= 2)
    for (std::size_t begin = 0; begin < n; begin += length)
      for (std::size_t k = 0; k < length / 2; ++k) {
        const Complex root = roots[k * (n / length)], a = line[begin + k];
        const Complex& second = line[begin + k + length / 2];
        // By hand: operator* of std::complex asks after infinities.
        const Complex b(second.real() * root.real() - second.imag() * root.imag(),
                        second.real() * root.imag() + second.imag() * root.real());
        line[begin + k] = a + b;
        line[begin + k + length / 2] = a - b;
      }
}

}  // namespace

void fourier(std::vector<Complex>& values, const std::vector<std::int64_t>& shape, bool backward) {
  std::size_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto n = static_cast<std::size_t>(shape[axis]);
    std::vector<Complex> roots(n), line(n);
    for (std::size_t k = 0; k < n; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      roots[k] = {std::cos(angle), backward ? std::sin(angle) : -std::sin(angle)};
    }
    for (std::size_t first = 0; first < values.size(); ++first) {
      if (first / stride % n != 0) continue;  // not the start of a line along this axis
      for (std::size_t i = 0; i < n; ++i)
        line[i] = values[first + i * stride];
      transform(line, roots);
      for (std::size_t i = 0; i < n; ++i)
        values[first + i * stride] = line[i];
    }
    stride *= n;
  }
}

}  // namespace thalweg::engine
