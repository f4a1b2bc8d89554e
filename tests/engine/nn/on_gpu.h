// The shared tests' program and executor for one whose memory is a GPU's: flat vectors go there and
// back around every pass.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/cuda/program.h"
#include "engine/gpu/gpu.h"
#include "support.h"
#include "tests/support/emulated_gpu/emulated_gpu.h"

namespace thalweg::engine::test {

/// The GPU of this computer, or where it has none the emulated one.
inline gpu::Gpu& some_gpu() {
  return gpu::gpu_count() > 0 ? gpu::gpu(0) : gpu::emulated_gpu();
}

class GpuExecutor final : public BasicExecutor<float> {
 public:
  GpuExecutor(const cuda::CudaProgram& program, std::size_t statistics)
      : program_(program), executor_(program.executor()), statistics_(statistics) {
    const ParameterInfo* last =
        program.parameters().empty() ? nullptr : &program.parameters().back();
    floats_ = last == nullptr ? 0 : last->offset + last->count;
  }

  using BasicExecutor<float>::train;
  using BasicExecutor<float>::evaluate;

  void train(gpu::Stream*, const Shard& shard, const ReadyFunction& ready) override {
    check_batch(shard.batch, program_.plan().samples, true);
    const gpu::Memory g = room(floats_ * sizeof(float)), s = there(shard.statistics, statistics_);
    pass(shard, [&](gpu::Stream& stream, Shard& on_gpu) {
      on_gpu.gradients = g.floats();
      on_gpu.statistics = s.floats();
      executor_->train(&stream, on_gpu, ready);
    });
    back(g, shard.gradients, floats_);
    back(s, shard.statistics, statistics_);
  }
  void evaluate(gpu::Stream*, const Shard& shard) override {
    check_batch(shard.batch, program_.plan().samples, false);
    const gpu::Memory running = there(shard.running, statistics_);
    pass(shard, [&](gpu::Stream& stream, Shard& on_gpu) {
      on_gpu.running = running.floats();
      executor_->evaluate(&stream, on_gpu);
    });
  }

 private:
  template <class Work>
  void pass(const Shard& shard, const Work& work) {
    const Graph& graph = program_.graph();
    const InputShape& data = graph.loss.data;
    const Batch& batch = shard.batch;
    check_numbers(graph.loss, batch, elements(graph.input), data.vocabulary);
    const auto samples = static_cast<std::size_t>(batch.samples);
    const auto up = [&](const auto* from, std::int64_t each) {
      const std::size_t bytes = static_cast<std::size_t>(each) * sizeof *from;
      gpu::Memory memory = room(static_cast<std::size_t>(program_.plan().samples) * bytes);
      if (from != nullptr && bytes > 0) program_.gpu()->copy(memory.data(), from, samples * bytes);
      return memory;
    };
    const std::int64_t labels = graph.loss.kind->of_labels ? data.labels : 0;
    const gpu::Memory p = there(shard.parameters, floats_),
                      inputs = up(batch.inputs, elements(graph.input)),
                      own_labels = up(batch.labels, labels),
                      targets = up(batch.targets, data.targets),
                      labels_b = up(batch.labels_b, labels), shares = up(batch.shares_b, 1),
                      key = room(sizeof(ShardKey)), result = room(sizeof(ShardResult));
    const ShardKey numbers{batch.seed, batch.first_sample, batch.step, batch.samples, shard.scale};
    program_.gpu()->copy(key.data(), &numbers, sizeof numbers);
    Shard on_gpu = shard;
    on_gpu.batch.inputs = inputs.floats();
    on_gpu.batch.labels = static_cast<const std::int32_t*>(own_labels.data());
    on_gpu.batch.targets = targets.floats();
    if (batch.labels_b != nullptr) {
      on_gpu.batch.labels_b = static_cast<const std::int32_t*>(labels_b.data());
      on_gpu.batch.shares_b = shares.floats();
    }
    on_gpu.key = static_cast<const ShardKey*>(key.data());
    on_gpu.parameters = p.floats();
    on_gpu.result = static_cast<ShardResult*>(result.data());
    const auto stream = program_.gpu()->stream();
    executor_->take_parameters(*stream, p.floats());
    work(*stream, on_gpu);
    stream->wait();
    program_.gpu()->copy(shard.result, result.data(), sizeof(ShardResult));
  }

  gpu::Memory room(std::size_t bytes) const { return {*program_.gpu(), bytes, "a test's vector"}; }
  gpu::Memory there(const float* from, std::size_t count) const {
    gpu::Memory memory = room(count * sizeof(float));
    if (count > 0) program_.gpu()->copy(memory.data(), from, count * sizeof(float));
    return memory;
  }
  void back(const gpu::Memory& from, float* to, std::size_t count) const {
    if (count > 0) program_.gpu()->copy(to, from.data(), count * sizeof(float));
  }

  const cuda::CudaProgram& program_;
  std::unique_ptr<BasicExecutor<float>> executor_;
  std::size_t statistics_, floats_ = 0;
};

}  // namespace thalweg::engine::test
