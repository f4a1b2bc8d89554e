// The public calls: arguments are checked and packed; group_impl does the rest.
#include "engine/comm/group.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <stdexcept>

#include "engine/comm/algorithms/adasum.h"
#include "engine/comm/algorithms/allreduce_as.h"
#include "engine/comm/algorithms/shard_sum.h"
#include "engine/comm/algorithms/shared/shard_sum_shared.h"
#include "engine/comm/group/group_impl.h"
#include "engine/comm/group/memory.h"
#include "engine/comm/group/requests.h"

namespace thalweg::engine::comm {
namespace {

// Their numbers are part of the tags of messages (group_impl.cpp).
constexpr int kMaxGroups = 256;

}  // namespace

void warn_on_stderr(const std::string& text) {
  std::fprintf(stderr, "thalweg: %s\n", text.c_str());
}

Group::Group(std::shared_ptr<Transport> transport, GroupOptions options) {
  std::vector<int> everybody(static_cast<std::size_t>(transport->size()));
  std::iota(everybody.begin(), everybody.end(), 0);
  const int rank = transport->rank();
  const char* check = std::getenv("THALWEG_COMM_CHECK");
  if (check && std::string_view(check) == "1") options.checked = true;
  if (!options.links.empty()) transport = limited_transport(std::move(transport), options.links);
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
std::vector<std::string> Group::routes() const {
  std::vector<std::string> all;
  for (const int peer : impl_->members) {
    const std::string route = impl_->progress->transport().route_to(peer);
    if (!route.empty() && std::find(all.begin(), all.end(), route) == all.end())
      all.push_back(route);
  }
  return all;
}
const Layout& Group::layout() const {
  return impl_->layout;
}

void Group::on_warning(std::function<void(const std::string&)> warn) {
  impl_->progress->wait_policy().warn_to(std::move(warn));
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
  if (size() == 1 || (count == 0 && !impl_->options.checked)) return done();
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
  if (size() == 1 || (count == 0 && !impl_->options.checked)) return done();
  const Call call{"Adasum",    Collective::allreduce, a, 0, over_machines ? "machines" : "ranks",
                  ends.size(), digest(ends)};
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
  const Arguments a = impl_->allgather_arguments(mine, all, bytes_each);
  impl_->run(Collective::allgather, a);
}
std::unique_ptr<Request> Group::start_allgather(const void* mine, void* all, std::size_t bytes_each,
                                                std::string_view label) {
  return impl_->start(Collective::allgather, impl_->allgather_arguments(mine, all, bytes_each),
                      label);
}

void Group::allgather_segments(void* data, std::size_t count, Type type) {
  impl_->run(Collective::allgather, Impl::reduction(data, count, type, Op::sum));
}
std::unique_ptr<Request> Group::start_allgather_segments(void* data, std::size_t count, Type type,
                                                         std::string_view label) {
  return impl_->start(Collective::allgather, Impl::reduction(data, count, type, Op::sum), label);
}

void Group::broadcast(void* data, std::size_t bytes, int root) {
  const Arguments a = impl_->broadcast_arguments(data, bytes, root);
  impl_->run(Collective::broadcast, a);
}
std::unique_ptr<Request> Group::start_broadcast(void* data, std::size_t bytes, int root,
                                                std::string_view label) {
  return impl_->start(Collective::broadcast, impl_->broadcast_arguments(data, bytes, root), label);
}

void Group::all_to_all(const void* out, void* in, std::size_t bytes_each) {
  const Arguments a = impl_->all_to_all_arguments(out, in, bytes_each);
  impl_->run(Collective::all_to_all, a);
}
std::unique_ptr<Request> Group::start_all_to_all(const void* out, void* in, std::size_t bytes_each,
                                                 std::string_view label) {
  return impl_->start(Collective::all_to_all, impl_->all_to_all_arguments(out, in, bytes_each),
                      label);
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
  const auto tree = impl_->tree(mine.size(), shards);
  const Call call = Impl::shard_sum_call(count, shards);
  if (size() > 1) impl_->meet(call, label);
  return impl_->start(call, label, [&](const Operation& operation) {
    return (impl_->control_block ? shard_sum_shared : shard_sum)(operation.link, tree,
                                                                 {mine.begin(), mine.end()}, count);
  });
}

std::unique_ptr<Request> Group::start_shard_sum_elsewhere(std::span<float* const> mine,
                                                          std::size_t count, int shards,
                                                          SumElsewhere& where,
                                                          std::string_view label) {
  if (!supports(where.memory()))
    throw std::invalid_argument("UCX has no CUDA here: a GPU's memory cannot be sent");
  // While additions run nothing arrives that would wake a sleeper.
  impl_->progress->wait_policy().expect_memory();
  return impl_->start(Impl::shard_sum_call(count, shards), label, [&](const Operation& operation) {
    return shard_sum_elsewhere(operation.link, impl_->tree(mine.size(), shards),
                               {mine.begin(), mine.end()}, count, where);
  });
}

bool Group::supports(MessageMemory where) const {
  return impl_->progress->transport().supports(where);
}

void Group::look_round() {
  impl_->progress->poll();
}

int Group::first_shard(int rank, int ranks, int shards) {
  return ShardTree::first_shard(rank, ranks, shards);
}

void Group::own_shards(const std::vector<int>& first) {
  if (first.size() != static_cast<std::size_t>(size()) + 1)
    throw std::invalid_argument("a table of first shards has an entry for each rank, and the end");
  auto tree = std::make_shared<const ShardTree>(rank(), first);
  impl_->tables[tree->shards] = first;
  impl_->trees[tree->shards] = std::move(tree);
}

std::vector<int> Group::first_shards(int shards) const {
  if (const auto table = impl_->tables.find(shards); table != impl_->tables.end())
    return table->second;
  std::vector<int> firsts;
  for (int rank = 0; rank <= size(); ++rank)
    firsts.push_back(first_shard(rank, size(), shards));
  return firsts;
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
  impl_->run(Collective::allgather, impl_->allgather_arguments(&mine, wishes.data(), sizeof mine),
             "split");

  int context = 0;
  for (const Wish& wish : wishes) {
    context = std::max(context, wish.context);
  }
  if (context >= kMaxGroups) {
    throw std::logic_error("more than " + std::to_string(kMaxGroups - 1) + " groups split");
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
    const Link here = operation.link.subgroup(neighbours, place, 0);
    impl.complete(operation, share_memory(here, bytes, memory));
  }
  if (!memory) return ordinary_memory(bytes);
  return shared_memory(impl.progress, std::move(memory), id, bytes);
}

}  // namespace thalweg::engine::comm
