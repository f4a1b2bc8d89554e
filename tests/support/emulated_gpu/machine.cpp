// The emulated GPU: its memory is the host's, and so are the threads that do its work. It refuses
// what CUDA refuses.
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "engine/gpu/capture_guard.h"
#include "engine/gpu/machines.h"
#include "tests/support/emulated_gpu/emulated_gpu.h"
#include "tests/support/emulated_gpu/library.h"
#include "tests/support/emulated_gpu/stream.h"

namespace thalweg::engine::gpu {
namespace {

/// What THALWEG_GPU_MEMORY says, else half of the machine's. Read every time: tests set it.
std::size_t memory_limit() {
  if (const char* const text = std::getenv("THALWEG_GPU_MEMORY")) {
    const std::string_view bytes = text;
    std::size_t limit = 0;
    const auto [end, error] = std::from_chars(bytes.begin(), bytes.end(), limit);
    if (error != std::errc() || end != bytes.end())
      throw GpuError("THALWEG_GPU_MEMORY is '" + std::string(bytes) +
                     "' in the environment: expected a number of bytes");
    return limit;
  }
  return static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE)) / 2;
}

/// Read every time: tests set it.
bool streams_have_threads() {
  const char* const text = std::getenv("THALWEG_GPU_STREAMS");
  const std::string wish = text == nullptr ? "" : text;
  if (!wish.empty() && wish != "threads")
    throw GpuError("THALWEG_GPU_STREAMS is '" + wish +
                   "' in the environment: expected 'threads' or nothing");
  return !wish.empty();
}

/// Zeroed; null where there is none.
void* aligned_zeros(std::size_t bytes) {
  void* memory = nullptr;
  if (posix_memalign(&memory, 256, bytes) != 0) return nullptr;
  return std::memset(memory, 0, bytes);
}

class EmulatedGpu final : public Gpu {
 public:
  EmulatedGpu() {
    info_.name = "emulated GPU";
    info_.major = 9;
    info_.multiprocessors = 1;
    info_.memory_bytes = memory_limit();
    info_.emulated = true;
    info_.uuid = "emulated";
  }
  const Info& info() const override { return info_; }
  std::size_t free_bytes() const override {
    const std::size_t limit = memory_limit(), used = device_.total();
    return limit > used ? limit - used : 0;
  }
  void* allocate(std::size_t bytes, const std::string& what) override {
    refuse_while_capturing("memory is asked for");
    if (bytes == 0) return nullptr;
    void* const memory = bytes <= free_bytes() ? aligned_zeros(bytes) : nullptr;
    if (memory == nullptr)
      throw OutOfMemory("no " + std::to_string(bytes) + " bytes for " + what +
                        " on the emulated GPU: " + std::to_string(free_bytes()) + " of " +
                        std::to_string(memory_limit()) +
                        " are free (THALWEG_GPU_MEMORY sets how many "
                        "it has)");
    ++counters_.allocations;
    device_.add(memory, bytes);
    return memory;
  }
  void release(void* memory) noexcept override {
    device_.remove(memory);
    std::free(memory);
  }
  void* allocate_pinned(std::size_t bytes) override {
    refuse_while_capturing("pinned memory is asked for");
    if (bytes == 0) return nullptr;
    void* const memory = aligned_zeros(bytes);
    if (memory == nullptr)
      throw OutOfMemory("the host has no " + std::to_string(bytes) + " bytes of pinned memory");
    ++counters_.allocations;
    pinned_.add(memory, bytes);
    return memory;
  }
  void release_pinned(void* memory) noexcept override {
    pinned_.remove(memory);
    std::free(memory);
  }
  std::unique_ptr<Stream> stream(bool) override {
    return emulated_stream(counters_, device_, pinned_, streams_have_threads());
  }
  std::unique_ptr<Event> event(bool timed) override { return emulated_event(counters_, timed); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    refuse_while_capturing("a copy that blocks");
    ++counters_.waits;
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  Counts counts() const override {
    return {counters_.allocations, counters_.waits, counters_.pageable_copies};
  }

 private:
  Info info_;
  EmulatedCounters counters_;
  MemoryRanges device_, pinned_;
};

}  // namespace

Gpu& emulated_gpu() {
  static EmulatedGpu only;
  return only;
}

// Programs that link these files have the machine without another word.
[[maybe_unused]] static const bool known = [] {
  set_emulated_machine(
      {emulated_gpu, emulated_peers_version, new_emulated_peers_id, join_emulated_peers});
  return true;
}();

}  // namespace thalweg::engine::gpu
