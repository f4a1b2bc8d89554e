#include "engine/comm/group/memory.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace thalweg::engine::comm {
namespace {

class OrdinaryMemory : public Memory {
 public:
  explicit OrdinaryMemory(std::size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
    if (bytes > 0 && !data_) throw std::bad_alloc();
    if (bytes > 0) std::memset(data_.get(), 0, bytes);
  }
  std::byte* data() const override { return data_.get(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

class SharedMemory : public Memory {
 public:
  SharedMemory(std::shared_ptr<Progress> progress, std::unique_ptr<CommonMemory> memory,
               std::uint64_t id, std::size_t bytes)
      : progress_(std::move(progress)), memory_(std::move(memory)), id_(id), bytes_(bytes) {
    progress_->regions().add(id_, *memory_);
  }
  ~SharedMemory() override { progress_->regions().remove(id_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* data() const override { return memory_->mine(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<Progress> progress_;
  std::unique_ptr<CommonMemory> memory_;
  std::uint64_t id_;
  std::size_t bytes_;
};

}  // namespace

std::unique_ptr<Memory> ordinary_memory(std::size_t bytes) {
  return std::make_unique<OrdinaryMemory>(bytes);
}

std::unique_ptr<Memory> shared_memory(std::shared_ptr<Progress> progress,
                                      std::unique_ptr<CommonMemory> memory, std::uint64_t id,
                                      std::size_t bytes) {
  return std::make_unique<SharedMemory>(std::move(progress), std::move(memory), id, bytes);
}

}  // namespace thalweg::engine::comm
