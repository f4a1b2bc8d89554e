// Which kernels a run on GPUs takes: rank 0 measures the algorithms of the library calls, or reads
// what an earlier attempt has measured, and all ranks take the same (kernels.md).
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/attempt/record.h"
#include "engine/comm/group.h"
#include "engine/device/memory_needs.h"
#include "engine/gpu/gpu.h"
#include "engine/nn/model.h"
#include "engine/train/options.h"

namespace thalweg::engine {

struct KernelInput {
  comm::Group& group;
  Record& record;
  const Settings& settings;
  std::function<std::string()> machine;        ///< all that times depend on beside the calls
  std::vector<std::filesystem::path> folders;  ///< of checkpoints, this attempt's own first
  std::function<std::unique_ptr<Model>(const KernelOptions& kernels)> build;
  std::function<MemoryNeeds(const Model& model)> needs;  ///< of the rank that needs most
};

/// The GPU's kind and its libraries. Throws GpuError.
std::string machine_of(gpu::Gpu& gpu);

/// Whether this rank measures where it is rank 0.
bool measures_kernels(const Settings& settings, const gpu::Info& gpu);

/// The most workspace that a run takes of `room` bytes of a GPU, its other needs being `needs`.
std::size_t workspace_within(const MemoryNeeds& needs, std::size_t asked, std::size_t room);

/// Collective, on ranks that compute on GPUs, before any of them has taken memory there. What
/// cannot be measured, read or written is noted and left to the libraries. Throws on every rank or
/// on none (but for CommError).
KernelOptions choose_kernels(const KernelInput& in);

}  // namespace thalweg::engine
