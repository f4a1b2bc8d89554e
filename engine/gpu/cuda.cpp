// A GPU by CUDA's runtime.
#include <cuda_runtime_api.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>

#include "engine/gpu/capture_guard.h"
#include "engine/gpu/cuda_error.h"
#include "engine/gpu/cuda_library.h"
#include "engine/gpu/machines.h"
#include "engine/gpu/memory_ranges.h"

namespace thalweg::engine::gpu {

void check_launch();

namespace {

struct Counters {
  std::atomic<long> allocations{0}, waits{0}, pageable_copies{0};
};

class CudaEvent final : public Event {
 public:
  CudaEvent(int gpu, Counters& counters, bool timed) : gpu_(gpu), counters_(counters) {
    check_cuda(cudaSetDevice(gpu_), "cudaSetDevice");
    check_cuda(cudaEventCreateWithFlags(&event_, timed ? cudaEventDefault : cudaEventDisableTiming),
               "cudaEventCreateWithFlags");
  }
  ~CudaEvent() override { (void)cudaEventDestroy(event_); }
  bool done() const override {
    refuse_while_capturing("an event is asked for");
    const cudaError_t state = cudaEventQuery(event_);
    if (state == cudaErrorNotReady) return false;
    check_cuda(state, "cudaEventQuery");
    return true;
  }
  void wait() const override {
    refuse_while_capturing("an event is waited for");
    ++counters_.waits;
    check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize");
  }
  double ms_since(const Event& earlier) const override {
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, static_cast<const CudaEvent&>(earlier).event_, event_),
               "cudaEventElapsedTime");
    return ms;
  }
  cudaEvent_t get() const { return event_; }

 private:
  int gpu_;
  Counters& counters_;
  cudaEvent_t event_ = nullptr;
};

/// As nvidia-smi writes it.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    text += std::string(i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + digits;
  }
  return text;
}

struct CudaGraph final : CapturedGraph {
  ~CudaGraph() override {
    if (graph != nullptr) (void)cudaGraphExecDestroy(graph);
  }
  cudaGraphExec_t graph = nullptr;
};

/// What a stream needs of its GPU.
struct Shared {
  int number = 0;
  Counters counters;
  MemoryRanges device, pinned;
  std::unique_ptr<Library> library;
};

class CudaStream final : public Stream {
 public:
  CudaStream(Shared& gpu, bool high) : gpu_(gpu) {
    int least = 0, greatest = 0;
    use();
    check_cuda(cudaDeviceGetStreamPriorityRange(&least, &greatest),
               "cudaDeviceGetStreamPriorityRange");
    check_cuda(
        cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, high ? greatest : least),
        "cudaStreamCreateWithPriority");
  }
  ~CudaStream() override {
    if (capturing_) {
      cudaGraph_t graph = nullptr;
      if (cudaStreamEndCapture(stream_, &graph) == cudaSuccess) (void)cudaGraphDestroy(graph);
      capture_ends();
    }
    (void)cudaStreamDestroy(stream_);
  }

  bool emulated() const override { return false; }
  void* native() const override {
    use();
    return stream_;
  }
  const Library& library() const override { return *gpu_.library; }

  void copy(void* to, const void* from, std::size_t bytes) override {
    if (bytes == 0) return;
    const auto ours = [&](const void* at) {
      return gpu_.device.holds(at, bytes) || gpu_.pinned.holds(at, bytes);
    };
    if (!ours(to) || !ours(from)) ++gpu_.counters.pageable_copies;
    use();
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_), "cudaMemcpyAsync");
  }
  void zero(void* at, std::size_t bytes) override {
    if (bytes == 0) return;
    use();
    check_cuda(cudaMemsetAsync(at, 0, bytes, stream_), "cudaMemsetAsync");
  }
  // "External" makes the event a step of the graph. Without it the event would only say how the
  // captured steps depend on each other.
  void record(Event& event) override {
    check_cuda(
        cudaEventRecordWithFlags(static_cast<CudaEvent&>(event).get(), stream_,
                                 capturing_ ? cudaEventRecordExternal : cudaEventRecordDefault),
        "cudaEventRecordWithFlags");
  }
  void wait_for(const Event& event) override {
    check_cuda(cudaStreamWaitEvent(stream_, static_cast<const CudaEvent&>(event).get(),
                                   capturing_ ? cudaEventWaitExternal : cudaEventWaitDefault),
               "cudaStreamWaitEvent");
  }
  void wait() override {
    if (capturing_) throw GpuError("a wait for a stream that is being captured");
    ++gpu_.counters.waits;
    check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  }

  void begin_capture() override {
    if (capturing_) throw GpuError("a capture begins in a capture");
    use();
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    capturing_ = true;
    capture_begins();
  }
  std::unique_ptr<CapturedGraph> end_capture() override {
    if (!capturing_) throw GpuError("a capture ends that never began");
    capturing_ = false;
    capture_ends();
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamEndCapture(stream_, &graph), "cudaStreamEndCapture");
    auto captured = std::make_unique<CudaGraph>();
    const cudaError_t error = cudaGraphInstantiate(&captured->graph, graph, 0);
    (void)cudaGraphDestroy(graph);
    check_cuda(error, "cudaGraphInstantiate");
    return captured;
  }
  void launch(const CapturedGraph& graph) override {
    if (capturing_) throw GpuError("a graph is launched in a capture");
    use();
    check_cuda(cudaGraphLaunch(static_cast<const CudaGraph&>(graph).graph, stream_),
               "cudaGraphLaunch");
  }
  void on_host(std::function<void()>) override {
    throw GpuError("work for the host in a stream of a real GPU");
  }

 private:
  void use() const { check_cuda(cudaSetDevice(gpu_.number), "cudaSetDevice"); }

  Shared& gpu_;
  cudaStream_t stream_ = nullptr;
  bool capturing_ = false;
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(int number) {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, number), "cudaGetDeviceProperties");
    shared_.number = number;
    shared_.library = cuda_library(number);
    info_ = {properties.name,
             number,
             properties.major,
             properties.minor,
             properties.multiProcessorCount,
             properties.totalGlobalMem,
             false,
             uuid_text(properties.uuid)};
    use();
    check_cuda(cudaStreamCreateWithFlags(&setup_, cudaStreamNonBlocking),
               "cudaStreamCreateWithFlags");
  }

  const Info& info() const override { return info_; }
  std::size_t free_bytes() const override {
    std::size_t free = 0, total = 0;
    use();
    check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    return free;
  }
  void* allocate(std::size_t bytes, const std::string& what) override {
    refuse_while_capturing("memory is asked for");
    if (bytes == 0) return nullptr;
    use();
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, bytes);
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw OutOfMemory(no_memory(bytes, what));
    }
    check_cuda(error, "cudaMalloc");
    ++shared_.counters.allocations;
    shared_.device.add(memory, bytes);
    try {
      check_cuda(cudaMemsetAsync(memory, 0, bytes, setup_), "cudaMemsetAsync");
      check_cuda(cudaStreamSynchronize(setup_), "cudaStreamSynchronize");
    } catch (...) {
      release(memory);
      throw;
    }
    return memory;
  }
  void release(void* memory) noexcept override {
    if (shared_.device.remove(memory) > 0) (void)cudaFree(memory);
  }
  void* allocate_pinned(std::size_t bytes) override {
    refuse_while_capturing("pinned memory is asked for");
    if (bytes == 0) return nullptr;
    use();
    void* memory = nullptr;
    const cudaError_t error = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
    if (error == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      throw OutOfMemory("the host has no " + std::to_string(bytes) +
                        " bytes of memory that it may pin: ask for more memory for the job");
    }
    check_cuda(error, "cudaHostAlloc");
    ++shared_.counters.allocations;
    shared_.pinned.add(memory, bytes);
    return std::memset(memory, 0, bytes);
  }
  void release_pinned(void* memory) noexcept override {
    if (shared_.pinned.remove(memory) > 0) (void)cudaFreeHost(memory);
  }
  std::unique_ptr<Stream> stream(bool high) override {
    return std::make_unique<CudaStream>(shared_, high);
  }
  std::unique_ptr<Event> event(bool timed) override {
    return std::make_unique<CudaEvent>(shared_.number, shared_.counters, timed);
  }
  // Not cudaMemcpy: from pageable memory it comes back before the bytes have arrived.
  void copy(void* to, const void* from, std::size_t bytes) override {
    refuse_while_capturing("a copy that blocks");
    if (bytes == 0) return;
    ++shared_.counters.waits;
    use();
    check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, setup_), "cudaMemcpyAsync");
    check_cuda(cudaStreamSynchronize(setup_), "cudaStreamSynchronize");
  }
  Counts counts() const override {
    const Counters& c = shared_.counters;
    return {c.allocations, c.waits, c.pageable_copies};
  }

 private:
  void use() const { check_cuda(cudaSetDevice(shared_.number), "cudaSetDevice"); }

  std::string no_memory(std::size_t bytes, const std::string& what) const {
    std::size_t free = 0, total = 0;
    (void)cudaMemGetInfo(&free, &total);
    const auto number = [](std::size_t n) { return std::to_string(n); };
    return "no " + number(bytes) + " bytes for " + what + " on GPU " + number(info_.number) + " (" +
           info_.name + "): " + number(free) + " of " + number(total) +
           " are free; this process holds " + number(shared_.device.total()) +
           ", other processes (ranks on the same GPU) may hold the rest";
  }

  Shared shared_;
  Info info_;
  cudaStream_t setup_ = nullptr;
};

struct Found {
  int count = 0;
  std::string why;
};
const Found& found() noexcept {
  static const Found result = [] {
    Found f;
    const cudaError_t error = cudaGetDeviceCount(&f.count);
    if (error != cudaSuccess) {
      (void)cudaGetLastError();
      f = {0, cuda_message(error, "no GPU can be used")};
    } else if (f.count == 0) {
      f.why = cuda_message(cudaErrorNoDevice, "no GPU can be used");
    }
    return f;
  }();
  return result;
}

}  // namespace

Gpu& cuda_gpu(int number) {
  // Never destroyed: CUDA's runtime may end before other static objects that hold memory.
  static std::mutex& mutex = *new std::mutex;
  static auto& made = *new std::map<int, std::unique_ptr<CudaGpu>>;
  const int count = found().count;
  if (count == 0) throw GpuError(found().why);
  if (number < 0 || number >= count)
    throw GpuError("there is no GPU " + std::to_string(number) + ": this process sees " +
                   std::to_string(count) + ", counted from 0 (CUDA_VISIBLE_DEVICES says which)");
  const std::lock_guard lock(mutex);
  auto& gpu = made[number];
  if (!gpu) gpu = std::make_unique<CudaGpu>(number);
  return *gpu;
}

int cuda_count() noexcept {
  return found().count;
}

std::string why_no_cuda() {
  return found().why;
}

void check_launch() {
  check_cuda(cudaGetLastError(), "a loop's launch");
}

}  // namespace thalweg::engine::gpu
