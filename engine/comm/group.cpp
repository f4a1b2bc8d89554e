#include "engine/comm/group.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>

#include "engine/comm/algorithms/shard_sum.h"
#include "engine/comm/algorithms/table.h"
#include "engine/comm/patience.h"

namespace thalweg::engine::comm {

std::size_t size_of(Type type) {
  static constexpr std::size_t kSizes[] = {8, 4, 2, 2, 4, 8};
  return kSizes[static_cast<int>(type)];
}

const char* name_of(Type type) {
  static constexpr const char* kNames[] = {"f64", "f32", "f16", "bf16", "i32", "i64"};
  return kNames[static_cast<int>(type)];
}

const char* name_of(Op op) {
  static constexpr const char* kNames[] = {"sum", "average", "min", "max"};
  return kNames[static_cast<int>(op)];
}

std::vector<std::string> allreduce_names() {
  std::vector<std::string> names{"auto"};
  for (const auto& row : allreduce_table()) {
    names.emplace_back(row.name);
  }
  return names;
}

struct Group::Impl {
  std::unique_ptr<Transport> transport;
  GroupOptions options;
  const AllreduceRow* fixed_allreduce = nullptr;  ///< nullptr: by size
  Patience patience;
  std::uint32_t calls = 0;  ///< the same on every rank, since all make the same calls
  bool failed = false;
  std::map<int, std::shared_ptr<const ShardTree>> trees;  ///< by number of shards
  std::vector<std::unique_ptr<ShardSum>> idle_sums;
  std::vector<ShardSum*> active_sums;

  Impl(std::unique_ptr<Transport> t, GroupOptions o)
      : transport(std::move(t)),
        options(std::move(o)),
        patience(*transport, options.stall_timeout) {}

  /// Calls take turns over 2^32 tags; each has 2^8 of its own.
  std::uint64_t next_tag() { return static_cast<std::uint64_t>(calls++) << 8; }

  /// Sums advance inside every wait: a peer may need them before it can join what we wait for.
  void advance_sums() {
    std::erase_if(active_sums, [](ShardSum* sum) { return sum->advance(); });
  }

  template <class F>
  auto guarded(F&& f) {
    try {
      return f();
    } catch (...) {
      failed = true;
      throw;
    }
  }

  void wait(const char* what, const std::function<bool()>& done) {
    guarded([&] {
      patience.until(
          [&] {
            advance_sums();
            return done();
          },
          what);
    });
  }

  template <class F>
  void call(const char* what, F&& algorithm) {
    const WaitFor wait_for = [this, what](const std::function<bool()>& done) { wait(what, done); };
    guarded([&] {
      Link link(*transport, next_tag(), wait_for);
      algorithm(link);
    });
  }
};

namespace {

/// Lends a ShardSum out of the group's pool for as long as the caller holds the request.
template <class Impl>
class SumRequest : public Request {
 public:
  SumRequest(Impl& group, std::unique_ptr<ShardSum> sum) : group_(group), sum_(std::move(sum)) {}
  SumRequest(const SumRequest&) = delete;
  SumRequest& operator=(const SumRequest&) = delete;

  ~SumRequest() override {
    if (!sum_->done()) {
      if (!group_.failed) {
        std::fputs("thalweg: a shard sum was dropped before it was complete\n", stderr);
      }
      std::erase(group_.active_sums, sum_.get());
      sum_->abandon();
    }
    group_.idle_sums.push_back(std::move(sum_));
  }

  bool test() override {
    if (sum_->done()) return true;
    group_.guarded([&] {
      group_.transport->progress();
      group_.advance_sums();
    });
    return sum_->done();
  }

  void wait() override {
    group_.wait("a sum over shards", [this] { return sum_->done(); });
  }

 private:
  Impl& group_;
  std::unique_ptr<ShardSum> sum_;
};

}  // namespace

Group::Group(std::unique_ptr<Transport> transport, GroupOptions options)
    : impl_(std::make_unique<Impl>(std::move(transport), std::move(options))) {
  use_allreduce(impl_->options.allreduce);
}

void Group::use_allreduce(const std::string& name) {
  const AllreduceRow* row = find_allreduce(name);
  if (!row && name != "auto") {
    std::string known;
    for (const auto& n : allreduce_names()) {
      known += (known.empty() ? "" : ", ") + n;
    }
    throw std::invalid_argument("no allreduce algorithm '" + name + "'; there are: " + known);
  }
  impl_->fixed_allreduce = row;
}

Group::~Group() = default;

int Group::rank() const {
  return impl_->transport->rank();
}
int Group::size() const {
  return impl_->transport->size();
}
const std::string& Group::node_of(int rank) const {
  return impl_->transport->node_of(rank);
}

void Group::allreduce(void* data, std::size_t count, Type type, Op op) {
  if (size() == 1 || count == 0) return;
  const auto& row =
      impl_->fixed_allreduce ? *impl_->fixed_allreduce : choose_allreduce(count * size_of(type));
  impl_->call("allreduce", [&](Link& link) { row.run(link, data, count, type, op); });
}

void Group::broadcast(void* data, std::size_t bytes, int root) {
  if (root < 0 || root >= size()) {
    throw std::invalid_argument("broadcast from rank " + std::to_string(root) + " of " +
                                std::to_string(size()));
  }
  if (size() == 1 || bytes == 0) return;
  impl_->call("broadcast", [&](Link& link) { broadcast_binomial(link, data, bytes, root); });
}

void Group::allgather(const void* mine, void* all, std::size_t bytes_each) {
  if (bytes_each == 0) return;
  auto* place = static_cast<std::byte*>(all) + static_cast<std::size_t>(rank()) * bytes_each;
  if (place != mine) std::memcpy(place, mine, bytes_each);
  if (size() == 1) return;
  std::vector<std::size_t> starts;
  for (int r = 0; r <= size(); ++r) {
    starts.push_back(static_cast<std::size_t>(r) * bytes_each);
  }
  impl_->call("allgather", [&](Link& link) { allgather_ring(link, all, starts); });
}

void Group::barrier() {
  if (size() == 1) return;
  impl_->call("barrier", [](Link& link) { barrier_dissemination(link); });
}

std::unique_ptr<Request> Group::start_shard_sum(std::span<float* const> mine, std::size_t count,
                                                int shards) {
  auto& tree = impl_->trees[shards];
  if (!tree) tree = std::make_shared<const ShardTree>(rank(), size(), shards);
  const auto owned = static_cast<std::size_t>(first_shard(rank() + 1, size(), shards) -
                                              first_shard(rank(), size(), shards));
  if (mine.size() != owned) {
    throw std::invalid_argument("rank " + std::to_string(rank()) + " owns " +
                                std::to_string(owned) + " of " + std::to_string(shards) +
                                " shards, but brings " + std::to_string(mine.size()));
  }
  auto& idle = impl_->idle_sums;
  std::unique_ptr<ShardSum> sum;
  if (idle.empty()) {
    sum = std::make_unique<ShardSum>();
  } else {
    sum = std::move(idle.back());
    idle.pop_back();
  }
  impl_->guarded([&] { sum->start(*impl_->transport, impl_->next_tag(), tree, mine, count); });
  if (!sum->done()) impl_->active_sums.push_back(sum.get());
  return std::make_unique<SumRequest<Impl>>(*impl_, std::move(sum));
}

int Group::first_shard(int rank, int ranks, int shards) {
  return static_cast<int>(static_cast<std::int64_t>(rank) * shards / ranks);
}

}  // namespace thalweg::engine::comm
