#include "engine/gpu/cudnn.h"

#include <cuda_runtime_api.h>

#include <algorithm>

#include "engine/gpu/gpu.h"
#include "engine/gpu/shared_library.h"

namespace thalweg::engine::gpu {
namespace {

Cudnn load_cudnn() {
  // Some of its engines are compiled, others call cuBLASLt: it looks for both by name.
  SharedLibrary::prepare("libnvrtc.so." + std::to_string(CUDART_VERSION / 1000));
  SharedLibrary::prepare("libcublasLt.so." + std::to_string(CUDART_VERSION / 1000));
  const SharedLibrary library("libcudnn.so." + std::to_string(CUDNN_MAJOR),
                              "cuDNN " + std::to_string(CUDNN_MAJOR));
  Cudnn f{};
  library.find(f.version, "cudnnGetVersion");
  library.find(f.error_string, "cudnnGetErrorString");
  library.find(f.last_error_string, "cudnnGetLastErrorString");
  library.find(f.create, "cudnnCreate");
  library.find(f.set_stream, "cudnnSetStream");
  library.find(f.create_descriptor, "cudnnBackendCreateDescriptor");
  library.find(f.destroy_descriptor, "cudnnBackendDestroyDescriptor");
  library.find(f.set_attribute, "cudnnBackendSetAttribute");
  library.find(f.get_attribute, "cudnnBackendGetAttribute");
  library.find(f.finalize, "cudnnBackendFinalize");
  library.find(f.execute, "cudnnBackendExecute");
  return f;
}

}  // namespace

const Cudnn& cudnn() {
  static const Cudnn functions = load_cudnn();
  return functions;
}

std::string last_cudnn_error() {
  std::string reason(1024, '\0');
  cudnn().last_error_string(reason.data(), reason.size());
  reason.resize(std::min(reason.find('\0'), reason.size()));
  while (!reason.empty() && reason.back() == '\n')
    reason.pop_back();
  return reason;
}

void check_cudnn(cudnnStatus_t status, const char* call) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  const std::string reason = last_cudnn_error();
  throw GpuError(std::string(call) + ": " + cudnn().error_string(status) +
                 (reason.empty() ? "" : " (" + reason + ")"));
}

struct CudnnDescriptor::State {
  ~State() { (void)cudnn().destroy_descriptor(raw); }
  cudnnBackendDescriptor_t raw = nullptr;
  std::vector<std::shared_ptr<State>> kept;
};

CudnnDescriptor::CudnnDescriptor(cudnnBackendDescriptorType_t type) {
  cudnnBackendDescriptor_t raw = nullptr;
  check_cudnn(cudnn().create_descriptor(type, &raw), "cudnnBackendCreateDescriptor");
  state_ = std::make_shared<State>();
  state_->raw = raw;
}

cudnnBackendDescriptor_t CudnnDescriptor::get() const {
  return state_->raw;
}

CudnnDescriptor& CudnnDescriptor::set_raw(cudnnBackendAttributeName_t name,
                                          cudnnBackendAttributeType_t type, std::int64_t count,
                                          const void* values) {
  const std::string call = "cudnnBackendSetAttribute " + std::to_string(name);
  check_cudnn(cudnn().set_attribute(get(), name, type, count, values), call.c_str());
  return *this;
}

CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, std::int64_t value) {
  return set_raw(name, CUDNN_TYPE_INT64, 1, &value);
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      const std::vector<std::int64_t>& values) {
  return set_raw(name, CUDNN_TYPE_INT64, static_cast<std::int64_t>(values.size()), values.data());
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, bool value) {
  return set_raw(name, CUDNN_TYPE_BOOLEAN, 1, &value);
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, float value) {
  return set_raw(name, CUDNN_TYPE_FLOAT, 1, &value);
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name, const std::string& text) {
  return set_raw(name, CUDNN_TYPE_CHAR, static_cast<std::int64_t>(text.size() + 1), text.c_str());
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      const CudnnDescriptor& value) {
  return set(name, std::vector<CudnnDescriptor>{value});
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      const std::vector<CudnnDescriptor>& values) {
  std::vector<cudnnBackendDescriptor_t> raw;
  for (const CudnnDescriptor& value : values) {
    raw.push_back(value.get());
    state_->kept.push_back(value.state_);
  }
  return set_raw(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, static_cast<std::int64_t>(raw.size()),
                 raw.data());
}
CudnnDescriptor& CudnnDescriptor::set(cudnnBackendAttributeName_t name,
                                      const std::vector<void*>& pointers) {
  return set_raw(name, CUDNN_TYPE_VOID_PTR, static_cast<std::int64_t>(pointers.size()),
                 pointers.data());
}

CudnnDescriptor& CudnnDescriptor::finalize() {
  check_cudnn(cudnn().finalize(get()), "cudnnBackendFinalize");
  return *this;
}
bool CudnnDescriptor::try_finalize() {
  return cudnn().finalize(get()) == CUDNN_STATUS_SUCCESS;
}

std::int64_t CudnnDescriptor::integer(cudnnBackendAttributeName_t name) const {
  std::int64_t value = 0;
  fetch(name, CUDNN_TYPE_INT64, 1, &value);
  return value;
}

std::size_t CudnnDescriptor::count(cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type) const {
  return fetch(name, type, 0, nullptr);
}

std::size_t CudnnDescriptor::fetch(cudnnBackendAttributeName_t name,
                                   cudnnBackendAttributeType_t type, std::size_t count,
                                   void* values) const {
  std::int64_t found = 0;
  const std::string call = "cudnnBackendGetAttribute " + std::to_string(name);
  check_cudnn(
      cudnn().get_attribute(get(), name, type, static_cast<std::int64_t>(count), &found, values),
      call.c_str());
  return static_cast<std::size_t>(found);
}

std::vector<CudnnDescriptor> CudnnDescriptor::descriptors(cudnnBackendAttributeName_t name,
                                                          cudnnBackendDescriptorType_t of,
                                                          std::size_t most) const {
  std::vector<CudnnDescriptor> found;
  std::vector<cudnnBackendDescriptor_t> raw;
  const std::size_t size = most > 0 ? most : count(name, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  for (std::size_t i = 0; i < size; ++i) {
    found.emplace_back(of);
    raw.push_back(found.back().get());
  }
  const std::size_t filled = fetch(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, size, raw.data());
  found.erase(found.begin() + static_cast<std::ptrdiff_t>(filled), found.end());
  return found;
}

}  // namespace thalweg::engine::gpu
