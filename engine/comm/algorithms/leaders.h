// Several leaders on every machine: leader j works on slice j of the vector, together with the
// leaders j of the other machines.
#pragma once

#include <vector>

#include "engine/comm/algorithms/collective.h"

namespace thalweg::engine::comm {

/// Every machine has as many leaders as the smallest of them has ranks: its first ones. Ranks as
/// the transport counts them.
struct Leaders {
  std::vector<int> local;            ///< this machine's ranks
  int place = 0;                     ///< this rank among them: a leader if below `each`
  int each = 1;                      ///< leaders per machine
  int machine = 0;                   ///< this rank's
  std::vector<std::vector<int>> of;  ///< each machine's leaders

  Leaders(const Link& link, const Layout& layout);
  bool is_leader() const { return place < each; }
  int machines() const { return static_cast<int>(of.size()); }
  /// The leaders that work on this one's slice, by machine.
  std::vector<int> column() const;
};

}  // namespace thalweg::engine::comm
