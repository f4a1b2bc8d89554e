// The weights of running statistics are copied to the GPU once; the rest is the optimizer's.
#include "engine/sync/device/gpu/update.h"

#include <vector>

#include "engine/gpu/vectors.h"

namespace thalweg::engine {

GpuUpdate::GpuUpdate(const SyncParts& parts)
    : p_(parts),
      optimizer_(
          p_.optimizer.on_gpu({*p_.model.gpu(), p_.model.parameters(), p_.model.products()})) {
  const std::vector<float> momenta = p_.model.statistic_momenta();
  momenta_ = FlatVector::of(p_.model, momenta.size(), "weights of running statistics");
  momenta_.write(momenta.data());
}

void GpuUpdate::blend_statistics(gpu::Stream& stream, const float* sum, int micro_batches) {
  gpu::blend(stream, p_.replica.running.floats(), momenta_.floats(), sum, micro_batches,
             p_.model.statistics());
}

const float* GpuUpdate::evaluated(gpu::Stream& stream) {
  if (!p_.optimizer.has_eval_weights()) return p_.replica.parameters.floats();
  float* const x = p_.replica.evaluation.floats();
  optimizer_->eval_weights(stream, p_.replica.memory(nullptr), x);
  stream.wait();
  return x;
}

std::string GpuUpdate::note(const std::string& exchange) const {
  const std::string optimizer = optimizer_->note();
  return exchange + (exchange.empty() || optimizer.empty() ? "" : "; ") + optimizer;
}

}  // namespace thalweg::engine
