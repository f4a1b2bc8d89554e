// Hashes that are the same on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace thalweg::jobspec {

using Hash128 = std::array<std::uint64_t, 2>;

/// MurmurHash3_x64_128 with seed 0 (Austin Appleby, public domain definition). Not for secrets.
Hash128 hash128(std::string_view text);
/// 32 hex digits, first word first.
std::string to_hex(const Hash128& hash);

}  // namespace thalweg::jobspec
