// The GPUs of this machine, of which each attempt gets its own. Who has which is known to the
// kernel alone: a lock that lives as long as any process of the attempt, whatever becomes of the
// controller, and that other controllers of the same user see, too.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

namespace thalweg::daemon {

/// As CUDA_VISIBLE_DEVICES names them: what this process may use by its own such variable, else all
/// that the machine has, but for `count` >= 0 so many.
std::vector<std::string> local_gpus(int count);

/// A folder for the locks that this user's programs share on this machine.
std::filesystem::path gpu_lock_folder();

class GpuLocks {
 public:
  GpuLocks(std::vector<std::string> names, std::filesystem::path folder)
      : names_(std::move(names)), folder_(std::move(folder)) {}

  int count() const { return static_cast<int>(names_.size()); }

  struct Taken {
    Descriptor lock;      ///< to be inherited by what uses them
    std::string visible;  ///< "0,2"
  };
  /// Nothing where not so many are free. Throws std::system_error where locks cannot be had.
  std::optional<Taken> take(int wanted) const;

 private:
  std::vector<std::string> names_;
  std::filesystem::path folder_;
};

}  // namespace thalweg::daemon
