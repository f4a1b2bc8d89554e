// quadratic_deep: 1/2 (y - t)' Q (y - t) over 100 outputs y and targets t; Q is
// quadratic_hessian().
#include <stdexcept>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/quadratic_hessian.h"
#include "engine/losses/row.h"

namespace thalweg::engine::reference {
namespace {

constexpr auto kSize = static_cast<std::size_t>(quadratic_size);

template <class T>
ShardResult quadratic_deep_loss(const LossPlan& plan, const LossCall<T>& call) {
  const std::vector<double>& q = quadratic_hessian();
  if (plan.data.targets != static_cast<std::int64_t>(kSize))
    throw std::invalid_argument("loss quadratic_deep is for 100 targets, the data has " +
                                std::to_string(plan.data.targets));
  ShardResult result;
  std::vector<double> difference(kSize);
  for (int n = 0; n < call.batch->samples; ++n) {
    const std::size_t first = static_cast<std::size_t>(n) * kSize;
    for (std::size_t i = 0; i < kSize; ++i)
      difference[i] = static_cast<double>(call.outputs[first + i]) -
                      static_cast<double>(call.batch->targets[first + i]);
    for (std::size_t i = 0; i < kSize; ++i) {
      double gradient = 0;
      for (std::size_t j = 0; j < kSize; ++j)
        gradient += q[i * kSize + j] * difference[j];
      result.loss_sum += 0.5 * difference[i] * gradient;
      if (call.gradient != nullptr)
        call.gradient[first + i] = static_cast<T>(static_cast<double>(call.scale) * gradient);
    }
  }
  return result;
}

}  // namespace

const Loss quadratic_deep{quadratic_deep_loss<float>, quadratic_deep_loss<double>};

}  // namespace thalweg::engine::reference

namespace thalweg::engine::losses {

LossKind quadratic_deep() {
  return {.doc = "1/2 (y - t)' Q (y - t) with DeepOBS' Q of 100 targets",
          .options = {},
          .of_labels = false,
          .reference = &reference::quadratic_deep,
          .metrics = {}};
}

}  // namespace thalweg::engine::losses
