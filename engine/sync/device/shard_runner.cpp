#include "engine/sync/device/shard_runner.h"

#include <algorithm>
#include <functional>

#include "engine/optim/norm.h"
#include "engine/optim/on_gpu.h"
#include "engine/sync/device/vector_ops.h"
#include "engine/sync/micro_batches.h"

namespace thalweg::engine {

std::vector<GradientRange> ranges_of(const std::vector<ParameterInfo>& infos) {
  std::vector<GradientRange> ranges;
  for (std::size_t i = 0; i < infos.size(); ++i)
    ranges.push_back({infos[i].offset, infos[i].count, {static_cast<int>(i)}});
  return ranges;
}

std::vector<GradientRange> ranges_of(const std::vector<Bucket>& buckets) {
  std::vector<GradientRange> ranges;
  for (const Bucket& bucket : buckets) {
    ranges.push_back({bucket.offset, bucket.count, bucket.parameters});
    std::sort(ranges.back().parameters.begin(), ranges.back().parameters.end());
  }
  return ranges;
}

ShardRunner::ShardRunner(const Model& model, Executor& executor, gpu::Stream* stream,
                         const std::vector<GradientRange>& ranges, const Options& options)
    : model_(model),
      executor_(executor),
      stream_(stream),
      ranges_(ranges),
      options_(options),
      all_{0, model.parameter_floats(), {}},
      range_of_(model.parameters().size()),
      left_(ranges.size()),
      here_(model.parameters().size()),
      touched_(model.parameters().size()),
      open_(1),
      result_(model.gpu(), sizeof(ShardResult) / sizeof(float), "a loss") {
  for (std::size_t s = 0; s < ranges_.size(); ++s)
    for (const int number : ranges_[s].parameters)
      range_of_[static_cast<std::size_t>(number)] = s;
  const auto room = [&](std::size_t floats, const char* what) {
    return memory_.emplace_back(model_.gpu(), floats, what).floats();
  };
  for (std::size_t i = 0; i < spare_sums(options_.micro_batches); ++i) {
    float* const gradient = room(all_.count, "gradients of micro-batches");
    open_.push_back({gradient, room(model_.statistics() + step_stats, "statistics and losses")});
  }
  if (!options_.measures) return;
  const std::size_t doubles = model_.parameters().size();
  squares_ = FlatVector::of(model_, doubles * (sizeof(double) / sizeof(float)), "squares");
  if (stream_ != nullptr)
    on_gpu_ = std::make_unique<optim::GradientSums>(*model_.gpu(), model_.parameters());
}

ShardRunner::~ShardRunner() = default;

void ShardRunner::run(const Task& task) {
  open_[0] = task.sums;
  std::fill(touched_.begin(), touched_.end(), 0);
  // The wish to stop is no micro-batch's.
  const std::size_t summed = model_.statistics() + stat_stop;
  add_up_micro_batches(
      options_.micro_batches, [&](int micro, std::size_t top) { compute(task, micro, top); },
      [&](std::size_t into, bool last) {
        if (!last || !task.complete) join(into, all_);
        vectors::add(stream_, open_[into].stats, open_[into + 1].stats, summed);
      });
}

void ShardRunner::compute(const Task& task, int micro, std::size_t top) {
  const ShardSums& target = open_[top];
  const bool measured = micro == task.measured;
  const bool completes = task.complete && micro + 1 == options_.micro_batches;
  std::fill(here_.begin(), here_.end(), 0);
  for (std::size_t s = 0; s < ranges_.size(); ++s)
    left_[s] = ranges_[s].parameters.size();
  const auto arrived = [&](std::size_t parameter) {
    const std::size_t number = range_of_[parameter];
    const GradientRange& range = ranges_[number];
    if (--left_[number] > 0) return;
    if (measured) measure(range, target.gradient);
    if (!completes) return;
    for (std::size_t into = top; into-- > 0;)
      join(into, range);
    task.complete(number);
  };
  const auto ready = [&](int number) {
    const auto parameter = static_cast<std::size_t>(number);
    here_[parameter] = touched_[parameter] = 1;
    arrived(parameter);
  };
  Shard shard = task.batch(task.number + static_cast<std::size_t>(micro));
  shard.gradients = target.gradient;
  shard.statistics = target.stats;
  shard.result = reinterpret_cast<ShardResult*>(result_.floats());
  executor_.train(stream_, shard, std::ref(ready));  // std::function owns no memory
  float* const stats = target.stats + model_.statistics();
  vectors::narrow(stream_, stats + stat_loss, &shard.result->loss_sum);
  for (std::size_t i = 0; i < here_.size(); ++i) {
    if (here_[i]) continue;
    const ParameterInfo& info = model_.parameters()[i];
    vectors::zero(stream_, target.gradient + info.offset, info.count);
    arrived(i);
  }
  if (!measured) return vectors::zero(stream_, stats + stat_squares, 1);
  if (on_gpu_) on_gpu_->take_squares(*stream_, squares());
  vectors::sum(stream_, stats + stat_squares, squares(), here_.size());
}

/// The next partial sum is added to this one.
void ShardRunner::join(std::size_t into, const GradientRange& what) {
  vectors::add(stream_, open_[into].gradient + what.offset, open_[into + 1].gradient + what.offset,
               what.count);
}

void ShardRunner::measure(const GradientRange& what, const float* gradient) {
  const std::vector<int>& numbers = what.parameters;
  for (std::size_t first = 0, next = 0; first < numbers.size(); first = next) {
    // One pass of a GPU over neighbours.
    for (next = first + 1; next < numbers.size() && numbers[next] == numbers[next - 1] + 1;)
      ++next;
    if (on_gpu_) {
      on_gpu_->add_squares(*stream_, gradient, numbers[first], numbers[next - 1] + 1);
      continue;
    }
    for (std::size_t i = first; i < next; ++i) {
      const ParameterInfo& info = model_.parameters()[static_cast<std::size_t>(numbers[i])];
      squares()[numbers[i]] = optim::sum_of_squares(info.count, gradient + info.offset);
    }
  }
}

}  // namespace thalweg::engine
