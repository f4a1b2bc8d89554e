#include "engine/comm/algorithms/adasum.h"

#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <stdexcept>
#include <string>

#include "engine/comm/algorithms/direct.h"
#include "engine/comm/algorithms/functions.h"
#include "engine/comm/algorithms/leaders.h"
#include "engine/comm/reduction/half.h"
#include "engine/comm/reduction/reduce.h"
#include "engine/simd.h"

namespace thalweg::engine::comm {
namespace {

/// Of two vectors: a.b, |a|^2, |b|^2.
struct Products {
  double dot, left, right;
};

// Partial sums in a fixed number of lanes: the same bits at any vector width.
constexpr std::size_t kLanes = 16;

template <class T>
THALWEG_INLINE Products each_product(const void* left, const void* right, std::size_t count) {
  const auto* a = static_cast<const T*>(left);
  const auto* b = static_cast<const T*>(right);
  double dot[kLanes] = {}, aa[kLanes] = {}, bb[kLanes] = {};
  const auto add = [&](std::size_t lane, std::size_t i) __attribute__((always_inline)) {
    const auto x = static_cast<double>(load(a[i]));
    const auto y = static_cast<double>(load(b[i]));
    dot[lane] += x * y;
    aa[lane] += x * x;
    bb[lane] += y * y;
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      add(lane, i + lane);
    }
  }
  for (; i < count; ++i) {
    add(i % kLanes, i);
  }
  for (std::size_t lane = 1; lane < kLanes; ++lane) {
    dot[0] += dot[lane];
    aa[0] += aa[lane];
    bb[0] += bb[lane];
  }
  return {dot[0], aa[0], bb[0]};
}

THALWEG_SIMD Products products(const void* a, const void* b, std::size_t count, Type type) {
  switch (type) {
    case Type::f64:
      return each_product<double>(a, b, count);
    case Type::f32:
      return each_product<float>(a, b, count);
    case Type::f16:
      return each_product<F16>(a, b, count);
    default:
      return each_product<Bf16>(a, b, count);
  }
}

template <class T>
THALWEG_INLINE void each_blend(void* into, const void* left, double by_left, const void* right,
                               double by_right, std::size_t count) {
  auto* out = static_cast<T*>(into);
  const auto* a = static_cast<const T*>(left);
  const auto* b = static_cast<const T*>(right);
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = store<T>(by_left * static_cast<double>(load(a[i])) +
                      by_right * static_cast<double>(load(b[i])));
  }
}

/// into = by_left a + by_right b; `into` may be either.
THALWEG_SIMD void blend(void* into, const void* a, double by_left, const void* b, double by_right,
                        std::size_t count, Type type) {
  switch (type) {
    case Type::f64:
      return each_blend<double>(into, a, by_left, b, by_right, count);
    case Type::f32:
      return each_blend<float>(into, a, by_left, b, by_right, count);
    case Type::f16:
      return each_blend<F16>(into, a, by_left, b, by_right, count);
    default:
      return each_blend<Bf16>(into, a, by_left, b, by_right, count);
  }
}

/// Vectors this short have no direction.
double coefficient(double dot, double norm_squared) {
  static const double kMinNorm = std::sqrt(DBL_MIN);
  return norm_squared < kMinNorm ? 1.0 : 1.0 - dot / norm_squared * 0.5;
}

struct Range {
  std::size_t begin, end;
  std::size_t count() const { return end - begin; }
};

/// Calls f(tensor, begin, count) for what each tensor has in `range`.
template <class F>
void each_tensor(const std::vector<std::size_t>& ends, Range range, F&& f) {
  auto tensor = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), range.begin) -
                                         ends.begin());
  for (std::size_t begin = range.begin; begin < range.end; ++tensor) {
    const std::size_t end = std::min(ends[tensor], range.end);
    if (end > begin) f(tensor, begin, end - begin);
    begin = std::max(begin, end);
  }
}

/// Sums `all` over the leaders of `span` machines from `first` on: the same bits on each of them.
Task sum_over(const Link& link, const Leaders& leaders, int first, int span,
              std::vector<Products>& all) {
  std::vector<int> members;
  for (int m = first; m < first + span; ++m) {
    const auto& theirs = leaders.of[static_cast<std::size_t>(m)];
    members.insert(members.end(), theirs.begin(), theirs.end());
  }
  const int place = (leaders.machine - first) * leaders.each + leaders.place;
  const Link all_members = link.subgroup(members, place, 1);
  Arguments sums{all.data(), nullptr, all.size() * 3, sizeof(double), Type::f64, Op::sum, 0};
  co_await allreduce_recursive_doubling(all_members, Layout(), sums);
}

/// The tree over machines, for one slice of the vector.
Task tree(const Link& link, const Leaders& leaders, Arguments a, std::vector<std::size_t> ends,
          Range slice) {
  const std::vector<int> column = leaders.column();
  const Link across = link.subgroup(column, leaders.machine, 2);
  auto* data = static_cast<std::byte*>(a.data);
  const auto at = [&](std::size_t i) { return data + i * a.element; };
  const auto scratch = link.scratch((slice.count() / 2 + 1) * a.element);
  std::vector<Products> all(ends.size());
  std::vector<Range> given;

  for (int step = 1; step < leaders.machines(); step *= 2) {
    const int peer = leaders.machine ^ step;
    const bool first = leaders.machine < peer;
    const std::size_t middle = slice.begin + slice.count() / 2;
    const Range low{slice.begin, middle}, high{middle, slice.end};
    slice = first ? low : high;
    given.push_back(first ? high : low);
    co_await across.exchange(peer, at(given.back().begin), given.back().count() * a.element, peer,
                             scratch.data(), slice.count() * a.element);

    // What came belongs to `slice`; the lower rank's vector is always the left one.
    const auto left = [&](std::size_t i) {
      return first ? at(i) : scratch.data() + (i - slice.begin) * a.element;
    };
    const auto right = [&](std::size_t i) {
      return first ? scratch.data() + (i - slice.begin) * a.element : at(i);
    };
    std::fill(all.begin(), all.end(), Products{});
    each_tensor(ends, slice, [&](std::size_t tensor, std::size_t begin, std::size_t count) {
      all[tensor] = products(left(begin), right(begin), count, a.type);
    });
    const int block = leaders.machine & ~(2 * step - 1);
    co_await sum_over(link, leaders, block, 2 * step, all);
    each_tensor(ends, slice, [&](std::size_t tensor, std::size_t begin, std::size_t count) {
      const Products& p = all[tensor];
      blend(at(begin), left(begin), coefficient(p.dot, p.left), right(begin),
            coefficient(p.dot, p.right), count, a.type);
    });
  }

  for (int step = leaders.machines() / 2; step > 0; step /= 2) {
    const int peer = leaders.machine ^ step;
    const Range other = given.back();
    given.pop_back();
    co_await across.exchange(peer, at(slice.begin), slice.count() * a.element, peer,
                             at(other.begin), other.count() * a.element);
    slice = {std::min(slice.begin, other.begin), std::max(slice.end, other.end)};
  }
}

/// Every rank a machine of its own.
Layout apart(const Layout& layout) {
  Layout singles{layout.rank, layout.ranks, {}, layout.rank};
  for (int r = 0; r < layout.ranks; ++r) {
    singles.machines.push_back({r});
  }
  return singles;
}

}  // namespace

Task adasum(const Link& link, const Layout& layout, Arguments a, std::vector<std::size_t> ends,
            bool over_machines) {
  const Leaders leaders(link, over_machines ? layout : apart(layout));
  const int local_ranks = static_cast<int>(leaders.local.size());
  const Link local = link.subgroup(leaders.local, leaders.place, 0);
  if (local_ranks > 1) co_await reduce_to_owners(local, leaders.each, a);
  if (leaders.is_leader()) {
    const auto starts = segments(a.count, leaders.each);
    const auto place = static_cast<std::size_t>(leaders.place);
    const Range slice{starts[place], starts[place + 1]};
    finish(static_cast<std::byte*>(a.data) + slice.begin * a.element, slice.count(), a.type,
           Op::average, local_ranks);
    co_await tree(link, leaders, a, std::move(ends), slice);
  }
  if (local_ranks > 1) co_await spread_from_owners(local, leaders.each, a);
}

void check_adasum(const Layout& layout, const Arguments& a, const std::vector<std::size_t>& ends,
                  bool over_machines) {
  const std::size_t vectors =
      over_machines ? layout.machines.size() : static_cast<std::size_t>(layout.ranks);
  if (!std::has_single_bit(vectors)) {
    throw std::invalid_argument("Adasum combines pairs of pairs: it needs a power of two of " +
                                std::string(over_machines ? "machines" : "ranks") + ", not " +
                                std::to_string(vectors));
  }
  if (a.type == Type::i32 || a.type == Type::i64) {
    throw std::invalid_argument("Adasum of integers");
  }
  if (!std::is_sorted(ends.begin(), ends.end()) || (ends.empty() ? 0 : ends.back()) != a.count) {
    throw std::invalid_argument("Adasum: the tensors' ends must ascend to the vector's length, " +
                                std::to_string(a.count));
  }
}

}  // namespace thalweg::engine::comm
