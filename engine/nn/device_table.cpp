#include "engine/nn/device_table.h"

#include <stdexcept>

#include "engine/device/device.h"
#include "engine/device/layer.h"

namespace thalweg::engine {
namespace {

std::unique_ptr<Program> compile_reference(const Graph& graph, int samples,
                                           const CompileOptions& options) {
  if (options.recompute)
    throw std::invalid_argument(
        "recompute: the reference device keeps what backward reads; use device: cuda");
  if (options.precision != Precision::fp32)
    throw std::invalid_argument(
        "precision: the reference device computes in fp32 only; use device: cpu");
  return reference::compile<float>(graph, samples);
}

}  // namespace

const jobspec::Table<DeviceKind>& device_table() {
  static const std::string caveat = cuda_seen_on_gpu ? "" : std::string(", ") + cuda_caveat;
  static const jobspec::Table<DeviceKind> table(
      "device",
      {
          {"cpu", "oneDNN kernels, one thread an executor", cpu::compile},
          {"cuda", "an NVIDIA GPU (cuDNN, cuBLASLt and loops of our own)" + caveat, cuda::compile},
          {"reference", "slow, obvious loops: the truth for tests", compile_reference},
      });
  return table;
}

}  // namespace thalweg::engine
