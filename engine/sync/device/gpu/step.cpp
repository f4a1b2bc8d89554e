// A step on a GPU: forward, backward, sums and update are put into a stream; the host is one step
// ahead of the GPU.
#include <array>
#include <span>
#include <utility>

#include "engine/optim/on_gpu.h"
#include "engine/sync/device/gpu/exchange/table.h"
#include "engine/sync/device/gpu/shards.h"
#include "engine/sync/device/gpu/update.h"
#include "engine/sync/device/step_device.h"

namespace thalweg::engine {
namespace {

class StepOnGpu final : public StepDevice {
 public:
  StepOnGpu(const SyncParts& parts, const SyncOptions& options, float scale, BucketSum* sum)
      : p_(parts),
        machine_(*p_.model.gpu()),
        buckets_(plan_buckets(p_.model.parameters(), p_.model.ready_order(), options.buckets)),
        update_(p_),
        factors_(update_.optimizer().factor_bytes()),
        shards_(p_, shard_options(scale, sum), buckets_),
        sums_(machine_, p_.model.parameters()) {
    const std::size_t squares = p_.model.parameters().size() * sizeof(double);
    squares_ = gpu::Memory(machine_, squares, "sums of squares");
    if (p_.clip_value > 0 && p_.clip_norm > 0)
      cut_squares_ = gpu::Memory(machine_, squares, "sums of squares");
    for (Report& report : reports_) {
      report.stats = gpu::Memory(machine_, step_stats * sizeof(float), "a loss", true);
      report.squares = gpu::Memory(machine_, squares, "sums of squares", true);
      for (auto* event : {&report.begun, &report.computed, &report.summed, &report.done})
        *event = machine_.event();
    }
    if (p_.group.size() > 1)
      exchange_ = make_exchange({p_, options, shards_, buckets_, sum}, exchange_note_);
  }

  ~StepOnGpu() override {
    exchange_.reset();  // what waits for lost ranks ends with it
    wait_before_the_end(shards_.stream());
  }

  bool later() const override { return true; }

  std::size_t begin(const StepInput& input, const StepContext& context) override {
    now_ = (now_ + 1) % reports_.size();
    if (captured())
      update_.optimizer().write_factors(context, p_.replica.memory(nullptr), factors_.data());
    shards_.stream().record(*reports_[now_].begun);
    shards_.take(input, factors_.data());
    return now_;
  }

  void run(const StepInput& input, const std::function<void()>& then) override {
    const int kind = 1 + static_cast<int>(now_);
    const bool first = !input.draw_labels, captures = first && captured();
    const auto computed = [&] {
      if (first) shards_.stream().record(*reports_[now_].computed);
    };
    // Where nothing but this GPU works on a step, it is one captured graph.
    if (exchange_ == nullptr && captures) {
      shards_.run(input, kind, [&] { computed(), then(); });
    } else {
      shards_.run(input);
      computed();
      if (exchange_)
        exchange_->run(input.context.step, input.stop, first ? std::optional(now_) : std::nullopt);
      if (exchange_ && first) shards_.stream().record(*reports_[now_].summed);
      captures ? shards_.run_captured(kind, then) : then();
    }
    if (first) shards_.parameters_changed(update_.optimizer().writes_narrow());
  }

  void end() override { shards_.stream().record(*reports_[now_].done); }

  StepReport read(std::size_t place, StepOutcome& outcome) override {
    const Report& report = reports_[place];
    if (exchange_) {
      exchange_->wait(*report.done, place);
      const GpuExchange::Times times = exchange_->times(place, *report.begun, *report.computed);
      outcome.wait_ms = times.waited_ms;
      outcome.comm_before = std::exchange(comm_before_, times.comm);
    } else if (!report.done->done()) {
      report.done->wait();
    }
    outcome.compute_ms = report.computed->ms_since(*report.begun);
    outcome.optimizer_ms = report.done->ms_since(exchange_ ? *report.summed : *report.computed);
    return {report.stats.floats(),
            {static_cast<const double*>(report.squares.data()), p_.model.parameters().size()}};
  }

  void clip_values(double largest) override {
    take_squares();
    optim::clip_values(shards_.stream(), gradient(), p_.model.parameter_floats(), largest);
  }

  void clip_norm(double longest) override {
    const double* now = squares();
    if (!squares_taken_) {
      take_squares();
    } else {
      now = static_cast<double*>(cut_squares_.data());
      sums_.sums_of_squares(shards_.stream(), gradient(),
                            static_cast<double*>(cut_squares_.data()));
    }
    sums_.clip_norm(shards_.stream(), gradient(), now, longest);
  }

  void update(const StepContext& context) override {
    // Who clips needs the sums before the update, which else adds up the squares as it goes.
    if (!update_.optimizer().one_pass() && !squares_taken_) take_squares();
    const bool before = std::exchange(squares_taken_, false);
    const OptimizerMemory<float> memory = p_.replica.memory(gradient());
    const GradientNotes notes{before ? squares() : nullptr, nullptr};
    if (!captured()) return update_.optimizer().update(shards_.stream(), context, memory, notes);
    BesidesUpdate besides;
    if (!before) besides.squares = squares();
    if (update_.optimizer().writes_narrow()) besides.narrow = shards_.narrow_parameters();
    update_.optimizer().update_with(shards_.stream(), shards_.beside(), memory, notes, besides);
  }

  void report() override {
    gpu::Stream& stream = shards_.stream();
    const Report& report = reports_[now_];
    const std::size_t statistics = p_.model.statistics();
    update_.blend_statistics(stream, shards_.stats(0),
                             p_.sharding.shards * p_.sharding.micro_batches);
    stream.copy(report.stats.data(), shards_.stats(0) + statistics, report.stats.bytes());
    stream.copy(report.squares.data(), squares_.data(), report.squares.bytes());
  }

  void observe_curvature(const StepContext& context) override {
    update_.optimizer().observe_curvature(shards_.stream(), context, p_.replica.memory(gradient()),
                                          {});
  }

  float* gradient() override { return shards_.gradient(0); }
  void parameters_written() override { shards_.parameters_changed(false); }
  const float* evaluated() override { return update_.evaluated(shards_.stream()); }

  std::string note() const override { return update_.note(exchange_note_); }

 private:
  /// What comes back from a step, and when.
  struct Report {
    gpu::Memory stats, squares;  ///< pinned
    std::unique_ptr<gpu::Event> begun, computed, summed, done;
  };

  GpuShards::Options shard_options(float scale, const BucketSum* sum) const {
    GpuShards::Options options = GpuShards::options_of(p_, scale, sum);
    options.mark_buckets = p_.group.size() > 1;
    options.beside_bytes = factors_.size();
    return options;
  }

  /// Whether the work of an update is the same in every step.
  bool captured() const { return !factors_.empty(); }
  double* squares() const { return static_cast<double*>(squares_.data()); }

  void take_squares() {
    sums_.sums_of_squares(shards_.stream(), gradient(), squares());
    squares_taken_ = true;
  }

  SyncParts p_;
  gpu::Gpu& machine_;
  std::vector<Bucket> buckets_;
  GpuUpdate update_;
  std::vector<std::byte> factors_;  ///< of a step; none where an update cannot be captured
  GpuShards shards_;
  optim::GradientSums sums_;
  gpu::Memory squares_, cut_squares_;
  std::array<Report, GpuExchange::slots> reports_;
  std::size_t now_ = 0;         ///< whose step is put into the stream
  bool squares_taken_ = false;  ///< by what clips, for the update to come
  std::optional<CommTimes> comm_before_;
  std::string exchange_note_;
  std::unique_ptr<GpuExchange> exchange_;
};

}  // namespace

std::unique_ptr<StepDevice> step_on_gpu(const SyncParts& parts, const SyncOptions& options,
                                        float scale, BucketSum* sum) {
  return std::make_unique<StepOnGpu>(parts, options, scale, sum);
}

}  // namespace thalweg::engine
