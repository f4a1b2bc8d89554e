// The mode async: every rank that makes gradients is a group of its own (server_mode.h).
#include "engine/sync/server_mode.h"
#include "engine/sync/server_roles.h"

namespace thalweg::engine {
namespace {

void require_async(const SyncConfig& config, const SyncFacts& facts) {
  require_servers(config, facts, "async");
}

std::unique_ptr<SyncMode> make_async(const SyncConfig& config, const SyncParts& parts) {
  return make_server_mode(config, parts, workers_of(parts.group.size(), servers_of(config)));
}

}  // namespace

SyncRow async_row() {
  return {"async",
          "ranks send gradients to parameter servers, which take each one as it arrives",
          server_options(),
          require_async,
          make_async,
          server_vectors,
          false,
          servers_of};
}

}  // namespace thalweg::engine
