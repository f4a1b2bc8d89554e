#include "engine/gpu/cudnn_graph.h"

namespace thalweg::engine::gpu {

CudnnDescriptor CudnnGraph::make(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                                 const Sizes& strides, bool is_virtual, bool by_value) const {
  CudnnDescriptor d(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  d.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id)
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, type)
      .set(CUDNN_ATTR_TENSOR_DIMENSIONS, sizes)
      .set(CUDNN_ATTR_TENSOR_STRIDES, strides)
      .set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
  if (is_virtual) d.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  if (by_value) d.set(CUDNN_ATTR_TENSOR_IS_BY_VALUE, true);
  return d.finalize();
}

CudnnDescriptor CudnnGraph::tensor(std::int64_t id, cudnnDataType_t type, const Sizes& sizes,
                                   const Sizes& strides) const {
  return make(id, type, sizes, strides, false, false);
}

CudnnDescriptor CudnnGraph::between(cudnnDataType_t type, const Sizes& sizes,
                                    const Sizes& strides) {
  return make(next_++, type, sizes, strides, true, false);
}

CudnnDescriptor CudnnGraph::scalar(float value, std::size_t dimensions) {
  const Sizes ones(dimensions, 1);
  scalar_ids_.push_back(next_);
  scalars_.push_back(value);
  return make(next_++, CUDNN_DATA_FLOAT, ones, ones, false, true);
}

std::vector<void*> CudnnGraph::scalar_pointers() const {
  std::vector<void*> pointers;
  for (const float& value : scalars_)
    pointers.push_back(const_cast<float*>(&value));
  return pointers;
}

void CudnnGraph::pointwise(cudnnPointwiseMode_t mode, const CudnnDescriptor& x,
                           const CudnnDescriptor& y, const CudnnDescriptor* b,
                           const CudnnDescriptor* t, cudnnDataType_t compute) {
  CudnnDescriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, compute)
      .finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  if (t != nullptr) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_TDESC, *t);
  add(operation.finalize());
}

void CudnnGraph::index(std::int64_t axis, const CudnnDescriptor& x, const CudnnDescriptor& y) {
  CudnnDescriptor how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, CUDNN_POINTWISE_GEN_INDEX)
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_POINTWISE_AXIS, axis)
      .finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  add(operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
          .set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
          .set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y)
          .finalize());
}

void CudnnGraph::matmul(const CudnnDescriptor& a, const CudnnDescriptor& b,
                        const CudnnDescriptor& c) {
  CudnnDescriptor how(CUDNN_BACKEND_MATMUL_DESCRIPTOR);
  how.set(CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT).finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
  add(operation.set(CUDNN_ATTR_OPERATION_MATMUL_DESC, how)
          .set(CUDNN_ATTR_OPERATION_MATMUL_ADESC, a)
          .set(CUDNN_ATTR_OPERATION_MATMUL_BDESC, b)
          .set(CUDNN_ATTR_OPERATION_MATMUL_CDESC, c)
          .finalize());
}

void CudnnGraph::reduce(cudnnReduceTensorOp_t which, const CudnnDescriptor& x,
                        const CudnnDescriptor& y) {
  CudnnDescriptor how(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
  how.set(CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, which)
      .set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .finalize();
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
  add(operation.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, how)
          .set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x)
          .set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y)
          .finalize());
}

void CudnnGraph::reshape(const CudnnDescriptor& x, const CudnnDescriptor& y) {
  CudnnDescriptor operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);
  add(operation.set(CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x)
          .set(CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y)
          .finalize());
}

CudnnDescriptor CudnnGraph::finish(cudnnHandle_t handle) const {
  CudnnDescriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations_);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, handle);
#pragma GCC diagnostic pop
  return graph.finalize();
}

}  // namespace thalweg::engine::gpu
