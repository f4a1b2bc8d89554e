// TensorBoard's event files, as far as they hold scalars: what a program writes with a
// SummaryWriter is read while it grows. Records (TFRecord): length (uint64), masked CRC-32C of it,
// data, masked CRC-32C of the data, all little-endian. Data: a protobuf message Event {double
// wall_time = 1; int64 step = 2; Summary summary = 5}, Summary {repeated Value value = 1}, Value
// {string tag = 1; float simple_value = 2; TensorProto tensor = 8}, TensorProto {DataType dtype =
// 1; bytes tensor_content = 4; repeated float float_val = 5; repeated double double_val = 6}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace thalweg::engine {

/// CRC-32C (Castagnoli).
std::uint32_t crc32c(std::string_view bytes);

/// Calls `each` for every scalar of one Event. Throws std::invalid_argument where it is none.
using Scalar = std::function<void(const std::string& tag, std::int64_t step, double value)>;
void read_event(std::string_view event, const Scalar& each);

/// The event files (*tfevents*) of a folder and the folders in it.
class EventFiles {
 public:
  /// What its files hold already is another run's, and passed over.
  explicit EventFiles(std::filesystem::path folder);

  /// Scalars that are new, those of a folder within as FOLDER/TAG. `trouble` gets what is wrong
  /// with a file, of which nothing more is read then. At most 4 MiB of each file.
  void read(const Scalar& each, const std::function<void(const std::string& text)>& trouble);
  std::int64_t bytes() const { return bytes_; }  ///< read

 private:
  struct File {
    std::int64_t offset = 0;
    bool broken = false;
  };
  /// Reads on in one file; returns whether it is whole so far.
  bool read_file(const std::filesystem::path& path, File& file, const Scalar& each);
  template <class Each>
  void for_files(const Each& each) const;

  std::filesystem::path folder_;
  std::map<std::string, File> files_;
  std::int64_t bytes_ = 0;
};

}  // namespace thalweg::engine
