// Sobol's sequence, scrambled by the seed: a random triangular matrix mixes the binary digits of
// each coordinate and a shift moves it (Matousek 1998). So different seeds give different points,
// each of them evenly spread, and any 2^k of them in a row from 0 stay a net.
#include <stdexcept>

#include "jobspec/hash.h"
#include "jobspec/random.h"
#include "jobspec/search/low_discrepancy.h"
#include "jobspec/search/search.h"

namespace thalweg::jobspec {
namespace {

/// A primitive polynomial over two elements, its coefficients as bits, and the first direction
/// numbers, as many as its degree.
struct Directions {
  std::uint32_t polynomial;
  std::vector<std::uint32_t> first;
};

/// Of the dimensions from the second on: S. Joe and F. Y. Kuo, Constructing Sobol sequences with
/// better two-dimensional projections, SIAM J. Sci. Comput. 30 (2008), 2635-2654, file
/// new-joe-kuo-6.21201.
const std::vector<Directions>& joe_and_kuo() {
  // clang-format off
  static const std::vector<Directions> table = {
      {3, {1}},
      {7, {1, 3}},
      {11, {1, 3, 1}},
      {13, {1, 1, 1}},
      {19, {1, 1, 3, 3}},
      {25, {1, 3, 5, 13}},
      {37, {1, 1, 5, 5, 17}},
      {41, {1, 1, 5, 5, 5}},
      {47, {1, 1, 7, 11, 19}},
      {55, {1, 1, 5, 1, 1}},
      {59, {1, 1, 1, 3, 11}},
      {61, {1, 3, 5, 5, 31}},
      {67, {1, 3, 3, 9, 7, 49}},
      {91, {1, 1, 1, 15, 21, 21}},
      {97, {1, 3, 1, 13, 27, 49}},
      {103, {1, 1, 1, 15, 7, 5}},
      {109, {1, 3, 1, 15, 13, 25}},
      {115, {1, 1, 5, 5, 19, 61}},
      {131, {1, 3, 7, 11, 23, 15, 103}},
      {137, {1, 3, 7, 13, 13, 15, 69}},
      {143, {1, 1, 3, 13, 7, 35, 63}},
      {145, {1, 3, 5, 9, 1, 25, 53}},
      {157, {1, 3, 1, 13, 9, 35, 107}},
      {167, {1, 3, 1, 5, 27, 61, 31}},
      {171, {1, 1, 5, 11, 19, 41, 61}},
      {185, {1, 3, 5, 3, 3, 13, 69}},
      {191, {1, 1, 7, 13, 1, 19, 1}},
      {193, {1, 3, 7, 5, 13, 19, 59}},
      {203, {1, 1, 3, 9, 25, 29, 41}},
      {211, {1, 3, 5, 13, 23, 1, 55}},
      {213, {1, 3, 7, 3, 13, 59, 17}},
      {229, {1, 3, 1, 3, 5, 53, 69}},
      {239, {1, 1, 5, 5, 23, 33, 13}},
      {241, {1, 1, 7, 7, 1, 61, 123}},
      {247, {1, 1, 7, 9, 13, 61, 49}},
      {253, {1, 3, 3, 5, 3, 55, 33}},
      {285, {1, 3, 1, 15, 31, 13, 49, 245}},
      {299, {1, 3, 5, 15, 31, 59, 63, 97}},
      {301, {1, 3, 1, 11, 11, 11, 77, 249}},
      {333, {1, 3, 1, 11, 27, 43, 71, 9}},
      {351, {1, 1, 7, 15, 21, 11, 81, 45}},
      {355, {1, 3, 7, 3, 25, 31, 65, 79}},
      {357, {1, 3, 1, 1, 19, 11, 3, 205}},
      {361, {1, 1, 5, 9, 19, 21, 29, 157}},
      {369, {1, 3, 7, 11, 1, 33, 89, 185}},
      {391, {1, 3, 3, 3, 15, 9, 79, 71}},
      {397, {1, 3, 7, 11, 15, 39, 119, 27}},
      {425, {1, 1, 3, 1, 11, 31, 97, 225}},
      {451, {1, 1, 1, 3, 23, 43, 57, 177}},
      {463, {1, 3, 7, 7, 17, 17, 37, 71}},
      {487, {1, 3, 1, 5, 27, 63, 123, 213}},
      {501, {1, 1, 3, 5, 11, 43, 53, 133}},
      {529, {1, 3, 5, 5, 29, 17, 47, 173, 479}},
      {539, {1, 3, 3, 11, 3, 1, 109, 9, 69}},
      {545, {1, 1, 1, 5, 17, 39, 23, 5, 343}},
      {557, {1, 3, 1, 5, 25, 15, 31, 103, 499}},
      {563, {1, 1, 1, 11, 11, 17, 63, 105, 183}},
      {601, {1, 1, 5, 11, 9, 29, 97, 231, 363}},
      {607, {1, 1, 5, 15, 19, 45, 41, 7, 383}},
      {617, {1, 3, 7, 7, 31, 19, 83, 137, 221}},
      {623, {1, 1, 1, 3, 23, 15, 111, 223, 83}},
      {631, {1, 1, 5, 13, 31, 15, 55, 25, 161}},
      {637, {1, 1, 3, 13, 25, 47, 39, 87, 257}},
  };
  // clang-format on
  return table;
}

using Columns = std::array<std::uint32_t, sobol_bits>;

int degree_of(std::uint32_t polynomial) {
  int degree = -1;
  for (; polynomial != 0; polynomial >>= 1)
    ++degree;
  return degree;
}

std::uint32_t parity(std::uint32_t bits) {
  for (const int shift : {16, 8, 4, 2, 1})
    bits ^= bits >> shift;
  return bits & 1;
}

std::uint32_t random_word(std::uint64_t seed, std::uint64_t stream, std::uint32_t number) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  return philox({number, 0x50b01, low(stream), high(stream)}, {low(seed), high(seed)})[0];
}

/// Digit i of the result is digit i plus a random sum of those before it.
Columns mixed_digits(const Columns& plain, std::uint64_t seed, std::uint64_t stream) {
  Columns result{};
  for (std::uint32_t row = 0; row < sobol_bits; ++row) {
    const std::uint32_t digit = 0x80000000u >> row;
    const std::uint32_t before = row == 0 ? 0 : ~0u << (sobol_bits - row);
    const std::uint32_t mask = (random_word(seed, stream, row) & before) | digit;
    for (std::size_t column = 0; column < plain.size(); ++column)
      if (parity(plain[column] & mask) != 0) result[column] |= digit;
  }
  return result;
}

Draw scrambled_sobol(const Sweep& sweep, const Groups& groups) {
  struct Dimension {
    Columns directions;
    std::uint32_t shift;
  };
  std::vector<Dimension> dimensions;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::uint64_t stream = hash128(sweep.axes[groups[g].front()].name)[0];
    dimensions.push_back({mixed_digits(sobol_directions(g), sweep.seed, stream),
                          random_word(sweep.seed, stream, sobol_bits)});
  }
  return [dimensions](std::uint64_t number, std::size_t group) {
    const Dimension& of = dimensions[group];
    const std::uint32_t x = sobol_coordinate(of.directions, number) ^ of.shift;
    return (static_cast<double>(x) + 0.5) * 0x1p-32;
  };
}

}  // namespace

Columns sobol_directions(std::size_t dimension) {
  Columns found{};
  if (dimension == 0) {
    for (std::uint32_t i = 0; i < sobol_bits; ++i)
      found[i] = 0x80000000u >> i;
    return found;
  }
  const Directions& row = joe_and_kuo().at(dimension - 1);
  const auto degree = static_cast<std::size_t>(degree_of(row.polynomial));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i < degree) {
      found[i] = row.first[i] << (sobol_bits - 1 - i);
      continue;
    }
    found[i] = found[i - degree] ^ (found[i - degree] >> degree);
    for (std::size_t j = 1; j < degree; ++j)
      if ((row.polynomial >> (degree - j)) & 1u) found[i] ^= found[i - j];
  }
  return found;
}

std::uint32_t sobol_coordinate(const Columns& directions, std::uint64_t number) {
  std::uint32_t x = 0;
  const std::uint64_t code = number ^ (number >> 1);
  for (std::size_t i = 0; i < directions.size(); ++i)
    if ((code >> i) & 1u) x ^= directions[i];
  return x;
}

namespace search {

SearchMethod sobol() {
  return {"sobol",
          "run_cap points of Sobol's sequence, which fill the space more evenly than draws",
          "sobolsequence quasirandom quasimontecarlo qmc lowdiscrepancy lhs latinhypercube",
          scrambled_sobol, sobol_dimensions};
}

}  // namespace search
}  // namespace thalweg::jobspec
