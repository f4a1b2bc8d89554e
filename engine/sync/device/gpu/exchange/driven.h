// Exchanges whose messages the host drives, in the thread of a BucketReducer.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "engine/sync/bucket_reducer.h"
#include "engine/sync/device/gpu/exchange/exchange.h"

namespace thalweg::engine {

class DrivenExchange : public GpuExchange {
 public:
  void begin(std::int64_t step, bool stop, std::optional<std::size_t> slot) final;
  void end() final;
  bool is_done() final { return reducer_->is_done(); }
  Times times(std::size_t slot, const gpu::Event&, const gpu::Event&) final { return times_[slot]; }
  void wait(const gpu::Event& done, std::size_t) final { done.wait(); }

 protected:
  explicit DrivenExchange(const ExchangeParts& e)
      : reducer_(std::make_unique<BucketReducer>(
            [this](const GradientPart& part) { return start(part, step_); },
            BucketReducer::Options{e.options.overlap, e.options.forward_first})) {
    if (e.wait) reducer_->wait_by(e.wait);
  }
  /// What is summed; once, before run(). They get one mark each.
  void set_parts(std::vector<GradientPart> parts);
  const std::vector<GradientPart>& parts() const { return parts_; }
  /// For destructors, before anything that start() uses goes.
  void end_thread() { reducer_.reset(); }

  /// Puts the work into streams that makes parts ready for start().
  virtual void prepare(bool stop) = 0;
  /// Blocks until `part` is.
  virtual void wait_until_ready(std::size_t part, bool stop) = 0;
  /// In the reducer's thread: BucketReducer::Start.
  virtual std::unique_ptr<comm::Request> start(const GradientPart& part, std::int64_t step) = 0;
  /// A part's sum is there; in order.
  virtual void arrived(std::size_t part) { (void)part; }

 private:
  std::vector<GradientPart> parts_;
  std::int64_t step_ = 0;
  std::optional<std::size_t> slot_;  ///< of the run under way
  double computed_ms_ = 0;           ///< until all parts were ready
  std::array<Times, slots> times_;
  std::unique_ptr<BucketReducer> reducer_;
};

}  // namespace thalweg::engine
