// A library of CUDA's or the driver's that is loaded when it is first needed, so that programs
// start where there is none. For this folder only.
#pragma once

#include <string>

namespace thalweg::engine::gpu {

/// Never unloaded.
class SharedLibrary {
 public:
  /// By name where the loader looks, then in the folders where the build found it. Throws
  /// GpuError: `title` names it ("cuDNN 9").
  SharedLibrary(const std::string& file, const std::string& title);

  /// Loads one that another looks for by name, where there is one.
  static void prepare(const std::string& file);

  /// Sets `function` to the one of that name. Throws GpuError where there is none.
  template <class F>
  void find(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(symbol(name));
  }

 private:
  void* symbol(const char* name) const;

  std::string title_;
  void* handle_ = nullptr;
};

}  // namespace thalweg::engine::gpu
