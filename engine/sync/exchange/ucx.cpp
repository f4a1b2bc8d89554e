// Gradients between GPUs by messages of the group that stand in the GPUs' memory: the host drives
// them, and the GPU adds.
#include <array>
#include <chrono>
#include <deque>
#include <utility>

#include "engine/sync/bucket_reducer.h"
#include "engine/sync/exchange/part_on_gpu.h"
#include "engine/sync/exchange/table.h"

namespace thalweg::engine {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// The own slice of a part, added up in a queue.
class SliceOnGpu final : public comm::SumElsewhere {
 public:
  SliceOnGpu(const PartOnGpu& part, gpu::Gpu& machine, gpu::Queue& queue)
      : part_(part),
        memory_(machine.info().emulated ? comm::MessageMemory::host : comm::MessageMemory::cuda),
        queue_(queue),
        added_(machine.event(false)) {}
  comm::MessageMemory memory() const override { return memory_; }
  float* scratch() override { return part_.scratch(); }
  bool add_up() override {
    if (!std::exchange(adding_, true)) {
      part_.add_up(queue_);
      queue_.record(*added_);
    }
    if (!added_->done()) return false;
    adding_ = false;
    return true;
  }

 private:
  const PartOnGpu& part_;
  comm::MessageMemory memory_;
  gpu::Queue& queue_;
  std::unique_ptr<gpu::Event> added_;
  bool adding_ = false;
};

class UcxExchange final : public GpuExchange {
 public:
  explicit UcxExchange(const ExchangeParts& e)
      : p_(e.parts),
        shards_(e.shards),
        parts_(e.parts, e.shards, e.buckets, true),
        own_(shards_.machine().queue(true)),
        slices_queue_(shards_.machine().queue(true)) {
    std::vector<GradientPart> summed;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      slices_.emplace_back(parts_[part], shards_.machine(), *slices_queue_);
      added_.push_back(shards_.machine().event(false));
      GradientPart& g = summed.emplace_back();
      g.leaves = parts_[part].leaves();
      g.count = parts_[part].count();
      g.offset = part;
      g.label = parts_.label(part);
      g.marks = 1;
    }
    reducer_ = std::make_unique<BucketReducer>(
        [this](const GradientPart& part) { return start(part); },
        BucketReducer::Options{e.options.overlap, e.options.forward_first});
    reducer_->set_parts(std::move(summed));
  }

  ~UcxExchange() override {
    reducer_.reset();
    wait_before_the_end(*own_);
    wait_before_the_end(*slices_queue_);
  }

  void run(std::int64_t, bool stop, std::optional<std::size_t> slot) override {
    const Clock::time_point begin = Clock::now();
    reducer_->begin();
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (std::size_t i = 0; i < shards_.results(); ++i)
        own_->wait_for(shards_.ready(i, part));
      parts_.add_own(*own_, part, stop);
      own_->record(*added_[part]);
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      added_[part]->wait();
      reducer_->mark(part);
    }
    reducer_->hurry();
    const double computed_ms = ms_since(begin);
    const Clock::time_point waiting = Clock::now();
    for (std::size_t part = 0; part < parts_.size(); ++part)
      reducer_->wait(part);
    if (!slot) return;
    Times& times = times_[*slot];
    times.waited_ms = ms_since(waiting);
    std::vector<double> own;
    for (const PartTime& time : reducer_->times())
      own.push_back(time.duration());
    times.comm = split_times(reducer_->times(), own, computed_ms, times.waited_ms);
  }

  Times times(std::size_t slot, const gpu::Event&, const gpu::Event&) override {
    return times_[slot];
  }
  void wait(const gpu::Event& done, std::size_t) override { done.wait(); }
  std::string way() const override { return "by UCX, out of their own memory"; }

 private:
  /// In the reducer's thread. UCX wants the GPU to be the thread's own.
  std::unique_ptr<comm::Request> start(const GradientPart& part) {
    (void)slices_queue_->stream();
    return p_.group.start_shard_sum_elsewhere(part.leaves, part.count, p_.sharding.shards,
                                              slices_[part.offset], part.label);
  }

  SyncParts p_;
  GpuShards& shards_;
  PartsOnGpu parts_;
  std::unique_ptr<gpu::Queue> own_, slices_queue_;  ///< of this thread, of the reducer's
  std::deque<SliceOnGpu> slices_;
  std::vector<std::unique_ptr<gpu::Event>> added_;  ///< by part: what this rank adds alone
  std::array<Times, slots> times_;
  std::unique_ptr<BucketReducer> reducer_;
};

std::string why_not(const ExchangeRanks& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (!ranks[rank].emulated && !ranks[rank].sends_gpu_memory)
      return "UCX has no CUDA for rank " + std::to_string(rank) + " on " + ranks[rank].node +
             ": install UCX's CUDA transports (ucx_info -d names cuda_copy where they are)";
  return {};
}

std::string why_not_auto(const ExchangeRanks& ranks) {
  return ranks[0].emulated ? "the GPU is emulated" : "";
}

}  // namespace

ExchangeRow ucx_exchange() {
  return {"ucx",
          "messages out of the GPUs' memory, where UCX has CUDA; the host drives them",
          why_not,
          why_not_auto,
          true,
          [](const ExchangeParts& parts) -> std::unique_ptr<GpuExchange> {
            return std::make_unique<UcxExchange>(parts);
          }};
}

}  // namespace thalweg::engine
