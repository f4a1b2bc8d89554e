// What a device is asked beside the graph, and what its executors take of memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/device/kernels.h"

namespace thalweg::engine {

/// What a device computes in. Parameters, their gradients and all statistics are 32-bit floats in
/// either.
enum class Precision {
  fp32,
  bf16,  ///< values between layers and what is multiplied are bfloat16; sums are 32-bit floats
  tf32   ///< what is multiplied has 10 bits of mantissa (GPUs); sums are 32-bit floats
};

/// Names by value: "fp32", "bf16", "tf32".
const std::vector<std::string>& precision_names();
/// Throws std::invalid_argument where there is none of that name.
Precision precision_named(const std::string& name);

/// What a device is asked beside the graph. A Precision stands for one with all else as it is.
struct CompileOptions {
  CompileOptions(Precision in = Precision::fp32) : precision(in) {}
  Precision precision;
  /// Backward computes most layers' outputs again, in place of their being kept: one more forward
  /// pass for less memory, the same bits. GPUs only.
  bool recompute = false;
  /// How calls of a GPU's libraries choose their algorithms.
  KernelOptions kernels = {};
};

/// Bytes that an executor takes of its device's memory.
struct ExecutorMemory {
  std::size_t activations = 0;  ///< values and their gradients
  std::size_t workspace = 0;    ///< the largest of library calls
  std::size_t weights = 0;      ///< copies of parameters in another type or layout
  std::size_t staging = 0;      ///< the batch
};

}  // namespace thalweg::engine
