// What "auto" means: the algorithm of every collective by ranks, layout and length.
#include <climits>
#include <cstddef>
#include <cstdint>

#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {
namespace {

/// Where "auto" takes which row: the first line that fits; without one, the first row.
enum class Where {
  anywhere,
  machine,   ///< all ranks on one, without shared memory
  machines,  ///< several, one rank each
  mixed,     ///< several ranks on several machines
};
struct Default {
  Collective collective;
  Where where;
  int up_to_ranks;
  std::size_t up_to_bytes;
  const char* name;
};
constexpr int kAny = INT_MAX;
constexpr std::size_t kRest = SIZE_MAX;
constexpr std::size_t operator""_K(unsigned long long n) {
  return static_cast<std::size_t>(n) << 10U;
}
const Default kDefaults[] = {
    {Collective::allreduce, Where::mixed, kAny, kRest, "hierarchical"},
    // A way through two kernels costs more than many bytes.
    {Collective::allreduce, Where::machines, 2, 512_K, "recursive_doubling"},
    {Collective::allreduce, Where::machines, 3, 256_K, "recursive_doubling"},
    {Collective::allreduce, Where::machines, 3, kRest, "segmented"},
    {Collective::allreduce, Where::machines, kAny, 16_K, "recursive_doubling"},
    {Collective::allreduce, Where::machines, 4, 4096_K, "rabenseifner"},
    {Collective::allreduce, Where::machines, kAny, 1024_K, "rabenseifner"},
    // With more ranks slices become short, and too many senders meet at one receiver.
    {Collective::allreduce, Where::machines, 16, kRest, "segmented"},
    {Collective::allreduce, Where::anywhere, kAny, 16_K, "recursive_doubling"},
    {Collective::allreduce, Where::anywhere, 4, 256_K, "direct"},
    {Collective::allreduce, Where::anywhere, kAny, 256_K, "rabenseifner"},
    {Collective::allreduce, Where::anywhere, kAny, kRest, "ring_pipelined"},
    {Collective::reduce_scatter, Where::anywhere, 8, 256_K, "direct"},
    {Collective::reduce_scatter, Where::anywhere, kAny, 16_K, "recursive_halving"},
    {Collective::allgather, Where::anywhere, 8, 256_K, "direct"},
    {Collective::allgather, Where::anywhere, kAny, 64_K, "bruck"},
    // Between few ranks chunks save fewer bytes than they cost steps, between two none.
    {Collective::broadcast, Where::anywhere, 2, kRest, "binomial"},
    {Collective::broadcast, Where::anywhere, 4, 1024_K, "binomial"},
    {Collective::broadcast, Where::anywhere, kAny, 64_K, "binomial"},
    {Collective::broadcast, Where::anywhere, kAny, kRest, "scatter_allgather"},
    {Collective::all_to_all, Where::anywhere, 4, kRest, "pairwise"},
    {Collective::all_to_all, Where::anywhere, kAny, 4_K, "bruck"},
};

bool fits(Where where, const Layout& layout) {
  const bool mixed = layout.allows(Needs::machines);
  switch (where) {
    case Where::anywhere:
      return true;
    case Where::machine:
      return layout.one_machine();
    case Where::machines:
      return !layout.one_machine() && !mixed;
    case Where::mixed:
      return mixed;
  }
  return false;
}

}  // namespace

const Row& choose_row(Collective collective, const Layout& layout, std::size_t bytes) {
  if (layout.shares) return rows_of(collective).back();
  for (const Default& line : kDefaults) {
    if (line.collective == collective && layout.ranks <= line.up_to_ranks &&
        bytes <= line.up_to_bytes && fits(line.where, layout)) {
      return *find_row(collective, line.name);
    }
  }
  return rows_of(collective).front();
}

}  // namespace thalweg::engine::comm
