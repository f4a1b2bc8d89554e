#include "engine/train/validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/device/batch.h"
#include "engine/device/lane.h"
#include "engine/nn/graph.h"
#include "engine/train/metrics.h"

namespace thalweg::engine {
namespace {

/// Some samples side by side.
struct Chunk {
  Chunk(const Dataset& dataset, const std::vector<std::uint32_t>& samples) {
    const std::size_t floats = input_floats(dataset.form());
    const auto label_count = static_cast<std::size_t>(dataset.form().labels);
    const auto target_count = static_cast<std::size_t>(dataset.form().targets);
    inputs.resize(samples.size() * floats);
    labels.resize(samples.size() * label_count);
    targets.resize(samples.size() * target_count);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      dataset.copy(samples[i], inputs.data() + i * floats);
      if (label_count > 0) dataset.copy_labels(samples[i], labels.data() + i * label_count);
      if (target_count > 0) dataset.copy_targets(samples[i], targets.data() + i * target_count);
    }
    batch.inputs = inputs.data();
    batch.labels = labels.data();
    batch.targets = targets.data();
    batch.samples = static_cast<int>(samples.size());
  }
  Chunk(const Chunk&) = delete;
  Chunk& operator=(const Chunk&) = delete;

  std::vector<float> inputs, targets;
  std::vector<std::int32_t> labels;
  Batch batch;
};

double value_of(const Metric& metric, double loss, const double* sums) {
  if (metric.top == Metric::exp_of_loss) return std::exp(loss);
  const bool complement = metric.top >= one_minus;
  const double quotient = sums[metric.top - (complement ? one_minus : 0)] / sums[metric.bottom];
  return complement ? 1 - quotient : quotient;
}

}  // namespace

void require_watched(const Schedule& schedule, const LossPlan& loss) {
  const std::string watched = schedule.watched();
  if (watched.empty()) return;
  std::string known;
  for (const MetricInfo& m : reported_metrics({&loss})) {
    if (!m.name.starts_with(held_out_metric(metric::validation, ""))) continue;
    if (m.name == watched) return;
    known += (known.empty() ? "" : ", ") + m.name;
  }
  throw std::invalid_argument("schedule.metric: validation does not report " + watched +
                              " here; use one of " + known);
}

Judgement validate(const Dataset& dataset, const std::vector<std::uint32_t>& samples,
                   const LossPlan& loss, const float* parameters, const float* running,
                   int chunk_samples, LanePool& lanes, comm::Group& group, GpuEvaluation* on_gpu) {
  const auto size = static_cast<std::size_t>(chunk_samples);
  const auto chunks = static_cast<int>((samples.size() + size - 1) / size);
  const int first = comm::Group::first_shard(group.rank(), group.size(), chunks);
  const int end = comm::Group::first_shard(group.rank() + 1, group.size(), chunks);
  // Of every chunk its loss and sums, zero where another rank fills them: adding zeros keeps every
  // bit.
  constexpr std::size_t kEach = 1 + most_sums;
  std::vector<double> counted(static_cast<std::size_t>(chunks) * kEach, 0.0);
  const auto count = [&](int chunk, const ShardResult& result) {
    double* const at = counted.data() + static_cast<std::size_t>(chunk) * kEach;
    *at = result.loss_sum;
    std::copy(result.sums.begin(), result.sums.end(), at + 1);
  };
  const auto judge = [&](int task, Lane& lane) {
    const std::size_t begin = static_cast<std::size_t>(first + task) * size;
    const auto from = samples.begin() + static_cast<std::ptrdiff_t>(begin);
    Chunk these(dataset,
                {from, from + static_cast<std::ptrdiff_t>(std::min(size, samples.size() - begin))});
    these.batch.round = lanes.round();
    count(first + task, lane.evaluate(parameters, running, these.batch));
  };
  if (on_gpu != nullptr)
    on_gpu->run(*lanes.lane(0).queued(), parameters, running, samples, first, end, count);
  else
    lanes.run(end - first, judge);
  group.allreduce(counted.data(), counted.size(), comm::Type::f64, comm::Op::sum);
  std::array<double, kEach> total{};
  for (std::size_t i = 0; i < counted.size(); ++i)
    total[i % kEach] += counted[i];

  Judgement judged;
  judged.loss = total[0] / static_cast<double>(samples.size());
  for (const Metric& m : loss.kind->metrics) {
    if (m.applies && !m.applies(loss)) continue;
    judged.metrics.push_back({m.name, value_of(m, judged.loss, total.data() + 1)});
  }
  return judged;
}

std::vector<float> statistics_at(const Dataset& dataset, const std::vector<std::uint32_t>& training,
                                 const Model& model, const float* parameters, int chunk_samples,
                                 LanePool& lanes, comm::Group& group) {
  // As many chunks as make a mean that no longer moves; a small set has fewer.
  constexpr std::size_t kChunks = 32;
  const auto size = static_cast<std::size_t>(chunk_samples);
  const std::size_t chunks = std::clamp<std::size_t>(training.size() / size, 1, kChunks);
  const std::size_t count = model.statistics();
  const int first = comm::Group::first_shard(group.rank(), group.size(), static_cast<int>(chunks));
  const int end =
      comm::Group::first_shard(group.rank() + 1, group.size(), static_cast<int>(chunks));
  std::vector<double> measured(chunks * count, 0.0);  // zero where another rank measures
  lanes.run(end - first, [&](int task, Lane& lane) {
    const auto chunk = static_cast<std::size_t>(first + task);
    std::vector<std::uint32_t> samples(size);  // spread evenly over the training set
    for (std::size_t i = 0; i < size; ++i)
      samples[i] = training[(chunk * size + i) * training.size() / (chunks * size)];
    Chunk these(dataset, samples);
    these.batch.first_sample = chunk * size;
    these.batch.round = lanes.round();
    FlatVector measured_here(model.gpu(), count, "statistics");
    FlatVector gradients(model.gpu(), model.parameter_floats(), "gradients that nobody wants");
    lane.train(parameters, these.batch, 0, gradients.floats(), measured_here.floats(), [](int) {});
    const std::vector<float> statistics = measured_here.read();
    std::copy(statistics.begin(), statistics.end(),
              measured.begin() + static_cast<std::ptrdiff_t>(chunk * count));
  });
  group.allreduce(measured.data(), measured.size(), comm::Type::f64, comm::Op::sum);
  std::vector<float> mean(count);
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t chunk = 0; chunk < chunks; ++chunk)
      sum += measured[chunk * count + i];
    mean[i] = static_cast<float>(sum / static_cast<double>(chunks));
  }
  return mean;
}

}  // namespace thalweg::engine
