// Copies are looked up by contents, not by path and time: a node's own /usr/share has other inodes
// than its neighbour's, and a file that is restored with its old time would be read stale. Hashing
// takes some milliseconds where unpacking takes hundreds. A copy is synced before it gets its name,
// so that after a power failure it is whole or not there.
#include "engine/data/unpacked_copy.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"

namespace thalweg::engine {
namespace {

constexpr const char* kUnfinished = ".new";
constexpr std::time_t kGivenUp = 600;     // seconds after which an unfinished copy has no writer
constexpr std::uint64_t kFreeShare = 20;  // a copy takes at most this part of what is free

std::filesystem::path cache_folder() {
  const auto of = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
  };
  // As the XDG specification has it, a relative path counts as none.
  if (const auto own = of("THALWEG_CACHE"); !own.empty())
    return own.is_absolute() ? own : std::filesystem::path();
  if (const auto cache = of("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "thalweg";
  if (const auto home = of("HOME"); home.is_absolute()) return home / ".cache/thalweg";
  return {};
}

/// Up to `bytes`; fewer at the end or where reading fails.
std::size_t read_up_to(int descriptor, std::uint8_t* out, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(descriptor, out + done, bytes - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// Of a file's contents, as 64 hexadecimal digits; empty where it cannot be read. Tells files
/// apart, not forgeries. Each of four states takes every fourth word: for given others, a state is
/// a bijection of each word.
std::string hash_contents(const std::filesystem::path& file) {
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) return {};
  std::array<std::uint64_t, 4> states{1, 2, 3, 4};
  std::vector<std::uint8_t> chunk(std::size_t{1} << 20);
  constexpr std::size_t kStride = sizeof(states);
  for (std::size_t got = chunk.size(); got == chunk.size();) {
    got = read_up_to(opened.get(), chunk.data(), chunk.size());
    states[0] += got;
    const std::size_t padded = (got + kStride - 1) / kStride * kStride;
    std::fill(chunk.begin() + static_cast<std::ptrdiff_t>(got),
              chunk.begin() + static_cast<std::ptrdiff_t>(padded), std::uint8_t{0});
    for (std::size_t at = 0; at < padded; at += kStride) {
      std::array<std::uint64_t, 4> words;
      std::memcpy(words.data(), chunk.data() + at, kStride);
      for (std::size_t i = 0; i < states.size(); ++i)
        states[i] = std::rotl((states[i] ^ words[i]) * 0x9E3779B97F4A7C15u, 29);
    }
  }
  std::string text;
  for (const std::uint64_t state : states)
    for (int shift = 60; shift >= 0; shift -= 4)
      text += "0123456789abcdef"[state >> shift & 15];
  return text;
}

/// Owned by this user, and none but him may write.
bool trusted(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool trusted_folder(const std::filesystem::path& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && trusted(status);
}

/// Whether a removed file stays readable while it is open (linux/magic.h, and the filesystems' own
/// sources for what is not there).
bool on_local_disk(int descriptor) {
  constexpr std::array kLocal{0xEF53u,     0x58465342u, 0x9123683Eu, 0x01021994u,
                              0x794C7630u, 0x2FC12FC1u, 0xF2F52010u};
  struct statfs found {};
  if (::fstatfs(descriptor, &found) != 0) return false;
  return std::find(kLocal.begin(), kLocal.end(), static_cast<unsigned>(found.f_type)) !=
         kLocal.end();
}

/// A limit of the process (whose signal would end it) and of the disk.
bool has_room(const std::filesystem::path& folder, std::uint64_t bytes) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return false;
  struct statvfs disk {};
  return ::statvfs(folder.c_str(), &disk) == 0 &&
         std::uint64_t{disk.f_bavail} * disk.f_frsize / kFreeShare >= bytes;
}

/// The one writer's file. None where another process is writing.
Descriptor begin(const std::filesystem::path& unfinished) {
  const auto create = [&] {
    return ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  };
  Descriptor file(create());
  struct stat status {};
  if (!file && errno == EEXIST && ::lstat(unfinished.c_str(), &status) == 0 &&
      std::time(nullptr) - status.st_mtime > kGivenUp && ::unlink(unfinished.c_str()) == 0)
    file = Descriptor(create());
  return file;
}

}  // namespace

UnpackedCopy::UnpackedCopy(std::filesystem::path packed, std::uint64_t bytes)
    : packed_(std::move(packed)), bytes_(bytes) {
  if (bytes < kMinBytes || bytes > kMaxBytes) return;
  folder_ = cache_folder();
  if (folder_.empty()) return;
  name_ = hash_contents(packed_);
  if (name_.empty()) folder_.clear();
}

std::optional<SharedBytes> UnpackedCopy::read() const {
  if (folder_.empty() || !trusted_folder(folder_)) return {};
  const Descriptor file(::open((folder_ / name_).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || !trusted(status) ||
      static_cast<std::uint64_t>(status.st_size) != bytes_)
    return {};
  if (on_local_disk(file.get())) {
    void* memory = ::mmap(nullptr, bytes_, PROT_READ, MAP_SHARED, file.get(), 0);
    if (memory == MAP_FAILED) return {};
    const std::shared_ptr<const void> owner(
        memory, [bytes = bytes_](void* mapped) { ::munmap(mapped, bytes); });
    return SharedBytes{owner, {static_cast<const std::uint8_t*>(memory), bytes_}};
  }
  auto values = std::make_shared<std::vector<std::uint8_t>>(bytes_);
  if (read_up_to(file.get(), values->data(), bytes_) != bytes_) return {};
  return SharedBytes{values, *values};
}

void UnpackedCopy::write(std::span<const std::uint8_t> bytes) const {
  if (folder_.empty() || bytes.size() != bytes_) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder_.parent_path(), ignored);
  ::mkdir(folder_.c_str(), 0700);
  if (!trusted_folder(folder_) || !has_room(folder_, bytes_)) return;
  const std::filesystem::path unfinished = folder_ / (name_ + kUnfinished);
  const Descriptor file = begin(unfinished);
  if (!file) return;
  try {
    write_all(file.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}, unfinished);
    sync_file(file.get(), unfinished);
    if (hash_contents(packed_) == name_ &&
        ::rename(unfinished.c_str(), (folder_ / name_).c_str()) == 0)
      return;
  } catch (const std::system_error&) {  // a full disk, a quota
  }
  ::unlink(unfinished.c_str());
}

}  // namespace thalweg::engine
