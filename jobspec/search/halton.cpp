// Halton's sequence, scrambled by the seed: every digit of a coordinate is replaced by that of a
// random permutation of its place (Owen 2017, arXiv:1706.02808), which takes away the stripes that
// large bases show. Another parameter changes none of those before it.
#include <cmath>
#include <numeric>

#include "jobspec/hash.h"
#include "jobspec/random.h"
#include "jobspec/search/low_discrepancy.h"
#include "jobspec/search/search.h"

namespace thalweg::jobspec {
namespace {

/// So many different numbers a coordinate has at least.
constexpr std::uint64_t resolution = std::uint64_t{1} << 32;

/// One coordinate: the digits that stand for digits, place by place.
struct Digits {
  std::uint32_t base;
  std::vector<std::vector<std::uint32_t>> permuted;
  std::uint64_t size = 1;  ///< base to the number of places

  double at(std::uint64_t number) const {
    std::uint64_t x = 0;
    for (const auto& place : permuted) {
      x = x * base + place[number % base];
      number /= base;
    }
    return (static_cast<double>(x) + 0.5) / static_cast<double>(size);
  }
};

/// Fisher and Yates' shuffle.
std::vector<std::uint32_t> permutation(std::uint32_t size, std::uint64_t seed, std::uint64_t stream,
                                       std::uint64_t place) {
  std::vector<std::uint32_t> found(size);
  std::iota(found.begin(), found.end(), 0u);
  for (std::uint32_t i = size - 1; i > 0; --i) {
    const double u = uniform(seed, (place << 32) | i, stream);
    std::swap(found[i], found[static_cast<std::size_t>(u * (i + 1))]);
  }
  return found;
}

Draw scrambled_halton(const Sweep& sweep, const Groups& groups) {
  std::vector<Digits> coordinates;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::uint64_t stream = hash128("halton " + sweep.axes[groups[g].front()].name)[0];
    Digits digits{prime_number(g), {}};
    for (; digits.size < resolution; digits.size *= digits.base)
      digits.permuted.push_back(
          permutation(digits.base, sweep.seed, stream, digits.permuted.size()));
    coordinates.push_back(std::move(digits));
  }
  return [coordinates](std::uint64_t number, std::size_t group) {
    return coordinates[group].at(number);
  };
}

bool is_prime(std::uint32_t number) {
  for (std::uint32_t i = 2; i * i <= number; ++i)
    if (number % i == 0) return false;
  return true;
}

}  // namespace

std::uint32_t prime_number(std::size_t place) {
  std::uint32_t number = 2;
  for (std::size_t found = 0;; ++number)
    if (is_prime(number) && found++ == place) return number;
}

double radical_inverse(std::uint64_t number, std::uint32_t base) {
  double result = 0, weight = 1;
  for (; number > 0; number /= base) {
    weight /= base;
    result += weight * static_cast<double>(number % base);
  }
  return result;
}

namespace search {

SearchMethod halton() {
  return {"halton", "run_cap points of Halton's sequence, for any number of parameters",
          "haltonsequence vandercorput hammersley", scrambled_halton};
}

}  // namespace search
}  // namespace thalweg::jobspec
