// The devices that a graph can be compiled for: a new one is a folder in engine/device and a row
// here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/compile_options.h"
#include "jobspec/table.h"

namespace thalweg::engine {

struct Graph;
/// engine/device/device.h
template <class T>
class BasicProgram;
using Program = BasicProgram<float>;

struct DeviceKind {
  std::string name;
  std::string doc;
  std::unique_ptr<Program> (*compile)(const Graph& graph, int samples,
                                      const CompileOptions& options);
};

const jobspec::Table<DeviceKind>& device_table();

/// Whether a table of a real GPU stands in tests/bench/results; train_options_test holds the two
/// together. True with the commit that adds the first one: `device: auto` takes GPUs from then on,
/// and the caveat leaves README.md and the manual pages.
inline constexpr bool cuda_seen_on_gpu = false;
/// What is said of the cuda device until then, in these words everywhere.
inline constexpr const char* cuda_caveat = "experimental: not yet run on a GPU";

}  // namespace thalweg::engine
