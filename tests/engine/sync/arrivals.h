// Runs of modes with parameter servers, and their replay: servers one update after another, workers
// from the weights that they were sent.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/parameter_server.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine::test {

/// The same on `ranks` ranks, of which the last `servers` only serve.
inline Case with_servers(Case c, int ranks, int servers) {
  c.sync.set("servers", servers);
  if (servers > 0) c.firsts = shards_of_workers(ranks, servers, c.shards);
  return c;
}

/// What the servers were told, each in its order; nothing where there are no parameters.
using Arrivals = std::vector<std::vector<Arrival>>;

struct Trace {
  Arrivals arrivals;
  std::vector<std::vector<float>> parameters;  ///< of each rank
  std::vector<std::pair<const char*, double>> measured;
};

inline Trace run(const Case& c, int ranks) {
  Trace result;
  result.arrivals.resize(static_cast<std::size_t>(ranks));
  result.parameters.resize(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](comm::Group& group) {
    TestRank here(c, group, 1);
    SyncParts parts = here.parts();
    const auto rank = static_cast<std::size_t>(group.rank());
    parts.on_arrival = [&](const Arrival& a) { result.arrivals[rank].push_back(a); };
    const auto mode = make_sync_mode(c.sync, parts);
    for (int step = 0; step < c.steps; ++step)
      EXPECT_TRUE(mode->step(here.input(step)));
    EXPECT_FALSE(mode->meet());
    result.parameters[rank] = here.plain_parameters();
    const auto measured = mode->measured();
    if (rank == 0) result.measured = measured;
  });
  return result;
}

/// A group of several, alone: the gradient of its next step at the weights that it has.
struct Worker {
  /// One of `ranks` workers.
  Worker(const Case& c, comm::Group& group, const RankGroup& of, int ranks) : here(c, group, 1) {
    Sharding& s = here.sharding;
    const int batch = s.shard_batch();
    s.first = comm::Group::first_shard(of.front(), ranks, c.shards);
    s.end = comm::Group::first_shard(of.back() + 1, ranks, c.shards);
    input_sharding = s;
    s.shards = s.mine();
    s.global_batch = s.mine() * batch;
    path = std::make_unique<GradientPath>(here.parts(), SyncOptions{},
                                          1.0f / static_cast<float>(s.global_batch));
  }
  void compute() {
    StepOutcome outcome;
    path->run(here.input(step), outcome);
    path->wait_for_all();
    path->finish(outcome);
    ++step;
    waits_for = -1;  // all servers
  }
  TestRank here;
  Sharding input_sharding;
  std::unique_ptr<GradientPath> path;
  int step = 0;
  int waits_for = 0;
  std::vector<bool> answered;  ///< by server
};

/// In the recorded orders; the servers' optimizer states are those of rank 0's replica.
/// `servers_apart`: as sync.servers.
inline std::vector<float> replay(Case c, const Arrivals& arrivals, int groups, bool damps,
                                 int servers_apart = 0) {
  const int ranks = static_cast<int>(arrivals.size()), worker_ranks = ranks - servers_apart;
  c.firsts.clear();
  std::vector<float> result;
  on_ranks(1, [&](comm::Group& group) {
    TestRank servers(c, group, 1);
    std::vector<std::unique_ptr<Worker>> workers;
    for (const RankGroup& of : make_rank_groups(worker_ranks, groups))
      workers.push_back(std::make_unique<Worker>(c, group, of, worker_ranks));
    const std::vector<ParameterInfo>& infos = servers.model->parameters();
    const std::vector<ParameterRange> ranges =
        ServerRoles(infos, ranks, groups, servers_apart).ranges;
    std::vector<bool> unanswered;
    for (const ParameterRange& range : ranges)
      unanswered.push_back(range.count == 0);
    for (const auto& worker : workers) {
      worker->compute();
      worker->answered = unanswered;
    }
    std::vector<std::size_t> next(arrivals.size());
    std::vector<std::vector<std::size_t>> seen(arrivals.size(),
                                               std::vector<std::size_t>(workers.size()));
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t s = 0; s < arrivals.size(); ++s) {
        if (next[s] == arrivals[s].size()) continue;
        const Arrival& a = arrivals[s][next[s]];
        const auto w = static_cast<std::size_t>(a.worker);
        Worker& worker = *workers[w];
        if (a.step != worker.step - 1 || worker.answered[s]) continue;  // not computed yet
        EXPECT_EQ(a.staleness, static_cast<std::int64_t>(next[s] - seen[s][w]));
        StepContext context{static_cast<std::int64_t>(next[s]), c.lr};
        if (damps && a.staleness > 1) context.lr /= static_cast<double>(a.staleness);
        context.samples = worker.here.sharding.global_batch;
        const OptimizerMemory<float> memory = servers.replica->memory(worker.path->gradient());
        const ParameterRange& range = ranges[s];
        for (int n = range.first; n < range.end; ++n) {
          const ParameterInfo& info = infos[static_cast<std::size_t>(n)];
          servers.optimizer->update(context, {n, info.offset, info.count}, memory);
        }
        seen[s][w] = ++next[s];
        std::copy_n(servers.replica->parameters.floats() + range.begin, range.count,
                    worker.here.replica->parameters.floats() + range.begin);
        worker.answered[s] = true;
        moved = true;
        if (std::count(worker.answered.begin(), worker.answered.end(), true) < ranks) continue;
        worker.answered = unanswered;
        if (worker.step < c.steps)
          worker.compute();
        else
          ++worker.step;
      }
    }
    for (std::size_t s = 0; s < arrivals.size(); ++s)
      EXPECT_EQ(next[s], arrivals[s].size()) << "all of the order is used";
    result = servers.plain_parameters();
  });
  return result;
}

}  // namespace thalweg::engine::test
