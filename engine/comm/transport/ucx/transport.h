// Messages between ranks over UCX, matched by tag.
#pragma once

#include <memory>

#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

class Peers;

/// `peers` must be connected. Wireup keeps it beyond the transport's life: connections must not
/// close before all ranks have said that they are through.
std::unique_ptr<Transport> ucx_transport(std::shared_ptr<Peers> peers);

}  // namespace thalweg::engine::comm
