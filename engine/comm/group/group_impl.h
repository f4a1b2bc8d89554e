// Inside of Group: which algorithm a call takes, its number, and its way through memory or
// messages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/comm/algorithms/call.h"
#include "engine/comm/algorithms/choice.h"
#include "engine/comm/algorithms/shared/control_block.h"
#include "engine/comm/algorithms/table.h"
#include "engine/comm/group.h"
#include "engine/comm/group/progress.h"
#include "engine/comm/group/requests.h"
#include "engine/comm/reduction/shard_tree.h"

namespace thalweg::engine::comm {

struct Group::Impl {
  std::shared_ptr<Progress> progress;
  GroupOptions options;
  std::vector<int> members;  ///< the transport's ranks
  int rank;
  int context;  ///< tells the messages of groups that share ranks apart
  Layout layout;
  std::vector<Choice> choices;  ///< by Collective
  std::uint32_t calls = 0;      ///< the same on every rank, since all make the same calls
  std::map<int, std::shared_ptr<const ShardTree>> trees;  ///< by number of shards
  std::map<int, std::vector<int>> tables;                 ///< of own_shards(), the same
  std::unique_ptr<ControlBlock> control_block;            ///< see shares()
  bool control_block_tried = false;
  std::uint64_t allocations = 0;
  Impl(std::shared_ptr<Progress> p, GroupOptions o, std::vector<int> m, int r, int c);

  int size() const { return static_cast<int>(members.size()); }

  /// `what`: the call's name where it is not the collective's.
  void run(Collective collective, const Arguments& a, const char* what = nullptr);
  std::unique_ptr<Request> start(Collective collective, const Arguments& a, std::string_view label);
  template <class F>
  std::unique_ptr<Request> start(const Call& call, std::string_view label, F&& make_task) {
    auto operation = std::make_unique<Operation>(operation_for(call, label));
    set_going(*operation, make_task(*operation));
    return begin(progress, std::move(operation));
  }
  /// The first call that may use shared memory waits for all ranks, and makes the control block.
  void meet(const Call& call, std::string_view label);
  Operation operation_for(const Call& call, std::string_view label);
  /// Throws std::invalid_argument unless this rank owns as many of the shards as it brings (none:
  /// brings one).
  std::shared_ptr<const ShardTree> tree(std::size_t brings, int shards);
  static Call shard_sum_call(std::size_t count, int shards);
  /// Blocks until `task` has ended on this rank.
  void complete(Operation& operation, Task task);

  // Arguments; they throw std::invalid_argument.
  static Arguments reduction(void* data, std::size_t count, Type type, Op op);
  Arguments allgather_arguments(const void* mine, void* all, std::size_t bytes_each) const;
  Arguments broadcast_arguments(void* data, std::size_t bytes, int root) const;
  Arguments all_to_all_arguments(const void* out, void* in, std::size_t bytes_each) const;

 private:
  const Row& row(Collective collective, const Arguments& a) const;
  Call call(Collective collective, const Arguments& a, std::string_view label,
            const char* what = nullptr);
  void set_going(Operation& operation, Task task) const;
  Task task(const Operation& operation, Collective collective, const Arguments& a);
  void run_small(const Call& text);
};

}  // namespace thalweg::engine::comm
