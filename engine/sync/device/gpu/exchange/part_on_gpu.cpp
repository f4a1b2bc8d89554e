#include "engine/sync/device/gpu/exchange/part_on_gpu.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "engine/gpu/vectors.h"

namespace thalweg::engine {
namespace {

template <class T>
gpu::Memory up(gpu::Gpu& machine, const std::vector<T>& values, const char* what) {
  gpu::Memory memory(machine, values.size() * sizeof(T), what);
  machine.copy(memory.data(), values.data(), memory.bytes());
  return memory;
}

}  // namespace

std::vector<int> joins_of(const comm::ShardTree& tree) {
  std::vector<int> joins, open;
  std::size_t next = 0;
  for (int place = 0; place < static_cast<int>(tree.partials.size()); ++place) {
    open.push_back(place);
    joins.push_back(0);
    if (open.size() > gpu::sum_in_tree_depth) throw std::logic_error("a tree over too many shards");
    for (; open.size() > 1 && next < tree.across.size() &&
           tree.across[next].into == open[open.size() - 2] && tree.across[next].from == open.back();
         ++next) {
      open.pop_back();
      ++joins.back();
    }
  }
  if (open.size() != 1 || next != tree.across.size())
    throw std::logic_error("the tree's additions are not in order");
  return joins;
}

PartOnGpu::PartOnGpu(gpu::Gpu& machine, const comm::ShardTree& tree, const comm::Group& group,
                     std::vector<float*> leaves, std::size_t count, float* scratch)
    : own_(tree.local),
      leaves_(std::move(leaves)),
      count_(count),
      scratch_(scratch),
      plan_(tree, group.rank(), group.size(), leaves_, count, scratch),
      places_(up(machine, plan_.places, "places of sums")),
      joins_(up(machine, joins_of(tree), "places of sums")),
      number_(static_cast<int>(plan_.places.size())) {}

void PartOnGpu::add_own(gpu::Stream& stream) const {
  for (const comm::ShardTree::Add& add : own_)
    gpu::add(stream, leaves_[static_cast<std::size_t>(add.into)],
             leaves_[static_cast<std::size_t>(add.from)], count_);
}

void PartOnGpu::add_up(gpu::Stream& stream) const {
  gpu::sum_in_tree(stream, plan_.result, static_cast<const float* const*>(places_.data()),
                   static_cast<const int*>(joins_.data()), number_, plan_.count);
}

PartsOnGpu::PartsOnGpu(const SyncParts& parts, GpuShards& shards, bool side_by_side)
    : shards_(shards),
      stop_at_(parts.model.statistics() + stat_stop),
      wishes_(up(shards.machine(), std::vector<float>{0, 1}, "wishes to stop")) {
  comm::Group& group = parts.group;
  const comm::ShardTree tree(group.rank(), group.first_shards(parts.sharding.shards));
  const std::vector<GradientPart> summed = shards.parts();
  std::vector<std::size_t> starts;
  std::size_t floats = 0, most = 0;
  for (const GradientPart& part : summed) {
    const std::size_t needed =
        comm::ShardSumPlan::scratch_floats(tree, group.rank(), group.size(), part.count);
    starts.push_back(side_by_side ? floats : 0);
    floats += needed;
    most = std::max(most, needed);
  }
  scratch_ = gpu::Memory(shards.machine(), (side_by_side ? floats : most) * sizeof(float),
                         "other ranks' gradients");
  for (const GradientPart& part : summed)
    parts_.emplace_back(shards.machine(), tree, group, part.leaves, part.count,
                        scratch_.floats() + starts[part.number]);
}

void PartsOnGpu::add_own(gpu::Stream& stream, std::size_t part, bool stop) const {
  for (std::size_t i = 0; part + 1 == size() && i < shards_.results(); ++i)
    stream.copy(shards_.stats(i) + stop_at_, wishes_.floats() + (stop ? 1 : 0), sizeof(float));
  parts_[part].add_own(stream);
}

}  // namespace thalweg::engine
