#include "engine/sync/gpu_exchange.h"

#include <chrono>

namespace thalweg::engine {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

GpuExchange::GpuExchange(const SyncParts& parts, const SyncOptions& options, GpuShards& shards,
                         const std::vector<Bucket>& buckets, BucketSum* sum)
    : p_(parts),
      shards_(shards),
      sum_(sum),
      buckets_(buckets),
      copies_(shards.machine().queue(true)),
      copied_(shards.results()),
      back_(shards.machine().event()) {
  const std::size_t bytes = (p_.model.parameter_floats() + shards_.extra_count()) * sizeof(float);
  for (auto& events : copied_) {
    host_.emplace_back(shards_.machine(), bytes, "gradients in host memory", true);
    for (std::size_t part = 0; part <= buckets_.size(); ++part)
      events.push_back(shards_.machine().event());
  }
  reducer_ = std::make_unique<BucketReducer>(
      [this](const GradientPart& part) { return start(part); },
      BucketReducer::Options{options.overlap, options.forward_first});
  reducer_->set_parts(parts_of(buckets_));
}

std::vector<GradientPart> GpuExchange::parts_of(const std::vector<Bucket>& buckets) {
  std::vector<GradientPart> parts;
  for (std::size_t b = 0; b <= buckets.size(); ++b) {
    const bool last = b == buckets.size();
    GradientPart part;
    part.offset = last ? p_.model.parameter_floats() : buckets[b].offset;
    part.count = last ? shards_.extra_count() : buckets[b].count;
    if (!last) part.parameters = buckets[b].parameters;
    part.label = last ? "loss and statistics" : "bucket " + std::to_string(b + 1);
    for (std::size_t result = 0; result < shards_.results(); ++result)
      part.leaves.push_back(leaf(result) + part.offset);
    part.marks = static_cast<int>(shards_.results());
    parts.push_back(std::move(part));
  }
  return parts;
}

std::unique_ptr<comm::Request> GpuExchange::start(const GradientPart& part) {
  if (sum_ != nullptr && !part.parameters.empty()) return sum_->start(part, step_);
  // A rank whose shards were added up on its GPU brings one leaf.
  const int leaves = sum_ != nullptr ? p_.group.size() : p_.sharding.shards;
  return p_.group.start_shard_sum(part.leaves, part.count, leaves, part.label);
}

/// Copies wait for their buckets on the GPU; here for the copies.
void GpuExchange::fetch() {
  const std::size_t floats = p_.model.parameter_floats();
  for (std::size_t result = 0; result < shards_.results(); ++result)
    for (std::size_t part = 0; part <= buckets_.size(); ++part) {
      const bool last = part == buckets_.size();
      copies_->wait_for(shards_.ready(result, part));
      if (last)
        copies_->copy(leaf(result) + floats, shards_.extra(result),
                      shards_.extra_count() * sizeof(float));
      else
        copies_->copy(leaf(result) + buckets_[part].offset,
                      shards_.gradient(result) + buckets_[part].offset,
                      buckets_[part].count * sizeof(float));
      copies_->record(*copied_[result][part]);
    }
}

void GpuExchange::bring_back(std::size_t part) {
  const std::size_t floats = p_.model.parameter_floats();
  if (part == buckets_.size())
    copies_->copy(shards_.extra(0), leaf(0) + floats, shards_.extra_count() * sizeof(float));
  else
    copies_->copy(shards_.gradient(0) + buckets_[part].offset, leaf(0) + buckets_[part].offset,
                  buckets_[part].count * sizeof(float));
}

void GpuExchange::run(std::int64_t step, bool stop) {
  step_ = step;
  const Clock::time_point begin = Clock::now();
  reducer_->begin();
  fetch();
  const std::size_t stop_at =
      p_.model.parameter_floats() + p_.model.statistics() + GpuShards::Extra::stop;
  for (std::size_t result = 0; result < shards_.results(); ++result)
    for (std::size_t part = 0; part <= buckets_.size(); ++part) {
      copied_[result][part]->wait();
      if (part == buckets_.size()) leaf(result)[stop_at] = stop ? 1.0f : 0.0f;
      reducer_->mark(part);
    }
  reducer_->hurry();
  const double computed_ms = ms_since(begin);
  const Clock::time_point waiting = Clock::now();
  for (std::size_t part = 0; part <= buckets_.size(); ++part) {
    reducer_->wait(part);
    bring_back(part);
  }
  waited_ms_ = ms_since(waiting);
  copies_->record(*back_);
  shards_.queue().wait_for(*back_);
  std::vector<double> own;
  for (const PartTime& time : reducer_->times())
    own.push_back(time.duration());
  times_ = split_times(reducer_->times(), own, computed_ms, waited_ms_);
}

}  // namespace thalweg::engine
