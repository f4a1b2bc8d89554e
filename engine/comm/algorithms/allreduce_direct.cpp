// Allreduce in two steps: every rank gets its segment from all others, adds it up, and sends it to
// all.
#include "engine/comm/algorithms/direct.h"

namespace thalweg::engine::comm {

Task allreduce_direct(const Link& link, const Layout&, Arguments a) {
  co_await reduce_to_owners(link, link.size(), a);
  co_await spread_from_owners(link, link.size(), a);
}

}  // namespace thalweg::engine::comm
