#include "tests/engine/gpu/described_gpu.h"

#include <dlfcn.h>

#include <algorithm>
#include <ctime>
#include <stdexcept>

#include "engine/gpu/convolution_algorithms.h"
#include "engine/gpu/cudnn_attention.h"
#include "engine/gpu/cudnn_convolution.h"
#include "engine/gpu/names.h"

namespace thalweg::engine::gpu {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("a GPU that is only described does nothing");
}

class PlannedProduct final : public Call {
 public:
  explicit PlannedProduct(const Product& shape) : shape_(shape) {}
  std::string name() const override { return name_of(shape_); }
  void run(Stream&, std::span<void* const>, void*) const override { refuse(); }

 private:
  Product shape_;
};

class DescribedStream final : public Stream {
 public:
  explicit DescribedStream(const Library& library) : library_(library) {}
  bool emulated() const override { return false; }
  void* native() const override { refuse(); }
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

/// Of this thread: others may have the processor meanwhile.
double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e3 * static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_nsec);
}

}  // namespace

template <class Make>
std::unique_ptr<Call> PlanningLibrary::timed(const std::string& key, const Make& make) const {
  (void)fake_driver_kernels();
  const double start = now_ms();
  std::unique_ptr<Call> call = make();
  if (call != nullptr) (void)call->workspace(0);
  const double ms = now_ms() - start;
  Made& made = made_[key];
  if (++made.calls == 1) {
    made.kernels = fake_driver_kernels();
  } else {
    made.max_ms_after_first = std::max(made.max_ms_after_first, ms);
  }
  return call;
}

std::unique_ptr<Call> PlanningLibrary::product(const Product& shape) const {
  return std::make_unique<PlannedProduct>(shape);
}
std::unique_ptr<Call> PlanningLibrary::convolution(const Convolution& shape) const {
  made_[key_of(shape)].convolution = shape;
  return timed(key_of(shape), [&] {
    return with_other_algorithms(cudnn_convolution(target_, shape), shape, *this);
  });
}
std::unique_ptr<Call> PlanningLibrary::attention(const FusedAttention& shape) const {
  return timed(key_of(shape), [&] { return cudnn_attention(target_, shape); });
}
RecurrenceCalls PlanningLibrary::recurrence(const Recurrence& shape) const {
  recurrences_.push_back(shape);
  return {};
}

std::size_t DescribedGpu::free_bytes() const {
  refuse();
}
void* DescribedGpu::allocate(std::size_t, const std::string&) {
  refuse();
}
void* DescribedGpu::allocate_pinned(std::size_t) {
  refuse();
}
std::unique_ptr<Stream> DescribedGpu::stream(bool) {
  return std::make_unique<DescribedStream>(library_);
}
std::unique_ptr<Event> DescribedGpu::event(bool) {
  refuse();
}
void DescribedGpu::copy(void*, const void*, std::size_t) {
  refuse();
}

std::string fake_driver_kernels() {
  using Kernels = const char*();
  static Kernels* const kernels = [] {
    void* const driver = dlopen(THALWEG_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL);
    if (driver == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Kernels*>(dlsym(driver, "fake_cuda_kernels"));
  }();
  return kernels();
}

}  // namespace thalweg::engine::gpu
