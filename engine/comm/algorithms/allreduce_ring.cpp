// Allreduce on a ring: reduce-scatter, then allgather. Every rank sends 2 (W-1)/W of the vector,
// which is the least possible.
#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task allreduce_ring(const Link& link, const Layout& layout, Arguments a) {
  co_await reduce_scatter_ring(link, layout, a);
  co_await allgather_ring(link, layout, a);
}

}  // namespace thalweg::engine::comm
