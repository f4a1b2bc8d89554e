#include "engine/sync/device/host/gradient_path.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "engine/comm/reduction/reduce.h"
#include "engine/nn/executor.h"
#include "engine/sync/emulate.h"

namespace thalweg::engine {

GradientPath::GradientPath(const SyncParts& parts, const SyncOptions& options, float scale,
                           BucketSum* sum, int sets)
    : p_(parts),
      options_(options),
      scale_(scale),
      sum_(sum),
      firsts_(p_.group.first_shards(p_.sharding.shards)),
      own_tree_(0, 1, std::max(1, p_.sharding.mine())),
      bucket_of_(p_.model.parameters().size()),
      ranges_(ranges_of(p_.model.parameters())),
      ready_order_(p_.model.ready_order()),
      sets_(static_cast<std::size_t>(sets)) {
  if (p_.model.joins_shards()) {
    // The group is the shards' until backward has ended.
    options_.overlap = false;
    meeting_ = std::make_unique<Rendezvous>(p_.group, p_.sharding.shards, p_.sharding.mine());
  }
  plan(options_.buckets);
  shards_left_.assign(p_.model.parameters().size(), p_.sharding.mine());
  for (Set& set : sets_)
    set.reducer = std::make_unique<BucketReducer>(
        [this, &set](const GradientPart& part) { return start(part, set.step); },
        BucketReducer::Options{options_.overlap || sets > 1, options_.forward_first});
}

std::unique_ptr<comm::Request> GradientPath::start(const GradientPart& part, std::int64_t step) {
  const bool over_all_shards = sum_ == nullptr || part.parameters.empty();
  if (over_all_shards && p_.group.size() > 1)
    return p_.group.start_shard_sum(part.leaves, part.count, p_.sharding.shards, part.label);
  comm::run(own_tree_.local, part.leaves.data(), part.count);
  return over_all_shards ? nullptr : sum_->start(part, step);
}

void GradientPath::hold_sums(BucketReducer::Wait wait) {
  hold_ = true;
  for (Set& set : sets_)
    set.reducer->wait_by(wait);
}

/// What needs all ranks, and therefore cannot be done while building: one may fail in that.
void GradientPath::prepare() {
  if (prepared_) return;
  agree_on_plan();
  const std::size_t floats = p_.model.parameter_floats();
  const auto shards = static_cast<std::size_t>(std::max(1, p_.sharding.mine()));
  for (Set& set : sets_) {
    set.gradients = p_.group.allocate(shards * floats * sizeof(float));
    for (std::size_t shard = 0; shard < shards; ++shard)
      set.work.push_back(
          {reinterpret_cast<float*>(set.gradients->data()) + shard * floats, nullptr});
  }
  const ShardRunner::Options options{p_.sharding.micro_batches, can_measure_noise(p_, sum_)};
  for (int i = 0; i < p_.executors.threads(); ++i)
    runners_.push_back(std::make_unique<ShardRunner>(
        p_.model, p_.executors.executor(static_cast<std::size_t>(i)), nullptr, ranges_, options));
  for (Set& set : sets_)
    set_parts(set);
  if (accumulates_) allocate_spare();
  prepared_ = true;
}

void GradientPath::allocate_spare() {
  for (int shard = 0; shard < p_.sharding.mine(); ++shard) {
    spare_.emplace_back(nullptr, p_.model.parameter_floats(), "gradients of a pass");
    spare_.emplace_back(nullptr, flags_at(), "statistics and losses of a pass");
  }
}

void GradientPath::plan(const BucketSizes& sizes) {
  buckets_ = plan_buckets(p_.model.parameters(), ready_order_, sizes);
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    for (const int number : buckets_[b].parameters)
      bucket_of_[static_cast<std::size_t>(number)] = b;
  order_.resize(buckets_.size());
  if (options_.forward_first)
    std::iota(order_.rbegin(), order_.rend(), 0);
  else
    std::iota(order_.begin(), order_.end(), 0);
}

std::size_t GradientPath::passes_at() const {
  return flags_at() + (p_.model.touches_all() ? 0 : p_.model.parameters().size());
}

std::size_t GradientPath::times_at() const {
  return passes_at() + (accumulates_ ? static_cast<std::size_t>(p_.group.size()) : 0);
}

std::size_t GradientPath::stat_count() const {
  const auto ranks = static_cast<std::size_t>(p_.group.size());
  return times_at() + (ranks > 1 ? ranks * parts() : 0);
}

void GradientPath::set_parts(Set& set) {
  std::vector<float*> gradients, stats;
  std::vector<Buffer> memory;
  for (ShardSums& work : set.work) {
    float* const before = work.stats;
    work.stats = memory.emplace_back(Buffer::of_floats(stat_count())).floats();
    std::fill_n(work.stats, stat_count(), 0.0f);
    if (before != nullptr) std::copy_n(before, times_at(), work.stats);
    gradients.push_back(work.gradient);
    stats.push_back(work.stats);
  }
  std::vector<GradientPart> parts =
      gradient_parts(buckets_, p_.model.parameters(), gradients, stats, stat_count());
  for (GradientPart& part : parts)
    part.marks =
        static_cast<int>(std::max<std::size_t>(1, part.parameters.size())) * p_.sharding.mine();
  set.stats = std::move(memory);
  set.reducer->set_parts(std::move(parts));
}

/// The first plan follows from the model alone. Ranks with other models or options would add up
/// different parameters.
void GradientPath::agree_on_plan() {
  const std::uint64_t mine = hash_of(buckets_);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(p_.group.size()));
  p_.group.allgather(&mine, all.data(), sizeof mine);
  for (int rank = 0; rank < p_.group.size(); ++rank)
    if (all[static_cast<std::size_t>(rank)] != all[0])
      throw std::runtime_error("rank " + std::to_string(rank) + " on " + p_.group.node_of(rank) +
                               " groups its gradients otherwise than rank 0: do all ranks run the "
                               "same program on the same kind of processor?");
}

int GradientPath::first_computing() const {
  int rank = 0;
  while (!computes(rank))
    ++rank;
  return rank;
}

/// From the second step on the buckets follow the order in which rank 0 (the first that computes)
/// saw gradients complete.
void GradientPath::rebuild() {
  std::vector<std::int32_t> order(measured_.begin(), measured_.end());
  order.resize(p_.model.parameters().size());
  p_.group.broadcast(order.data(), order.size() * sizeof order[0], first_computing());
  ready_order_.assign(order.begin(), order.end());
  if (!options_.tunes_buckets) return regroup(options_.buckets);
  tuner_.emplace(p_.group.size() == 1
                     ? std::vector<BucketSizes>{options_.buckets}
                     : bucket_candidates(p_.model.parameters(), ready_order_, options_.buckets));
  tune();
}

/// The sizes of the next step.
void GradientPath::tune() {
  if (!tuner_->measured()) return regroup(tuner_->sizes());
  std::vector<double> step_ms = tuner_->medians();
  // Of the slowest rank, so that all choose by the same numbers.
  p_.group.allreduce(step_ms.data(), step_ms.size(), comm::Type::f64, comm::Op::max);
  const BucketChoice choice = tuner_->choose(step_ms);
  tuner_.reset();
  regroup(choice.sizes);
  if (p_.on_buckets) p_.on_buckets(choice);
}

void GradientPath::regroup(const BucketSizes& sizes) {
  const std::uint64_t before = hash_of(buckets_);
  plan(sizes);
  if (hash_of(buckets_) == before) return;
  for (Set& set : sets_)
    set_parts(set);
  last_.parts.clear();
  for (Set& set : sets_)
    set.told.parts.clear();
}

void GradientPath::run(const StepInput& input, StepOutcome& outcome) {
  since_run_ = {};
  prepare();
  take_set();
  held_ = accumulates_ || (under_way_ && sets_.size() > 1);
  Set& set = computed();
  set.passes = 1;
  set.step = input.context.step;
  set.told = last_;
  set.stop = input.stop;
  set.measures =
      can_measure_noise(p_, sum_) && !input.draw_labels && set.step % p_.noise_every == 0;
  if (set.measures) set.small_batch = set.step / p_.noise_every % p_.sharding.small_batches();
  const Stopwatch watch;
  if (p_.emulation != nullptr && p_.emulation->pauses_at(p_.rank_to_emulate(), set.step))
    threads::sleep_for(std::chrono::duration_cast<threads::Clock::duration>(
        std::chrono::duration<double, std::milli>(p_.emulation->pause_ms)));
  if (!held_) begin_sums();
  if (meeting_) meeting_->reset();
  p_.executors.run(p_.sharding.mine(), [&](int shard, Executor& executor) {
    try {
      run_shard(shard, executor, input);
    } catch (...) {
      if (meeting_) meeting_->abandon();
      throw;
    }
  });
  outcome.compute_ms = watch.ms();
  if (!held_ && !hold_) hurry();
}

void GradientPath::run_more(const StepInput& input, StepOutcome& outcome) {
  const Stopwatch watch;
  ++computed().passes;
  p_.executors.run(p_.sharding.mine(),
                   [&](int shard, Executor& executor) { add_pass(shard, executor, input); });
  outcome.compute_ms += watch.ms();
}

void GradientPath::begin_sums() {
  summed_ = computed_;
  under_way_ = true;
  waited_ms_ = 0;
  stats_here_ = false;
  summed().since_start = {};
  summed().reducer->begin();
}

void GradientPath::start_held() {
  if (!std::exchange(held_, false)) return;
  if (accumulates_)
    computed().work[0].stats[passes_at() + static_cast<std::size_t>(p_.group.rank())] =
        static_cast<float>(computed().passes);
  begin_sums();
  const int shards = p_.sharding.mine();
  for (std::size_t part = 0; part < parts(); ++part) {
    const std::size_t each = part < buckets_.size() ? buckets_[part].parameters.size() : 1;
    for (int marks = shards * static_cast<int>(std::max<std::size_t>(1, each)); marks > 0; --marks)
      summed().reducer->mark(part);
  }
}

void GradientPath::hurry() {
  summed().compute_end_ms = summed().since_start.ms();
  summed().reducer->hurry();
}

void GradientPath::wait(std::size_t bucket) {
  const Stopwatch watch;
  summed().reducer->wait(bucket);
  waited_ms_ += watch.ms();
}

void GradientPath::wait_for_all() {
  for (std::size_t part = 0; part < parts(); ++part)
    wait(part);
}

bool GradientPath::present(int parameter) {
  if (p_.model.touches_all()) return true;
  if (!stats_here_) wait(buckets_.size());
  stats_here_ = true;
  return summed().work[0].stats[flags_at() + static_cast<std::size_t>(parameter)] > 0;
}

void GradientPath::finish(StepOutcome& outcome) {
  wait_for_all();
  outcome.wait_ms += waited_ms_;
  under_way_ = false;
  const float* const stats = summed().work[0].stats;
  std::copy_n(stats + statistics(), told_.size(), told_.begin());
  hear_those_who_run_along();
  if (accumulates_) passes_.assign(stats + passes_at(), stats + times_at());
  p_.model.update_running(stats, static_cast<int>(micro_batches()), p_.replica.running.floats());
  if (p_.group.size() > 1) read_times(outcome);
  if (tuner_) {
    tuner_->add(since_run_.ms());
    tune();
  }
  if (!std::exchange(rebuilt_, true)) rebuild();
}

/// Of which the summed statistics are.
std::int64_t GradientPath::micro_batches() const {
  if (!accumulates_) return p_.sharding.small_batches();
  std::int64_t shards = 0;
  for (std::size_t rank = 0; rank < passes_.size(); ++rank)
    shards += std::int64_t{passes_[rank]} * (firsts_[rank + 1] - firsts_[rank]);
  return shards * p_.sharding.micro_batches;
}

/// A wish to stop travels with a shard; who has none brings it by itself.
void GradientPath::hear_those_who_run_along() {
  bool all = true;
  for (int rank = 0; rank < p_.group.size(); ++rank)
    all = all && computes(rank);
  if (all) return;
  std::int32_t stop = summed().stop ? 1 : 0;
  p_.group.allreduce(&stop, 1, comm::Type::i32, comm::Op::max);
  told_[stat_stop] = static_cast<float>(stop);
}

void GradientPath::write_times() {
  float* mine =
      computed().work[0].stats + times_at() + static_cast<std::size_t>(p_.group.rank()) * parts();
  const std::vector<PartTime>& times = computed().told.parts;
  for (std::size_t part = 0; part < times.size(); ++part)
    mine[part] = static_cast<float>(times[part].duration());
}

void GradientPath::read_times(StepOutcome& outcome) {
  const Times& told = summed().told;
  if (!told.parts.empty()) {
    const float* all = summed().work[0].stats + times_at();
    const float* const first = all + static_cast<std::size_t>(first_computing()) * parts();
    std::vector<double> shortest(first, first + parts());
    for (int rank = 0; rank < p_.group.size(); ++rank)
      for (std::size_t part = 0; computes(rank) && part < parts(); ++part)
        shortest[part] =
            std::min(shortest[part],
                     static_cast<double>(all[static_cast<std::size_t>(rank) * parts() + part]));
    outcome.comm_before = split_times(told.parts, shortest, told.compute_end_ms, told.waited_ms);
  }
  last_ = {summed().reducer->times(), summed().compute_end_ms, waited_ms_};
}

}  // namespace thalweg::engine
