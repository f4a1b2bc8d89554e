// Gradients between GPUs by messages of the group that stand in the GPUs' memory: the host drives
// them, and the GPU adds.
#include <deque>
#include <utility>

#include "engine/sync/device/gpu/exchange/driven.h"
#include "engine/sync/device/gpu/exchange/part_on_gpu.h"
#include "engine/sync/device/gpu/exchange/table.h"

namespace thalweg::engine {
namespace {

/// The own slice of a part, added up in a stream.
class SliceOnGpu final : public comm::SumElsewhere {
 public:
  SliceOnGpu(const PartOnGpu& part, gpu::Gpu& machine, gpu::Stream& stream)
      : part_(part),
        memory_(machine.info().emulated ? comm::MessageMemory::host : comm::MessageMemory::cuda),
        stream_(stream),
        added_(machine.event(false)) {}
  comm::MessageMemory memory() const override { return memory_; }
  float* scratch() override { return part_.scratch(); }
  bool add_up() override {
    if (!std::exchange(adding_, true)) {
      part_.add_up(stream_);
      stream_.record(*added_);
    }
    if (!added_->done()) return false;
    adding_ = false;
    return true;
  }

 private:
  const PartOnGpu& part_;
  comm::MessageMemory memory_;
  gpu::Stream& stream_;
  std::unique_ptr<gpu::Event> added_;
  bool adding_ = false;
};

class UcxExchange final : public DrivenExchange {
 public:
  explicit UcxExchange(const ExchangeParts& e)
      : DrivenExchange(e),
        p_(e.parts),
        shards_(e.shards),
        parts_(e.parts, e.shards, true),
        own_(shards_.machine().stream(true)),
        slices_stream_(shards_.machine().stream(true)) {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      slices_.emplace_back(parts_[part], shards_.machine(), *slices_stream_);
      added_.push_back(shards_.machine().event(false));
    }
    set_parts(shards_.parts());
  }

  ~UcxExchange() override {
    end_thread();
    wait_before_the_end(*own_);
    wait_before_the_end(*slices_stream_);
  }
  std::string way() const override { return "by UCX, out of their own memory"; }

 private:
  void prepare(bool stop) override {
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      for (std::size_t i = 0; i < shards_.results(); ++i)
        own_->wait_for(shards_.ready(i, part));
      parts_.add_own(*own_, part, stop);
      own_->record(*added_[part]);
    }
  }
  void wait_until_ready(std::size_t part, bool) override { added_[part]->wait(); }

  /// UCX wants the GPU to be the thread's own.
  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t) override {
    (void)slices_stream_->native();
    return p_.group.start_shard_sum_elsewhere(part.leaves, part.count, p_.sharding.shards,
                                              slices_[part.number], part.label);
  }

  SyncParts p_;
  GpuShards& shards_;
  PartsOnGpu parts_;
  std::unique_ptr<gpu::Stream> own_, slices_stream_;  ///< of this thread, of the reducer's
  std::deque<SliceOnGpu> slices_;
  std::vector<std::unique_ptr<gpu::Event>> added_;  ///< by part: what this rank adds alone
};

std::string why_not_ucx(const ExchangeRanks& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (!ranks[rank].emulated && !ranks[rank].sends_gpu_memory)
      return "UCX has no CUDA for rank " + std::to_string(rank) + " on " + ranks[rank].node +
             ": install UCX's CUDA transports (ucx_info -d names cuda_copy where they are)";
  return {};
}

std::string why_not_auto_ucx(const ExchangeRanks& ranks) {
  return ranks[0].emulated ? "the GPU is emulated" : "";
}

}  // namespace

ExchangeRow ucx_exchange() {
  return {"ucx",
          "messages out of the GPUs' memory, where UCX has CUDA; the host drives them",
          why_not_ucx,
          why_not_auto_ucx,
          true,
          [](const ExchangeParts& parts) -> std::unique_ptr<GpuExchange> {
            return std::make_unique<UcxExchange>(parts);
          }};
}

}  // namespace thalweg::engine
