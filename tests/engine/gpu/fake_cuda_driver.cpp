// A libcuda.so.1 for tests where there is no GPU: everything fails but what cuDNN needs to finish
// plans for a GPU that is only described. Kernels that it compiles are "loaded" here, and their
// names kept for fake_cuda_kernels(). All other functions of the driver, weak ones that return 34
// (CUDA_ERROR_STUB_LIBRARY), are written by CMake from the names in the toolkit's own stub.
#include <dlfcn.h>

#include <cstddef>
#include <mutex>
#include <string>

// The driver's types are not needed: handles are pointers, enumerations are ints.
namespace {

constexpr int kSuccess = 0, kNotFound = 500;

void* some_handle() {
  static int object = 0;
  return &object;
}

struct Kernels {
  std::mutex mutex;
  std::string names, told;
};
Kernels& kernels() {
  static Kernels& only = *new Kernels;
  return only;
}
void keep(const char* name) {
  const std::lock_guard lock(kernels().mutex);
  kernels().names += std::string(name) + "\n";
}

int find(const char* name, void** function) {
  *function = dlsym(RTLD_DEFAULT, name);
  return *function != nullptr ? kSuccess : kNotFound;
}

int give(void** handle) {
  *handle = some_handle();
  return kSuccess;
}

}  // namespace

extern "C" {

/// Names of the kernels that were asked for since the last call, a line each.
const char* fake_cuda_kernels() {
  const std::lock_guard lock(kernels().mutex);
  kernels().told = kernels().names;
  kernels().names.clear();
  return kernels().told.c_str();
}

int cuGetProcAddress(const char* name, void** function, int, unsigned long long) {
  return find(name, function);
}
int cuGetProcAddress_v2(const char* name, void** function, int, unsigned long long, int* status) {
  const int result = find(name, function);
  if (status != nullptr) *status = result == kSuccess ? 0 : 1;
  return result;
}
int cuGetErrorString(int, const char** text) {
  *text = "the tests' fake driver";
  return kSuccess;
}
int cuGetErrorName(int, const char** text) {
  *text = "FAKE";
  return kSuccess;
}

int cuLibraryLoadData(void** library, const void*, int*, void**, unsigned, int*, void**, unsigned) {
  return give(library);
}
int cuLibraryGetKernel(void** kernel, void*, const char* name) {
  keep(name);
  return give(kernel);
}
int cuLibraryGetKernelCount(unsigned* count, void*) {
  *count = 1;
  return kSuccess;
}
int cuLibraryGetModule(void** module, void*) {
  return give(module);
}
int cuLibraryUnload(void*) {
  return kSuccess;
}
int cuKernelGetFunction(void** function, void*) {
  return give(function);
}
int cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return kSuccess;
}
int cuKernelSetAttribute(int, int, void*, int) {
  return kSuccess;
}
int cuModuleLoadData(void** module, const void*) {
  return give(module);
}
int cuModuleLoadDataEx(void** module, const void*, unsigned, int*, void**) {
  return give(module);
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  keep(name);
  return give(function);
}
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return kSuccess;
}
int cuFuncSetAttribute(void*, int, int) {
  return kSuccess;
}
}
