// SHA-256 (FIPS 180-4).
#pragma once

#include <string>
#include <string_view>

namespace thalweg::auth {

/// 64 lower-case hexadecimal digits.
std::string sha256(std::string_view text);
/// The same as 32 bytes.
std::string sha256_bytes(std::string_view text);

}  // namespace thalweg::auth
