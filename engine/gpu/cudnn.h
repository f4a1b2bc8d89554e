// cuDNN's graph API: its functions, loaded at first use, and its descriptors as objects. For this
// folder only.
// https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-graph-library.html
#pragma once

#include <cudnn_graph.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace thalweg::engine::gpu {

/// The functions that are used.
struct Cudnn {
  decltype(&cudnnGetVersion) version;
  decltype(&cudnnGetErrorString) error_string;
  decltype(&cudnnGetLastErrorString) last_error_string;
  decltype(&cudnnCreate) create;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor;
  decltype(&cudnnBackendSetAttribute) set_attribute;
  decltype(&cudnnBackendGetAttribute) get_attribute;
  decltype(&cudnnBackendFinalize) finalize;
  decltype(&cudnnBackendExecute) execute;
};
/// Loads it. Throws GpuError where there is none.
const Cudnn& cudnn();

/// What cuDNN said of the calling thread's last failed call; may be empty.
std::string last_cudnn_error();
/// Throws GpuError with cuDNN's reason.
void check_cudnn(cudnnStatus_t status, const char* call);

/// A backend descriptor. Copies share it; it keeps those alive that it was given.
class CudnnDescriptor {
 public:
  explicit CudnnDescriptor(cudnnBackendDescriptorType_t type);

  CudnnDescriptor& set(cudnnBackendAttributeName_t name, std::int64_t value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const std::vector<std::int64_t>& values);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, bool value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, float value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const std::string& text);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const CudnnDescriptor& value);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name,
                       const std::vector<CudnnDescriptor>& values);
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, const std::vector<void*>& pointers);
  /// Of an enumeration or a handle.
  template <class T>
  CudnnDescriptor& set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       T value) {
    return set_raw(name, type, 1, &value);
  }
  /// Throws GpuError where cuDNN refuses it.
  CudnnDescriptor& finalize();
  /// Whether it did; the reason is last_cudnn_error().
  bool try_finalize();

  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  /// All of an attribute's values, of an enumeration or of numbers.
  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    std::vector<T> values(count(name, type));
    values.resize(fetch(name, type, values.size(), values.data()));
    return values;
  }
  /// Descriptors of kind `of` that it holds; `most` where cuDNN does not tell how many there are.
  std::vector<CudnnDescriptor> descriptors(cudnnBackendAttributeName_t name,
                                           cudnnBackendDescriptorType_t of,
                                           std::size_t most = 0) const;

  cudnnBackendDescriptor_t get() const;

 private:
  struct State;
  CudnnDescriptor& set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                           std::int64_t count, const void* values);
  std::size_t count(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const;
  std::size_t fetch(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                    std::size_t count, void* values) const;

  std::shared_ptr<State> state_;
};

}  // namespace thalweg::engine::gpu
