// cuDNN keeps its recurrent networks outside its graphs: functions and descriptors of their own,
// which cudnn.h's table does not have.
#include "engine/gpu/cudnn_rnn.h"

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "engine/gpu/cudnn.h"
#include "engine/gpu/shared_library.h"

namespace thalweg::engine::gpu {
namespace {

Rnn load_rnn() {
  (void)cudnn();  // with what it looks for by name
  const std::string version = std::to_string(CUDNN_MAJOR);
  const SharedLibrary library("libcudnn.so." + version, "cuDNN " + version);
  Rnn f{};
  library.find(f.destroy, "cudnnDestroy");
  library.find(f.create_tensor, "cudnnCreateTensorDescriptor");
  library.find(f.set_tensor, "cudnnSetTensorNdDescriptor");
  library.find(f.get_tensor, "cudnnGetTensorNdDescriptor");
  library.find(f.destroy_tensor, "cudnnDestroyTensorDescriptor");
  library.find(f.create, "cudnnCreateRNNDescriptor");
  library.find(f.set, "cudnnSetRNNDescriptor_v8");
  library.find(f.destroy_descriptor, "cudnnDestroyRNNDescriptor");
  library.find(f.create_data, "cudnnCreateRNNDataDescriptor");
  library.find(f.set_data, "cudnnSetRNNDataDescriptor");
  library.find(f.destroy_data, "cudnnDestroyRNNDataDescriptor");
  library.find(f.temp_space_sizes, "cudnnGetRNNTempSpaceSizes");
  library.find(f.weight_space_size, "cudnnGetRNNWeightSpaceSize");
  library.find(f.weight_params, "cudnnGetRNNWeightParams");
  library.find(f.forward, "cudnnRNNForward");
  library.find(f.backward_data, "cudnnRNNBackwardData_v8");
  library.find(f.backward_weights, "cudnnRNNBackwardWeights_v8");
  return f;
}

/// A descriptor of cuDNN's, with its end.
template <class T>
std::shared_ptr<T> made(cudnnStatus_t (*create)(T**), cudnnStatus_t (*destroy)(T*),
                        const char* what) {
  T* raw = nullptr;
  check_cudnn(create(&raw), what);
  return std::shared_ptr<T>(raw, [destroy](T* descriptor) { (void)destroy(descriptor); });
}
int whole(std::int64_t n) {
  if (n < 1 || n > std::numeric_limits<int>::max())
    throw GpuError("cuDNN counts to " + std::to_string(std::numeric_limits<int>::max()) + ", not " +
                   std::to_string(n));
  return static_cast<int>(n);
}

}  // namespace

const Rnn& rnn() {
  static const Rnn functions = load_rnn();
  return functions;
}

std::shared_ptr<cudnnTensorStruct> tensor_descriptor() {
  return made(rnn().create_tensor, rnn().destroy_tensor, "cudnnCreateTensorDescriptor");
}

cudnnDataType_t rnn_type(Type type) {
  return type == Type::f32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
}

std::shared_ptr<cudnnRNNDataStruct> sequence_descriptor(const Recurrence& r, std::int64_t size) {
  auto data = made(rnn().create_data, rnn().destroy_data, "cudnnCreateRNNDataDescriptor");
  const std::vector<int> lengths(static_cast<std::size_t>(r.samples), whole(r.positions));
  check_cudnn(
      rnn().set_data(data.get(), rnn_type(r.type), CUDNN_RNN_DATA_LAYOUT_BATCH_MAJOR_UNPACKED,
                     whole(r.positions), whole(r.samples), whole(size), lengths.data(), nullptr),
      "cudnnSetRNNDataDescriptor");
  return data;
}

std::shared_ptr<cudnnTensorStruct> state_descriptor(const Recurrence& r) {
  auto result = tensor_descriptor();
  const std::array<int, 3> sizes{r.layers, whole(r.samples), whole(r.width)};
  const std::array<int, 3> strides{whole(r.samples * r.width), whole(r.width), 1};
  check_cudnn(rnn().set_tensor(result.get(), rnn_type(r.type), 3, sizes.data(), strides.data()),
              "cudnnSetTensorNdDescriptor");
  return result;
}

std::shared_ptr<cudnnRNNStruct> descriptor_of(const Recurrence& r, cudnnRNNAlgo_t algorithm) {
  auto descriptor = made(rnn().create, rnn().destroy_descriptor, "cudnnCreateRNNDescriptor");
  const cudnnMathType_t products = r.type == Type::bf16           ? CUDNN_TENSOR_OP_MATH
                                   : r.products == Products::tf32 ? CUDNN_DEFAULT_MATH
                                                                  : CUDNN_FMA_MATH;
  check_cudnn(rnn().set(descriptor.get(), algorithm, CUDNN_LSTM, CUDNN_RNN_DOUBLE_BIAS,
                        CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, rnn_type(r.type),
                        CUDNN_DATA_FLOAT, products, whole(r.features), whole(r.width),
                        whole(r.width), r.layers, nullptr, CUDNN_RNN_PADDED_IO_ENABLED),
              "cudnnSetRNNDescriptor_v8");
  return descriptor;
}

}  // namespace thalweg::engine::gpu
