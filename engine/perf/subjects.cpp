#include "engine/perf/subjects.h"

#include <algorithm>
#include <stdexcept>

#include "engine/perf/values.h"

namespace thalweg::engine::perf {
namespace {

using comm::Collective;
using comm::Group;

std::size_t rank_of(const Group& group) {
  return static_cast<std::size_t>(group.rank());
}
std::size_t size_of(const Group& group) {
  return static_cast<std::size_t>(group.size());
}

/// A vector of at least one element that is reduced in place.
class Reduction : public Work {
 public:
  Reduction(Group& group, const Options& options, std::size_t bytes)
      : group_(group),
        type_(options.type),
        op_(options.op),
        count_(std::max<std::size_t>(1, bytes / comm::size_of(type_))),
        buffer_(group, count_ * comm::size_of(type_), options.group_memory),
        expected_(expected(group.size(), type_, op_)) {}
  std::size_t bytes() const override { return buffer_.bytes(); }
  std::size_t count() const override { return count_; }
  void fill() override { put_values(buffer_.data(), 0, count_, type_, rank_of(group_)); }
  void clear() override { buffer_.clear(); }

 protected:
  std::uint64_t wrong_in(std::size_t first, std::size_t count) const {
    return count_wrong(buffer_.data() + first * comm::size_of(type_), first, count, type_,
                       expected_);
  }
  Group& group_;
  comm::Type type_;
  comm::Op op_;
  std::size_t count_;
  Buffer buffer_;
  Expected expected_;
};

class Allreduce : public Reduction {
 public:
  using Reduction::Reduction;
  void call() override { group_.allreduce(buffer_.data(), count_, type_, op_); }
  std::uint64_t wrong() const override { return wrong_in(0, count_); }
};

/// f32 in memory, 16 bits on the way: what may be missed is the wire's.
class AllreduceAs : public Reduction {
 public:
  AllreduceAs(Group& group, const Options& options, std::size_t bytes)
      : Reduction(group, options, bytes), wire_(options.wire) {
    if (group.size() > 1) expected_ = expected(group.size(), wire_, op_);
  }
  void call() override {
    group_.allreduce_as(wire_, reinterpret_cast<float*>(buffer_.data()), count_, op_);
  }
  std::uint64_t wrong() const override { return wrong_in(0, count_); }

 private:
  comm::Type wire_;
};

/// Vectors of different ranks share no element that is not zero: they are orthogonal, and the
/// result is their sum.
class AdaptiveSum : public Reduction {
 public:
  AdaptiveSum(Group& group, const Options& options, std::size_t bytes)
      : Reduction(group, options, bytes), ends_{count_} {
    expected_ = expected(1, type_, comm::Op::sum);
  }
  void call() override { group_.adasum(buffer_.data(), count_, type_, ends_); }
  void fill() override {
    const std::size_t width = comm::size_of(type_);
    clear();
    for (std::size_t i = rank_of(group_); i < count_; i += size_of(group_)) {
      put_values(buffer_.data() + i * width, i, 1, type_, 0);
    }
  }
  std::uint64_t wrong() const override { return wrong_in(0, count_); }

 private:
  std::vector<std::size_t> ends_;  ///< of one tensor
};

class ReduceScatter : public Reduction {
 public:
  using Reduction::Reduction;
  void call() override { group_.reduce_scatter(buffer_.data(), count_, type_, op_); }
  std::uint64_t wrong() const override {
    const auto mine = group_.segment(count_, group_.rank());
    return wrong_in(mine.begin, mine.count);
  }
};

class Allgather : public Work {
 public:
  Allgather(Group& group, const Options& options, std::size_t bytes)
      : group_(group),
        each_(std::max<std::size_t>(1, bytes / size_of(group))),
        all_(group, each_ * size_of(group), options.group_memory) {}
  std::size_t bytes() const override { return all_.bytes(); }
  std::size_t count() const override { return all_.bytes(); }
  void call() override { group_.allgather(place(rank_of(group_)), all_.data(), each_); }
  void fill() override { put_bytes(place(rank_of(group_)), each_, rank_of(group_)); }
  std::uint64_t wrong() const override {
    std::uint64_t wrong = 0;
    for (std::size_t r = 0; r < size_of(group_); ++r) {
      wrong += count_wrong_bytes(place(r), each_, r);
    }
    return wrong;
  }
  void clear() override { all_.clear(); }

 private:
  std::byte* place(std::size_t rank) const { return all_.data() + rank * each_; }
  Group& group_;
  std::size_t each_;
  Buffer all_;
};

class Broadcast : public Work {
 public:
  Broadcast(Group& group, const Options& options, std::size_t bytes)
      : group_(group), root_(options.root), buffer_(group, bytes, options.group_memory) {}
  std::size_t bytes() const override { return buffer_.bytes(); }
  std::size_t count() const override { return buffer_.bytes(); }
  void call() override { group_.broadcast(buffer_.data(), buffer_.bytes(), root_); }
  void fill() override {
    if (group_.rank() == root_) put_bytes(buffer_.data(), buffer_.bytes(), 1);
  }
  std::uint64_t wrong() const override {
    return count_wrong_bytes(buffer_.data(), buffer_.bytes(), 1);
  }
  void clear() override { buffer_.clear(); }

 private:
  Group& group_;
  int root_;
  Buffer buffer_;
};

class AllToAll : public Work {
 public:
  AllToAll(Group& group, const Options& options, std::size_t bytes)
      : group_(group),
        each_(std::max<std::size_t>(1, bytes / size_of(group))),
        out_(group, each_ * size_of(group), options.group_memory),
        in_(group, each_ * size_of(group), options.group_memory) {}
  std::size_t bytes() const override { return in_.bytes(); }
  std::size_t count() const override { return in_.bytes(); }
  void call() override { group_.all_to_all(out_.data(), in_.data(), each_); }
  void fill() override {
    for (std::size_t r = 0; r < size_of(group_); ++r) {
      put_bytes(out_.data() + r * each_, each_, key(rank_of(group_), r));
    }
  }
  std::uint64_t wrong() const override {
    std::uint64_t wrong = 0;
    for (std::size_t r = 0; r < size_of(group_); ++r) {
      wrong += count_wrong_bytes(in_.data() + r * each_, each_, key(r, rank_of(group_)));
    }
    return wrong;
  }
  void clear() override {
    out_.clear();
    in_.clear();
  }

 private:
  static std::size_t key(std::size_t from, std::size_t to) { return from * 5 + to; }
  Group& group_;
  std::size_t each_;
  Buffer out_, in_;
};

class Barrier : public Work {
 public:
  Barrier(Group& group, const Options&, std::size_t) : group_(group) {}
  std::size_t bytes() const override { return 0; }
  std::size_t count() const override { return 0; }
  void call() override { group_.barrier(); }
  void fill() override {}
  std::uint64_t wrong() const override { return 0; }
  void clear() override {}

 private:
  Group& group_;
};

int shards_of(const Group& group, const Options& options) {
  return options.shards > 0 ? options.shards : group.size();
}

class ShardSum : public Work {
 public:
  ShardSum(Group& group, const Options& options, std::size_t bytes)
      : group_(group),
        shards_(shards_of(group, options)),
        first_(Group::first_shard(group.rank(), group.size(), shards_)),
        leaves_(static_cast<std::size_t>(
            Group::first_shard(group.rank() + 1, group.size(), shards_) - first_)),
        count_(std::max<std::size_t>(1, bytes / sizeof(float))),
        stride_((count_ + 15) / 16 * 16),
        buffer_(group, leaves_.size() * stride_ * sizeof(float), options.group_memory),
        expected_(expected(shards_, comm::Type::f32, comm::Op::sum)) {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      leaves_[i] = reinterpret_cast<float*>(buffer_.data()) + i * stride_;
    }
  }
  std::size_t bytes() const override { return count_ * sizeof(float); }
  std::size_t count() const override { return count_; }
  void call() override { group_.start_shard_sum(leaves_, count_, shards_)->wait(); }
  void fill() override {
    for (std::size_t i = 0; i < leaves_.size(); ++i) {
      put_values(reinterpret_cast<std::byte*>(leaves_[i]), 0, count_, comm::Type::f32,
                 static_cast<std::size_t>(first_) + i);
    }
  }
  std::uint64_t wrong() const override {
    return count_wrong(buffer_.data(), 0, count_, comm::Type::f32, expected_);
  }
  void clear() override { buffer_.clear(); }

 private:
  Group& group_;
  int shards_;
  int first_;
  std::vector<float*> leaves_;
  std::size_t count_;
  std::size_t stride_;  ///< from one leaf to the next, whole cache lines
  Buffer buffer_;
  Expected expected_;
};

std::string none(const Group&, const Options&) {
  return "";
}

std::string other_than_f32(const Group&, const Options& options) {
  return options.type == comm::Type::f32 ? "" : "it knows no --type but f32";
}

std::string integers_or_odd_ranks(const Group& group, const Options& options) {
  if (options.type == comm::Type::i32 || options.type == comm::Type::i64)
    return "it knows no integers";
  if (group.layout().allows(comm::Needs::power_of_two)) return "";
  return "it needs a power of two of ranks, not " + std::to_string(group.size());
}

std::string no_such_root(const Group& group, const Options& options) {
  if (options.root < group.size()) return "";
  return "--root " + std::to_string(options.root) + ": there are " + std::to_string(group.size()) +
         " ranks";
}

std::string other_sums_or_few_shards(const Group& group, const Options& options) {
  if (options.type != comm::Type::f32 || options.op != comm::Op::sum)
    return "it knows no --type but f32 and no --op but sum";
  if (shards_of(group, options) >= group.size()) return "";
  return "--shards " + std::to_string(options.shards) + ": there are more ranks, " +
         std::to_string(group.size());
}

template <class T>
std::unique_ptr<Work> make(Group& group, const Options& options, std::size_t bytes) {
  return std::make_unique<T>(group, options, bytes);
}

double twice_the_others(int ranks) {
  return 2.0 * (ranks - 1) / ranks;
}
double the_others(int ranks) {
  return 1.0 * (ranks - 1) / ranks;
}
double once(int) {
  return 1;
}

}  // namespace

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> kSubjects = {
      {"allreduce", "every rank gets the reduction of all vectors", Collective::allreduce, true,
       true, true, twice_the_others, none, make<Allreduce>},
      {"allreduce_as",
       "the same, of f32 that travels as --wire",
       {},
       true,
       true,
       true,
       the_others,
       other_than_f32,
       make<AllreduceAs>},
      {"adasum",
       "adds orthogonal vectors, averages parallel ones",
       {},
       true,
       true,
       true,
       twice_the_others,
       integers_or_odd_ranks,
       make<AdaptiveSum>},
      {"reduce_scatter", "each rank gets a segment of the reduction", Collective::reduce_scatter,
       true, true, true, the_others, none, make<ReduceScatter>},
      {"allgather", "every rank gets all ranks' segments", Collective::allgather, true, false, true,
       the_others, none, make<Allgather>},
      {"broadcast", "every rank gets the root's vector", Collective::broadcast, true, false, false,
       once, no_such_root, make<Broadcast>},
      {"all_to_all", "each rank has a segment for every other", Collective::all_to_all, true, false,
       true, the_others, none, make<AllToAll>},
      {"barrier", "no rank returns before all have called", Collective::barrier, false, false, true,
       once, none, make<Barrier>},
      {"shard_sum",
       "the sum of gradients in training: the same bits on any number of ranks",
       {},
       true,
       true,
       true,
       twice_the_others,
       other_sums_or_few_shards,
       make<ShardSum>},
  };
  return kSubjects;
}

const Subject& find_subject(const std::string& name) {
  for (const auto& subject : subjects()) {
    if (name == subject.name) return subject;
  }
  throw std::out_of_range("no collective " + name);
}

std::vector<std::string> subject_names() {
  std::vector<std::string> names;
  for (const auto& subject : subjects()) {
    names.emplace_back(subject.name);
  }
  return names;
}

}  // namespace thalweg::engine::perf
