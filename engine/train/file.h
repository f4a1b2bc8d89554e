// Files that must be whole or not there. Everything throws std::system_error with the path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace thalweg::engine {

std::string read_text(const std::filesystem::path& file);

/// Opens (creates) for appending and cuts the file to `size` bytes.
int open_to_append(const std::filesystem::path& file, std::int64_t size);
void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& file);
void truncate_file(int descriptor, std::int64_t size) noexcept;
void sync_file(int descriptor, const std::filesystem::path& file);
void close_file(int descriptor) noexcept;

/// A new file that appears under its name complete and on the disk, or not at all: written aside,
/// synced, renamed, and the folder synced.
class AsideFile {
 public:
  explicit AsideFile(std::filesystem::path file);
  AsideFile(const AsideFile&) = delete;
  AsideFile& operator=(const AsideFile&) = delete;
  ~AsideFile();  ///< without commit(): nothing remains

  void write(const void* data, std::size_t bytes);
  void commit();

  /// Ends the names of files that were given up half-way.
  static constexpr const char* kEnding = ".new";

 private:
  std::filesystem::path file_, aside_;
  int descriptor_ = -1;
};

}  // namespace thalweg::engine
