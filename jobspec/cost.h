// What a sweep can cost at most.
#pragma once

#include <string>

#include "jobspec/sweep.h"

namespace thalweg::jobspec {

/// Node-hours where every trial runs once, to its time limit.
double max_node_hours(const Expansion& expansion);

/// "at most 24 node-hours (24 trials x 2 nodes x 00:30:00), 28.8 EUR; …", with what retries and
/// limits.node_hours change of it; money where the price is known.
std::string describe_cost(const Sweep& sweep, const Expansion& expansion,
                          const Prices& prices = {});

}  // namespace thalweg::jobspec
