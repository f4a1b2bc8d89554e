// quadratic_deep: as in reference.cpp.
#include <stdexcept>

#include "engine/device/quadratic_hessian.h"
#include "engine/losses/cuda.h"

namespace thalweg::engine::cuda {
namespace {

/// A block for each sample. Q is symmetric: neighbouring threads read along its rows.
struct Quadratic {
  const float* outputs;
  const float* targets;
  const float* q;
  const ShardKey* key;
  std::int64_t size;
  float* gradients;  ///< null: none
  LossSums* sums;
  THALWEG_HOST_DEVICE void operator()(gpu::ThreadBlock block, std::int64_t n) const {
    const bool counts = n < key->samples;
    const float* y = outputs + n * size;
    const float* t = targets + n * size;
    double mine[1 + max_sums] = {};
    for (std::int64_t i = block.rank(); i < size; i += block.size()) {
      float gradient = 0;
      for (std::int64_t j = 0; counts && j < size; ++j)
        gradient += q[j * size + i] * (y[j] - t[j]);
      if (counts) mine[0] += 0.5 * static_cast<double>(y[i] - t[i]) * static_cast<double>(gradient);
      if (gradients != nullptr) gradients[n * size + i] = key->scale * gradient;
    }
    write_sums(block, mine, sums + n);
  }
};

}  // namespace

TensorId quadratic_deep(Builder& b, TensorId output) {
  const std::vector<double>& q = quadratic_hessian();
  const std::int64_t size = quadratic_size, samples = b.samples();
  if (b.loss().data.targets != size)
    throw std::invalid_argument("loss quadratic_deep is for " + std::to_string(size) +
                                " targets, the data has " + std::to_string(b.loss().data.targets));
  const TensorId matrix = b.constant(std::vector<float>(q.begin(), q.end()));
  const TensorId plain = b.in_plain_order(Builder::Pass::both, output);
  // Every gradient is made of all outputs: it cannot take their memory.
  const TensorId gradients = b.like(plain), sums = b.scratch(samples, sizeof(LossSums));
  const TensorId targets = b.targets(), result = b.result();
  for (const bool training : {true, false})
    b.loss_kernel({plain, training ? gradients : -1, sums}, training, [=](const Frame& frame) {
      gpu::for_each_row(
          frame.stream, samples, 128,
          Quadratic{frame.floats(plain), frame.floats(targets), frame.floats(matrix), frame.key,
                    size, training ? frame.floats(gradients) : nullptr, frame.as<LossSums>(sums)});
      add_up_loss(frame, sums, samples, result);
    });
  if (b.same_memory(plain, output)) return b.view(gradients, b.desc(output));
  const TensorId gradient = b.loss_gradient(output);
  b.loss_in_channels_last(gradients, gradient);
  return gradient;
}

}  // namespace thalweg::engine::cuda
