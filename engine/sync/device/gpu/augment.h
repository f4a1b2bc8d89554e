// Raw batches become a model's inputs on a GPU: stored numbers become floats, augmented and
// blended, by the same formulas as on the host and with the same bits.
#pragma once

#include "engine/data/batch_form.h"
#include "engine/gpu/gpu.h"

namespace thalweg::engine {

/// For one thread and stream at a time. Allocates nothing after construction.
class GpuAugment {
 public:
  /// For micro-batches of so many samples. The form's dataset must outlive it.
  GpuAugment(gpu::Gpu& machine, const RawForm& form, std::size_t samples);
  /// Puts the work for micro-batch `number` of a batch into the stream; `batch`: in the GPU's
  /// memory.
  void run(gpu::Stream& stream, const BatchLayout& layout, const std::byte* batch,
           std::size_t number) const;
  /// Of the last micro-batch: (samples, c, d, h, w).
  const float* inputs() const { return inputs_.floats(); }

  /// What it takes of the GPU's memory.
  static std::size_t bytes(const RawForm& form, std::size_t samples);

 private:
  void make(gpu::Stream& stream, const std::byte* stored, const augment::Change* changes,
            const augment::Blend* blends, float* out) const;

  RawForm form_;
  std::int64_t samples_;
  gpu::Memory values_;  ///< StoredForm::values
  gpu::Memory inputs_, inputs_b_;
  gpu::Memory sums_, means_;  ///< for changes about the image's mean
};

}  // namespace thalweg::engine
