// A late step on a GPU: forward and backward of a step are put into one stream, and copies of what
// they have made are summed over the ranks behind another one, while the next step is computed. The
// host waits for sums alone, so that it has the next step's work in the stream in time.
#include <array>
#include <optional>
#include <utility>

#include "engine/gpu/vectors.h"
#include "engine/optim/on_gpu.h"
#include "engine/sync/device/gpu/exchange/table.h"
#include "engine/sync/device/gpu/shards.h"
#include "engine/sync/device/gpu/update.h"
#include "engine/sync/device/late_step.h"

namespace thalweg::engine {
namespace {

class LateOnGpu final : public LateStep {
 public:
  LateOnGpu(const SyncParts& parts, const SyncOptions& options, const LateOptions& late)
      : p_(parts),
        accumulates_(late.accumulates),
        measures_(can_measure_noise(parts, late.sum)),
        machine_(*p_.model.gpu()),
        buckets_(plan_buckets(p_.model.parameters(), p_.model.ready_order(), options.buckets)),
        update_(p_),
        shards_(p_, shard_options(p_, late), buckets_),
        summed_squares_(machine_, p_.model.parameters()),
        applied_squares_(machine_, p_.model.parameters()),
        report_(machine_, (shards_.stat_count() - p_.model.statistics()) * sizeof(float), "a loss",
                true),
        squares_(machine_, doubles(), "sums of squares", true),
        cut_squares_(machine_, doubles(), "sums of squares"),
        summed_(machine_.event()),
        apply_begun_(machine_.event()),
        applied_(machine_.event()) {
    for (int set = 0; set < late.sets; ++set)
      sets_.push_back({gpu::Memory(machine_, p_.model.parameter_floats() * sizeof(float),
                                   "gradients that wait"),
                       gpu::Memory(machine_, doubles(), "sums of squares")});
    for (Passes& passes : passes_) {
      passes.begun = machine_.event();
      passes.computed = machine_.event();
    }
    for (auto& event : passes_done_)
      event = machine_.event(false);
    if (p_.group.size() > 1)
      exchange_ =
          make_exchange({p_, options, shards_, buckets_, late.sum, late.wait}, exchange_note_);
  }

  ~LateOnGpu() override {
    exchange_.reset();  // what waits for lost ranks ends with it
    wait_before_the_end(shards_.stream());
    wait_before_the_end(shards_.sums_stream());
  }

  void prepare() override {}

  void run(const StepInput& input) override {
    now_ = (now_ + 1) % passes_.size();
    passes().number = 0;
    passes().step = input.context.step;
    passes().stop = input.stop;
    shards_.stream().record(*passes().begun);
    pass(input);
    held_ = true;
  }

  void run_more(const StepInput& input) override { pass(input); }

  void wait_for_passes() override { passes().computed->wait(); }

  bool held() const override { return held_; }
  void start_held() override {
    held_ = false;
    shards_.stage(passes().number);
    under_way_ = now_;
    to_begin_ = exchange_ != nullptr;
  }

  bool summing() const override { return under_way_.has_value(); }
  bool is_summed() override {
    begin_exchange();
    return exchange_ == nullptr || exchange_->is_done();
  }

  Summed collect(StepOutcome& outcome) override {
    begin_exchange();
    const std::size_t place = *std::exchange(under_way_, std::nullopt);
    const Passes& of = passes_[place];
    const std::size_t set = take_set();
    if (exchange_) exchange_->end();
    put_sums_into(sets_[set]);
    if (exchange_)
      exchange_->wait(*summed_, place);
    else
      summed_->wait();
    if (accumulates_) hear_passes();
    outcome.step = of.step;
    tell_times(of, place, outcome);
    StepReport report;
    report.stats = report_.floats();
    report.squares = {static_cast<const double*>(squares_.data()), p_.model.parameters().size()};
    return {set, report, measures_ && of.step % p_.noise_every == 0};
  }

  const std::vector<int>& passes() const override { return passes_of_ranks_; }

  double apply(std::size_t set, const StepContext& context, float factor) override {
    gpu::Stream& stream = shards_.stream();
    float* const gradient = sets_[set].gradient.floats();
    const double* squares = static_cast<const double*>(sets_[set].squares.data());
    const std::size_t floats = p_.model.parameter_floats();
    stream.wait_for(*summed_);
    stream.record(*apply_begun_);
    if (factor != 1) gpu::scale(stream, gradient, factor, floats);
    if (p_.clip_value > 0) optim::clip_values(stream, gradient, floats, p_.clip_value);
    if (p_.clip_norm > 0) {
      auto* const now = static_cast<double*>(cut_squares_.data());
      applied_squares_.sums_of_squares(stream, gradient, now);
      applied_squares_.clip_norm(stream, gradient, now, p_.clip_norm);
    }
    update_.optimizer().update(stream, context, p_.replica.memory(gradient), {squares, nullptr});
    shards_.parameters_changed(false);
    stream.record(*applied_);
    applies_ = true;
    return 0;
  }

  void finish() override {
    shards_.stream().wait();
    shards_.sums_stream().wait();
  }

  float* on_host(std::size_t set) override {
    const std::size_t bytes = sets_[set].gradient.bytes();
    if (host_.bytes() == 0) host_ = gpu::Memory(machine_, bytes, "a gradient", true);
    gpu::Stream& stream = shards_.sums_stream();
    stream.copy(host_.data(), sets_[set].gradient.data(), bytes);
    stream.wait();
    return host_.floats();
  }
  void parameters_written() override { shards_.parameters_changed(false); }

  std::size_t restore(const float* gradient) override {
    const std::size_t set = take_set();
    machine_.copy(sets_[set].gradient.data(), gradient, sets_[set].gradient.bytes());
    machine_.copy(sets_[set].squares.data(), squares_.data(), doubles());  // zeros: all are finite
    return set;
  }

  const float* evaluated() override { return update_.evaluated(shards_.stream()); }

  std::string note() const override { return update_.note(exchange_note_); }

 private:
  /// Of a step.
  struct Passes {
    std::int64_t step = 0;
    bool stop = false;  ///< this rank's wish
    int number = 0;
    std::unique_ptr<gpu::Event> begun, computed;
  };
  /// A summed gradient that is not applied yet.
  struct Set {
    gpu::Memory gradient, squares;
  };

  static GpuShards::Options shard_options(const SyncParts& parts, const LateOptions& late) {
    GpuShards::Options options = GpuShards::options_of(parts, late.scale, late.sum);
    options.staged = true;
    options.accumulates = late.accumulates;
    return options;
  }

  std::size_t doubles() const { return p_.model.parameters().size() * sizeof(double); }
  Passes& passes() { return passes_[now_]; }
  std::size_t take_set() { return set_ = (set_ + 1) % sets_.size(); }

  void pass(const StepInput& input) {
    // The slot of its batch is that of the pass before the last.
    if (const gpu::Event& before = *passes_done_[pass_ = (pass_ + 1) % 2]; !before.done())
      before.wait();
    shards_.take(input);
    shards_.run(input);
    if (accumulates_) shards_.add_up(passes().number == 0);
    ++passes().number;
    shards_.stream().record(*passes().computed);
    shards_.stream().record(*passes_done_[pass_]);
    begin_exchange();
    // Other samples may be put in the place of these before the step is told.
    if (accumulates_) shards_.wait_until_taken();
  }

  /// Of the step under way: once the GPU has other work, since it may take until that step has been
  /// computed.
  void begin_exchange() {
    if (!std::exchange(to_begin_, false)) return;
    const Passes& of = passes_[*under_way_];
    exchange_->begin(of.step, of.stop, *under_way_);
  }

  /// Once they are there: where they stay, what is told of them, and the running statistics.
  void put_sums_into(Set& set) {
    gpu::Stream& stream = shards_.sums_stream();
    if (!exchange_) stream.wait_for(shards_.ready(0, buckets_.size()));
    stream.wait_for(*applied_);  // of this set
    stream.copy(set.gradient.data(), shards_.gradient(0), set.gradient.bytes());
    auto* const squares = static_cast<double*>(set.squares.data());
    summed_squares_.sums_of_squares(stream, set.gradient.floats(), squares);
    stream.copy(squares_.data(), squares, doubles());
    stream.copy(report_.data(), shards_.stats(0) + p_.model.statistics(), report_.bytes());
    if (!accumulates_) blend_statistics(p_.sharding.shards);
    stream.record(*summed_);
  }

  void blend_statistics(int shards) {
    update_.blend_statistics(shards_.sums_stream(), shards_.stats(0),
                             shards * p_.sharding.micro_batches);
  }

  /// Only now is known of how many passes the statistics are.
  void hear_passes() {
    const float* const told = report_.floats() + step_stats;
    passes_of_ranks_.assign(told, told + p_.group.size());
    const std::vector<int> first = p_.group.first_shards(p_.sharding.shards);
    int shards = 0;
    for (std::size_t rank = 0; rank < passes_of_ranks_.size(); ++rank)
      shards += passes_of_ranks_[rank] * (first[rank + 1] - first[rank]);
    blend_statistics(shards);
    shards_.sums_stream().wait();
  }

  /// Sums are waited for only where the GPU had nothing else to do.
  void tell_times(const Passes& of, std::size_t place, StepOutcome& outcome) {
    outcome.compute_ms = of.computed->ms_since(*of.begun);
    if (std::exchange(applies_, false)) {
      applied_->wait();
      outcome.optimizer_ms = applied_->ms_since(*apply_begun_);
    }
    if (!exchange_) return;
    const GpuExchange::Times times = exchange_->times(place, *of.begun, *of.computed);
    const bool idle = now_ == place || passes().computed->done();
    outcome.wait_ms = idle ? times.waited_ms : 0;
    outcome.comm_before = std::exchange(comm_before_, times.comm);
  }

  SyncParts p_;
  bool accumulates_, measures_;
  gpu::Gpu& machine_;
  std::vector<Bucket> buckets_;
  GpuUpdate update_;
  GpuShards shards_;
  optim::GradientSums summed_squares_, applied_squares_;  ///< of sums_stream(), of stream()
  std::vector<Set> sets_;
  std::size_t set_ = 0;      ///< that was taken last
  gpu::Memory report_;       ///< by StepStat, then passes by rank; pinned
  gpu::Memory squares_;      ///< StepReport::squares; pinned
  gpu::Memory cut_squares_;  ///< of what is left after single elements have been cut
  gpu::Memory host_;         ///< on_host()
  std::array<Passes, GpuExchange::slots> passes_;  ///< of the last run() and the one before
  std::size_t now_ = 0;
  std::array<std::unique_ptr<gpu::Event>, GpuShards::slots> passes_done_;
  std::size_t pass_ = 0;
  bool held_ = false;
  std::optional<std::size_t> under_way_;  ///< among passes_
  bool to_begin_ = false;                 ///< its exchange
  std::unique_ptr<gpu::Event> summed_, apply_begun_, applied_;
  bool applies_ = false;  ///< since the last collect()
  std::vector<int> passes_of_ranks_;
  std::optional<CommTimes> comm_before_;
  std::string exchange_note_;
  std::unique_ptr<GpuExchange> exchange_;
};

}  // namespace

std::unique_ptr<LateStep> late_step_on_gpu(const SyncParts& parts, const SyncOptions& options,
                                           const LateOptions& late) {
  return std::make_unique<LateOnGpu>(parts, options, late);
}

}  // namespace thalweg::engine
