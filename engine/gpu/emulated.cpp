// The emulated GPU: its memory is the host's, and work is done at once on the thread that asks for
// it, or put into a recording. It refuses what CUDA refuses.
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "engine/gpu/library.h"
#include "engine/gpu/machines.h"
#include "engine/gpu/memory_ranges.h"
#include "engine/gpu/recording_guard.h"

namespace thalweg::engine::gpu {
namespace {

using Clock = std::chrono::steady_clock;
using Work = std::function<void()>;

struct Counters {
  std::atomic<long> allocations{0}, waits{0}, pageable_copies{0};
};

class EmulatedEvent final : public Event {
 public:
  EmulatedEvent(Counters& counters, bool timed) : counters_(counters), timed_(timed) {}
  bool done() const override {
    refuse_while_recording("an event is asked for");
    return true;
  }
  void wait() const override {
    refuse_while_recording("an event is waited for");
    ++counters_.waits;
  }
  double ms_since(const Event& earlier) const override {
    const auto& from = static_cast<const EmulatedEvent&>(earlier);
    if (!timed_ || !from.timed_)
      throw GpuError("the time between two events of which one has none");
    if (!recorded_ || !from.recorded_)
      throw GpuError("the time between two events of which one was never recorded");
    return std::chrono::duration<double, std::milli>(at_ - from.at_).count();
  }
  void now() {
    at_ = Clock::now();
    recorded_ = true;
  }

 private:
  Counters& counters_;
  bool timed_;
  bool recorded_ = false;
  Clock::time_point at_;
};

struct EmulatedRecording final : Recording {
  std::vector<Work> steps;
};

class EmulatedQueue final : public Queue {
 public:
  EmulatedQueue(Counters& counters, const MemoryRanges& device, const MemoryRanges& pinned)
      : counters_(counters), device_(device), pinned_(pinned) {}
  ~EmulatedQueue() override {
    if (recording_ != nullptr) recording_ends();
  }

  bool emulated() const override { return true; }
  void* stream() const override { return nullptr; }
  const Library& library() const override { return emulated_library(); }

  void copy(void* to, const void* from, std::size_t bytes) override {
    const auto ours = [&](const void* at) {
      return device_.holds(at, bytes) || pinned_.holds(at, bytes);
    };
    if (!ours(to) || !ours(from)) ++counters_.pageable_copies;
    on_host([=] {
      if (bytes > 0) std::memmove(to, from, bytes);
    });
  }
  void zero(void* at, std::size_t bytes) override {
    on_host([=] {
      if (bytes > 0) std::memset(at, 0, bytes);
    });
  }
  void record(Event& event) override {
    on_host([at = static_cast<EmulatedEvent*>(&event)] { at->now(); });
  }
  void wait_for(const Event&) override {}
  void wait() override {
    if (recording_ != nullptr) throw GpuError("a wait for a queue that is being recorded");
    ++counters_.waits;
  }

  void begin_recording() override {
    if (recording_ != nullptr) throw GpuError("a recording begins in a recording");
    recording_ = std::make_unique<EmulatedRecording>();
    recording_begins();
  }
  std::unique_ptr<Recording> end_recording() override {
    if (recording_ == nullptr) throw GpuError("a recording ends that never began");
    recording_ends();
    return std::move(recording_);
  }
  void launch(const Recording& recording) override {
    if (recording_ != nullptr) throw GpuError("a recording is launched in a recording");
    for (const Work& step : static_cast<const EmulatedRecording&>(recording).steps)
      step();
  }
  void on_host(Work work) override {
    if (recording_ != nullptr) {
      recording_->steps.push_back(std::move(work));
    } else {
      work();
    }
  }

 private:
  Counters& counters_;
  const MemoryRanges& device_;
  const MemoryRanges& pinned_;
  std::unique_ptr<EmulatedRecording> recording_;
};

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
    refuse_while_recording("memory is asked for");
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
    refuse_while_recording("pinned memory is asked for");
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
  std::unique_ptr<Queue> queue(bool) override {
    return std::make_unique<EmulatedQueue>(counters_, device_, pinned_);
  }
  std::unique_ptr<Event> event(bool timed) override {
    return std::make_unique<EmulatedEvent>(counters_, timed);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    refuse_while_recording("a copy that blocks");
    ++counters_.waits;
    if (bytes > 0) std::memmove(to, from, bytes);
  }
  Counts counts() const override {
    return {counters_.allocations, counters_.waits, counters_.pageable_copies};
  }

 private:
  Info info_;
  Counters counters_;
  MemoryRanges device_, pinned_;
};

}  // namespace

Gpu& emulated_gpu() {
  static EmulatedGpu only;
  return only;
}

}  // namespace thalweg::engine::gpu
