// Not UCX's keys of memory: where a peer dies just before its key is unpacked, UCX up to 1.13 at
// least destroys parts of the key that it never made (ucp_ep_rkey_unpack_internal), and the rank
// dies that should name it.
#include "engine/comm/ucx/exposed.h"

#include <fcntl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <utility>

namespace thalweg::engine::comm {
namespace {

/// What a peer needs to find the memory, and to know it from another's.
struct Token {
  std::int64_t owner = 0;     ///< process
  std::int64_t segment = -1;  ///< System V's number; -1: a file
  std::int64_t file = -1;     ///< the owner's descriptor
  std::uint64_t device = 0, inode = 0;
  std::uint64_t bytes = 0;
};

std::byte* attach_segment(int segment) {
  void* const at = ::shmat(segment, nullptr, 0);
  return at == reinterpret_cast<void*>(-1) ? nullptr : static_cast<std::byte*>(at);
}

std::byte* map_file(int file, std::size_t bytes) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

/// A segment's or a file's place in this process.
class Mapping {
 public:
  Mapping(std::byte* data, const Token& token) : data_(data), token_(token) {}
  ~Mapping() {
    if (token_.segment >= 0) {
      (void)::shmdt(data_);
    } else {
      (void)::munmap(data_, token_.bytes);
    }
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return token_.bytes; }

 private:
  std::byte* data_;
  Token token_;
};

class ExposedHere final : public Exposed {
 public:
  ExposedHere(std::byte* data, const Token& token, int file)
      : mapping_(data, token),
        file_(file),
        token_(reinterpret_cast<const char*>(&token), sizeof token) {
    // Pages belong near the rank that asks for them.
    std::memset(data, 0, token.bytes);
  }
  ~ExposedHere() override {
    if (file_ >= 0) (void)::close(file_);
  }
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
  AttachedHere(std::byte* data, const Token& token) : mapping_(data, token) {}
  std::byte* data() const override { return mapping_.data(); }

 private:
  Mapping mapping_;
};

std::unique_ptr<Exposed> expose_segment(Token token) {
  const int segment = ::shmget(IPC_PRIVATE, token.bytes, IPC_CREAT | 0600);
  if (segment < 0) return nullptr;
  std::byte* const data = attach_segment(segment);
  // It lives on while a process has it, and others may still attach it by its number.
  (void)::shmctl(segment, IPC_RMID, nullptr);
  if (data == nullptr) return nullptr;
  token.segment = segment;
  return std::make_unique<ExposedHere>(data, token, -1);
}

std::unique_ptr<Exposed> expose_file(Token token) {
  const int file = ::memfd_create("thalweg", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat about {};
  // Room is taken now: nothing faults later.
  const bool room = ::posix_fallocate(file, 0, static_cast<off_t>(token.bytes)) == 0;
  std::byte* const data =
      room && ::fstat(file, &about) == 0 ? map_file(file, token.bytes) : nullptr;
  if (data == nullptr) {
    (void)::close(file);
    return nullptr;
  }
  token.file = file;
  token.device = about.st_dev;
  token.inode = about.st_ino;
  return std::make_unique<ExposedHere>(data, token, file);
}

std::byte* attach_file(const Token& token) {
  const std::string path =
      "/proc/" + std::to_string(token.owner) + "/fd/" + std::to_string(token.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return nullptr;
  struct stat about {};
  const bool same =
      ::fstat(file, &about) == 0 && about.st_dev == token.device && about.st_ino == token.inode;
  std::byte* const data = same ? map_file(file, token.bytes) : nullptr;
  (void)::close(file);
  return data;
}

std::byte* attach_segment_of(const Token& token) {
  const int segment = static_cast<int>(token.segment);
  shmid_ds about{};
  if (::shmctl(segment, IPC_STAT, &about) != 0 || about.shm_segsz != token.bytes) return nullptr;
  return attach_segment(segment);
}

}  // namespace

std::unique_ptr<Exposed> expose_memory(std::size_t bytes) {
  Token token;
  token.owner = ::getpid();
  token.bytes = bytes;
  auto exposed = expose_segment(token);
  return exposed ? std::move(exposed) : expose_file(token);
}

std::unique_ptr<Attached> attach_memory(const std::string& text) {
  Token token;
  if (text.size() != sizeof token) return nullptr;
  std::memcpy(&token, text.data(), sizeof token);
  std::byte* const data = token.segment >= 0 ? attach_segment_of(token) : attach_file(token);
  return data == nullptr ? nullptr : std::make_unique<AttachedHere>(data, token);
}

}  // namespace thalweg::engine::comm
