// The table of algorithms: which there are for each collective, and which one "auto" takes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/algorithms/collective.h"

namespace thalweg::engine::comm {

struct Row {
  Collective collective;
  const char* name;
  const char* good_for;
  const char* steps;  ///< W ranks
  const char* bytes;  ///< sent by each rank, n = bytes of the vector
  Needs needs;
  Algorithm* run;
  bool averages = false;  ///< it divides; else its caller does
};

/// All rows of a collective; the first one works anywhere, the last one in shared memory.
std::span<const Row> rows_of(Collective collective);
/// nullptr: no such name.
const Row* find_row(Collective collective, std::string_view name);
std::vector<std::string> names_of(Collective collective);
/// What "auto" means for a vector of `bytes` on such a group.
const Row& choose_row(Collective collective, const Layout& layout, std::size_t bytes);

}  // namespace thalweg::engine::comm
