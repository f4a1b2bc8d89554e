// Write, sync, rename, sync the folder: the order in which POSIX promises that a file is whole
// after a crash. link() instead of rename() makes a file that only one process can make.
#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace thalweg {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& file) {
  throw std::system_error(errno, std::generic_category(), std::string(what) + " " + file.string());
}

std::filesystem::path aside_of(std::filesystem::path file) {
  file += AtomicFile::kEnding;
  return file;
}

}  // namespace

std::string read_file(const std::filesystem::path& file) {
  const Descriptor in(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!in) fail("cannot read", file);
  struct stat info {};
  const bool sized = ::fstat(in.get(), &info) == 0 && info.st_size > 0;
  std::string text;
  for (std::size_t room = sized ? static_cast<std::size_t>(info.st_size) : 4096;; room = 4096) {
    const std::size_t before = text.size();
    text.resize(before + room);
    const ssize_t count = ::read(in.get(), text.data() + before, room);
    text.resize(before + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) fail("cannot read", file);
  }
}

std::uint64_t hole_at(int descriptor, std::uint64_t offset, std::uint64_t size,
                      std::uint64_t longest) {
  if (size <= offset || size - offset <= longest) return 0;
  const off_t data = ::lseek(descriptor, static_cast<off_t>(offset), SEEK_DATA);
  if (data < 0 && errno != ENXIO) return 0;
  const std::uint64_t hole = (data < 0 ? size : static_cast<std::uint64_t>(data)) - offset;
  return hole > longest ? hole : 0;
}

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& file) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write", file);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void sync_file(int descriptor, const std::filesystem::path& file) {
  if (::fsync(descriptor) != 0 && errno != EINVAL) fail("cannot sync", file);
}

AtomicFile::AtomicFile(const std::filesystem::path& file, mode_t mode)
    : AtomicFile(file, aside_of(file), mode) {}

AtomicFile::AtomicFile(std::filesystem::path file, std::filesystem::path aside, mode_t mode)
    : file_(std::move(file)), aside_(std::move(aside)) {
  ::unlink(aside_.c_str());  // one that was given up may have another mode
  descriptor_ = Descriptor(::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!descriptor_) fail("cannot create", aside_);
}

AtomicFile::~AtomicFile() {
  if (descriptor_) ::unlink(aside_.c_str());
}

void AtomicFile::write(const void* data, std::size_t bytes) {
  write_all(descriptor_.get(), {static_cast<const char*>(data), bytes}, aside_);
}

void AtomicFile::commit(Sync sync) {
  if (sync == Sync::yes) sync_file(descriptor_.get(), aside_);
  if (::rename(aside_.c_str(), file_.c_str()) != 0) fail("cannot rename to", file_);
  Descriptor closed(std::move(descriptor_));
  if (sync == Sync::yes) sync_folder();
}

bool AtomicFile::commit_new(Sync sync) {
  if (sync == Sync::yes) sync_file(descriptor_.get(), aside_);
  if (::link(aside_.c_str(), file_.c_str()) != 0) {
    if (errno == EEXIST) return false;
    fail("cannot create", file_);
  }
  ::unlink(aside_.c_str());
  Descriptor closed(std::move(descriptor_));
  if (sync == Sync::yes) sync_folder();
  return true;
}

void AtomicFile::sync_folder() const {
  const std::filesystem::path folder = file_.has_parent_path() ? file_.parent_path() : ".";
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) fail("cannot open", folder);
  ::fsync(directory.get());  // some filesystems cannot sync folders; the file itself is safe
}

}  // namespace thalweg
