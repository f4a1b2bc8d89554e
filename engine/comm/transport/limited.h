// Links that are slower than the machine's: what a network of other speed would do to a job.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// Of one rank's link; 0: as it is.
struct LinkLimit {
  double latency_us = 0;
  double mib_per_s = 0;

  bool limits() const { return latency_us > 0 || mib_per_s > 0; }
};

/// `under`, whose messages take as long as over such links, one for each rank: a rank sends one
/// message after another, at the rate of the slower end, and each arrives the longer end's latency
/// later. No memory is shared with peers.
std::shared_ptr<Transport> limited_transport(std::shared_ptr<Transport> under,
                                             std::vector<LinkLimit> links);

}  // namespace thalweg::engine::comm
