// What the modes of rank_program have in common.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/comm/wireup/wireup.h"

namespace thalweg::engine::comm {

/// This process as a rank of its world.
struct Rank {
  std::unique_ptr<Wireup> wireup = Wireup::connect();
  Group group;
  explicit Rank(std::chrono::milliseconds stall)
      : group(wireup->transport(), {.stall_timeout = stall}) {}
};

/// Of a mode, on the command line. A mode returns the exit code, or throws.
using Words = std::vector<std::string>;

int victim(const Words& arguments);
int disagree(const Words& arguments);
int deserter(const Words& arguments);
int missing(const Words& arguments);
int mismatch(const Words& arguments);

}  // namespace thalweg::engine::comm
