#include "engine/gpu/cuda_error.h"

#include <cstdlib>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string about_driver() {
  int version = 0;
  if (cudaDriverGetVersion(&version) != cudaSuccess || version == 0)
    return "there is no NVIDIA driver here: install it (nvidia-smi shows that it works), or run on "
           "a machine with a GPU";
  return "the NVIDIA driver is for CUDA " + version_text(version) + ", this program for CUDA " +
         version_text(CUDART_VERSION) + ": install a newer driver, or build with an older CUDA";
}

std::string remedy(cudaError_t error) {
  switch (error) {
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorInitializationError:
      return about_driver();
    case cudaErrorNoDevice: {
      const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
      return visible != nullptr
                 ? "CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "': it shows no GPU"
                 : "ask for one (of Slurm with --gpus-per-node), or see what nvidia-smi shows";
    }
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
      return "the driver's parts do not fit together: restart the machine after its update";
    case cudaErrorDevicesUnavailable:
      return "another process holds the GPU for itself (nvidia-smi shows its compute mode)";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "the program was not built for this GPU: configure with "
             "-DCMAKE_CUDA_ARCHITECTURES=native and build again";
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
      return "work on the GPU was wrong, and the process can no longer use the GPU: "
             "compute-sanitizer finds the place";
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
      return "the GPU is damaged: take it out of use (nvidia-smi -q shows its errors)";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureInvalidated:
    case cudaErrorStreamCaptureImplicit:
      return "that cannot be captured";
    case cudaErrorMemoryAllocation:
      return "other processes, such as ranks on the same GPU, may hold its memory";
    default:
      return "";
  }
}

}  // namespace

std::string cuda_message(cudaError_t error, const std::string& call) {
  const std::string todo = remedy(error);
  return call + ": " + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")" +
         (todo.empty() ? "" : "; " + todo);
}

void check_cuda(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return;
  (void)cudaGetLastError();
  throw GpuError(cuda_message(error, call));
}

}  // namespace thalweg::engine::gpu
