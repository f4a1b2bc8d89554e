// The transport of a job of one rank.
#pragma once

#include <memory>
#include <string>

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// Rank 0 of 1 on `node`: there is nobody to talk to. Messages are a std::logic_error.
std::unique_ptr<Transport> single_rank_transport(std::string node);

}  // namespace thalweg::engine::comm
