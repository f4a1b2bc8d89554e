// Not UCX's keys of memory: where a peer dies just before its key is unpacked, UCX up to 1.13 at
// least destroys parts of the key that it never made (ucp_ep_rkey_unpack_internal), and the rank
// dies that should name it. Nor System V segments: killed between making one and marking it for
// removal, a process leaves it behind for good. A file in memory has no name at any time.
#include "engine/comm/transport/shared/exposed.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace thalweg::engine::comm {
namespace {

/// What a peer needs to find the file, and to know it from another's.
struct Token {
  std::int64_t owner = 0;  ///< process
  std::int64_t file = -1;  ///< its descriptor
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;
};

std::byte* map_file(int file, std::size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

/// The file's place in this process.
class Mapping {
 public:
  Mapping(std::byte* data, std::size_t bytes) : data_(data), bytes_(bytes) {}
  ~Mapping() { (void)::munmap(data_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_;
  std::size_t bytes_;
};

class ExposedHere final : public Exposed {
 public:
  ExposedHere(std::byte* data, const Token& token, int file)
      : mapping_(data, token.bytes),
        file_(file),
        token_(reinterpret_cast<const char*>(&token), sizeof token) {
    // Pages belong near the rank that asks for them.
    std::memset(data, 0, token.bytes);
  }
  ~ExposedHere() override { (void)::close(file_); }
  std::byte* data() const override { return mapping_.data(); }
  std::size_t bytes() const override { return mapping_.bytes(); }
  const std::string& token() const override { return token_; }

 private:
  Mapping mapping_;
  int file_;
  std::string token_;
};

class AttachedHere final : public Attached {
 public:
  AttachedHere(std::byte* data, std::size_t bytes) : mapping_(data, bytes) {}
  std::byte* data() const override { return mapping_.data(); }

 private:
  Mapping mapping_;
};

}  // namespace

std::unique_ptr<Exposed> expose_memory(std::size_t bytes) {
  const int file = ::memfd_create("thalweg", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat about {};
  // Room is taken now: nothing faults later.
  const bool room = ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0;
  std::byte* const data = room && ::fstat(file, &about) == 0 ? map_file(file, bytes) : nullptr;
  if (data == nullptr) {
    (void)::close(file);
    return nullptr;
  }
  const Token token{::getpid(), file, about.st_dev, about.st_ino, bytes};
  return std::make_unique<ExposedHere>(data, token, file);
}

std::unique_ptr<Attached> attach_memory(const std::string& text) {
  Token token;
  if (text.size() != sizeof token) return nullptr;
  std::memcpy(&token, text.data(), sizeof token);
  const std::string path =
      "/proc/" + std::to_string(token.owner) + "/fd/" + std::to_string(token.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat about {};
  const bool same =
      ::fstat(file, &about) == 0 && about.st_dev == token.device && about.st_ino == token.inode;
  std::byte* const data = same ? map_file(file, token.bytes) : nullptr;
  (void)::close(file);
  return data == nullptr ? nullptr : std::make_unique<AttachedHere>(data, token.bytes);
}

}  // namespace thalweg::engine::comm
