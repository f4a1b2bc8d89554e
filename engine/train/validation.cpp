#include "engine/train/validation.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "engine/nn/graph.h"
#include "engine/train/metrics.h"

namespace thalweg::engine {
namespace {

void require_one(const std::string& key, const std::string& watched, const LossPlan& loss) {
  if (watched.empty()) return;
  std::string known;
  for (const MetricInfo& m : reported_metrics({&loss})) {
    if (!m.name.starts_with(held_out_metric(metric::validation, ""))) continue;
    if (m.name == watched) return;
    known += (known.empty() ? "" : ", ") + m.name;
  }
  throw std::invalid_argument(key + ": validation does not report " + watched +
                              " here; use one of " + known);
}

}  // namespace

void require_watched(const Schedule& schedule, const StopRule& stop, const Best& best,
                     const LossPlan& loss) {
  require_one("schedule.metric", schedule.watched(), loss);
  require_one("stop", stop.watched(), loss);
  require_one("checkpoint.best", best.watched(), loss);
}

EvalResult validate(Evaluation& evaluation, const std::vector<std::uint32_t>& samples,
                    const LossPlan& loss, const float* parameters, const float* running,
                    comm::Group& group) {
  const auto size = static_cast<std::size_t>(evaluation.samples());
  const auto chunks = static_cast<int>((samples.size() + size - 1) / size);
  const int first = comm::Group::first_shard(group.rank(), group.size(), chunks);
  const int end = comm::Group::first_shard(group.rank() + 1, group.size(), chunks);
  // Of every chunk its loss and sums, zero where another rank fills them: adding zeros keeps every
  // bit.
  constexpr std::size_t kEach = 1 + max_sums;
  std::vector<double> counted(static_cast<std::size_t>(chunks) * kEach, 0.0);
  evaluation.run(parameters, running, samples, first, end,
                 [&](int chunk, const ShardResult& result) {
                   double* const at = counted.data() + static_cast<std::size_t>(chunk) * kEach;
                   *at = result.loss_sum;
                   std::copy(result.sums.begin(), result.sums.end(), at + 1);
                 });
  group.allreduce(counted.data(), counted.size(), comm::Type::f64, comm::Op::sum);
  std::array<double, kEach> total{};
  for (std::size_t i = 0; i < counted.size(); ++i)
    total[i % kEach] += counted[i];

  EvalResult evaluated;
  evaluated.loss = total[0] / static_cast<double>(samples.size());
  for (const Metric& m : loss.kind->metrics) {
    if (m.applies && !m.applies(loss)) continue;
    evaluated.metrics.push_back({m.name, m.value(total.data() + 1)});
  }
  return evaluated;
}

std::vector<float> statistics_at(Evaluation& evaluation, const std::vector<std::uint32_t>& training,
                                 std::size_t count, const float* parameters, comm::Group& group) {
  // As many chunks as make a mean that no longer moves; a small set has fewer.
  constexpr std::size_t kChunks = 32;
  const auto size = static_cast<std::size_t>(evaluation.samples());
  const std::size_t chunks = std::clamp<std::size_t>(training.size() / size, 1, kChunks);
  const int first = comm::Group::first_shard(group.rank(), group.size(), static_cast<int>(chunks));
  const int end =
      comm::Group::first_shard(group.rank() + 1, group.size(), static_cast<int>(chunks));
  std::vector<double> measured(chunks * count, 0.0);  // zero where another rank measures
  const auto spread_evenly = [&](int chunk) {
    std::vector<std::uint32_t> samples(size);
    for (std::size_t i = 0; i < size; ++i)
      samples[i] = training[(static_cast<std::size_t>(chunk) * size + i) * training.size() /
                            (chunks * size)];
    return samples;
  };
  evaluation.measure(parameters, first, end, spread_evenly,
                     [&](int chunk, const std::vector<float>& statistics) {
                       std::copy(statistics.begin(), statistics.end(),
                                 measured.begin() + chunk * static_cast<std::ptrdiff_t>(count));
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
