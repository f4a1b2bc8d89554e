// An unpacked copy of a compressed data file, kept in the user's cache folder: unpacking once
// serves every trial and rank of that user. A copy only saves time: without one, or without a place
// for it, everything goes on as before.
//
// The folder: $THALWEG_CACHE, else $XDG_CACHE_HOME/thalweg, else $HOME/.cache/thalweg (XDG Base
// Directory Specification 0.8); THALWEG_CACHE=off: none. A copy is named for a hash of the
// compressed file's contents, so that a changed file has another copy and nodes with a file each
// share one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace thalweg::engine {

/// Bytes and what holds them.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::uint8_t> bytes;
};

/// Throws nothing but std::bad_alloc. Processes and threads may do all of this at once.
class UnpackedCopy {
 public:
  /// Unpacked bytes for which a copy is worth its place: below, unpacking takes some milliseconds;
  /// above, the user had better unpack the file where he wants it.
  static constexpr std::uint64_t kMinBytes = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{256} << 20;

  /// Of a file that unpacks to `bytes`. Reads all of `packed`.
  UnpackedCopy(std::filesystem::path packed, std::uint64_t bytes);

  /// Nothing where there is none, or one that is not to be trusted: of another size, owned by
  /// somebody else, or in reach of others' writing. Mapped, but read where the disk is a network's:
  /// removing a mapped file there ends its readers.
  std::optional<SharedBytes> read() const;
  /// Makes the copy, where no other process is at it. `bytes` were unpacked after the constructor:
  /// where the compressed file has changed since, there is no copy.
  void write(std::span<const std::uint8_t> bytes) const;

 private:
  std::filesystem::path packed_, folder_;  ///< no folder: copies are off
  std::uint64_t bytes_;
  std::string name_;
};

}  // namespace thalweg::engine
