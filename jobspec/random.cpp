#include "jobspec/random.h"

namespace thalweg::jobspec {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t m0 = 0xD2511F53, m1 = 0xCD9E8D57;
  constexpr std::uint32_t w0 = 0x9E3779B9, w1 = 0xBB67AE85;
  constexpr int rounds = 10;
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t p0 = m0 * counter[0], p1 = m1 * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key = {key[0] + w0, key[1] + w1};
  }
  return counter;
}

double uniform(std::uint64_t seed, std::uint64_t index, std::uint64_t stream) {
  const auto low = [](std::uint64_t word) { return static_cast<std::uint32_t>(word); };
  const auto high = [](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); };
  const auto bits =
      philox({low(index), high(index), low(stream), high(stream)}, {low(seed), high(seed)});
  const std::uint64_t word = (std::uint64_t{bits[0]} << 32) | bits[1];
  // 52 random bits and a one below them: never 0 or 1, exact in a double.
  return static_cast<double>((word >> 12) * 2 + 1) * 0x1p-53;
}

}  // namespace thalweg::jobspec
