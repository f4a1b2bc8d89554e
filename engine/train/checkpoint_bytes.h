// What all files of checkpoints have in common (checkpoint.md): magic, format, a header in JSON,
// numbers, a checksum.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "engine/train/checkpoint.h"
#include "jobspec/value.h"

namespace thalweg::engine {

/// Appears under its name whole or not at all. Throws std::system_error.
class CheckpointWriter {
 public:
  CheckpointWriter(const std::filesystem::path& file, std::uint32_t format,
                   const jobspec::Value& header);
  template <class T>
  void put_numbers(const std::vector<T>& v) {
    put(v.data(), v.size() * sizeof(T));
  }
  /// Returns when it is on the disk.
  FileSeal finish();

 private:
  void put(const void* data, std::size_t bytes);

  AtomicFile file_;
  uLong sum_ = 0;  ///< of everything that went through put()
  std::int64_t bytes_ = 0;
};

/// A file in memory. Throws BadCheckpoint, std::system_error.
class CheckpointReader {
 public:
  /// Reads it and looks at magic, format and checksum.
  explicit CheckpointReader(const std::filesystem::path& file);
  CheckpointReader(const CheckpointReader&) = delete;
  CheckpointReader& operator=(const CheckpointReader&) = delete;

  FileSeal seal() const { return {static_cast<std::int64_t>(bytes_.size()), sum_}; }
  /// What stands before all numbers. Throws jobspec::InputError.
  jobspec::Value take_header();
  template <class T>
  std::vector<T> take_numbers(std::int64_t count) {
    if (count < 0 || static_cast<std::uint64_t>(count) > rest_.size() / sizeof(T))
      fail("the file ends too early");
    std::vector<T> values(static_cast<std::size_t>(count));
    const std::string_view part = take(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), part.data(), part.size());
    return values;
  }
  [[noreturn]] void fail(const std::string& reason) const;

 private:
  std::string_view take(std::size_t bytes);
  std::uint32_t take_number();

  std::filesystem::path file_;
  std::string bytes_;
  std::string_view rest_;  ///< without the checksum
  std::uint32_t sum_ = 0;
};

/// The checksum says that a file is as it was written, not that it makes sense: these throw
/// std::runtime_error where it does not.
const jobspec::Value& member_of(const jobspec::Value& header, const char* name);
std::int64_t whole_number(const jobspec::Value& header, const char* name, std::int64_t least,
                          std::int64_t most);
/// A number of ranks, shards, micro-batches or states.
int small_number(const jobspec::Value& header, const char* name, int least);

/// A part with `ranks` vectors, as the header says of it.
jobspec::Map part_header(const CheckpointPart& part);
void put_part(CheckpointWriter& writer, const CheckpointPart& part);
CheckpointPart take_part(CheckpointReader& reader, const jobspec::Value& header);

}  // namespace thalweg::engine
