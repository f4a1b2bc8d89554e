// Ranks of a user's own add up 7, 14, ... with the engine's collectives.
#include <cstdio>

#include "engine/comm/group.h"
#include "engine/comm/wireup/wireup.h"

int main() {
  namespace comm = thalweg::engine::comm;
  const auto wireup = comm::Wireup::connect();
  double value = 7.0 * (wireup->world().rank + 1);
  {
    comm::Group group(wireup->transport());
    group.allreduce(&value, 1, comm::Type::f64, comm::Op::sum);
    if (group.rank() == 0) std::printf("sum %g\n", value);
    group.barrier();
  }
  wireup->finalize();
}
