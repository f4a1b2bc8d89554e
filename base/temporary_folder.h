// A folder for files that nobody keeps.
#pragma once

#include <filesystem>
#include <string>

namespace thalweg {

/// PREFIX-XXXXXX in the system's folder for such; goes with this, and all that is in it.
class TemporaryFolder {
 public:
  /// Throws std::system_error where it cannot be made.
  explicit TemporaryFolder(const std::string& prefix);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace thalweg
