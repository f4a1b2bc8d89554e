#include "tests/engine/comm/fuzz_call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/reduction/half.h"

namespace thalweg::engine::comm {
namespace {

void store(std::byte* at, Type type, std::size_t i, double x) {
  const auto put = [&](auto v) { std::memcpy(at + i * sizeof v, &v, sizeof v); };
  switch (type) {
    case Type::f64:
      return put(x);
    case Type::f32:
      return put(static_cast<float>(x));
    case Type::f16:
      return put(to_f16(static_cast<float>(x)));
    case Type::bf16:
      return put(to_bf16(static_cast<float>(x)));
    case Type::i32:
      return put(static_cast<std::int32_t>(x));
    case Type::i64:
      return put(static_cast<std::int64_t>(x));
  }
}

double load(const std::byte* at, Type type, std::size_t i) {
  const auto get = [&](auto v) {
    std::memcpy(&v, at + i * sizeof v, sizeof v);
    return v;
  };
  switch (type) {
    case Type::f64:
      return get(0.0);
    case Type::f32:
      return get(0.0F);
    case Type::f16:
      return to_float(get(F16{}));
    case Type::bf16:
      return to_float(get(Bf16{}));
    case Type::i32:
      return get(std::int32_t{});
    case Type::i64:
      return static_cast<double>(get(std::int64_t{}));
  }
  return 0;
}

}  // namespace

FuzzCall::FuzzCall(Group& group, const FuzzDraw& draw)
    : group_(group),
      draw_(draw),
      ranks_(static_cast<std::size_t>(group.size())),
      root_(static_cast<int>(draw.root % ranks_)),
      type_(draw.type) {
  what_ = std::string(name_of(type_)) + " " + name_of(draw_.op) + " of " +
          std::to_string(draw_.count) + " from " + std::to_string(root_) + " among " +
          std::to_string(ranks_) + (draw_.blocking ? ", blocking" : ", started") +
          (draw_.allocated ? ", allocated" : "");
  tolerance_ = rounding(type_);
  call();
}

void FuzzCall::call() {
  switch (draw_.kind) {
    case 0:
    case 1:
      return allreduce();
    case 2:
      return reduce_scatter();
    case 3:
      return allgather();
    case 4:
      return allgather_segments();
    case 5:
      return broadcast();
    case 6:
      return all_to_all();
    case 7:
      return shard_sum();
    default:
      return allreduce_as();
  }
}

void FuzzCall::check() const {
  for (std::size_t k = 0; k < expected_.size(); ++k) {
    const double found = load(data(), type_, first_ + k);
    if (std::abs(found - expected_[k]) <= tolerance_) continue;
    throw std::runtime_error("seed " + std::to_string(draw_.seed) + ", step " +
                             std::to_string(draw_.step) + ": " + what_ + ": element " +
                             std::to_string(first_ + k) + " is " + std::to_string(found) +
                             " instead of " + std::to_string(expected_[k]));
  }
}

/// Small whole numbers: sums of a few of them are exact in every type.
double FuzzCall::value(int member, std::size_t i) const {
  const auto mixed = (i + 1) * 2654435761U + static_cast<std::size_t>(draw_.step) * 40503U +
                     static_cast<std::size_t>(member) * 97U;
  return static_cast<double>(mixed >> 5U & 7U) - 2;
}

double FuzzCall::reduced(std::size_t i) const {
  double result = value(0, i);
  for (int r = 1; r < group_.size(); ++r) {
    const double x = value(r, i);
    result = draw_.op == Op::min   ? std::min(result, x)
             : draw_.op == Op::max ? std::max(result, x)
                                   : result + x;
  }
  return draw_.op == Op::average ? result / static_cast<double>(ranks_) : result;
}

/// Only quotients are rounded.
double FuzzCall::rounding(Type type) const {
  if (draw_.op != Op::average) return 0.0;
  return type == Type::f64 ? 1e-14 : type == Type::f32 ? 1e-6 : type == Type::f16 ? 4e-3 : 4e-2;
}

void FuzzCall::choose(const char* what, Collective collective) {
  std::vector<std::string> names{"auto"};
  for (const Row& row : rows_of(collective)) {
    if (group_.layout().allows(row.needs)) names.emplace_back(row.name);
  }
  const std::string& name = names[draw_.row % names.size()];
  group_.use(collective, name);
  what_ += std::string(": ") + what + " by " + name;
}

void FuzzCall::place(std::size_t elements) {
  const std::size_t bytes = elements * size_of(type_);
  if (!draw_.allocated) return data_.resize(bytes);
  memory_ = group_.allocate(bytes);
}

void FuzzCall::fill(std::size_t elements) {
  for (std::size_t i = 0; i < elements; ++i) {
    store(data(), type_, i, value(group_.rank(), i));
  }
}

void FuzzCall::expect(std::size_t first, std::size_t count,
                      const std::function<double(std::size_t)>& of) {
  first_ = first;
  for (std::size_t i = first; i < first + count; ++i) {
    expected_.push_back(of(i));
  }
}

void FuzzCall::allreduce() {
  choose("allreduce", Collective::allreduce);
  place(draw_.count);
  fill(draw_.count);
  expect(0, draw_.count, [&](std::size_t i) { return reduced(i); });
  if (draw_.blocking) return group_.allreduce(data(), draw_.count, type_, draw_.op);
  request_ = group_.start_allreduce(data(), draw_.count, type_, draw_.op, what_);
}

void FuzzCall::reduce_scatter() {
  choose("reduce_scatter", Collective::reduce_scatter);
  place(draw_.count);
  fill(draw_.count);
  const auto segment = group_.segment(draw_.count, group_.rank());
  expect(segment.begin, segment.count, [&](std::size_t i) { return reduced(i); });
  if (draw_.blocking) return group_.reduce_scatter(data(), draw_.count, type_, draw_.op);
  request_ = group_.start_reduce_scatter(data(), draw_.count, type_, draw_.op, what_);
}

void FuzzCall::allgather() {
  choose("allgather", Collective::allgather);
  const std::size_t each = draw_.count / ranks_, bytes = each * size_of(type_);
  place(each * ranks_);
  const std::size_t begin = each * static_cast<std::size_t>(group_.rank());
  for (std::size_t i = 0; i < each; ++i) {
    store(data(), type_, begin + i, value(group_.rank(), i));
  }
  expect(0, each * ranks_,
         [&](std::size_t i) { return value(static_cast<int>(i / each), i % each); });
  const std::byte* own = data() + begin * size_of(type_);
  if (draw_.blocking) return group_.allgather(own, data(), bytes);
  request_ = group_.start_allgather(own, data(), bytes, what_);
}

void FuzzCall::allgather_segments() {
  choose("allgather of segments", Collective::allgather);
  place(draw_.count);
  const auto segment = group_.segment(draw_.count, group_.rank());
  for (std::size_t i = segment.begin; i < segment.begin + segment.count; ++i) {
    store(data(), type_, i, value(99, i));
  }
  expect(0, draw_.count, [&](std::size_t i) { return value(99, i); });
  if (draw_.blocking) return group_.allgather_segments(data(), draw_.count, type_);
  request_ = group_.start_allgather_segments(data(), draw_.count, type_, what_);
}

void FuzzCall::broadcast() {
  choose("broadcast", Collective::broadcast);
  place(draw_.count);
  fill(draw_.count);
  expect(0, draw_.count, [&](std::size_t i) { return value(root_, i); });
  const std::size_t bytes = draw_.count * size_of(type_);
  if (draw_.blocking) return group_.broadcast(data(), bytes, root_);
  request_ = group_.start_broadcast(data(), bytes, root_, what_);
}

void FuzzCall::all_to_all() {
  choose("all_to_all", Collective::all_to_all);
  const std::size_t each = draw_.count / ranks_, bytes = each * size_of(type_);
  place(each * ranks_);
  out_.resize(bytes * ranks_);
  for (std::size_t i = 0; i < each * ranks_; ++i) {
    store(out_.data(), type_, i, value(group_.rank(), i));
  }
  const std::size_t begin = each * static_cast<std::size_t>(group_.rank());
  expect(0, each * ranks_,
         [&](std::size_t i) { return value(static_cast<int>(i / each), begin + i % each); });
  if (draw_.blocking) return group_.all_to_all(out_.data(), data(), bytes);
  request_ = group_.start_all_to_all(out_.data(), data(), bytes, what_);
}

void FuzzCall::shard_sum() {
  what_ += ": sum over shards";
  type_ = Type::f32;
  tolerance_ = 0;
  const int shards = group_.size() + static_cast<int>(draw_.root % 5);
  const int first = Group::first_shard(group_.rank(), group_.size(), shards);
  const int end = Group::first_shard(group_.rank() + 1, group_.size(), shards);
  place(draw_.count * static_cast<std::size_t>(end - first));
  for (int s = first; s < end; ++s) {
    auto* leaf = data() + static_cast<std::size_t>(s - first) * draw_.count * sizeof(float);
    leaves_.push_back(reinterpret_cast<float*>(leaf));
    for (std::size_t i = 0; i < draw_.count; ++i) {
      store(leaf, Type::f32, i, value(s, i));
    }
  }
  expect(0, draw_.count, [&](std::size_t i) {
    double sum = 0;
    for (int s = 0; s < shards; ++s) {
      sum += value(s, i);
    }
    return sum;
  });
  request_ = group_.start_shard_sum(leaves_, draw_.count, shards, what_);
  if (draw_.blocking) request_->wait();
}

void FuzzCall::allreduce_as() {
  what_ += ": allreduce as 16 bits";
  type_ = Type::f32;
  place(draw_.count);
  fill(draw_.count);
  expect(0, draw_.count, [&](std::size_t i) { return reduced(i); });
  const Type wire = draw_.root % 2 ? Type::f16 : Type::bf16;
  tolerance_ = rounding(wire);
  auto* floats = reinterpret_cast<float*>(data());
  request_ = group_.start_allreduce_as(wire, floats, draw_.count, draw_.op, what_);
  if (draw_.blocking) request_->wait();
}

}  // namespace thalweg::engine::comm
