// Messages between ranks over UCX, matched by tag.
#pragma once

#include <memory>

#include "engine/comm/transport/host.h"
#include "engine/comm/transport/transport.h"

namespace thalweg::engine::comm {

class Peers;

/// To every peer, from host memory and, where UCX has CUDA, from a GPU's. `peers` must be connected
/// before the first message; both must stay.
std::unique_ptr<MessageTransport> ucx_transport(TransportHost& host, Peers& peers);

}  // namespace thalweg::engine::comm
