// data.stage: files are copied to a disk of the node's own before they are read.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/hash.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const fs::path& file, const std::string& reason) {
  throw DataError(file, DataError::kNoOffset, reason);
}

/// Held by the one process of the node that copies.
class Lock {
 public:
  explicit Lock(const fs::path& file)
      : fd_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (fd_ < 0) fail(file, std::string("data.stage: cannot create: ") + std::strerror(errno));
    while (flock(fd_, LOCK_EX) != 0)
      if (errno != EINTR)
        fail(file, std::string("data.stage: cannot lock: ") + std::strerror(errno));
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() { close(fd_); }

 private:
  int fd_;
};

bool is_copy(const fs::path& copy, const fs::path& source) {
  std::error_code missing;
  return fs::file_size(copy, missing) == fs::file_size(source) && !missing &&
         fs::last_write_time(copy, missing) == fs::last_write_time(source) && !missing;
}

}  // namespace

fs::path local_file(const Options& options, const fs::path& file) {
  if (!options.has("stage")) return file;
  std::error_code error;
  const fs::path source = fs::canonical(file, error);
  if (error || !fs::is_regular_file(source)) return file;  // who opens it says what is wrong
  const fs::path folder = options.text("stage");
  fs::create_directories(folder, error);
  if (error) fail(folder, "data.stage: cannot create: " + error.message());
  const fs::path copy = folder / (hash_text(source.string()) + "-" + source.filename().string());
  const Lock lock(folder / ".lock");
  if (is_copy(copy, source)) return copy;
  const fs::path aside = copy.string() + ".new";
  fs::copy_file(source, aside, fs::copy_options::overwrite_existing, error);
  if (!error) fs::last_write_time(aside, fs::last_write_time(source), error);
  if (!error) fs::rename(aside, copy, error);
  if (error) {
    std::error_code ignored;
    fs::remove(aside, ignored);
    fail(file, "data.stage: cannot copy to " + folder.string() + ": " + error.message());
  }
  return copy;
}

}  // namespace thalweg::engine::data
