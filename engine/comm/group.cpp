#include "engine/comm/group.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <numeric>
#include <stdexcept>

#include "engine/comm/algorithms/adasum.h"
#include "engine/comm/algorithms/allreduce_as.h"
#include "engine/comm/algorithms/choice.h"
#include "engine/comm/algorithms/shard_sum.h"
#include "engine/comm/algorithms/table.h"
#include "engine/comm/check.h"
#include "engine/comm/node/board.h"
#include "engine/comm/node/shard_sum_shared.h"
#include "engine/comm/node/small_call.h"
#include "engine/comm/progress.h"
#include "engine/comm/reduce.h"

namespace thalweg::engine::comm {
namespace {

// A tag below 2^40: which group, which call, which phase of it. Calls take turns over 2^24 numbers;
// messages of the same number arrive in order.
constexpr unsigned kPhaseBits = 8;
constexpr unsigned kCallBits = 24;
constexpr int kMostGroups = 256;
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

class OrdinaryMemory : public Memory {
 public:
  explicit OrdinaryMemory(std::size_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64))) {
    if (bytes > 0 && !data_) throw std::bad_alloc();
    if (bytes > 0) std::memset(data_.get(), 0, bytes);
  }
  std::byte* data() const override { return data_.get(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const { std::free(data); }
  };
  std::size_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

class SharedMemory : public Memory {
 public:
  SharedMemory(std::shared_ptr<Progress> progress, std::unique_ptr<CommonMemory> memory,
               std::uint64_t id, std::size_t bytes)
      : progress_(std::move(progress)), memory_(std::move(memory)), id_(id), bytes_(bytes) {
    progress_->regions().add(id_, *memory_);
  }
  ~SharedMemory() override { progress_->regions().remove(id_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  std::byte* data() const override { return memory_->mine(); }
  std::size_t bytes() const override { return bytes_; }

 private:
  std::shared_ptr<Progress> progress_;
  std::unique_ptr<CommonMemory> memory_;
  std::uint64_t id_;
  std::size_t bytes_;
};

/// A finished operation.
class Done : public Request {
 public:
  bool test() override { return true; }
  void wait() override {}
};

class Pending : public Request {
 public:
  Pending(std::shared_ptr<Progress> progress, std::unique_ptr<Operation> operation)
      : progress_(std::move(progress)), operation_(std::move(operation)) {
    progress_->add(*operation_);
  }
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() override {
    if (!operation_->strand->done() && !progress_->failed()) {
      std::fprintf(stderr, "thalweg: %s was dropped before it was complete\n",
                   operation_->text().c_str());
    }
    progress_->remove(*operation_);
  }
  bool test() override {
    if (!operation_->strand->done()) progress_->poll();
    return operation_->strand->done();
  }
  void wait() override {
    if (!operation_->strand->done()) progress_->finish(*operation_);
  }

 private:
  std::shared_ptr<Progress> progress_;
  std::unique_ptr<Operation> operation_;
};

}  // namespace

void warn_on_stderr(const std::string& text) {
  std::fprintf(stderr, "thalweg: %s\n", text.c_str());
}

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
  std::unique_ptr<Board> board;                           ///< see shares()
  bool board_tried = false;
  std::uint64_t allocations = 0;

  Impl(std::shared_ptr<Progress> p, GroupOptions o, std::vector<int> m, int r, int c)
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

  int size() const { return static_cast<int>(members.size()); }

  Operation operation_for(const Call& call, std::string_view label) {
    const CallNumber number{context, calls++};
    progress->note(number, call, label);
    const std::uint64_t turn = number.call & ((1U << kCallBits) - 1);
    const auto tag = (static_cast<std::uint64_t>(context) << kCallBits | turn) << kPhaseBits;
    Link link(progress->transport(), progress->scratch(), members, rank, tag);
    link.set_board(board.get());
    return {call, label, number, link};
  }

  /// The first call that may use shared memory waits for all ranks, and makes the board.
  void meet(const Call& call, std::string_view label) {
    if (board_tried || !layout.shares) return;
    board_tried = true;
    Operation operation = operation_for(call, label);
    Task task =
        Board::make(operation.link, progress->regions(), progress->patience().work(), board);
    if (options.checked) task = checked(operation, std::move(task));
    complete(operation, std::move(task));
    layout.shares = board != nullptr;
    if (board) progress->patience().expect_memory();
  }

  /// Blocks until `task` has ended on this rank.
  void complete(Operation& operation, Task task) {
    operation.strand = std::make_unique<Strand>(std::move(task));
    if (!progress->begin(operation)) progress->finish(operation);
  }

  const Row& row(Collective collective, const Arguments& a) const {
    const Row& row = choices[static_cast<std::size_t>(collective)](layout, a.bytes());
    if (row.needs != Needs::shared_memory || board) return row;
    return choose_row(collective, layout, a.bytes());
  }

  /// `what`: the call's name where it is not the collective's.
  Call call(Collective collective, const Arguments& a, std::string_view label,
            const char* what = nullptr) {
    Call call{what ? what : name_of(collective), collective, a};
    const Choice& choice = choices[static_cast<std::size_t>(collective)];
    if (choice(layout, a.bytes()).needs == Needs::shared_memory) meet(call, label);
    const Row& chosen = row(collective, a);
    if (chosen.needs != Needs::shared_memory && rows_of(collective).size() > 2) {
      call.algorithm = chosen.name;
    }
    return call;
  }

  void set_going(Operation& operation, Task task) const {
    if (options.checked) task = checked(operation, std::move(task));
    operation.strand = std::make_unique<Strand>(std::move(task));
  }

  Task task(const Operation& operation, Collective collective, const Arguments& a) {
    // Algorithms need not know vectors of nothing, which may have no memory.
    if (a.bytes() == 0 && collective != Collective::barrier) return nothing();
    const Row& chosen = row(collective, a);
    if (a.op == Op::average && !chosen.averages) {
      return reduce_with(chosen, operation.link, layout, a);
    }
    return chosen.run(operation.link, layout, a);
  }

  void run(Collective collective, const Arguments& a, const char* what = nullptr) {
    const bool empty = a.bytes() == 0 && collective != Collective::barrier;
    if (size() == 1 || (empty && !options.checked)) return;
    const Call text = call(collective, a, {}, what);
    if (board && !options.checked && row(collective, a).needs == Needs::shared_memory) {
      if (SmallCall::fits(*board, collective, a)) return run_small(text);
      board->set_blocking(progress->idle());
    }
    Operation operation = operation_for(text, {});
    set_going(operation, task(operation, collective, a));
    if (!progress->begin(operation)) progress->finish(operation);
    if (board) board->set_blocking(false);
  }

  /// Without a coroutine: that would cost more than the call.
  void run_small(const Call& text) {
    progress->noting_failure([&] {
      const CallNumber number{context, calls++};
      progress->note(number, text, {});
      SmallCall small(*board, text.collective, text.arguments);
      if (board->spin([&] { return small.advance(); })) return;
      const Operation operation(text, {}, number,
                                Link(progress->transport(), progress->scratch(), members, rank, 0));
      progress->wait(operation, [&] {
        if (small.advance()) return true;
        board->check_present(small.ticket());
        return false;
      });
    });
  }

  template <class F>
  std::unique_ptr<Request> start(const Call& call, std::string_view label, F&& make_task) {
    auto operation = std::make_unique<Operation>(operation_for(call, label));
    set_going(*operation, make_task(*operation));
    if (progress->begin(*operation)) return std::make_unique<Done>();
    return std::make_unique<Pending>(progress, std::move(operation));
  }

  std::unique_ptr<Request> start(Collective collective, const Arguments& a,
                                 std::string_view label) {
    if (size() == 1) return std::make_unique<Done>();
    return start(call(collective, a, label), label,
                 [&](const Operation& operation) { return task(operation, collective, a); });
  }

  static Arguments reduction(void* data, std::size_t count, Type type, Op op) {
    if (op == Op::average && (type == Type::i32 || type == Type::i64)) {
      throw std::invalid_argument("an average of integers: sum them up and divide");
    }
    return {data, nullptr, count, size_of(type), type, op, 0};
  }

  Arguments gathering(const void* mine, void* all, std::size_t bytes_each) const {
    auto* place = static_cast<std::byte*>(all) + static_cast<std::size_t>(rank) * bytes_each;
    if (place != mine && bytes_each > 0) std::memcpy(place, mine, bytes_each);
    return {all, nullptr, static_cast<std::size_t>(size()), bytes_each, Type::f32, Op::sum, 0};
  }

  Arguments spreading(void* data, std::size_t bytes, int root) const {
    if (root < 0 || root >= size()) {
      throw std::invalid_argument("broadcast from rank " + std::to_string(root) + " of " +
                                  std::to_string(size()));
    }
    return {data, nullptr, bytes, 1, Type::f32, Op::sum, root};
  }

  Arguments swapping(const void* out, void* in, std::size_t bytes_each) const {
    const auto ranks = static_cast<std::size_t>(size());
    if (ranks == 1 && bytes_each > 0) std::memcpy(in, out, bytes_each);
    return {in, out, ranks, bytes_each, Type::f32, Op::sum, 0};
  }
};

Group::Group(std::unique_ptr<Transport> transport, GroupOptions options) {
  std::vector<int> everybody(static_cast<std::size_t>(transport->size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  const int rank = transport->rank();
  const char* check = std::getenv("THALWEG_COMM_CHECK");
  if (check && std::string_view(check) == "1") options.checked = true;
  auto progress =
      std::make_shared<Progress>(std::move(transport), options.stall_timeout, options.warn);
  impl_ = std::make_unique<Impl>(std::move(progress), std::move(options), std::move(everybody),
                                 rank, 0);
  use_allreduce(impl_->options.allreduce);
}

Group::Group(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Group::~Group() = default;

int Group::rank() const {
  return impl_->rank;
}
int Group::size() const {
  return impl_->size();
}
const std::string& Group::node_of(int rank) const {
  return impl_->progress->transport().node_of(impl_->members.at(static_cast<std::size_t>(rank)));
}
const Layout& Group::layout() const {
  return impl_->layout;
}

void Group::use(Collective collective, std::string_view text) {
  Choice choice = Choice::parse(collective, text);
  choice.check(impl_->layout);
  impl_->choices[static_cast<std::size_t>(collective)] = std::move(choice);
}

void Group::use_allreduce(std::string_view text) {
  use(Collective::allreduce, text);
}

void Group::allreduce(void* data, std::size_t count, Type type, Op op) {
  const Arguments a = Impl::reduction(data, count, type, op);
  impl_->run(Collective::allreduce, a);
}
std::unique_ptr<Request> Group::start_allreduce(void* data, std::size_t count, Type type, Op op,
                                                std::string_view label) {
  return impl_->start(Collective::allreduce, Impl::reduction(data, count, type, op), label);
}

void Group::allreduce_as(Type wire, float* data, std::size_t count, Op op) {
  start_allreduce_as(wire, data, count, op)->wait();
}
std::unique_ptr<Request> Group::start_allreduce_as(Type wire, float* data, std::size_t count, Op op,
                                                   std::string_view label) {
  if (wire == Type::f32) return start_allreduce(data, count, Type::f32, op, label);
  if (wire != Type::f16 && wire != Type::bf16) {
    throw std::invalid_argument(std::string("f32 does not travel as ") + name_of(wire));
  }
  if (size() == 1 || (count == 0 && !impl_->options.checked)) return std::make_unique<Done>();
  const Call call{wire == Type::f16 ? "allreduce as f16" : "allreduce as bf16",
                  Collective::allreduce, Impl::reduction(data, count, Type::f32, op)};
  return impl_->start(call, label, [&](const Operation& operation) {
    return comm::allreduce_as(operation.link, wire, data, count, op);
  });
}

void Group::adasum(void* data, std::size_t count, Type type,
                   std::span<const std::size_t> tensor_ends, Adasum form) {
  start_adasum(data, count, type, tensor_ends, form)->wait();
}
std::unique_ptr<Request> Group::start_adasum(void* data, std::size_t count, Type type,
                                             std::span<const std::size_t> tensor_ends, Adasum form,
                                             std::string_view label) {
  const Arguments a{data, nullptr, count, size_of(type), type, Op::sum, 0};
  const bool over_machines = form == Adasum::over_machines;
  std::vector<std::size_t> ends(tensor_ends.begin(), tensor_ends.end());
  check_adasum(impl_->layout, a, ends, over_machines);
  if (size() == 1 || (count == 0 && !impl_->options.checked)) return std::make_unique<Done>();
  const Call call{"Adasum", Collective::allreduce, a, 0, over_machines ? "machines" : "ranks"};
  return impl_->start(call, label, [&](const Operation& operation) {
    return comm::adasum(operation.link, impl_->layout, a, std::move(ends), over_machines);
  });
}

void Group::reduce_scatter(void* data, std::size_t count, Type type, Op op) {
  const Arguments a = Impl::reduction(data, count, type, op);
  impl_->run(Collective::reduce_scatter, a);
}
std::unique_ptr<Request> Group::start_reduce_scatter(void* data, std::size_t count, Type type,
                                                     Op op, std::string_view label) {
  return impl_->start(Collective::reduce_scatter, Impl::reduction(data, count, type, op), label);
}

void Group::allgather(const void* mine, void* all, std::size_t bytes_each) {
  const Arguments a = impl_->gathering(mine, all, bytes_each);
  impl_->run(Collective::allgather, a);
}
std::unique_ptr<Request> Group::start_allgather(const void* mine, void* all, std::size_t bytes_each,
                                                std::string_view label) {
  return impl_->start(Collective::allgather, impl_->gathering(mine, all, bytes_each), label);
}

void Group::allgather_segments(void* data, std::size_t count, Type type) {
  impl_->run(Collective::allgather, Impl::reduction(data, count, type, Op::sum));
}
std::unique_ptr<Request> Group::start_allgather_segments(void* data, std::size_t count, Type type,
                                                         std::string_view label) {
  return impl_->start(Collective::allgather, Impl::reduction(data, count, type, Op::sum), label);
}

void Group::broadcast(void* data, std::size_t bytes, int root) {
  const Arguments a = impl_->spreading(data, bytes, root);
  impl_->run(Collective::broadcast, a);
}
std::unique_ptr<Request> Group::start_broadcast(void* data, std::size_t bytes, int root,
                                                std::string_view label) {
  return impl_->start(Collective::broadcast, impl_->spreading(data, bytes, root), label);
}

void Group::all_to_all(const void* out, void* in, std::size_t bytes_each) {
  const Arguments a = impl_->swapping(out, in, bytes_each);
  impl_->run(Collective::all_to_all, a);
}
std::unique_ptr<Request> Group::start_all_to_all(const void* out, void* in, std::size_t bytes_each,
                                                 std::string_view label) {
  return impl_->start(Collective::all_to_all, impl_->swapping(out, in, bytes_each), label);
}

void Group::barrier() {
  impl_->run(Collective::barrier, {});
}
std::unique_ptr<Request> Group::start_barrier() {
  return impl_->start(Collective::barrier, {}, {});
}

Group::Segment Group::segment(std::size_t count, int rank) const {
  const auto starts = segments(count, size());
  const auto r = static_cast<std::size_t>(rank);
  return {starts.at(r), starts.at(r + 1) - starts.at(r)};
}

std::unique_ptr<Request> Group::start_shard_sum(std::span<float* const> mine, std::size_t count,
                                                int shards, std::string_view label) {
  auto& tree = impl_->trees[shards];
  if (!tree) tree = std::make_shared<const ShardTree>(rank(), size(), shards);
  const auto owned = static_cast<std::size_t>(first_shard(rank() + 1, size(), shards) -
                                              first_shard(rank(), size(), shards));
  if (mine.size() != owned) {
    throw std::invalid_argument("rank " + std::to_string(rank()) + " owns " +
                                std::to_string(owned) + " of " + std::to_string(shards) +
                                " shards, but brings " + std::to_string(mine.size()));
  }
  const Call call{"sum",
                  Collective::allreduce,
                  {nullptr, nullptr, count, sizeof(float), Type::f32, Op::sum, 0},
                  shards};
  if (size() > 1) impl_->meet(call, label);
  return impl_->start(call, label, [&](const Operation& operation) {
    return (impl_->board ? shard_sum_shared : shard_sum)(operation.link, tree,
                                                         {mine.begin(), mine.end()}, count);
  });
}

int Group::first_shard(int rank, int ranks, int shards) {
  return static_cast<int>(static_cast<std::int64_t>(rank) * shards / ranks);
}

std::unique_ptr<Group> Group::split(int color, int key) {
  struct Wish {
    int color;
    int key;
    int context;
    int rank;
  };
  const Wish mine{color, key, impl_->progress->next_context, rank()};
  std::vector<Wish> wishes(static_cast<std::size_t>(size()));
  impl_->run(Collective::allgather, impl_->gathering(&mine, wishes.data(), sizeof mine), "split");

  int context = 0;
  for (const Wish& wish : wishes) {
    context = std::max(context, wish.context);
  }
  if (context >= kMostGroups) {
    throw std::logic_error("more than " + std::to_string(kMostGroups - 1) + " groups split");
  }
  impl_->progress->next_context = context + 1;
  if (color < 0) return nullptr;

  std::erase_if(wishes, [&](const Wish& wish) { return wish.color != color; });
  std::stable_sort(wishes.begin(), wishes.end(),
                   [](const Wish& a, const Wish& b) { return a.key < b.key; });
  std::vector<int> members;
  int my_place = 0;
  for (const Wish& wish : wishes) {
    if (wish.rank == rank()) my_place = static_cast<int>(members.size());
    members.push_back(impl_->members[static_cast<std::size_t>(wish.rank)]);
  }
  auto impl = std::make_unique<Impl>(impl_->progress, impl_->options, std::move(members), my_place,
                                     context);
  impl->choices = impl_->choices;
  return std::unique_ptr<Group>(new Group(std::move(impl)));
}

std::unique_ptr<Memory> Group::allocate(std::size_t bytes) {
  Impl& impl = *impl_;
  const std::uint64_t id = static_cast<std::uint64_t>(impl.context) << 40U | ++impl.allocations;
  Operation operation = impl.operation_for({"allocate", Collective::barrier, {}, 0, nullptr}, {});
  std::vector<int> neighbours;
  int place = 0;
  for (const int r : impl.layout.machines[static_cast<std::size_t>(impl.layout.machine)]) {
    if (r == rank()) place = static_cast<int>(neighbours.size());
    neighbours.push_back(impl.members[static_cast<std::size_t>(r)]);
  }
  std::unique_ptr<CommonMemory> memory;
  if (neighbours.size() > 1) {
    const Link here = operation.link.among(neighbours, place, 0);
    impl.complete(operation, share_memory(here, bytes, memory));
  }
  if (!memory) return std::make_unique<OrdinaryMemory>(bytes);
  return std::make_unique<SharedMemory>(impl.progress, std::move(memory), id, bytes);
}

}  // namespace thalweg::engine::comm
