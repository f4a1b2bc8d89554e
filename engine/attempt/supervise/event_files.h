// TensorBoard's event files (base/event_records.h), as far as they hold scalars: what a program
// writes with a SummaryWriter is read while it grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace thalweg::engine {

using Scalar = std::function<void(const std::string& tag, std::int64_t step, double value)>;

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
