// Points that fill a cube more evenly than random ones do: the sequences as they were published,
// before the seed scrambles them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace thalweg::jobspec {

inline constexpr std::size_t sobol_dimensions = 64;
inline constexpr int sobol_bits = 32;

/// Sobol's direction numbers of a dimension (from 0), as binary fractions of 32 bits (Sobol 1967;
/// the primitive polynomials and first numbers of Joe and Kuo 2008, new-joe-kuo-6).
std::array<std::uint32_t, sobol_bits> sobol_directions(std::size_t dimension);
/// The coordinate of a point, from 0, in the Gray code's order of Antonov and Saleev 1979.
/// `number` < 2^32.
std::uint32_t sobol_coordinate(const std::array<std::uint32_t, sobol_bits>& directions,
                               std::uint64_t number);

/// The prime number of that place: 2, 3, 5, ... from place 0.
std::uint32_t prime_number(std::size_t place);
/// The digits of `number` in that base behind the point, backwards (Halton 1960; van der Corput).
double radical_inverse(std::uint64_t number, std::uint32_t base);

}  // namespace thalweg::jobspec
