#include "engine/comm/algorithms/shard_sum.h"

#include <cstring>

#include "engine/comm/reduction/shard_sum_plan.h"

namespace thalweg::engine::comm {
namespace {

std::size_t scratch_bytes(const Link& link, const ShardTree& tree, std::size_t count) {
  return ShardSumPlan::scratch_floats(tree, link.rank(), link.size(), count) * sizeof(float);
}

void post(Messages& messages, const std::vector<ShardSumPlan::Message>& receive,
          const std::vector<ShardSumPlan::Message>& send) {
  for (const auto& message : receive)
    messages.receive(message.peer, message.data, message.bytes());
  for (const auto& message : send)
    messages.send(message.peer, message.data, message.bytes());
}

}  // namespace

Task shard_sum(const Link& link, std::shared_ptr<const ShardTree> tree, std::vector<float*> mine,
               std::size_t count) {
  run(tree->local, mine.data(), count);
  if (link.size() == 1 || count == 0) co_return;

  const auto scratch = link.scratch(scratch_bytes(link, *tree, count));
  const ShardSumPlan plan(*tree, link.rank(), link.size(), mine, count, scratch.as<float>());
  Messages partials(link);
  post(partials, plan.receive, {});
  // Posted early: where a slice arrives, nothing is read any more by the time it can come.
  Messages slices(link.phase(1));
  post(slices, plan.receive_slices, {});
  post(partials, {}, plan.send);
  co_await partials;

  run(tree->across, plan.places.data(), plan.count);
  if (plan.places[0] != plan.result)
    std::memcpy(plan.result, plan.places[0], plan.count * sizeof(float));
  post(slices, {}, plan.send_slices);
  co_await slices;
}

Task shard_sum_elsewhere(const Link& link, std::shared_ptr<const ShardTree> tree,
                         std::vector<float*> mine, std::size_t count, SumElsewhere& where) {
  if (link.size() == 1 || count == 0) co_return;
  const ShardSumPlan plan(*tree, link.rank(), link.size(), mine, count, where.scratch());
  Messages partials(link, where.memory());
  Messages slices(link.phase(1), where.memory());
  post(partials, plan.receive, {});
  post(slices, plan.receive_slices, {});
  post(partials, {}, plan.send);
  co_await partials;

  co_await Until([&] { return where.add_up(); });
  post(slices, {}, plan.send_slices);
  co_await slices;
}

}  // namespace thalweg::engine::comm
