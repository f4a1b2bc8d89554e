// Operation graphs of cuDNN. For this folder only.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "engine/gpu/cudnn.h"

namespace thalweg::engine::gpu {

using Sizes = std::vector<std::int64_t>;

/// Tensors that the caller brings have numbers of his own, from 1 on.
class CudnnGraph {
 public:
  /// A tensor in memory, a multiple of 16 bytes.
  CudnnDescriptor tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                         const Sizes& strides) const;
  /// One that is only handed from operation to operation.
  CudnnDescriptor between(cudnnDataType_t type, const Sizes& sizes, const Sizes& strides);
  /// A number, of as many dimensions as the tensors that it meets.
  CudnnDescriptor scalar(float value, std::size_t dimensions);

  void add(const CudnnDescriptor& operation) { operations_.push_back(operation); }
  /// y = mode(x), mode(x, b) or, of BINARY_SELECT, t ? x : b.
  void pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x, const CudnnDescriptor& y,
                 const CudnnDescriptor* b = nullptr, const CudnnDescriptor* t = nullptr,
                 cudnnDataType_t compute = CUDNN_DATA_FLOAT);
  /// y counts along `axis` of x.
  void index(std::int64_t axis, const CudnnDescriptor& x, const CudnnDescriptor& y);
  void matmul(const CudnnDescriptor& a, const CudnnDescriptor& b, const CudnnDescriptor& c);
  /// Along the dimensions in which y has a size of 1.
  void reduce(cudnnReduceTensorOp_t how, const CudnnDescriptor& x, const CudnnDescriptor& y);
  /// The same elements in y's order.
  void reshape(const CudnnDescriptor& x, const CudnnDescriptor& y);

  /// A null handle: for no GPU in particular. Throws GpuError where cuDNN refuses it.
  CudnnDescriptor finish(cudnnHandle_t handle) const;

  /// What the caller adds to his own numbers and pointers when it runs.
  const std::vector<std::int64_t>& scalar_ids() const { return scalar_ids_; }
  std::vector<void*> scalar_pointers() const;

 private:
  CudnnDescriptor make(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                       const Sizes& strides, bool is_virtual, bool by_value) const;

  std::int64_t next_ = 1000;
  std::vector<CudnnDescriptor> operations_;
  std::vector<std::int64_t> scalar_ids_;
  std::list<float> scalars_;
};

}  // namespace thalweg::engine::gpu
