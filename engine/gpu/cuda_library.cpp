#include "engine/gpu/cuda_library.h"

#include <cuda_runtime_api.h>

#include "engine/gpu/convolution_algorithms.h"
#include "engine/gpu/cublaslt.h"
#include "engine/gpu/cuda_error.h"
#include "engine/gpu/cudnn_attention.h"
#include "engine/gpu/cudnn_convolution.h"
#include "engine/gpu/cudnn_recurrence.h"
#include "engine/gpu/machines.h"

namespace thalweg::engine::gpu {
namespace {

class CudaLibrary final : public Library {
 public:
  explicit CudaLibrary(int number) : number_(number) {}
  std::unique_ptr<Call> product(const Product& shape) const override {
    return cublaslt_product(number_, shape);
  }
  std::unique_ptr<Call> convolution(const Convolution& shape) const override {
    return with_other_algorithms(cudnn_convolution(CudnnTarget::of_gpu(number_), shape), shape,
                                 *this);
  }
  std::unique_ptr<Call> attention(const FusedAttention& shape) const override {
    return cudnn_attention(CudnnTarget::of_gpu(number_), shape);
  }
  RecurrenceCalls recurrence(const Recurrence& shape) const override {
    return cudnn_recurrence(cuda_gpu(number_), shape);
  }

  std::string versions() const override {
    int driver = 0;
    check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    return "cuBLASLt " + std::to_string(cublaslt_version()) + ", cuDNN " +
           std::to_string(cudnn().version()) + ", CUDA driver " + std::to_string(driver);
  }

 private:
  int number_;
};

}  // namespace

std::unique_ptr<Library> cuda_library(int number) {
  return std::make_unique<CudaLibrary>(number);
}

}  // namespace thalweg::engine::gpu
