#include "engine/data/fourier.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace thalweg::engine {
namespace {

using Complex = std::complex<double>;

/// Cooley and Tukey's, radix 2, of `n` rows of `width` numbers each: every column is a line of its
/// own, so that the inner loop runs over neighbours.
void transform(Complex* rows, std::size_t n, std::size_t width, const std::vector<Complex>& roots) {
  for (std::size_t i = 1, j = 0; i < n; ++i) {  // reversed bits
    std::size_t bit = n >> 1;
    for (; (j & bit) != 0; bit >>= 1)
      j ^= bit;
    j ^= bit;
    if (i < j) std::swap_ranges(rows + i * width, rows + (i + 1) * width, rows + j * width);
  }
  for (std::size_t length = 2; length <= n; length *= 2)
    for (std::size_t begin = 0; begin < n; begin += length)
      for (std::size_t k = 0; k < length / 2; ++k) {
        const double re = roots[k * (n / length)].real(), im = roots[k * (n / length)].imag();
        // As plain numbers: operator* of std::complex asks after infinities.
        auto* a = reinterpret_cast<double*>(rows + (begin + k) * width);
        auto* b = reinterpret_cast<double*>(rows + (begin + k + length / 2) * width);
        for (std::size_t i = 0; i < 2 * width; i += 2) {
          const double x = b[i] * re - b[i + 1] * im, y = b[i] * im + b[i + 1] * re;
          b[i] = a[i] - x;
          b[i + 1] = a[i + 1] - y;
          a[i] += x;
          a[i + 1] += y;
        }
      }
}

}  // namespace

void fourier(std::vector<Complex>& values, const std::vector<std::int64_t>& shape, bool backward) {
  std::size_t width = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    const auto n = static_cast<std::size_t>(shape[axis]);
    std::vector<Complex> roots(n);
    for (std::size_t k = 0; k < n; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      roots[k] = {std::cos(angle), backward ? std::sin(angle) : -std::sin(angle)};
    }
    for (std::size_t first = 0; first < values.size(); first += n * width)
      transform(values.data() + first, n, width, roots);
    width *= n;
  }
}

}  // namespace thalweg::engine
