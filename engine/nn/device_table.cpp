#include "engine/nn/device_table.h"

namespace thalweg::engine {

const std::vector<DeviceKind>& device_table() {
  static const std::vector<DeviceKind> table = {
      {"cpu", "oneDNN kernels, one thread a lane", cpu::compile},
      {"reference", "slow, obvious loops: the truth for tests", reference::compile<float>},
  };
  return table;
}

}  // namespace thalweg::engine
