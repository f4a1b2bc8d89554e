// Reduce-scatter in one step: everybody sends every rank its segment.
#include "engine/comm/algorithms/direct.h"

namespace thalweg::engine::comm {

Task reduce_scatter_direct(const Link& link, const Layout&, Arguments a) {
  return reduce_to_owners(link, link.size(), a);
}

}  // namespace thalweg::engine::comm
