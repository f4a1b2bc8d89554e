// cross_entropy over rows of logits, one row a position, as in reference.cpp.
// Functions of a stream, the GPU's memory and sizes; nothing is waited for. Logits and gradient
// begin at multiples of 64 bytes.
#pragma once

#include <cstdint>

#include "engine/device/device.h"
#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::cuda {

struct LossSums;

struct CrossEntropyShape {
  std::int64_t samples = 0, positions = 1;
  int classes = 0;
  float spread = 0;      ///< what smoothing puts on each class
  float kept = 1;        ///< what it leaves the label
  float weight_sum = 0;  ///< of the classes
  bool images = false;   ///< for the metrics
};

struct CrossEntropyInputs {
  gpu::Type type;                ///< of the logits
  const void* logits;            ///< (samples, positions, classes)
  const std::int32_t* labels;    ///< (samples, positions)
  const std::int32_t* labels_b;  ///< of the same shape; null: samples are not blended
  const float* shares_b;         ///< of the samples
  const float* shares;           ///< of the samples; null: all 1
  const float* weights;          ///< of the classes; null: all 1
  const ShardKey* key;
};

/// How many LossSums cross_entropy() needs on its way.
std::int64_t cross_entropy_parts(const CrossEntropyShape& shape);
/// `result` as add_up_loss() of loss.h writes it. `gradient`, null for none, of the type `type`,
/// may be the logits where their type is the same.
void cross_entropy(gpu::Stream& stream, const CrossEntropyShape& shape,
                   const CrossEntropyInputs& inputs, gpu::Type type, void* gradient,
                   LossSums* parts, double* result);

}  // namespace thalweg::engine::cuda
