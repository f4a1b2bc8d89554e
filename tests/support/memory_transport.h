// Transports between threads of one process: ranks as threads.
#pragma once

#include <memory>
#include <vector>

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

/// n in-memory transports joined to each other.
std::vector<std::unique_ptr<Transport>> memory_transports(int ranks);
/// The same for ranks that play several machines: rank r is on machine machine_of[r].
std::vector<std::unique_ptr<Transport>> memory_transports(std::vector<int> machine_of);

}  // namespace thalweg::engine::comm
