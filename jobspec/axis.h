// A thing that a sweep varies.
#pragma once

#include <memory>
#include <string>

#include "jobspec/distribution.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

/// `name` addresses the `train` tree ("optimizer.lr") or the resources ("resources.nodes").
struct Axis {
  std::string name;
  Place place;
  std::shared_ptr<const Distribution> distribution;
};

}  // namespace thalweg::jobspec
