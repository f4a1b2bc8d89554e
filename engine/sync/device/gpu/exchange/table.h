// The table of exchanges between GPUs, and which one the ranks of a job take.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/sync/device/gpu/exchange/exchange.h"

namespace thalweg::engine {

/// What the choice looks at, of one rank.
struct ExchangeRank {
  std::string node;
  std::string gpu;           ///< gpu::Info::uuid
  std::string peers;         ///< gpu::peers_version(); empty: there is none
  std::string why_no_peers;  ///< then
  bool emulated = false;
  bool sends_gpu_memory = false;  ///< comm::Group::supports() the GPU's memory
  int process = 0;                ///< of its node
};
using ExchangeRanks = std::vector<ExchangeRank>;

/// A row: one function and one file each.
struct ExchangeRow {
  const char* name;
  const char* doc;
  /// Why these ranks cannot have it; empty: they can.
  std::string (*why_not)(const ExchangeRanks& ranks);
  /// Why `auto` does not take it where they can; empty: it does.
  std::string (*why_not_auto)(const ExchangeRanks& ranks);
  /// Whether it sums over shards and cannot do else (ExchangeParts::sum).
  bool shards_only;
  std::unique_ptr<GpuExchange> (*make)(const ExchangeParts& parts);
};
ExchangeRow nccl_exchange();
ExchangeRow ucx_exchange();
ExchangeRow host_exchange();

/// In the order in which `auto` asks them; the last one is always to be had.
const std::vector<ExchangeRow>& exchange_table();

struct ExchangeChoice {
  const ExchangeRow* row = nullptr;
  std::string why;  ///< why none of the rows before it; empty: it was asked for, or is the first
};
/// `wish`: a row's name or "auto". The same on every rank, as it sees all of them. Throws
/// std::invalid_argument where the wish cannot be had: why, and what to do.
ExchangeChoice choose_exchange(const std::string& wish, const ExchangeRanks& ranks,
                               bool over_shards);

/// Asks all ranks and makes what they choose. Collective. `note`: a sentence for the journal.
std::unique_ptr<GpuExchange> make_exchange(const ExchangeParts& parts, std::string& note);

/// Two ranks that have one GPU in common: "ranks 0 and 1 share GPU-1234 on node a"; or nothing.
std::string who_shares(const ExchangeRanks& ranks);

}  // namespace thalweg::engine
