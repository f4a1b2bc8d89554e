// SHA-256 as FIPS 180-4 writes it, section 6.2: no library of the product's has it.
#include "daemon/auth/sha256.h"

#include <array>
#include <bit>
#include <cstdint>

namespace thalweg::auth {
namespace {

using Word = std::uint32_t;
using State = std::array<Word, 8>;
constexpr std::size_t block_bytes = 64;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<Word, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// Those of the square roots of the first eight.
constexpr State initial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

std::array<Word, 64> schedule_of(const char* block) {
  std::array<Word, 64> w{};
  for (std::size_t t = 0; t < 16; ++t)
    for (std::size_t i = 0; i < 4; ++i)
      w[t] = w[t] << 8 | static_cast<unsigned char>(block[4 * t + i]);
  for (std::size_t t = 16; t < 64; ++t) {
    const Word s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
    const Word s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = w[t - 16] + s0 + w[t - 7] + s1;
  }
  return w;
}

void compress(State& state, const char* block) {
  const auto w = schedule_of(block);
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const Word sum1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const Word t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[t] + w[t];
    const Word sum0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const Word t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const State last = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i)
    state[i] += last[i];
}

/// What is left after whole blocks, a bit 1, zeros, and the length in bits.
std::string padded(std::string_view rest, std::uint64_t all_bytes) {
  std::string text(rest);
  text += '\x80';
  while (text.size() % block_bytes != block_bytes - 8)
    text += '\0';
  for (int shift = 56; shift >= 0; shift -= 8)
    text += static_cast<char>(all_bytes * 8 >> shift);
  return text;
}

}  // namespace

std::string sha256_bytes(std::string_view text) {
  State state = initial;
  const std::size_t whole = text.size() / block_bytes * block_bytes;
  for (std::size_t at = 0; at < whole; at += block_bytes)
    compress(state, text.data() + at);
  const std::string end = padded(text.substr(whole), text.size());
  for (std::size_t at = 0; at < end.size(); at += block_bytes)
    compress(state, end.data() + at);
  std::string bytes;
  for (const Word word : state)
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes += static_cast<char>(word >> shift & 255);
  return bytes;
}

std::string sha256(std::string_view text) {
  std::string digits;
  for (const char byte : sha256_bytes(text)) {
    const auto value = static_cast<unsigned char>(byte);
    digits += "0123456789abcdef"[value >> 4];
    digits += "0123456789abcdef"[value & 15];
  }
  return digits;
}

}  // namespace thalweg::auth
