// A GPU as a machine: memory, streams of work that is done later and in order, events. What
// computes on it stands in loops.h (our own loops) and library.h (cuBLASLt, cuDNN).
//
// Two machines have this interface: CUDA's, where the build found CUDA and the computer has a
// driver, and in programs of the tests an emulated one that does everything on the host
// (tests/support/emulated_gpu).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg::engine::gpu {

class Library;

/// No driver, too old a driver, no such GPU, a failed call: says what to do about it.
struct GpuError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Names what was asked for, how much there is, and who holds it.
struct OutOfMemory : GpuError {
  using GpuError::GpuError;
};

struct Info {
  std::string name;  ///< "NVIDIA H200"
  int number = 0;    ///< as CUDA counts
  int major = 0, minor = 0;
  int multiprocessors = 0;
  std::size_t memory_bytes = 0;
  bool emulated = false;
  std::string uuid;  ///< no other GPU has it, on any machine: "GPU-0f1e..."
};

/// A point in a stream. For one thread at a time.
class Event {
 public:
  virtual ~Event() = default;
  /// Whether all that stood before it has been done. True for one that was never recorded.
  virtual bool done() const = 0;
  /// Blocks until then. Throws GpuError where the work failed.
  virtual void wait() const = 0;
  /// Of work between two recorded and done events, in ms. Both are timed.
  virtual double ms_since(const Event& earlier) const = 0;
};

/// Work that was captured once and is done again at every launch, on the same memory (a CUDA
/// graph).
class CapturedGraph {
 public:
  virtual ~CapturedGraph() = default;
};

/// Work in order. For one thread at a time; different streams are independent of each other.
/// Nothing here waits but where it says so.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual bool emulated() const = 0;
  /// cudaStream_t, of the GPU that is the calling thread's from here on; null of an emulated one.
  virtual void* native() const = 0;
  virtual const Library& library() const = 0;

  /// Between host and device, or on it; host memory must be pinned (Gpu::pinned).
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual void zero(void* at, std::size_t bytes) = 0;
  virtual void record(Event& event) = 0;
  /// What follows here is not done before `event`, as it was last recorded.
  virtual void wait_for(const Event& event) = 0;
  /// Blocks until all is done. Throws GpuError where some of it failed.
  virtual void wait() = 0;

  /// From here on work is captured, not done. Events recorded meanwhile are recorded anew at every
  /// launch, for other streams to wait for; events waited for are waited for at every launch, as
  /// they were last recorded then. The thread may neither ask for memory nor wait for anything.
  virtual void begin_capture() = 0;
  virtual std::unique_ptr<CapturedGraph> end_capture() = 0;
  virtual void launch(const CapturedGraph& graph) = 0;

  /// Of an emulated stream: does it on the host, in its turn.
  virtual void on_host(std::function<void()> work) = 0;
};

/// How often something happened since the start that a steady step must not do.
struct Counts {
  long allocations = 0;  ///< of device and pinned memory
  long waits = 0;        ///< of the host for the device
  long pageable_copies = 0;
};

/// Thread-safe. One object for each device, for the life of the process.
class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const Info& info() const = 0;
  /// Free at this moment, other processes' share taken off.
  virtual std::size_t free_bytes() const = 0;
  /// Zeroed; a multiple of 256. `what` names it in messages: "activations of a shard of 32".
  /// Throws OutOfMemory.
  virtual void* allocate(std::size_t bytes, const std::string& what) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Host memory that copies of a stream may use.
  virtual void* allocate_pinned(std::size_t bytes) = 0;
  virtual void release_pinned(void* memory) noexcept = 0;
  /// `high`: its work goes before that of other streams where both are ready.
  virtual std::unique_ptr<Stream> stream(bool high = false) = 0;
  /// `timed`: for ms_since(). Those that only order work are cheaper without.
  virtual std::unique_ptr<Event> event(bool timed = true) = 0;
  /// Any host or device memory to any other; blocks, but does not wait for any stream. For set-up,
  /// checkpoints and tests.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  virtual Counts counts() const = 0;
};

/// GPU `number` of this process. Throws GpuError: the build has no CUDA, no driver, too old a one,
/// no such GPU. With THALWEG_GPU=emulated in the environment: the emulated one, of any number;
/// throws where the program has none.
Gpu& gpu(int number);
/// How many there are; 0 where there is no CUDA. Never throws.
int gpu_count() noexcept;
/// Why gpu_count() is 0: one sentence with what to do. Empty where it is not.
std::string why_no_gpu();
/// Which one a rank takes that is number `local_rank` of its machine: those that
/// CUDA_VISIBLE_DEVICES shows (Slurm's binding sets it) in turn.
int gpu_of_rank(int local_rank);

/// The one that this process computes on: that of choose_gpu(), else number 0. Throws as gpu()
/// does.
Gpu& chosen_gpu();
/// For the start of a program.
void choose_gpu(int number);

/// Zeroed memory of a GPU. Movable.
class Memory {
 public:
  Memory() = default;
  Memory(Gpu& gpu, std::size_t bytes, const std::string& what, bool pinned = false);
  ~Memory();
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;

  void* data() const { return data_; }
  float* floats() const { return static_cast<float*>(data_); }
  std::size_t bytes() const { return bytes_; }

 private:
  Gpu* gpu_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool pinned_ = false;
};

}  // namespace thalweg::engine::gpu
