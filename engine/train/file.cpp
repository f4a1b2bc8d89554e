#include "engine/train/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace thalweg::engine {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& file) {
  throw std::system_error(errno, std::generic_category(), std::string(what) + " " + file.string());
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  errno = 0;
  std::ifstream in(file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.is_open() || in.bad()) fail("cannot read", file);
  return text;
}

int open_to_append(const std::filesystem::path& file, std::int64_t size) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (descriptor < 0) fail("cannot open", file);
  if (::ftruncate(descriptor, size) != 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    fail("cannot cut", file);
  }
  return descriptor;
}

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& file) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", file);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void truncate_file(int descriptor, std::int64_t size) noexcept {
  [[maybe_unused]] const int ignored = ::ftruncate(descriptor, size);
}

void sync_file(int descriptor, const std::filesystem::path& file) {
  if (::fsync(descriptor) != 0) fail("cannot sync", file);
}

void close_file(int descriptor) noexcept {
  if (descriptor >= 0) ::close(descriptor);
}

AsideFile::AsideFile(std::filesystem::path file) : file_(std::move(file)), aside_(file_) {
  aside_ += kEnding;
  descriptor_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("cannot create", aside_);
}

AsideFile::~AsideFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(aside_.c_str());
}

void AsideFile::write(const void* data, std::size_t bytes) {
  write_all(descriptor_, {static_cast<const char*>(data), bytes}, aside_);
}

void AsideFile::commit() {
  sync_file(descriptor_, aside_);
  if (::rename(aside_.c_str(), file_.c_str()) != 0) fail("cannot rename to", file_);
  ::close(std::exchange(descriptor_, -1));
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  const int directory = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) fail("cannot open", folder);
  ::fsync(directory);  // some filesystems cannot sync folders; the file itself is safe
  ::close(directory);
}

}  // namespace thalweg::engine
