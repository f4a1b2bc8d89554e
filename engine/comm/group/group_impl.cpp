// Numbers every call, picks its algorithm, and runs it: short ones of one machine at once, the
// others as coroutines.
#include "engine/comm/group/group_impl.h"

#include <cstring>
#include <map>
#include <stdexcept>

#include "engine/comm/algorithms/shared/small_call.h"
#include "engine/comm/group/check.h"
#include "engine/comm/group/requests.h"
#include "engine/comm/reduction/reduce.h"

namespace thalweg::engine::comm {
namespace {

// A tag below 2^40: which group, which call, which phase of it. Calls take turns over 2^24 numbers;
// messages of the same number arrive in order.
constexpr unsigned kPhaseBits = 8;
constexpr unsigned kCallBits = 24;
static_assert(Link::kPhases == 1 << kPhaseBits);

Layout layout_of(const Transport& transport, const std::vector<int>& members, int rank) {
  Layout layout;
  layout.rank = rank;
  layout.ranks = static_cast<int>(members.size());
  std::map<std::string, std::size_t> machine_of;
  for (int r = 0; r < layout.ranks; ++r) {
    const std::string& node = transport.node_of(members[static_cast<std::size_t>(r)]);
    const auto [at, is_new] = machine_of.try_emplace(node, layout.machines.size());
    if (is_new) layout.machines.emplace_back();
    layout.machines[at->second].push_back(r);
    if (r == rank) layout.machine = static_cast<int>(at->second);
  }
  layout.shares = layout.one_machine() && layout.ranks > 1;
  return layout;
}

Task nothing() {
  co_return;
}

Task reduce_with(const Row& row, const Link& link, const Layout& layout, Arguments a) {
  co_await row.run(link, layout, a);
  std::byte* data = static_cast<std::byte*>(a.data);
  std::size_t count = a.count;
  if (row.collective == Collective::reduce_scatter) {
    const auto starts = segments(a.count, link.size());
    const auto r = static_cast<std::size_t>(link.rank());
    data += starts[r] * a.element;
    count = starts[r + 1] - starts[r];
  }
  finish(data, count, a.type, a.op, link.size());
}

}  // namespace

Group::Impl::Impl(std::shared_ptr<Progress> p, GroupOptions o, std::vector<int> m, int r, int c)
    : progress(std::move(p)),
      options(std::move(o)),
      members(std::move(m)),
      rank(r),
      context(c),
      layout(layout_of(progress->transport(), members, rank)) {
  for (int c2 = 0; c2 <= static_cast<int>(Collective::barrier); ++c2) {
    choices.emplace_back(static_cast<Collective>(c2));
  }
}

Operation Group::Impl::operation_for(const Call& call, std::string_view label) {
  const CallNumber number{context, calls++};
  progress->note(number, call, label);
  const std::uint64_t turn = number.call & ((1U << kCallBits) - 1);
  const auto tag = (static_cast<std::uint64_t>(context) << kCallBits | turn) << kPhaseBits;
  Link link(progress->transport(), progress->scratch(), members, rank, tag);
  link.set_control_block(control_block.get());
  return {call, label, number, link};
}

void Group::Impl::meet(const Call& call, std::string_view label) {
  if (control_block_tried || !layout.shares) return;
  control_block_tried = true;
  Operation operation = operation_for(call, label);
  Task task = ControlBlock::make(operation.link, progress->regions(),
                                 progress->wait_policy().work(), control_block);
  if (options.checked) task = checked(operation, std::move(task));
  complete(operation, std::move(task));
  layout.shares = control_block != nullptr;
  if (control_block) progress->wait_policy().expect_memory();
}

std::shared_ptr<const ShardTree> Group::Impl::tree(std::size_t brings, int shards) {
  auto& tree = trees[shards];
  if (!tree) tree = std::make_shared<const ShardTree>(rank, size(), shards);
  const auto owned = static_cast<std::size_t>(tree->owned);
  if (brings != std::max<std::size_t>(1, owned))
    throw std::invalid_argument("rank " + std::to_string(rank) + " owns " + std::to_string(owned) +
                                " of " + std::to_string(shards) + " shards, but brings " +
                                std::to_string(brings));
  return tree;
}

Call Group::Impl::shard_sum_call(std::size_t count, int shards) {
  return {"sum",
          Collective::allreduce,
          {nullptr, nullptr, count, sizeof(float), Type::f32, Op::sum, 0},
          shards};
}

void Group::Impl::complete(Operation& operation, Task task) {
  operation.strand = std::make_unique<Strand>(std::move(task));
  if (!progress->begin(operation)) progress->finish(operation);
}

const Row& Group::Impl::row(Collective collective, const Arguments& a) const {
  const Row& row = choices[static_cast<std::size_t>(collective)](layout, a.bytes());
  if (row.needs != Needs::shared_memory || control_block) return row;
  return choose_row(collective, layout, a.bytes());
}

Call Group::Impl::call(Collective collective, const Arguments& a, std::string_view label,
                       const char* what) {
  Call call{what ? what : name_of(collective), collective, a};
  const Choice& choice = choices[static_cast<std::size_t>(collective)];
  if (choice(layout, a.bytes()).needs == Needs::shared_memory) meet(call, label);
  const Row& chosen = row(collective, a);
  if (chosen.needs != Needs::shared_memory && rows_of(collective).size() > 2) {
    call.algorithm = chosen.name;
  }
  return call;
}

void Group::Impl::set_going(Operation& operation, Task task) const {
  if (options.checked) task = checked(operation, std::move(task));
  operation.strand = std::make_unique<Strand>(std::move(task));
}

Task Group::Impl::task(const Operation& operation, Collective collective, const Arguments& a) {
  // Algorithms need not know vectors of nothing, which may have no memory.
  if (a.bytes() == 0 && collective != Collective::barrier) return nothing();
  const Row& chosen = row(collective, a);
  if (a.op == Op::average && !chosen.averages) {
    return reduce_with(chosen, operation.link, layout, a);
  }
  return chosen.run(operation.link, layout, a);
}

void Group::Impl::run(Collective collective, const Arguments& a, const char* what) {
  const bool empty = a.bytes() == 0 && collective != Collective::barrier;
  if (size() == 1 || (empty && !options.checked)) return;
  const Call text = call(collective, a, {}, what);
  if (control_block && !options.checked && row(collective, a).needs == Needs::shared_memory) {
    if (SmallCall::fits(*control_block, collective, a)) return run_small(text);
    control_block->set_blocking(progress->idle());
  }
  Operation operation = operation_for(text, {});
  set_going(operation, task(operation, collective, a));
  if (!progress->begin(operation)) progress->finish(operation);
  if (control_block) control_block->set_blocking(false);
}

/// Without a coroutine: that would cost more than the call.
void Group::Impl::run_small(const Call& text) {
  progress->noting_failure([&] {
    const CallNumber number{context, calls++};
    progress->note(number, text, {});
    SmallCall small(*control_block, text.collective, text.arguments);
    if (control_block->spin([&] { return small.advance(); })) return;
    const Operation operation(text, {}, number,
                              Link(progress->transport(), progress->scratch(), members, rank, 0));
    progress->wait(operation, [&] {
      if (small.advance()) return true;
      control_block->check_present(small.sequence());
      return false;
    });
  });
}

std::unique_ptr<Request> Group::Impl::start(Collective collective, const Arguments& a,
                                            std::string_view label) {
  if (size() == 1) return done();
  return start(call(collective, a, label), label,
               [&](const Operation& operation) { return task(operation, collective, a); });
}

Arguments Group::Impl::reduction(void* data, std::size_t count, Type type, Op op) {
  if (op == Op::average && (type == Type::i32 || type == Type::i64)) {
    throw std::invalid_argument("an average of integers: sum them up and divide");
  }
  return {data, nullptr, count, size_of(type), type, op, 0};
}

Arguments Group::Impl::allgather_arguments(const void* mine, void* all,
                                           std::size_t bytes_each) const {
  auto* place = static_cast<std::byte*>(all) + static_cast<std::size_t>(rank) * bytes_each;
  if (place != mine && bytes_each > 0) std::memcpy(place, mine, bytes_each);
  return {all, nullptr, static_cast<std::size_t>(size()), bytes_each, Type::f32, Op::sum, 0};
}

Arguments Group::Impl::broadcast_arguments(void* data, std::size_t bytes, int root) const {
  if (root < 0 || root >= size()) {
    throw std::invalid_argument("broadcast from rank " + std::to_string(root) + " of " +
                                std::to_string(size()));
  }
  return {data, nullptr, bytes, 1, Type::f32, Op::sum, root};
}

Arguments Group::Impl::all_to_all_arguments(const void* out, void* in,
                                            std::size_t bytes_each) const {
  const auto ranks = static_cast<std::size_t>(size());
  if (ranks == 1 && bytes_each > 0) std::memcpy(in, out, bytes_each);
  return {in, out, ranks, bytes_each, Type::f32, Op::sum, 0};
}

}  // namespace thalweg::engine::comm
