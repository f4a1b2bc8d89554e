#include "engine/attempt/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace thalweg::engine {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& file) {
  throw std::system_error(errno, std::generic_category(), std::string(what) + " " + file.string());
}

}  // namespace

// The group's: a site's controller reads it through the attempt's folder, which is closed to
// others.
int open_to_append(const std::filesystem::path& file, std::int64_t size) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (descriptor < 0) fail("cannot open", file);
  if (::ftruncate(descriptor, size) != 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    fail("cannot cut", file);
  }
  return descriptor;
}

void truncate_file(int descriptor, std::int64_t size) noexcept {
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor, size);
}

void close_file(int descriptor) noexcept {
  if (descriptor >= 0) ::close(descriptor);
}

}  // namespace thalweg::engine
