// kernels.json: what the algorithms of library calls took, kept with a run so that all its attempts
// take the same ones (kernels.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/device/kernels.h"

namespace thalweg::engine {

/// Of one kind of GPU with its libraries.
struct MeasuredKernels {
  std::string machine;
  std::size_t asked = 0;  ///< bytes of workspace that the trial allows
  std::size_t bound = 0;  ///< what was free of them when it was measured
  KernelTimes times;
  bool operator==(const MeasuredKernels&) const = default;
};

/// One line of JSON that reads back the same.
std::string to_text(const std::vector<MeasuredKernels>& kernels);
/// Throws std::exception with the reason where `text` is not what to_text() writes.
std::vector<MeasuredKernels> kernels_from(const std::string& text);

/// Empty where there is no such file. Throws std::exception.
std::vector<MeasuredKernels> read_kernels(const std::filesystem::path& file);
/// Whole or not at all; makes the folder. Throws std::system_error.
void write_kernels(const std::filesystem::path& file, const std::vector<MeasuredKernels>& kernels);

}  // namespace thalweg::engine
