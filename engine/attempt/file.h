// The journal's file. Everything throws std::system_error with the path.
#pragma once

#include <cstdint>
#include <filesystem>

namespace thalweg::engine {

/// Opens (creates) for appending and cuts the file to `size` bytes.
int open_to_append(const std::filesystem::path& file, std::int64_t size);
void truncate_file(int descriptor, std::int64_t size) noexcept;
void close_file(int descriptor) noexcept;

}  // namespace thalweg::engine
