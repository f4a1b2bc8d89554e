// Memory that the processes of one machine share, allocated and mapped by UCX.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "engine/comm/transport.h"
#include "engine/comm/ucx/worker.h"

namespace thalweg::engine::comm {

/// `bytes` zero bytes: a System V segment, or a file in /dev/shm where the kernel allows no such
/// segment of that size. Both are unlinked already, so that nothing is left when a process is
/// killed. nullptr where there is no room; never memory that may fault later. Keeps the worker
/// alive.
std::unique_ptr<Exposed> ucx_expose(std::shared_ptr<UcxWorker> worker, std::size_t bytes);

/// Maps what the process behind `endpoint` exposed. nullptr: UCX cannot (its settings leave out
/// shared memory, or the owner's memory is private). Only for peers of this machine: a System V
/// segment's number means another segment elsewhere.
std::unique_ptr<Attached> ucx_attach(std::shared_ptr<UcxWorker> worker, ucp_ep_h endpoint,
                                     const std::string& token);

}  // namespace thalweg::engine::comm
