// Dedicated servers are the last ranks: launchers fill one node after another, so that with as many
// servers as a node has ranks they have a node, and its network, for themselves; and rank 0, which
// keeps the record, stays a worker.
#include "engine/sync/server_roles.h"

#include <stdexcept>

#include "engine/comm/group.h"

namespace thalweg::engine {

std::vector<ParameterRange> share_parameters(const std::vector<ParameterInfo>& infos, int servers) {
  std::size_t total = 0;
  for (const ParameterInfo& info : infos)
    total += info.count;
  std::vector<ParameterRange> ranges;
  int next = 0;
  std::size_t given = 0;
  for (int server = 0; server < servers; ++server) {
    ParameterRange range{next, next, 0, 0};
    const std::size_t until =
        total * static_cast<std::size_t>(server + 1) / static_cast<std::size_t>(servers);
    while (next < static_cast<int>(infos.size())) {
      const ParameterInfo& info = infos[static_cast<std::size_t>(next)];
      // Where its middle lies.
      if (server + 1 < servers && given + info.count / 2 >= until) break;
      if (range.first == next) range.begin = info.offset;
      range.end = ++next;
      range.count = info.offset + info.count - range.begin;
      given += info.count;
    }
    ranges.push_back(range);
  }
  return ranges;
}

std::vector<RankGroup> make_rank_groups(int ranks, int groups) {
  std::vector<RankGroup> all(static_cast<std::size_t>(groups));
  for (int group = 0; group < groups; ++group)
    for (int rank = comm::Group::first_shard(group, groups, ranks);
         rank < comm::Group::first_shard(group + 1, groups, ranks); ++rank)
      all[static_cast<std::size_t>(group)].push_back(rank);
  return all;
}

std::size_t rank_group_of(const std::vector<RankGroup>& groups, int rank) {
  std::size_t group = 0;
  while (groups[group].back() < rank)
    ++group;
  return group;
}

int pusher_of(const RankGroup& group, int server) {
  if (server >= group.front() && server <= group.back()) return server;
  return group[static_cast<std::size_t>(server) % group.size()];
}

int workers_of(int ranks, int servers) {
  if (servers < ranks) return ranks - servers;
  throw std::invalid_argument(
      "sync.servers: " + std::to_string(servers) + " servers leave no worker, there are " +
      std::to_string(ranks) + (ranks == 1 ? " rank" : " ranks") + "; " +
      (ranks == 1 ? "leave it out" : "set it to " + std::to_string(ranks - 1) + " or less") +
      ", or ask for more ranks");
}

std::vector<int> shards_of_workers(int ranks, int servers, int shards) {
  std::vector<int> first;
  const int workers = ranks - servers;
  for (int rank = 0; rank <= ranks; ++rank)
    first.push_back(rank < workers ? comm::Group::first_shard(rank, workers, shards) : shards);
  return first;
}

std::string servers_text(int ranks, int servers) {
  if (servers == 1) return "rank " + std::to_string(ranks - 1) + " is the parameter server";
  return "ranks " + std::to_string(ranks - servers) + " to " + std::to_string(ranks - 1) +
         " are parameter servers";
}

ServerRoles::ServerRoles(const std::vector<ParameterInfo>& infos, int ranks, int rank_groups,
                         int servers)
    : dedicated(servers > 0),
      teller(servers > 0 ? ranks - servers : 0),
      groups(make_rank_groups(ranks - servers, rank_groups)),
      ranges(static_cast<std::size_t>(teller)) {
  const std::vector<ParameterRange> shares = share_parameters(infos, ranks - teller);
  ranges.insert(ranges.end(), shares.begin(), shares.end());
}

}  // namespace thalweg::engine
