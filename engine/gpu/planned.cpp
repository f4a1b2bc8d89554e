// What cuDNN keeps of an LSTM is known only when it has run; gates, cells and hidden states of
// every position are what any implementation keeps.
#include "engine/gpu/planned.h"

#include "engine/gpu/chosen.h"
#include "engine/gpu/library.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::gpu {
namespace {

[[noreturn]] void refuse() {
  throw GpuError("this GPU is only planned for: there is none here to compute on");
}

class PlannedCall final : public Call {
 public:
  std::string name() const override { return "planned"; }
  void run(Stream&, std::span<void* const>, void*) const override { refuse(); }
};

class PlannedLibrary final : public Library {
 public:
  std::unique_ptr<Call> product(const Product&) const override { return call(); }
  std::unique_ptr<Call> convolution(const Convolution&) const override { return call(); }
  std::unique_ptr<Call> attention(const FusedAttention&) const override { return call(); }
  RecurrenceCalls recurrence(const Recurrence& shape) const override {
    constexpr std::size_t reserve = 6;  // four gates, cell, hidden state
    return {
        call(), call(), call(),
        size_of(shape.type) * reserve *
            static_cast<std::size_t>(shape.samples * shape.positions * shape.width * shape.layers)};
  }
  std::string versions() const override { return "none"; }

 private:
  static std::unique_ptr<Call> call() { return std::make_unique<PlannedCall>(); }
};

class PlannedStream final : public Stream {
 public:
  explicit PlannedStream(const Library& library) : library_(library) {}
  bool emulated() const override { return true; }
  void* native() const override { return nullptr; }
  const Library& library() const override { return library_; }
  void copy(void*, const void*, std::size_t) override { refuse(); }
  void zero(void*, std::size_t) override { refuse(); }
  void record(Event&) override { refuse(); }
  void wait_for(const Event&) override { refuse(); }
  void wait() override { refuse(); }
  void begin_capture() override { refuse(); }
  std::unique_ptr<CapturedGraph> end_capture() override { refuse(); }
  void launch(const CapturedGraph&) override { refuse(); }
  void on_host(std::function<void()>) override { refuse(); }

 private:
  const Library& library_;
};

class Planned final : public Gpu {
 public:
  explicit Planned(std::size_t bytes) {
    info_.name = "the compute nodes' GPUs";
    info_.memory_bytes = bytes;
  }
  const Info& info() const override { return info_; }
  std::size_t free_bytes() const override { return info_.memory_bytes; }
  void* allocate(std::size_t, const std::string&) override { refuse(); }
  void release(void*) noexcept override {}
  void* allocate_pinned(std::size_t) override { refuse(); }
  void release_pinned(void*) noexcept override {}
  std::unique_ptr<Stream> stream(bool) override {
    return std::make_unique<PlannedStream>(library_);
  }
  std::unique_ptr<Event> event(bool) override { refuse(); }
  void copy(void*, const void*, std::size_t) override { refuse(); }
  Counts counts() const override { return {}; }

 private:
  Info info_;
  PlannedLibrary library_;
};

}  // namespace

PlannedGpu::PlannedGpu(std::size_t bytes) : gpu_(std::make_unique<Planned>(bytes)) {
  choose_planned(gpu_.get());
}

PlannedGpu::~PlannedGpu() {
  choose_planned(nullptr);
}

}  // namespace thalweg::engine::gpu
