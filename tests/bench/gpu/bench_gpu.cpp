// bench_gpu limits                 what this GPU copies and multiplies at most
// bench_gpu optimizer NAME...      a step over ResNet-50's parameters, against the copy's bandwidth
// One line "key=value ..." each; ends with 77 where there is no GPU.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "engine/gpu/gpu.h"
#include "engine/gpu/library.h"
#include "engine/nn/model.h"
#include "engine/optim/on_gpu.h"
#include "engine/optim/optimizer.h"
#include "engine/sync/replica.h"
#include "engine/tensor/random.h"
#include "tests/support/models.h"

namespace thalweg::engine::bench {
namespace {

constexpr int kTurns = 20, kWarm = 5;

/// Median ms of work put into the queue.
template <class Work>
double median_ms(gpu::Gpu& machine, gpu::Queue& queue, const Work& work) {
  const auto begin = machine.event(), end = machine.event();
  std::vector<double> all;
  for (int turn = 0; turn < kWarm + kTurns; ++turn) {
    queue.record(*begin);
    work();
    queue.record(*end);
    queue.wait();
    if (turn >= kWarm) all.push_back(end->ms_since(*begin));
  }
  std::nth_element(all.begin(), all.begin() + kTurns / 2, all.end());
  return all[kTurns / 2];
}

/// Bytes read and written.
double copy_gb_s(gpu::Gpu& machine, gpu::Queue& queue) {
  const std::size_t bytes = machine.info().emulated ? std::size_t{1} << 24 : std::size_t{1} << 31;
  const gpu::Memory from(machine, bytes, "a copy's source"), to(machine, bytes, "a copy's target");
  const double ms = median_ms(machine, queue, [&] { queue.copy(to.data(), from.data(), bytes); });
  return 2 * static_cast<double>(bytes) / ms * 1e-6;
}

/// Of random numbers: zeros are multiplied faster.
double product_tflop_s(gpu::Gpu& machine, gpu::Queue& queue) {
  const std::int64_t size = machine.info().emulated ? 256 : 8192;
  const auto count = static_cast<std::size_t>(size * size);
  std::vector<gpu::Bf16> numbers(count);
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = gpu::store<gpu::Bf16>(uniform01(philox(1, Stream::noise, 0, i)[0]) - 0.5f);
  std::vector<gpu::Memory> matrices;
  for (int i = 0; i < 3; ++i) {
    matrices.emplace_back(machine, count * sizeof(gpu::Bf16), "a matrix");
    machine.copy(matrices.back().data(), numbers.data(), count * sizeof(gpu::Bf16));
  }
  gpu::Product shape;
  shape.m = shape.n = shape.k = size;
  shape.a = shape.b = shape.c = gpu::Type::bf16;
  const auto call = queue.library().product(shape);
  const gpu::Memory workspace(machine, call->workspace(call->chosen()), "workspace");
  void* const tensors[] = {matrices[0].data(), matrices[1].data(), matrices[2].data(), nullptr};
  const double ms = median_ms(machine, queue, [&] { call->run(queue, tensors, workspace.data()); });
  return 2 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size) /
         ms * 1e-9;
}

/// Bytes of memory that a step must at least move for each parameter.
double bytes_each(const std::string& name) {
  if (name == "momentum") return 20;       // reads w g v, writes w v
  if (name == "adamw") return 28;          // reads w g m v, writes w m v
  if (name == "lamb") return 28 + 4 + 12;  // and the direction, for its norm; then w, u, w
  return 0;                                // products bound it
}

void optimizer(gpu::Gpu& machine, gpu::Queue& queue, const std::string& name) {
  const test::ModelCase& resnet = test::gpu_model_cases().front();
  const auto model = build_model(resnet.model, resnet.data, 1, "cuda");
  const auto made = make_optimizer<float>(jobspec::Map{{"name", name}}, parameters_of(*model));
  Replica replica(*model, *made);
  const FlatVector gradient(&machine, model->parameter_floats(), "gradients");
  std::vector<float> start(model->parameter_floats(), 0.01f);
  replica.parameters.write(start.data());
  const auto on_gpu = made->on_gpu({machine, model->parameters(), gpu::Products::tf32});
  OptimizerMemory<float> memory = replica.memory(const_cast<float*>(gradient.floats()));
  StepContext context;
  context.lr = 1e-3;
  const double ms = median_ms(machine, queue, [&] {
    on_gpu->update(queue, context, memory, {});
    ++context.step;
  });
  const double gb_s = bytes_each(name) * static_cast<double>(model->parameter_count()) / ms * 1e-6;
  std::printf("optimizer=%s ms=%.4f gb_s=%.1f\n", name.c_str(), ms, gb_s);
}

int run(const std::vector<std::string>& words) {
  if (words.empty()) throw std::invalid_argument("which? limits, or optimizer NAME...");
  if (gpu::gpu_count() == 0) {
    std::printf("skipped: %s\n", gpu::why_no_gpu().c_str());
    return 77;
  }
  gpu::Gpu& machine = gpu::chosen_gpu();
  const auto queue = machine.queue();
  if (words[0] == "limits")
    std::printf("copy_gb_s=%.1f product_tflop_s=%.1f\n", copy_gb_s(machine, *queue),
                product_tflop_s(machine, *queue));
  else
    for (std::size_t i = 1; i < words.size(); ++i)
      optimizer(machine, *queue, words[i]);
  return 0;
}

}  // namespace
}  // namespace thalweg::engine::bench

int main(int count, char** arguments) {
  try {
    return thalweg::engine::bench::run({arguments + 1, arguments + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_gpu: %s\n", error.what());
    return 1;
  }
}
