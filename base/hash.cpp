#include "base/hash.h"

#include <cstdint>
#include <cstdio>

namespace thalweg {

std::string hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3u;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash));
  return digits;
}

}  // namespace thalweg
