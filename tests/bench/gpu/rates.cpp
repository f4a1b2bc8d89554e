#include "tests/bench/gpu/rates.h"

#include <algorithm>
#include <vector>

#include "engine/gpu/library.h"
#include "engine/tensor/random.h"

namespace thalweg::engine::bench {
namespace {

constexpr int kTurns = 20, kWarm = 5;

/// Median ms of work put into the stream.
template <class Work>
double median_ms(gpu::Gpu& machine, gpu::Stream& stream, const Work& work) {
  const auto begin = machine.event(), end = machine.event();
  std::vector<double> all;
  for (int turn = 0; turn < kWarm + kTurns; ++turn) {
    stream.record(*begin);
    work();
    stream.record(*end);
    stream.wait();
    if (turn >= kWarm) all.push_back(end->ms_since(*begin));
  }
  std::nth_element(all.begin(), all.begin() + kTurns / 2, all.end());
  return all[kTurns / 2];
}

}  // namespace

double copy_gb_s(gpu::Gpu& machine, gpu::Stream& stream) {
  const std::size_t bytes = machine.info().emulated ? std::size_t{1} << 24 : std::size_t{1} << 31;
  const gpu::Memory from(machine, bytes, "a copy's source"), to(machine, bytes, "a copy's target");
  const double ms = median_ms(machine, stream, [&] { stream.copy(to.data(), from.data(), bytes); });
  return 2 * static_cast<double>(bytes) / ms * 1e-6;
}

// Of random numbers: zeros are multiplied faster.
double product_tflop_s(gpu::Gpu& machine, gpu::Stream& stream) {
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
  const auto call = stream.library().product(shape);
  const gpu::Memory workspace(machine, call->workspace(call->chosen()), "workspace");
  void* const tensors[] = {matrices[0].data(), matrices[1].data(), matrices[2].data(), nullptr};
  const double ms =
      median_ms(machine, stream, [&] { call->run(stream, tensors, workspace.data()); });
  return 2 * static_cast<double>(size) * static_cast<double>(size) * static_cast<double>(size) /
         ms * 1e-9;
}

}  // namespace thalweg::engine::bench
