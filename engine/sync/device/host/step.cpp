// A step on the host: the optimizer takes each bucket while others are still on their way.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "engine/optim/norm.h"
#include "engine/sync/clip.h"
#include "engine/sync/device/host/gradient_path.h"
#include "engine/sync/device/host/update.h"
#include "engine/sync/device/step_device.h"
#include "engine/sync/finite.h"

namespace thalweg::engine {
namespace {

class StepOnHost final : public StepDevice {
 public:
  StepOnHost(const SyncParts& parts, const SyncOptions& options, float scale, BucketSum* sum)
      : p_(parts),
        path_(parts, options, scale, sum),
        update_(parts),
        part_(options.shards_optimizer ? std::optional(parts.group.segment(
                                             parts.model.parameter_floats(), parts.group.rank()))
                                       : std::nullopt),
        squares_(parts.model.parameters().size()) {}

  bool later() const override { return false; }

  std::size_t begin(const StepInput&, const StepContext&) override {
    times_ = {};
    std::fill(squares_.begin(), squares_.end(), 0.0);
    return 0;
  }

  void run(const StepInput& input, const std::function<void()>& then) override {
    StepOutcome passes;
    path_.run(input, passes);
    times_.compute_ms += passes.compute_ms;
    cut_ = 0;
    clipped_ = false;
    then();
  }

  void end() override {}

  StepReport read(std::size_t, StepOutcome& outcome) override {
    outcome.compute_ms = times_.compute_ms;
    outcome.wait_ms = times_.wait_ms;
    outcome.optimizer_ms = times_.optimizer_ms;
    outcome.comm_before = times_.comm_before;
    return {path_.summed_stats(), squares_};
  }

  /// Done with each bucket's update, or before the norm is taken.
  void clip_values(double largest) override { cut_ = largest; }

  void clip_norm(double longest) override {
    path_.wait_for_all();
    timed([&] {
      if (path_.measures_noise()) note_all_squares();
      const std::size_t floats = p_.model.parameter_floats();
      if (cut_ > 0) engine::clip_values(path_.gradient(), floats, cut_);
      clip(path_.gradient(), floats, longest);
    });
    cut_ = 0;
    clipped_ = true;
  }

  void update(const StepContext& context) override {
    const OptimizerMemory<float> memory = p_.replica.memory(path_.gradient());
    for (const std::size_t bucket : path_.order()) {
      path_.wait(bucket);
      timed([&] { update(bucket, context, memory); });
    }
    timed([&] { p_.optimizer.finish(context, memory); });
    if (!part_) return;
    path_.wait_for_all();
    timed([&] {
      p_.group.allgather_segments(p_.replica.parameters.floats(), p_.model.parameter_floats(),
                                  comm::Type::f32);
    });
  }

  void report() override { path_.finish(times_); }

  void observe_curvature(const StepContext& context) override {
    path_.wait_for_all();
    const OptimizerMemory<float> memory = p_.replica.memory(path_.gradient());
    const std::vector<ParameterInfo>& infos = p_.model.parameters();
    timed([&] {
      for (int number = 0; number < static_cast<int>(infos.size()); ++number) {
        const ParameterInfo& info = infos[static_cast<std::size_t>(number)];
        if (path_.present(number))
          p_.optimizer.observe_curvature(context, {number, info.offset, info.count}, memory);
      }
    });
  }

  float* gradient() override { return path_.gradient(); }
  const float* evaluated() override { return p_.replica.evaluated(p_.optimizer); }

 private:
  /// Sums of squares are finite where all elements are: in a step that measures one pass tells
  /// both.
  bool finite(int number, const ParameterInfo& info) {
    const float* gradient = path_.gradient() + info.offset;
    double& squares = squares_[static_cast<std::size_t>(number)];
    if (path_.measures_noise() && !clipped_)
      squares = optim::sum_of_squares(info.count, gradient);
    else if (!all_finite(gradient, info.count))
      squares = std::numeric_limits<double>::quiet_NaN();
    return std::isfinite(squares);
  }

  void note_all_squares() {
    for (std::size_t i = 0; i < squares_.size(); ++i) {
      const ParameterInfo& info = p_.model.parameters()[i];
      squares_[i] = optim::sum_of_squares(info.count, path_.gradient() + info.offset);
    }
  }

  void update(std::size_t bucket, const StepContext& context,
              const OptimizerMemory<float>& memory) {
    for (const int number : path_.buckets()[bucket].parameters) {
      // Nobody used it: its value and its state stay as they are.
      if (!path_.present(number)) continue;
      // The check costs little: it brings the gradient into the cache for the update.
      if (finite(number, p_.model.parameters()[static_cast<std::size_t>(number)]))
        update_.add(number, part_);
    }
    update_.run(context, memory, cut_);
  }

  template <class F>
  void timed(const F& f) {
    const Stopwatch watch;
    f();
    times_.optimizer_ms += watch.ms();
  }

  SyncParts p_;
  GradientPath path_;
  HostUpdate update_;
  std::optional<comm::Group::Segment> part_;  ///< of the weights, which this rank updates; else all
  StepOutcome times_;                         ///< of the step under way
  std::vector<double> squares_;               ///< StepReport::squares
  double cut_ = 0;        ///< to which size elements are yet to be cut; 0: to none
  bool clipped_ = false;  ///< the gradient is no longer what was summed
};

}  // namespace

std::unique_ptr<StepDevice> step_on_host(const SyncParts& parts, const SyncOptions& options,
                                         float scale, BucketSum* sum) {
  return std::make_unique<StepOnHost>(parts, options, scale, sum);
}

}  // namespace thalweg::engine
