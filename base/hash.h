// A short name for a text: tells texts apart, not forgeries.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

/// FNV-1a (Fowler, Noll, Vo) of 64 bits over the bytes, as 16 hexadecimal digits: the same on every
/// machine.
std::string hash_text(std::string_view text);

}  // namespace thalweg
