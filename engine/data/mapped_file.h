// A file's bytes, mapped: only what is read comes from the disk, and all ranks of a machine share
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace thalweg::engine {

/// Thread-safe to read. The file must not shrink meanwhile.
class MappedFile {
 public:
  /// Throws DataError where it cannot be read or is empty.
  explicit MappedFile(const std::filesystem::path& file);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::uint8_t> bytes() const { return {data_, size_}; }
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  const std::uint8_t* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thalweg::engine
