// The devices that a graph can be compiled for: a new one is a folder in engine/device and a row
// here.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/device.h"

namespace thalweg::engine {

struct DeviceKind {
  std::string name;
  std::string doc;
  std::unique_ptr<Program> (*compile)(const Graph& graph, int samples,
                                      const CompileOptions& options);
};

const std::vector<DeviceKind>& device_table();

}  // namespace thalweg::engine
