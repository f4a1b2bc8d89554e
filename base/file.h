// Files that are whole or not there, and descriptors with an owner. Everything throws
// std::system_error with the path.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace thalweg {

/// Closes its file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// All of it.
std::string read_file(const std::filesystem::path& file);

/// How many bytes of a file of `size` bytes from `offset` on were never written, where these are
/// more than `longest`, else 0: a file of terabytes may take no place on the disk, and reading its
/// zeros takes hours. 0 where the filesystem cannot tell.
std::uint64_t hole_at(int descriptor, std::uint64_t offset, std::uint64_t size,
                      std::uint64_t longest);

/// `file` is for the message.
void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& file);
/// Returns when it is on the disk.
void sync_file(int descriptor, const std::filesystem::path& file);

/// A new file that appears under its name complete and on the disk, or not at all: written under
/// another name, synced, renamed, and the folder synced.
class AtomicFile {
 public:
  /// `no`: for what matters only while this machine runs. After a loss of power it may be missing
  /// or empty.
  enum class Sync { yes, no };
  explicit AtomicFile(const std::filesystem::path& file, mode_t mode = 0644);
  /// `aside`, in the same folder: its name until it is complete. What is there is replaced.
  AtomicFile(std::filesystem::path file, std::filesystem::path aside, mode_t mode);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();  ///< without a commit nothing remains

  void write(const void* data, std::size_t bytes);
  void write(std::string_view text) { write(text.data(), text.size()); }
  /// Replaces an older file.
  void commit(Sync sync = Sync::yes);
  /// False, and nothing remains, where the file is there already. One of several callers succeeds.
  bool commit_new(Sync sync = Sync::yes);

  /// Ends the names of files that were given up half-way.
  static constexpr const char* kEnding = ".new";

 private:
  void sync_folder() const;

  std::filesystem::path file_, aside_;
  Descriptor descriptor_;
};

}  // namespace thalweg
