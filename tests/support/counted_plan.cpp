#include "tests/support/counted_plan.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "engine/device/cuda/builder.h"

namespace thalweg::engine::test {
namespace {

using Work = std::map<const gpu::Call*, CallWork>;

double product_of(const std::vector<std::int64_t>& numbers) {
  double all = 1;
  for (const std::int64_t n : numbers)
    all *= static_cast<double>(n);
  return all;
}

CallWork work_of(const gpu::Product& p) {
  const std::vector<std::int64_t> sizes{p.m, p.n, p.k, p.batch};
  CallWork work;
  work.flops = 2 * product_of(sizes);
  return work;
}

/// Tensor cores read eight channels at once: the library pads fewer in a copy of its own.
CallWork work_of(const gpu::Convolution& c) {
  CallWork work;
  work.kind = CallWork::Kind::convolution;
  work.flops = 2 * static_cast<double>(c.n * c.c * c.k) * product_of(c.kernel) * product_of(c.out);
  const bool reads_x = c.pass != gpu::Convolution::Pass::backward_data;
  if (reads_x && c.type == gpu::Type::bf16 && c.c % 8 != 0)
    work.beside = 2 * 8 * 2 * static_cast<double>(c.n) * product_of(c.in);
  return work;
}

/// Two products forward, five backward, which writes and reads a bf16 number for each pair of
/// positions to give the same bits every time.
CallWork work_of(const gpu::FusedAttention& a) {
  const double pairs = product_of({a.samples, a.heads, a.queries, a.keys});
  const double product = 2 * pairs * static_cast<double>(a.width) * (a.causal ? 0.5 : 1);
  CallWork work;
  work.kind = CallWork::Kind::attention;
  work.flops = (a.backward ? 5 : 2) * product;
  work.beside = a.backward ? 4 * pairs : 0;
  // q, k, v and o, and their gradients; a layer may hold the first three in one tensor.
  const double heads = product_of({2, a.samples, a.heads, a.queries + a.keys, a.width});
  work.touched = (a.backward ? 2 : 1) * 2 * heads;
  return work;
}

CallWork work_of(const gpu::Recurrence& r, bool backward) {
  CallWork work;
  work.kind = CallWork::Kind::lstm;
  work.steps = r.positions * r.layers;
  for (int layer = 0; layer < r.layers; ++layer) {
    const std::int64_t inputs = (layer == 0 ? r.features : r.width) + r.width;
    work.flops += 2 * product_of({r.samples, r.positions, 4 * r.width, inputs});
  }
  if (backward) work.flops *= 2;
  return work;
}

class NoCall final : public gpu::Call {
 public:
  std::string name() const override { return "counted"; }
  void run(gpu::Stream& stream, std::span<void* const>, void*) const override {
    stream.on_host({});
  }
};

class CountingLibrary final : public gpu::Library {
 public:
  explicit CountingLibrary(const gpu::Library* real) : real_(real) {}

  std::unique_ptr<gpu::Call> product(const gpu::Product& shape) const override {
    return counted(real_ != nullptr ? real_->product(shape) : std::make_unique<NoCall>(), shape);
  }
  std::unique_ptr<gpu::Call> convolution(const gpu::Convolution& shape) const override {
    return counted(real_ != nullptr ? real_->convolution(shape) : std::make_unique<NoCall>(),
                   shape);
  }
  std::unique_ptr<gpu::Call> attention(const gpu::FusedAttention& shape) const override {
    return counted(real_ != nullptr ? real_->attention(shape) : std::make_unique<NoCall>(), shape);
  }
  gpu::RecurrenceCalls recurrence(const gpu::Recurrence& shape) const override {
    gpu::RecurrenceCalls calls;
    if (real_ != nullptr) {
      calls = real_->recurrence(shape);
    } else {
      calls = {std::make_shared<NoCall>(), std::make_shared<NoCall>(), std::make_shared<NoCall>(),
               gpu::size_of(shape.type) * 6 *
                   static_cast<std::size_t>(shape.samples * shape.positions * shape.width *
                                            shape.layers)};
    }
    work_[calls.training.get()] = work_[calls.evaluation.get()] = work_of(shape, false);
    work_[calls.backward.get()] = work_of(shape, true);
    return calls;
  }
  std::string versions() const override { return real_ != nullptr ? real_->versions() : "none"; }

  const Work& work() const { return work_; }

 private:
  template <class Shape>
  std::unique_ptr<gpu::Call> counted(std::unique_ptr<gpu::Call> call, const Shape& shape) const {
    work_[call.get()] = work_of(shape);
    return call;
  }

  const gpu::Library* real_;
  mutable Work work_;
};

/// Counts what is put into it, and does none of it.
class CountingStream final : public gpu::Stream {
 public:
  explicit CountingStream(const CountingLibrary& library) : library_(library) {}
  bool emulated() const override { return true; }
  void* native() const override { return nullptr; }
  const gpu::Library& library() const override { return library_; }
  void copy(void*, const void*, std::size_t) override { ++count_; }
  void zero(void*, std::size_t) override { ++count_; }
  void record(gpu::Event&) override {}
  void wait_for(const gpu::Event&) override {}
  void wait() override {}
  void begin_capture() override {}
  std::unique_ptr<gpu::CapturedGraph> end_capture() override { return {}; }
  void launch(const gpu::CapturedGraph&) override {}
  void on_host(std::function<void()>) override { ++count_; }

  int take_count() { return std::exchange(count_, 0); }

 private:
  const CountingLibrary& library_;
  int count_ = 0;
};

double bytes_of(const cuda::Plan& plan, const cuda::Operation& operation, bool call) {
  std::vector<TensorId> tensors = operation.tensors;
  if (call && !tensors.empty()) tensors.pop_back();  // the workspace
  std::sort(tensors.begin(), tensors.end());
  tensors.erase(std::unique(tensors.begin(), tensors.end()), tensors.end());
  double bytes = 0;
  for (const TensorId id : tensors)
    if (id >= 0)
      bytes += static_cast<double>(plan.tensors[static_cast<std::size_t>(id)].desc.bytes());
  return bytes;
}

}  // namespace

CountedPlan count_plan(Graph graph, int samples, const CompileOptions& options,
                       const gpu::Library* real) {
  const CountingLibrary library(real);
  CountingStream stream(library);
  CountedPlan counted;
  counted.graph = std::move(graph);
  counted.plan = cuda::Builder(stream, counted.graph, samples, options).finish();
  const cuda::Plan& plan = counted.plan;
  for (const cuda::LibraryCall& call : plan.calls)
    counted.calls.push_back(library.work().at(call.call.get()));

  // Kernels make pointers of these and hand them to loops that are never done.
  std::vector<std::byte*> pointers(plan.tensors.size(), reinterpret_cast<std::byte*>(64));
  const cuda::Frame frame{pointers.data(), reinterpret_cast<const ShardKey*>(64), stream};
  const auto add = [&](CountedOperation::Pass pass, const std::vector<cuda::Operation>& all) {
    for (const cuda::Operation& operation : all) {
      CountedOperation c{pass, &operation, nullptr, 1,
                         bytes_of(plan, operation, operation.call >= 0)};
      if (operation.call >= 0) {
        c.call = &counted.calls[static_cast<std::size_t>(operation.call)];
        if (c.call->touched > 0) c.bytes = c.call->touched;
      } else {
        operation.kernel(frame);
        c.launches = stream.take_count();
        if (c.launches == 0) c.bytes = 0;
      }
      counted.operations.push_back(c);
    }
  };
  add(CountedOperation::Pass::forward, plan.forward);
  add(CountedOperation::Pass::loss, plan.loss);
  add(CountedOperation::Pass::backward, plan.backward);
  return counted;
}

std::string place_of(const CountedPlan& counted, const CountedOperation& operation) {
  if (operation.pass == CountedOperation::Pass::loss)
    return counted.graph.loss.kind->name + " loss";
  const LayerPlan& layer =
      counted.graph.layers[static_cast<std::size_t>(std::max(0, operation.operation->layer))];
  const bool backward = operation.pass == CountedOperation::Pass::backward;
  return layer.kind->name + " " + layer.name + (backward ? " backward" : " forward");
}

}  // namespace thalweg::engine::test
