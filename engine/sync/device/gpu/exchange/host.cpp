// Gradients between GPUs through the host's memory: buckets are copied there as backward completes
// them, summed there while it goes on, and copied back.
#include "engine/sync/device/gpu/exchange/driven.h"
#include "engine/sync/device/gpu/exchange/table.h"

namespace thalweg::engine {
namespace {

class HostExchange final : public DrivenExchange {
 public:
  explicit HostExchange(const ExchangeParts& e)
      : DrivenExchange(e),
        p_(e.parts),
        shards_(e.shards),
        sum_(e.sum),
        there_(shards_.parts()),
        copies_(shards_.machine().stream(true)),
        back_(shards_.machine().event()) {
    const std::size_t floats = p_.model.parameter_floats(), stats = shards_.stat_count();
    std::vector<float*> gradients, beside;
    for (std::size_t result = 0; result < shards_.results(); ++result) {
      host_.emplace_back(shards_.machine(), (floats + stats) * sizeof(float),
                         "gradients in host memory", true);
      gradients.push_back(host_.back().floats());
      beside.push_back(gradients.back() + floats);
    }
    set_parts(gradient_parts(e.buckets, p_.model.parameters(), gradients, beside, stats));
    for (std::size_t part = 0; part < there_.size(); ++part)
      copied_.push_back(shards_.machine().event());
  }
  ~HostExchange() override {
    end_thread();
    wait_before_the_end(*copies_);
  }
  std::string way() const override { return "through the host's memory"; }

 private:
  std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step) override {
    if (sum_ != nullptr && !part.parameters.empty()) return sum_->start(part, step);
    // A rank whose shards were added up on its GPU brings one leaf.
    const int leaves = sum_ != nullptr ? p_.group.size() : p_.sharding.shards;
    return p_.group.start_shard_sum(part.leaves, part.count, leaves, part.label);
  }

  void copy(const GradientPart& from, const GradientPart& to, std::size_t result) {
    copies_->copy(to.leaves[result], from.leaves[result], from.count * sizeof(float));
  }

  /// Copies wait for their buckets on the GPU, the host for the last result's, which are done last.
  void prepare(bool) override {
    for (std::size_t result = 0; result < shards_.results(); ++result)
      for (std::size_t part = 0; part < there_.size(); ++part) {
        copies_->wait_for(shards_.ready(result, part));
        copy(there_[part], parts()[part], result);
        if (result + 1 == shards_.results()) copies_->record(*copied_[part]);
      }
  }
  void wait_until_ready(std::size_t part, bool stop) override {
    copied_[part]->wait();
    if (part + 1 < there_.size()) return;
    for (float* const stats : parts()[part].leaves)
      stats[p_.model.statistics() + stat_stop] = stop ? 1.0f : 0.0f;
  }
  void arrived(std::size_t part) override {
    copy(parts()[part], there_[part], 0);
    if (part + 1 < there_.size()) return;
    copies_->record(*back_);
    shards_.sums_stream().wait_for(*back_);
  }

  SyncParts p_;
  GpuShards& shards_;
  BucketSum* sum_;
  std::vector<GradientPart> there_;  ///< parts() in the GPU's memory
  std::vector<gpu::Memory> host_;
  std::unique_ptr<gpu::Stream> copies_;
  std::vector<std::unique_ptr<gpu::Event>> copied_;  ///< by part
  std::unique_ptr<gpu::Event> back_;
};

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
