#include "engine/train/validation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

namespace thalweg::engine {
namespace {

ShardResult judge(const Dataset& dataset, const std::uint32_t* samples, std::size_t count,
                  const float* parameters, const float* running, Lane& lane) {
  const std::size_t floats = input_floats(dataset.form());
  const auto label_count = static_cast<std::size_t>(dataset.form().labels);
  const auto target_count = static_cast<std::size_t>(dataset.form().targets);
  std::vector<float> inputs(count * floats), targets(count * target_count);
  std::vector<std::int32_t> labels(count * label_count);
  for (std::size_t i = 0; i < count; ++i) {
    dataset.copy(samples[i], inputs.data() + i * floats);
    if (label_count > 0) dataset.copy_labels(samples[i], labels.data() + i * label_count);
    if (target_count > 0) dataset.copy_targets(samples[i], targets.data() + i * target_count);
  }
  Batch batch;
  batch.inputs = inputs.data();
  batch.labels = labels.data();
  batch.targets = targets.data();
  batch.samples = static_cast<int>(count);
  return lane.evaluate(parameters, running, batch);
}

}  // namespace

void require_watched(const Schedule& schedule, const LossPlan& loss) {
  const std::string watched = schedule.watched();
  if (watched.empty()) return;
  std::string known = "val/loss";
  bool found = watched == known;
  for (const Metric& metric : loss.kind->metrics) {
    if (metric.applies && !metric.applies(loss)) continue;
    const std::string name = std::string("val/") + metric.name;
    found = found || name == watched;
    known += ", " + name;
  }
  if (!found)
    throw std::invalid_argument("schedule.metric: validation does not report " + watched +
                                " here; use one of " + known);
}

Judgement validate(const Dataset& dataset, const std::vector<std::uint32_t>& samples,
                   const LossPlan& loss, const float* parameters, const float* running,
                   int chunk_samples, LanePool& lanes, comm::Group& group) {
  const auto size = static_cast<std::size_t>(chunk_samples);
  const auto chunks = static_cast<int>((samples.size() + size - 1) / size);
  const int first = comm::Group::first_shard(group.rank(), group.size(), chunks);
  const int end = comm::Group::first_shard(group.rank() + 1, group.size(), chunks);
  // Of every chunk its loss and sums, zero where another rank fills them: adding zeros keeps every
  // bit.
  constexpr std::size_t kEach = 1 + most_sums;
  std::vector<double> counted(static_cast<std::size_t>(chunks) * kEach, 0.0);
  lanes.run(end - first, [&](int task, Lane& lane) {
    const auto chunk = static_cast<std::size_t>(first + task);
    const std::size_t begin = chunk * size;
    const ShardResult result =
        judge(dataset, samples.data() + begin, std::min(size, samples.size() - begin), parameters,
              running, lane);
    counted[chunk * kEach] = result.loss_sum;
    std::copy(result.sums.begin(), result.sums.end(), counted.begin() + chunk * kEach + 1);
  });
  group.allreduce(counted.data(), counted.size(), comm::Type::f64, comm::Op::sum);
  std::array<double, kEach> total{};
  for (std::size_t i = 0; i < counted.size(); ++i)
    total[i % kEach] += counted[i];

  Judgement judged;
  judged.loss = total[0] / static_cast<double>(samples.size());
  for (const Metric& metric : loss.kind->metrics) {
    if (metric.applies && !metric.applies(loss)) continue;
    const double value = metric.top == Metric::exp_of_loss
                             ? std::exp(judged.loss)
                             : total[1 + metric.top] / total[1 + metric.bottom];
    judged.metrics.push_back({metric.name, value});
  }
  return judged;
}

}  // namespace thalweg::engine
