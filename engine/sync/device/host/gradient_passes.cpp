// The passes of GradientPath: a shard forward and backward, at the pace that emulation or a virtual
// clock asks for, and what is told of gradients meanwhile.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/nn/executor.h"
#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/device/vector_ops.h"
#include "engine/sync/emulate.h"
#include "engine/sync/pass_time.h"

namespace thalweg::engine {
namespace {

threads::Clock::duration seconds(double s) {
  return std::chrono::duration_cast<threads::Clock::duration>(std::chrono::duration<double>(s));
}

threads::Clock::duration scaled(threads::Clock::duration whole, double share) {
  return std::chrono::duration_cast<threads::Clock::duration>(whole * share);
}

}  // namespace

Shard GradientPath::micro_batch(std::size_t number, const StepInput& input) const {
  const auto samples = static_cast<std::size_t>(p_.sharding.micro_batch());
  Shard shard;
  shard.parameters = p_.replica.parameters.floats();
  shard.scale = scale_;
  Batch& batch = shard.batch;
  batch.inputs = input.inputs + number * samples * input.sample_floats;
  batch.labels = input.labels + number * samples * input.sample_labels;
  batch.targets = input.targets + number * samples * input.sample_targets;
  if (input.labels_b != nullptr && !input.draw_labels) {
    batch.labels_b = input.labels_b + number * samples * input.sample_labels;
    batch.shares_b = input.shares_b + number * samples;
  }
  batch.draw_labels = input.draw_labels;
  batch.meeting = meeting_.get();
  batch.shard = static_cast<int>(number) / p_.sharding.micro_batches;
  batch.samples = p_.sharding.micro_batch();
  batch.seed = p_.seed;
  batch.round = p_.executors.round();
  const SamplePlace place = place_of(number, input, p_.sharding);
  batch.step = place.step;
  batch.first_sample = place.first_sample;
  return shard;
}

double GradientPath::pace_of(int shard, const StepInput& input) const {
  if (p_.emulation == nullptr) return 1;
  // Several passes of a step are of other shards each.
  const std::int64_t drawn =
      input.shards != nullptr ? input.shards[shard] : p_.sharding.first + shard;
  return pass_factor(*p_.emulation, p_.seed, p_.rank_to_emulate(), input.context.step,
                     static_cast<int>(drawn));
}

/// By a clock that is not the machine's.
threads::Clock::duration GradientPath::shard_time(int shard, const StepInput& input) const {
  return seconds(p_.pass_time->seconds_per_sample * p_.sharding.shard_batch() *
                 pace_of(shard, input));
}

/// Gradients are told of when their time has come. Others share the executor, so nobody waits
/// inside of it.
void GradientPath::run_in_time(ShardRunner& runner, ShardRunner::Task task,
                               threads::Clock::duration whole) {
  std::vector<std::size_t> completed;
  task.complete = [&completed](std::size_t parameter) { completed.push_back(parameter); };
  const threads::Time begin = threads::now();
  runner.run(task);
  const auto until = [&](double share) {
    threads::sleep_for(begin + scaled(whole, share) - threads::now());
  };
  for (const std::size_t parameter : completed) {
    until(p_.pass_time->complete[parameter]);
    complete(parameter);
  }
  until(1);
}

void GradientPath::complete(std::size_t parameter) {
  if (!rebuilt_) note_ready(static_cast<int>(parameter));
  if (!held_) computed().reducer->mark(bucket_of_[parameter]);
}

void GradientPath::run_shard(int shard, Executor& executor, const StepInput& input) {
  ShardRunner& runner = *runners_[p_.executors.number_of(executor)];
  const int micro_batches = p_.sharding.micro_batches;
  const Pace pace(p_.pass_time == nullptr ? pace_of(shard, input) : 1);
  ShardRunner::Task task;
  task.sums = computed().work[static_cast<std::size_t>(shard)];
  task.number = static_cast<std::size_t>(shard * micro_batches);
  if (computed().measures)
    task.measured = static_cast<int>(computed().small_batch -
                                     std::int64_t{p_.sharding.first + shard} * micro_batches);
  task.batch = [this, &input](std::size_t number) { return micro_batch(number, input); };
  task.complete = [this, &pace](std::size_t parameter) {
    pace.hold();
    complete(parameter);
  };
  if (p_.pass_time == nullptr)
    runner.run(task);
  else
    run_in_time(runner, task, shard_time(shard, input));
  pace.hold();
  float* stats = task.sums.stats;
  stats[statistics() + stat_stop] = input.stop ? 1.0f : 0.0f;
  if (!p_.model.touches_all())
    std::copy(runner.touched().begin(), runner.touched().end(), stats + flags_at());
  std::fill(stats + passes_at(), stats + stat_count(), 0.0f);
  if (p_.group.size() > 1 && shard == 0) write_times();
  if (!held_) computed().reducer->mark(buckets_.size());
}

void GradientPath::add_pass(int shard, Executor& executor, const StepInput& input) {
  const Pace pace(p_.pass_time == nullptr ? pace_of(shard, input) : 1);
  const auto number = static_cast<std::size_t>(shard);
  ShardRunner::Task task;
  task.sums = {spare_[2 * number].floats(), spare_[2 * number + 1].floats()};
  task.number = number * static_cast<std::size_t>(p_.sharding.micro_batches);
  task.batch = [this, &input](std::size_t micro) { return micro_batch(micro, input); };
  runners_[p_.executors.number_of(executor)]->run(task);
  const ShardSums& into = computed().work[number];
  vectors::add(nullptr, into.gradient, task.sums.gradient, p_.model.parameter_floats());
  vectors::add(nullptr, into.stats, task.sums.stats, statistics() + stat_stop);
  if (p_.pass_time != nullptr) threads::sleep_for(shard_time(shard, input));
  pace.hold();
}

void GradientPath::note_ready(int parameter) {
  const std::lock_guard lock(mutex_);
  if (--shards_left_[static_cast<std::size_t>(parameter)] == 0) measured_.push_back(parameter);
}

}  // namespace thalweg::engine
