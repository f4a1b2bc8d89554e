// Gradients between GPUs through the host's memory: buckets are copied there as backward completes
// them, summed there while it goes on, and copied back.
#include <array>
#include <chrono>

#include "engine/sync/bucket_reducer.h"
#include "engine/sync/exchange/table.h"

namespace thalweg::engine {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class HostExchange final : public GpuExchange {
 public:
  explicit HostExchange(const ExchangeParts& e);
  ~HostExchange() override { wait_before_the_end(*copies_); }
  void run(std::int64_t step, bool stop, std::optional<std::size_t> slot) override;
  Times times(std::size_t slot, const gpu::Event&, const gpu::Event&) override {
    return times_[slot];
  }
  void wait(const gpu::Event& done, std::size_t) override { done.wait(); }
  std::string way() const override { return "through the host's memory"; }

 private:
  std::unique_ptr<comm::Request> start(const GradientPart& part);
  std::vector<GradientPart> parts_of(const std::vector<Bucket>& buckets);
  void fetch();
  void bring_back(std::size_t part);
  float* leaf(std::size_t result) const { return host_[result].floats(); }

  SyncParts p_;
  GpuShards& shards_;
  BucketSum* sum_;
  std::vector<Bucket> buckets_;
  std::vector<gpu::Memory> host_;  ///< of each result: its gradient, then its extras
  std::unique_ptr<gpu::Queue> copies_;
  std::vector<std::vector<std::unique_ptr<gpu::Event>>> copied_;  ///< by result and part
  std::unique_ptr<gpu::Event> back_;
  std::int64_t step_ = 0;
  std::array<Times, slots> times_;
  std::unique_ptr<BucketReducer> reducer_;  // last: its thread ends before the memory goes
};

HostExchange::HostExchange(const ExchangeParts& e)
    : p_(e.parts),
      shards_(e.shards),
      sum_(e.sum),
      buckets_(e.buckets),
      copies_(shards_.machine().queue(true)),
      copied_(shards_.results()),
      back_(shards_.machine().event()) {
  const std::size_t bytes = (p_.model.parameter_floats() + shards_.extra_count()) * sizeof(float);
  for (auto& events : copied_) {
    host_.emplace_back(shards_.machine(), bytes, "gradients in host memory", true);
    for (std::size_t part = 0; part <= buckets_.size(); ++part)
      events.push_back(shards_.machine().event());
  }
  reducer_ = std::make_unique<BucketReducer>(
      [this](const GradientPart& part) { return start(part); },
      BucketReducer::Options{e.options.overlap, e.options.forward_first});
  reducer_->set_parts(parts_of(buckets_));
}

std::vector<GradientPart> HostExchange::parts_of(const std::vector<Bucket>& buckets) {
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

std::unique_ptr<comm::Request> HostExchange::start(const GradientPart& part) {
  if (sum_ != nullptr && !part.parameters.empty()) return sum_->start(part, step_);
  // A rank whose shards were added up on its GPU brings one leaf.
  const int leaves = sum_ != nullptr ? p_.group.size() : p_.sharding.shards;
  return p_.group.start_shard_sum(part.leaves, part.count, leaves, part.label);
}

/// Copies wait for their buckets on the GPU; here for the copies.
void HostExchange::fetch() {
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

void HostExchange::bring_back(std::size_t part) {
  const std::size_t floats = p_.model.parameter_floats();
  if (part == buckets_.size())
    copies_->copy(shards_.extra(0), leaf(0) + floats, shards_.extra_count() * sizeof(float));
  else
    copies_->copy(shards_.gradient(0) + buckets_[part].offset, leaf(0) + buckets_[part].offset,
                  buckets_[part].count * sizeof(float));
}

void HostExchange::run(std::int64_t step, bool stop, std::optional<std::size_t> slot) {
  step_ = step;
  const Clock::time_point begin = Clock::now();
  reducer_->begin();
  fetch();
  const std::size_t stop_at = p_.model.parameter_floats() + p_.model.statistics() + extra_stop;
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
  const double waited_ms = ms_since(waiting);
  copies_->record(*back_);
  shards_.queue().wait_for(*back_);
  if (!slot) return;
  std::vector<double> own;
  for (const PartTime& time : reducer_->times())
    own.push_back(time.duration());
  times_[*slot] = {waited_ms, split_times(reducer_->times(), own, computed_ms, waited_ms)};
}

}  // namespace

ExchangeRow host_exchange() {
  const auto nothing = [](const ExchangeRanks&) { return std::string(); };
  return {"host",
          "copies in pinned memory of the host, summed there; any ranks and GPUs",
          nothing,
          nothing,
          false,
          [](const ExchangeParts& parts) -> std::unique_ptr<GpuExchange> {
            return std::make_unique<HostExchange>(parts);
          }};
}

}  // namespace thalweg::engine
