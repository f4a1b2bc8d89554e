// The synchronous mode on GPUs: forward, backward, sums and update are put into a queue; the host
// is one step ahead of the GPU.
#include "engine/sync/gpu_synchronous.h"

#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "engine/gpu/vectors.h"
#include "engine/optim/on_gpu.h"
#include "engine/sync/exchange/table.h"
#include "engine/sync/gpu_shards.h"

namespace thalweg::engine {
namespace {

class GpuSynchronous final : public SyncMode {
 public:
  GpuSynchronous(const SyncParts& parts, const SyncOptions& options, float scale,
                 std::unique_ptr<BucketSum> sum)
      : p_(parts),
        sum_(std::move(sum)),
        machine_(*p_.model.gpu()),
        buckets_(plan_buckets(p_.model.parameters(), p_.model.ready_order(), options.buckets)),
        measures_(can_measure_noise(p_, sum_.get())),
        optimizer_(p_.optimizer.on_gpu({machine_, p_.model.parameters(), p_.model.products()})),
        factors_(optimizer_->factor_bytes()),
        shards_(p_, shard_options(scale), buckets_),
        sums_(machine_, p_.model.parameters()) {
    const std::size_t squares = p_.model.parameters().size() * sizeof(double);
    squares_ = gpu::Memory(machine_, squares, "sums of squares");
    if (p_.clip_value > 0 && p_.clip_norm > 0)
      cut_squares_ = gpu::Memory(machine_, squares, "sums of squares");
    const std::vector<float> momenta = p_.model.statistic_momenta();
    momenta_ = FlatVector(&machine_, momenta.size(), "weights of running statistics");
    momenta_.write(momenta.data());
    for (Report& report : reports_) {
      report.extras = gpu::Memory(machine_, extras * sizeof(float), "a loss", true);
      report.squares = gpu::Memory(machine_, squares, "sums of squares", true);
      for (auto* event : {&report.begun, &report.computed, &report.summed, &report.done})
        *event = machine_.event();
    }
    if (p_.group.size() > 1)
      exchange_ = make_exchange({p_, options, shards_, buckets_, sum_.get()}, exchange_note_);
  }

  ~GpuSynchronous() override {
    exchange_.reset();  // what waits for lost ranks ends with it
    wait_before_the_end(shards_.queue());
  }

  StepOutcome step(const StepInput& input) override {
    const std::size_t number = std::exchange(next_, (next_ + 1) % reports_.size());
    put_into_queue(input, number);
    const StepOutcome before = settle();
    under_way_ = number;
    return before;
  }

  StepOutcome settle() override {
    StepOutcome outcome;
    outcome.here = under_way_.has_value();
    if (outcome.here) read(*std::exchange(under_way_, std::nullopt), outcome);
    return outcome;
  }

  const float* evaluated() override {
    if (!p_.optimizer.evaluates_elsewhere()) return p_.replica.parameters.floats();
    float* const x = p_.replica.evaluation.floats();
    optimizer_->evaluation_point(shards_.queue(), p_.replica.memory(nullptr), x);
    shards_.queue().wait();
    return x;
  }

  bool same_on_any_ranks() const override { return sum_ == nullptr; }
  std::vector<SyncState> states() override {
    return sum_ ? sum_->states() : std::vector<SyncState>();
  }
  std::string note() const override {
    const std::string optimizer = optimizer_->note();
    return exchange_note_ + (exchange_note_.empty() || optimizer.empty() ? "" : "; ") + optimizer;
  }

 private:
  /// What comes back from a step, and when.
  struct Report {
    gpu::Memory extras, squares;  ///< pinned
    std::unique_ptr<gpu::Event> begun, computed, summed, done;
    std::int64_t step = 0;
    bool stop = false;
  };

  GpuShards::Options shard_options(float scale) const {
    GpuShards::Options options;
    options.scale = scale;
    options.sum_locally = p_.group.size() == 1 || sum_ != nullptr;
    options.measures = measures_;
    options.mark_buckets = p_.group.size() > 1;
    options.beside_bytes = factors_.size();
    return options;
  }

  void put_into_queue(const StepInput& input, std::size_t number) {
    Report& report = reports_[number];
    gpu::Queue& queue = shards_.queue();
    const StepContext context = global_context(input, p_.sharding);
    report.step = context.step;
    report.stop = input.stop;
    const bool recorded = !factors_.empty();
    if (recorded) optimizer_->write_factors(context, p_.replica.memory(nullptr), factors_.data());
    queue.record(*report.begun);
    shards_.take(input, factors_.data());
    const int kind = 1 + static_cast<int>(number);
    const auto computed = [&] { queue.record(*report.computed); };
    const auto finish = [&] { finish_step(context, report); };
    const auto all = [&] { computed(), finish(); };
    // Where nothing but this GPU works on a step, it is one recording.
    if (exchange_ == nullptr && recorded) {
      shards_.run(input, kind, all);
    } else {
      shards_.run(input);
      computed();
      if (exchange_) exchange_->run(context.step, input.stop, number);
      if (exchange_) queue.record(*report.summed);
      recorded ? shards_.run_recorded(kind, finish) : finish();
    }
    shards_.parameters_changed(optimizer_->writes_narrow());
    if (p_.optimizer.curvature_due(context.step)) {
      StepInput again = input;
      again.draw_labels = true;
      shards_.run(again);
      if (exchange_) exchange_->run(context.step, input.stop, std::nullopt);
      optimizer_->observe_curvature(queue, context, p_.replica.memory(shards_.gradient(0)), {});
    }
    queue.record(*report.done);
  }

  /// What comes after the sums. The same work in every step where an update can be recorded.
  void finish_step(const StepContext& context, const Report& report) {
    gpu::Queue& queue = shards_.queue();
    update(context);
    const std::size_t statistics = p_.model.statistics();
    gpu::blend(queue, p_.replica.running.floats(), momenta_.floats(), shards_.extra(0),
               p_.sharding.shards * p_.sharding.micro_batches, statistics);
    queue.copy(report.extras.data(), shards_.extra(0) + statistics, report.extras.bytes());
    queue.copy(report.squares.data(), squares_.data(), report.squares.bytes());
  }

  void update(const StepContext& context) {
    gpu::Queue& queue = shards_.queue();
    float* const gradient = shards_.gradient(0);
    auto* squares = static_cast<double*>(squares_.data());
    const bool one_pass = optimizer_->one_pass();
    // Who clips needs the sums before the update, which else adds up the squares as it goes.
    const bool before = !one_pass || p_.clip_value > 0 || p_.clip_norm > 0;
    if (before) sums_.sums_of_squares(queue, gradient, squares);
    if (p_.clip_value > 0)
      optim::clip_values(queue, gradient, p_.model.parameter_floats(), p_.clip_value);
    if (p_.clip_norm > 0) {
      const double* now = squares;
      if (p_.clip_value > 0) {
        now = static_cast<double*>(cut_squares_.data());
        sums_.sums_of_squares(queue, gradient, static_cast<double*>(cut_squares_.data()));
      }
      sums_.clip_norm(queue, gradient, now, p_.clip_norm);
    }
    const OptimizerMemory<float> memory = p_.replica.memory(gradient);
    const GradientNotes notes{before ? squares : nullptr, nullptr};
    if (factors_.empty()) return optimizer_->update(queue, context, memory, notes);
    BesidesUpdate besides;
    if (!before) besides.squares = squares;
    if (optimizer_->writes_narrow()) besides.narrow = shards_.narrow_parameters();
    optimizer_->update_with(queue, shards_.beside(), memory, notes, besides);
  }

  void read(std::size_t number, StepOutcome& outcome) {
    const Report& report = reports_[number];
    if (exchange_) {
      exchange_->wait(*report.done, number);
      const GpuExchange::Times times = exchange_->times(number, *report.begun, *report.computed);
      outcome.wait_ms = times.waited_ms;
      outcome.comm_before = std::exchange(comm_before_, times.comm);
    } else if (!report.done->done()) {
      report.done->wait();
    }
    const float* const told = report.extras.floats();
    const std::span squares(static_cast<const double*>(report.squares.data()),
                            p_.model.parameters().size());
    const std::vector<ParameterInfo>& infos = p_.model.parameters();
    outcome.step = report.step;
    outcome.loss = static_cast<double>(told[extra_loss]) / p_.sharding.global_batch;
    outcome.stop = p_.group.size() > 1 ? told[extra_stop] > 0 : report.stop;
    for (std::size_t i = 0; i < infos.size() && outcome.not_finite.empty(); ++i)
      if (!std::isfinite(squares[i])) outcome.not_finite = infos[i].name;
    outcome.compute_ms = report.computed->ms_since(*report.begun);
    outcome.optimizer_ms = report.done->ms_since(exchange_ ? *report.summed : *report.computed);
    if (measures_ && report.step % p_.noise_every == 0)
      outcome.noise = noise_pair(p_.sharding, told[extra_squares], squares);
  }

  SyncParts p_;
  std::unique_ptr<BucketSum> sum_;
  gpu::Gpu& machine_;
  std::vector<Bucket> buckets_;
  bool measures_;
  std::unique_ptr<OptimizerOnGpu> optimizer_;
  std::vector<std::byte> factors_;  ///< of a step; none where an update cannot be recorded
  GpuShards shards_;
  optim::GradientSums sums_;
  gpu::Memory squares_, cut_squares_;
  FlatVector momenta_;
  std::array<Report, GpuExchange::slots> reports_;
  std::size_t next_ = 0;
  std::optional<std::size_t> under_way_;
  std::optional<CommTimes> comm_before_;
  std::string exchange_note_;
  std::unique_ptr<GpuExchange> exchange_;
};

}  // namespace

std::unique_ptr<SyncMode> make_gpu_synchronous(const SyncParts& parts, const SyncOptions& options,
                                               float scale, std::unique_ptr<BucketSum> sum) {
  return std::make_unique<GpuSynchronous>(parts, options, scale, std::move(sum));
}

}  // namespace thalweg::engine
