// The shared tests' program and lane for one whose memory is a GPU's: flat vectors go there and
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

class LaneOnGpu final : public BasicLane<float> {
 public:
  LaneOnGpu(const cuda::CudaProgram& program, std::size_t statistics)
      : program_(program), lane_(program.lane()), statistics_(statistics) {
    const ParameterInfo* last =
        program.parameters().empty() ? nullptr : &program.parameters().back();
    floats_ = last == nullptr ? 0 : last->offset + last->count;
  }

  ShardResult train(const float* parameters, const Batch& batch, float scale, float* gradients,
                    float* statistics, const ReadyFunction& ready) override {
    const gpu::Memory p = there(parameters, floats_), g = there(gradients, floats_),
                      s = there(statistics, statistics_);
    const ShardResult result =
        lane_->train(p.floats(), batch, scale, g.floats(), s.floats(), ready);
    back(g, gradients, floats_);
    back(s, statistics, statistics_);
    return result;
  }
  ShardResult evaluate(const float* parameters, const float* running, const Batch& batch) override {
    return lane_->evaluate(there(parameters, floats_).floats(),
                           there(running, statistics_).floats(), batch);
  }

 private:
  gpu::Memory there(const float* from, std::size_t count) const {
    gpu::Memory memory(*program_.gpu(), count * sizeof(float), "a test's vector");
    if (count > 0) program_.gpu()->copy(memory.data(), from, count * sizeof(float));
    return memory;
  }
  void back(const gpu::Memory& from, float* to, std::size_t count) const {
    if (count > 0) program_.gpu()->copy(to, from.data(), count * sizeof(float));
  }

  const cuda::CudaProgram& program_;
  std::unique_ptr<BasicLane<float>> lane_;
  std::size_t statistics_, floats_ = 0;
};

}  // namespace thalweg::engine::test
