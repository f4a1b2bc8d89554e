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

/// "0,2" is 0 and 2, as CUDA_VISIBLE_DEVICES has it: CUDA takes none behind one it does not know.
std::vector<std::string> gpu_names(const std::string& visible);

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
  /// Nothing where not so many are free, those of `without` left out, unless too few are left then
  /// at all. Throws std::system_error where locks cannot be had.
  std::optional<Taken> take(int wanted, const std::vector<std::string>& without = {}) const;

 private:
  std::vector<std::string> names_;
  std::filesystem::path folder_;
};

}  // namespace thalweg::daemon
