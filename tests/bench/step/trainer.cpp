#include "tests/bench/step/trainer.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "engine/device/cpu/executor.h"
#include "engine/device/executor.h"
#include "engine/nn/flops.h"
#include "engine/nn/model_table.h"
#include "engine/tensor/random.h"
#include "tests/bench/gpu/measured_kernels.h"
#include "tests/bench/step/limit.h"
#include "tests/bench/step/traffic.h"

namespace thalweg::engine::bench {
namespace {

constexpr int kBatches = 4;  // different ones, taken in turn, as in the peers

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

jobspec::Value optimizer_named(const std::string& name) {
  if (name == "momentum") return jobspec::Map{{"name", name}, {"momentum", 0.9}};
  return jobspec::Map{{"name", name}};
}

}  // namespace

test::ModelCase case_of(const Settings& settings) {
  std::string all;
  for (const auto* cases : {&test::model_cases(), &test::gpu_model_cases()})
    for (test::ModelCase c : *cases) {
      if (c.name == settings.model) {
        jobspec::Map& options = c.model.as_map();
        options.insert(options.end(), settings.model_options.begin(), settings.model_options.end());
        return c;
      }
      all += " " + c.name;
    }
  throw std::invalid_argument("no model '" + settings.model + "': there are" + all);
}

Trainer::Trainer(const Settings& settings, comm::Group& group)
    : group_(group),
      case_(case_of(settings)),
      bf16_(settings.text("precision") == "bf16"),
      batch_(settings.number("batch") > 0 ? settings.number("batch") : case_.batch),
      batch_count_(settings.number("first") > 0 ? 1 : kBatches),
      graph_(build_model_graph(case_.model, case_.data)) {
  const int threads = settings.number("threads");
  const int mine = settings.number("shards") > 0 ? settings.number("shards") : threads;
  if (batch_ % mine != 0) throw std::invalid_argument("the batch is no multiple of the shards");
  Sharding sharding{mine * group.size(), batch_ * group.size(), mine * group.rank(),
                    mine * (group.rank() + 1)};
  CompileOptions options = precision_named(settings.text("precision"));
  const auto build = [&] {
    return build_model(case_.model, case_.data, batch_ / mine, settings.text("device"), {},
                       options);
  };
  model_ = build();
  const std::string& times = settings.text("times");
  if (gpu::Gpu* const gpu = model_->gpu(); gpu != nullptr &&
                                           settings.text("kernels") == "measured" &&
                                           (!gpu->info().emulated || !times.empty())) {
    options.kernels = measured_kernels(
        *gpu, times, [&](const MeasureOptions& how) { return model_->measure_calls(how); });
    model_ = build();
  }
  optimizer_ =
      make_optimizer<float>(optimizer_named(settings.text("optimizer")), parameters_of(*model_));
  executors_ = std::make_unique<ExecutorPool>(*model_, threads);
  replica_ = std::make_unique<Replica>(*model_, *optimizer_);
  std::vector<float> running(model_->statistics());
  model_->initialize(1, replica_->parameters.floats(), running.data());
  replica_->running.write(running.data());
  form_ = form_of_batches(sharding);
  make_samples();
  SyncParts parts{*model_, *optimizer_, group, *executors_, *replica_, sharding, 1, 0};
  if (model_->gpu() != nullptr) parts.batches = &form_;
  mode_ = make_sync_mode(settings.sync, parts);
}

/// On a GPU as a trial's loader prepares batches: in the micro-batches that are copied there.
BatchForm Trainer::form_of_batches(const Sharding& sharding) const {
  const InputShape& data = case_.data;
  BatchLayout::Bytes bytes{};
  bytes[BatchLayout::inputs] = static_cast<std::size_t>(elements(data.sample)) * sizeof(float);
  bytes[BatchLayout::labels] =
      data.classes > 0 ? static_cast<std::size_t>(data.labels) * sizeof(std::int32_t) : 0;
  bytes[BatchLayout::targets] = static_cast<std::size_t>(data.targets) * sizeof(float);
  if (model_->gpu() == nullptr)
    return {BatchLayout(1, static_cast<std::size_t>(batch_), bytes), {}};
  bytes[BatchLayout::keys] = sizeof(ShardKey);
  return {BatchLayout(static_cast<std::size_t>(sharding.mine()),
                      static_cast<std::size_t>(sharding.micro_batch()), bytes),
          {}};
}

void Trainer::make_samples() {
  const InputShape& data = case_.data;
  const BatchLayout& layout = form_.layout;
  for (int b = 0; b < batch_count_; ++b)
    if (gpu::Gpu* const gpu = model_->gpu(); gpu != nullptr)
      batches_.push_back(static_cast<std::byte*>(
          pinned_.emplace_back(*gpu, layout.bytes(), "batches", true).data()));
    else
      batches_.push_back(static_cast<std::byte*>(host_.emplace_back(layout.bytes()).data()));
  const auto bits = [&](std::uint32_t stream, std::size_t i) {
    return philox(static_cast<std::uint64_t>(group_.rank()) + 1, Stream::noise, stream, i)[0];
  };
  const auto fill = [&]<class T>(BatchLayout::Part part, T, const auto& number) {
    const std::size_t each = layout.bytes_of_sample(part) / sizeof(T);
    const auto samples = static_cast<std::size_t>(batch_);
    for (std::size_t i = 0; i < samples * batches_.size(); ++i) {
      auto* const to =
          reinterpret_cast<T*>(batches_[i / samples] + layout.sample(part, i % samples));
      for (std::size_t k = 0; k < each; ++k)
        to[k] = number(i * each + k);
    }
  };
  const auto below = [&](std::uint32_t stream, std::size_t i, int end) {
    return bits(stream, i) % static_cast<std::uint32_t>(end);
  };
  fill(BatchLayout::inputs, float{}, [&](std::size_t i) {
    return data.vocabulary > 0 ? static_cast<float>(below(0, i, data.vocabulary))
                               : uniform01(bits(0, i)) - 0.5f;
  });
  fill(BatchLayout::labels, std::int32_t{},
       [&](std::size_t i) { return static_cast<std::int32_t>(below(1, i, data.classes)); });
  fill(BatchLayout::targets, float{}, [&](std::size_t i) { return uniform01(bits(2, i)) - 0.5f; });
}

std::optional<StepOutcome> Trainer::step(bool stop) {
  const InputShape& data = case_.data;
  std::byte* const batch = batches_[static_cast<std::size_t>(number_) % batches_.size()];
  StepInput input;
  input.context = {number_, 0.01};
  input.sample_floats = static_cast<std::size_t>(elements(data.sample));
  input.sample_labels = data.classes > 0 ? static_cast<std::size_t>(data.labels) : 0;
  input.sample_targets = static_cast<std::size_t>(data.targets);
  const auto at = [&](BatchLayout::Part part) { return batch + form_.layout.micro_batch(part, 0); };
  if (model_->gpu() != nullptr) {
    input.memory = batch;
  } else {
    input.inputs = reinterpret_cast<const float*>(at(BatchLayout::inputs));
    input.labels = reinterpret_cast<const std::int32_t*>(at(BatchLayout::labels));
    input.targets = reinterpret_cast<const float*>(at(BatchLayout::targets));
  }
  input.stop = stop;
  ++number_;
  return mode_->step(input);
}

std::vector<double> Trainer::losses(int steps) {
  std::vector<double> all;
  // A GPU's outcomes come a step later.
  for (int turn = 0; all.size() < static_cast<std::size_t>(steps) && turn < steps + 2; ++turn)
    if (const auto outcome = step(false)) all.push_back(outcome->loss);
  mode_->settle();
  return all;
}

Times Trainer::run(double seconds) {
  const bool leads = group_.rank() == 0;
  const auto warm = Clock::now();
  for (bool stop = false; !stop;) {
    const auto outcome = step(leads && seconds_since(warm) > 0.15 * seconds);
    stop = outcome && outcome->stop;
  }
  Times times;
  std::vector<double> all;
  const auto start = Clock::now();
  for (bool stop = false; !stop;) {
    const auto before = Clock::now();
    const auto outcome = step(leads && seconds_since(start) > seconds);
    all.push_back(seconds_since(before) * 1e3);
    if (!outcome) continue;  // of a GPU that has just begun
    times.compute_ms += outcome->compute_ms;
    times.sums_ms += outcome->wait_ms;
    times.update_ms += outcome->optimizer_ms;
    times.loss = outcome->loss;
    stop = outcome->stop;
  }
  mode_->settle();
  const auto n = static_cast<double>(all.size());
  // A GPU is a step behind: single turns say when work was put into its stream.
  const double whole_ms = seconds_since(start) * 1e3;
  times.compute_ms /= n;
  times.sums_ms /= n;
  times.update_ms /= n;
  std::sort(all.begin(), all.end());
  times.step_ms = model_->gpu() != nullptr ? whole_ms / n : all[all.size() / 2];
  times.samples_per_s = 1e3 * batch_ * group_.size() / times.step_ms;
  return times;
}

Watched Trainer::observe(double seconds) {
  if (executors_->threads() > 1) throw std::invalid_argument("only one thread can be watched");
  cpu::CpuExecutor* executor = nullptr;
  executors_->run(1,
                  [&](int, Executor& only) { executor = dynamic_cast<cpu::CpuExecutor*>(&only); });
  if (executor == nullptr) return {run(seconds), {}};
  std::vector<Observed> all;
  std::size_t next = 0;
  executor->observe([&](const cpu::Operation* operation, double took) {
    if (next == all.size() || all[next].operation != operation) {
      const auto found = std::find_if(all.begin(), all.end(),
                                      [&](const Observed& o) { return o.operation == operation; });
      next = static_cast<std::size_t>(found - all.begin());
      if (found == all.end()) all.push_back({operation, {}});
    }
    all[next++].seconds.push_back(took);
  });
  const Times times = run(seconds);
  executor->observe({});
  return {times, std::move(all)};
}

double Trainer::flops_of_step() const {
  return flops_of(graph_).training() * batch_;
}

double Trainer::bytes_of_step() const {
  return bytes_of(graph_, batch_, bf16_ ? 2 : 4, optimizer_->states());
}

double Trainer::gflops() {
  return attainable_gflops(*executors_, bf16_);
}

}  // namespace thalweg::engine::bench
