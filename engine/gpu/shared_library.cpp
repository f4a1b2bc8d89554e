#include "engine/gpu/shared_library.h"

#include <dlfcn.h>

#include <sstream>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

namespace {

/// Null where there is none; `why` is the loader's word on its own places.
void* load_library(const std::string& file, std::string& why) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) why = dlerror();
  std::istringstream folders(THALWEG_GPU_LIBRARY_DIRS);
  for (std::string folder; handle == nullptr && std::getline(folders, folder, ':');)
    handle = dlopen((folder + "/" + file).c_str(), RTLD_NOW | RTLD_GLOBAL);
  return handle;
}

}  // namespace

SharedLibrary::SharedLibrary(const std::string& file, const std::string& title) : title_(title) {
  std::string why;
  handle_ = load_library(file, why);
  if (handle_ == nullptr)
    throw GpuError("there is no " + title + " (" + why +
                   "): install it, or say where it is in LD_LIBRARY_PATH");
}

void SharedLibrary::prepare(const std::string& file) {
  std::string why;
  (void)load_library(file, why);
}

void* SharedLibrary::symbol(const char* name) const {
  void* const found = dlsym(handle_, name);
  if (found == nullptr)
    throw GpuError(title_ + " is too old: it has no " + name +
                   "; install the version that this "
                   "program was built with");
  return found;
}

}  // namespace thalweg::engine::gpu
