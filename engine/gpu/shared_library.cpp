#include "engine/gpu/shared_library.h"

#include <dlfcn.h>

#include <sstream>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {

SharedLibrary::SharedLibrary(const std::string& file, const std::string& title) : title_(title) {
  handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  const std::string why = handle_ == nullptr ? dlerror() : "";
  std::istringstream folders(THALWEG_GPU_LIBRARY_DIRS);
  for (std::string folder; handle_ == nullptr && std::getline(folders, folder, ':');)
    handle_ = dlopen((folder + "/" + file).c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (handle_ == nullptr)
    throw GpuError("there is no " + title + " (" + why +
                   "): install it, or say where it is in LD_LIBRARY_PATH");
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
