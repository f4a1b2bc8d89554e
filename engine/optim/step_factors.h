// What changes from step to step in an update on a GPU, so that it can be captured.
#pragma once

#include <cstddef>
#include <cstring>

#include "engine/gpu/host_device.h"
#include "engine/optim/on_gpu.h"

namespace thalweg::engine::optim {

/// Factors of a step: an argument of a launch, or in the GPU's memory.
template <class F>
struct StepFactors {
  F here{};
  const F* there = nullptr;
  THALWEG_HOST_DEVICE F operator*() const {
    if (there != nullptr) return *there;
    return here;
  }
  /// One of them, as such an argument too.
  template <class Part, class Whole>
  StepFactors<Part> part(Part Whole::*member) const {
    return {here.*member, there != nullptr ? &(there->*member) : nullptr};
  }
};

/// An update of several launches whose factors are `Factors`.
template <class Factors>
class ByFactors : public OptimizerOnGpu {
 public:
  void update(gpu::Stream& stream, const StepContext& context, const OptimizerMemory<float>& memory,
              const GradientNotes& notes) final {
    put(stream, {factors(context, memory)}, memory, notes, nullptr);
  }
  std::size_t factor_bytes() const final { return sizeof(Factors); }
  void write_factors(const StepContext& context, const OptimizerMemory<float>& memory,
                     void* to) final {
    const Factors now = factors(context, memory);
    std::memcpy(to, &now, sizeof now);
  }
  void update_with(gpu::Stream& stream, const void* there, const OptimizerMemory<float>& memory,
                   const GradientNotes& notes, const BesidesUpdate& besides) final {
    put(stream, {{}, static_cast<const Factors*>(there)}, memory, notes, besides.narrow);
  }

 protected:
  /// Of a step, and what Optimizer::finish() does.
  virtual Factors factors(const StepContext& context,
                          const OptimizerMemory<float>& memory) const = 0;
  /// `narrow`: BesidesUpdate's, for those that writes_narrow() tells.
  virtual void put(gpu::Stream& stream, const StepFactors<Factors>& factors,
                   const OptimizerMemory<float>& memory, const GradientNotes& notes,
                   gpu::Bf16* narrow) = 0;
};

}  // namespace thalweg::engine::optim
