// Allreduce after Rabenseifner: recursive halving, then recursive doubling. The bytes of a ring in
// the steps of recursive doubling.
#include "engine/comm/algorithms/functions.h"

namespace thalweg::engine::comm {

Task allreduce_rabenseifner(const Link& link, const Layout& layout, Arguments a) {
  co_await reduce_scatter_recursive_halving(link, layout, a);
  co_await allgather_recursive_doubling(link, layout, a);
}

}  // namespace thalweg::engine::comm
