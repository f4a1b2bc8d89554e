// Which shards a rank has where ranks are unequal: by given shares, or by what each takes for one.
#include <algorithm>
#include <limits>

#include "engine/attempt/failure.h"
#include "engine/data/dataset.h"
#include "engine/nn/executor.h"
#include "engine/sync/overlap.h"
#include "engine/sync/server_roles.h"
#include "engine/train/attempt.h"

namespace thalweg::engine {

/// What a shard takes here, forward and backward: the quickest of a few.
RankSpeed Attempt::measured_speed() const {
  if (in.simulated != nullptr)
    return {in.simulated->seconds_per_sample * sharding.shard_batch() *
                emulation.slowdown_of(in.group.rank()),
            1};
  constexpr int kPasses = 4;
  const std::shared_ptr<Model> timed = build_for(settings);
  const std::unique_ptr<Executor> executor = timed->executor();
  const auto count = static_cast<std::size_t>(sharding.micro_batch());
  const SampleForm& form = dataset->form();
  const Buffer inputs = Buffer::of_floats(count * input_floats(form));
  const Buffer targets = Buffer::of_floats(count * static_cast<std::size_t>(form.targets));
  const std::vector<std::int32_t> labels(count * static_cast<std::size_t>(form.labels));
  Buffer parameters = Buffer::of_floats(timed->parameter_floats());
  Buffer gradients = Buffer::of_floats(timed->parameter_floats());
  Buffer statistics = Buffer::of_floats(timed->statistics());
  std::vector<float> running(timed->statistics());
  timed->initialize(in.trial.seed, parameters.floats(), running.data());
  ShardResult result;
  Shard shard;
  shard.batch.inputs = inputs.floats();
  shard.batch.labels = labels.data();
  shard.batch.targets = targets.floats();
  shard.batch.samples = sharding.micro_batch();
  shard.parameters = parameters.floats();
  shard.gradients = gradients.floats();
  shard.statistics = statistics.floats();
  shard.result = &result;
  double ms = std::numeric_limits<double>::infinity();
  for (int pass = 0; pass < kPasses; ++pass) {
    const Stopwatch watch;
    executor->train(nullptr, shard, {});
    ms = std::min(ms, watch.ms());
  }
  const int threads = Factory::executors(settings, timed->joins_shards(), sharding.shards,
                                         in.trial.resources.threads_per_rank);
  return {ms * sharding.micro_batches * emulation.slowdown_of(in.group.rank()) / 1000, threads};
}

/// No bit depends on it, so another attempt may divide them otherwise.
void Attempt::divide_shards() {
  const int ranks = in.group.size(), workers = ranks - settings.servers;
  if (settings.servers > 0) {
    in.group.own_shards(shards_of_workers(ranks, settings.servers, sharding.shards));
    record.note("info", servers_text(ranks, settings.servers));
  }
  if (settings.measures_shares || !settings.shares.empty()) {
    std::vector<RankSpeed> speeds(static_cast<std::size_t>(ranks));
    RankSpeed mine;
    together(in.group, [&] {
      if (settings.measures_shares)
        mine = measured_speed();
      else
        speeds = speeds_of(settings.shares, workers);
    });
    if (settings.measures_shares) in.group.allgather(&mine, speeds.data(), sizeof mine);
    speeds.resize(static_cast<std::size_t>(ranks), {0, 1});
    std::fill(speeds.begin() + workers, speeds.end(), RankSpeed{0, 1});
    const std::vector<int> first = engine::divide_shards(speeds, sharding.shards);
    in.group.own_shards(first);
    record.note("info", "unequal ranks: they have " + division_text(first));
  }
  const std::vector<int> first = in.group.first_shards(sharding.shards);
  sharding.first = first[static_cast<std::size_t>(in.group.rank())];
  sharding.end = first[static_cast<std::size_t>(in.group.rank()) + 1];
}

}  // namespace thalweg::engine
