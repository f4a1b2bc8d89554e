#include "jobspec/hash.h"

#include <bit>

namespace thalweg::jobspec {
namespace {

constexpr std::uint64_t c1 = 0x87c37b91114253d5;
constexpr std::uint64_t c2 = 0x4cf5ad432745937f;

/// `count` (at most 8) bytes, least significant first, whatever the machine's own order.
std::uint64_t load(const char* bytes, std::size_t count) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < count; ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  }
  return word;
}

std::uint64_t mix1(std::uint64_t k) {
  return std::rotl(k * c1, 31) * c2;
}
std::uint64_t mix2(std::uint64_t k) {
  return std::rotl(k * c2, 33) * c1;
}

std::uint64_t finish(std::uint64_t k) {
  k = (k ^ (k >> 33)) * 0xff51afd7ed558ccd;
  k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53;
  return k ^ (k >> 33);
}

}  // namespace

Hash128 hash128(std::string_view text) {
  std::uint64_t h1 = 0, h2 = 0;
  const char* at = text.data();
  std::size_t left = text.size();
  for (; left >= 16; left -= 16, at += 16) {
    h1 = (std::rotl(h1 ^ mix1(load(at, 8)), 27) + h2) * 5 + 0x52dce729;
    h2 = (std::rotl(h2 ^ mix2(load(at + 8, 8)), 31) + h1) * 5 + 0x38495ab5;
  }
  if (left > 8) h2 ^= mix2(load(at + 8, left - 8));
  if (left > 0) h1 ^= mix1(load(at, left < 8 ? left : 8));
  h1 ^= text.size();
  h2 ^= text.size();
  h1 += h2;
  h2 += h1;
  h1 = finish(h1);
  h2 = finish(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

std::string to_hex(const Hash128& hash) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  text.reserve(32);
  for (const std::uint64_t word : hash) {
    for (int shift = 60; shift >= 0; shift -= 4)
      text += digits[(word >> shift) & 15];
  }
  return text;
}

}  // namespace thalweg::jobspec
