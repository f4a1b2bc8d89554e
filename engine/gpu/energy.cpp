// NVML's counter is in millijoules since the driver was loaded. The library comes with the driver,
// not with CUDA, so it is opened by name and three of its functions are declared here (NVML API
// reference: nvmlInit_v2, nvmlDeviceGetHandleByUUID, nvmlDeviceGetTotalEnergyConsumption).
#include "engine/gpu/energy.h"

#include "engine/gpu/gpu.h"
#include "engine/gpu/shared_library.h"

namespace thalweg::engine::gpu {

struct GpuEnergy::Counter {
  using Device = struct NvmlDevice*;
  int (*init)() = nullptr;
  int (*by_uuid)(const char* uuid, Device* device) = nullptr;
  int (*total)(Device device, unsigned long long* millijoules) = nullptr;
  Device device = nullptr;

  /// Throws GpuError.
  Counter(const std::string& uuid, const std::string& file) {
    const SharedLibrary library(file, "NVML");
    library.find(init, "nvmlInit_v2");
    library.find(by_uuid, "nvmlDeviceGetHandleByUUID");
    library.find(total, "nvmlDeviceGetTotalEnergyConsumption");
    if (init() != 0 || by_uuid(uuid.c_str(), &device) != 0)
      throw GpuError("NVML does not know GPU " + uuid);
  }

  std::optional<double> joules() const {
    unsigned long long millijoules = 0;
    if (total(device, &millijoules) != 0) return {};
    return static_cast<double>(millijoules) / 1000;
  }
};

GpuEnergy::GpuEnergy(const std::string& uuid, const std::string& library) {
  try {
    auto counter = std::make_shared<const Counter>(uuid, library);
    if (const auto now = counter->joules()) {
      first_ = *now;
      counter_ = std::move(counter);
    }
  } catch (const GpuError&) {
    // Energy is told where it can be.
  }
}

GpuEnergy GpuEnergy::told_elsewhere() {
  GpuEnergy energy;
  energy.elsewhere_ = true;
  return energy;
}

std::optional<double> GpuEnergy::joules() const {
  if (elsewhere_) return 0;
  if (!counter_) return {};
  const auto now = counter_->joules();
  if (!now || *now < first_) return {};  // the driver was loaded anew
  return *now - first_;
}

}  // namespace thalweg::engine::gpu
