// The optimizer's update of some parameters in the host's memory, on all threads of the rank.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "engine/sync/mode.h"

namespace thalweg::engine {

/// For one thread. The bits do not depend on how many threads share the work.
class HostUpdate {
 public:
  explicit HostUpdate(const SyncParts& parts) : p_(parts) {}

  /// Of the next run(). With a part of the flat vector: what of the parameter lies there.
  void add(int parameter, const std::optional<comm::Group::Segment>& within = {});
  /// Updates what was added since the last one. `cut` > 0: elements of memory.g are cut to
  /// [-cut, cut] before.
  void run(const StepContext& context, const OptimizerMemory<float>& memory, double cut);

 private:
  SyncParts p_;
  std::vector<Segment> segments_;
  std::size_t floats_ = 0;
};

}  // namespace thalweg::engine
