// What the modes with parameter servers have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/sync/compress/table.h"
#include "engine/sync/mode.h"
#include "jobspec/option.h"

namespace thalweg::engine {

/// As SyncRow::require, in the name of `mode`.
void require_servers(const SyncConfig& config, const SyncFacts& facts, const std::string& mode);
std::vector<jobspec::Option> server_options();
/// `groups` of ranks, each of which makes its gradients together.
std::unique_ptr<SyncMode> make_server_mode(const SyncConfig& config, const SyncParts& parts,
                                           int rank_groups);
std::int64_t server_vectors(const SyncConfig& config, const Sharding& sharding, int ranks,
                            bool on_gpu);
int servers_of(const SyncConfig& config);  ///< as SyncRow::servers

}  // namespace thalweg::engine
