#include "engine/sync/device/gpu/exchange/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>

#include "engine/gpu/peers.h"

namespace thalweg::engine {
namespace {

/// A rank as it travels. Longer texts are cut.
struct Packed {
  char gpu[64], peers[64], why_no_peers[352];
  std::int32_t emulated, sends_gpu_memory, process;
};

template <std::size_t room>
void put(char (&to)[room], const std::string& text) {
  const std::size_t length = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), length);
  to[length] = '\0';
}

Packed describe(const ExchangeParts& e) {
  const gpu::Gpu& machine = e.shards.machine();
  Packed mine{};
  put(mine.gpu, machine.info().uuid);
  mine.emulated = machine.info().emulated ? 1 : 0;
  mine.process = getpid();
  mine.sends_gpu_memory = e.parts.group.supports(comm::MessageMemory::cuda) ? 1 : 0;
  try {
    put(mine.peers, gpu::peers_version(machine));
  } catch (const gpu::GpuError& error) {
    put(mine.why_no_peers, error.what());
  }
  return mine;
}

ExchangeRanks ask_all(const ExchangeParts& e) {
  comm::Group& group = e.parts.group;
  const Packed mine = describe(e);
  std::vector<Packed> all(static_cast<std::size_t>(group.size()));
  group.allgather(&mine, all.data(), sizeof mine);
  ExchangeRanks ranks;
  for (int rank = 0; rank < group.size(); ++rank) {
    const Packed& packed = all[static_cast<std::size_t>(rank)];
    ranks.push_back({group.node_of(rank), packed.gpu, packed.peers, packed.why_no_peers,
                     packed.emulated != 0, packed.sends_gpu_memory != 0, packed.process});
  }
  return ranks;
}

std::string why_not(const ExchangeRow& row, const ExchangeRanks& ranks, bool over_shards) {
  if (!over_shards && row.shards_only)
    return "sync.compress, sync.mode adasum, and sync.sum where it is ranks, work in the host's "
           "memory";
  return row.why_not(ranks);
}

}  // namespace

const std::vector<ExchangeRow>& exchange_table() {
  static const std::vector<ExchangeRow> rows{nccl_exchange(), ucx_exchange(), host_exchange()};
  return rows;
}

ExchangeChoice choose_exchange(const std::string& wish, const ExchangeRanks& ranks,
                               bool over_shards) {
  ExchangeChoice choice;
  for (const ExchangeRow& row : exchange_table()) {
    std::string reason = why_not(row, ranks, over_shards);
    if (wish == row.name) {
      if (!reason.empty())
        throw std::invalid_argument("sync.gpu_exchange: " + wish + " is not available: " + reason +
                                    "; or set it to auto or host");
      return {&row, {}};
    }
    if (reason.empty()) reason = row.why_not_auto(ranks);
    if (reason.empty() && wish == "auto") {
      choice.row = &row;
      return choice;
    }
    choice.why += (choice.why.empty() ? "" : "; ") + std::string(row.name) + ": " + reason;
  }
  throw std::invalid_argument("sync.gpu_exchange: there is no '" + wish + "'");
}

std::unique_ptr<GpuExchange> make_exchange(const ExchangeParts& parts, std::string& note) {
  const ExchangeChoice choice =
      choose_exchange(parts.options.gpu_exchange, ask_all(parts), parts.sum == nullptr);
  auto exchange = choice.row->make(parts);
  note = "gradients go between GPUs " + exchange->way() +
         (choice.why.empty() ? "" : " (" + choice.why + ")");
  return exchange;
}

std::string who_shares(const ExchangeRanks& ranks) {
  std::map<std::string, std::size_t> owner;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto [at, is_new] = owner.try_emplace(ranks[rank].gpu, rank);
    if (!is_new)
      return "ranks " + std::to_string(at->second) + " and " + std::to_string(rank) + " share " +
             ranks[rank].gpu + " on node " + ranks[rank].node;
  }
  return {};
}

}  // namespace thalweg::engine
