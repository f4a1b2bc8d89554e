// Allgather in one step: everybody sends its segment to all.
#include "engine/comm/algorithms/direct.h"

namespace thalweg::engine::comm {

Task allgather_direct(const Link& link, const Layout&, Arguments a) {
  return spread_from_owners(link, link.size(), a);
}

}  // namespace thalweg::engine::comm
