// The three functions of NVML that the engine calls, for one GPU named GPU-1 whose counter stands
// in the file that FAKE_NVML_COUNTER names.
#include <cstdlib>
#include <cstring>
#include <fstream>

extern "C" {

int nvmlInit_v2() {
  return 0;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, void** device) {
  static int gpu = 0;
  *device = &gpu;
  return std::strcmp(uuid, "GPU-1") == 0 ? 0 : 6;  // NVML_ERROR_NOT_FOUND
}

int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  std::ifstream in(std::getenv("FAKE_NVML_COUNTER"));
  return in >> *millijoules ? 0 : 3;  // NVML_ERROR_NOT_SUPPORTED
}

}  // extern "C"
