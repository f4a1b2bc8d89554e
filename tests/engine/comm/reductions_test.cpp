// Every algorithm of allreduce and reduce-scatter x type x operation x rank count x length, on
// ranks as threads, against sums in double precision (integers: exact).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <random>

#include "engine/comm/algorithms/table.h"
#include "engine/comm/half.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

constexpr int kRankCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 13, 16};
// Below and above the rank count, and past the lengths where messages and pieces change their ways.
constexpr std::size_t kLengths[] = {0, 1, 2, 3, 5, 8, 15, 17, 100, 1025, 20011};
constexpr std::size_t kFewLengths[] = {1, 7, 1025};
constexpr std::size_t kLongest = 20011;

/// Any bits that depend on all of the arguments.
std::uint64_t noise(int rank, std::size_t i) {
  std::uint64_t x = (static_cast<std::uint64_t>(rank) << 40U) + i + 1;
  for (int round = 0; round < 2; ++round) {
    x = (x ^ (x >> 31U)) * 0x9E3779B97F4A7C15U;
  }
  return x ^ (x >> 29U);
}

template <class T>
T value_of(int rank, std::size_t i) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::int64_t>(noise(rank, i) % 2000001) - 1000000);
  } else {
    return store<T>(static_cast<double>(noise(rank, i) >> 11U) * 0x1p-52 - 1);  // [-1, 1)
  }
}

template <class T>
std::vector<T> values_of(int rank, std::size_t count) {
  std::vector<T> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = value_of<T>(rank, i);
  }
  return values;
}

template <class T>
constexpr double kEpsilon = static_cast<double>(std::numeric_limits<T>::epsilon());  // 0: exact
template <>
constexpr double kEpsilon<F16> = 0x1p-10;
template <>
constexpr double kEpsilon<Bf16> = 0x1p-7;

struct Reference {
  std::vector<long double> value, tolerance;
};

/// Of element i it does not matter how long the vector is, so one serves all lengths.
template <class T>
const Reference& reference(int ranks, Type type, Op op) {
  static std::map<std::tuple<int, Type, Op>, Reference> all;
  const auto [at, is_new] = all.try_emplace({ranks, type, op});
  Reference& reference = at->second;
  if (!is_new) return reference;
  for (std::size_t i = 0; i < kLongest; ++i) {
    long double result = load(value_of<T>(0, i)), magnitude = std::fabs(result);
    for (int r = 1; r < ranks; ++r) {
      const long double x = load(value_of<T>(r, i));
      magnitude += std::fabs(x);
      if (op == Op::min || op == Op::max) {
        result = op == Op::min ? std::min(result, x) : std::max(result, x);
      } else {
        result += x;
      }
    }
    if (op == Op::average) {
      result /= ranks;
      magnitude /= ranks;
    }
    const bool exact = op == Op::min || op == Op::max;
    reference.value.push_back(result);
    reference.tolerance.push_back(exact ? 0 : ranks * kEpsilon<T> * magnitude);
  }
  return reference;
}

std::uint64_t hash(const void* data, std::size_t bytes) {
  std::uint64_t h = 14695981039346656037U;
  const auto* p = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < bytes; ++i) {
    h = (h ^ p[i]) * 1099511628211U;
  }
  return h;
}

/// Hashes of all results of a rank, in the order of the calls.
using Prints = std::vector<std::uint64_t>;

struct Case {
  Collective collective;
  std::string algorithm;
};

template <class T>
void check(Group& group, const Case& c, std::size_t count, Type type, Op op, Prints& prints) {
  auto data = values_of<T>(group.rank(), count);
  std::size_t begin = 0, end = count;
  if (c.collective == Collective::allreduce) {
    group.allreduce(data.data(), count, type, op);
  } else {
    group.reduce_scatter(data.data(), count, type, op);
    const auto segment = group.segment(count, group.rank());
    begin = segment.begin;
    end = begin + segment.count;
  }
  const Reference& right = reference<T>(group.size(), type, op);
  for (std::size_t i = begin; i < end; ++i) {
    const long double got = load(data[i]);
    ASSERT_LE(std::fabs(got - right.value[i]), right.tolerance[i])
        << name_of(type) << " " << name_of(op) << ", element " << i << " of " << count
        << " on rank " << group.rank() << " of " << group.size() << ": "
        << static_cast<double>(got);
  }
  prints.push_back(hash(data.data() + begin, (end - begin) * sizeof(T)));
}

template <class T>
void check_type(Group& group, const Case& c, Type type, Prints& prints) {
  for (const std::size_t count : kLengths) {
    check<T>(group, c, count, type, Op::sum, prints);
  }
  for (const std::size_t count : kFewLengths) {
    for (const Op op : {Op::average, Op::min, Op::max}) {
      if (op == Op::average && std::is_integral_v<T>) continue;
      check<T>(group, c, count, type, op, prints);
    }
  }
}

/// Threads that run through `body` must not make the references: they share them.
template <class T>
void prepare(int ranks, Type type) {
  for (const Op op : {Op::sum, Op::average, Op::min, Op::max}) {
    reference<T>(ranks, type, op);
  }
}

void prepare(int ranks) {
  prepare<double>(ranks, Type::f64);
  prepare<float>(ranks, Type::f32);
  prepare<F16>(ranks, Type::f16);
  prepare<Bf16>(ranks, Type::bf16);
  prepare<std::int32_t>(ranks, Type::i32);
  prepare<std::int64_t>(ranks, Type::i64);
}

/// Everything of one algorithm on one layout; each rank's prints.
std::vector<Prints> run(const Case& c, const std::vector<int>& machine_of) {
  std::vector<Prints> prints(machine_of.size());
  on_machines(machine_of, {}, [&](Group& group) {
    group.use(c.collective, c.algorithm);
    Prints& mine = prints[static_cast<std::size_t>(group.rank())];
    check_type<double>(group, c, Type::f64, mine);
    check_type<float>(group, c, Type::f32, mine);
    check_type<F16>(group, c, Type::f16, mine);
    check_type<Bf16>(group, c, Type::bf16, mine);
    check_type<std::int32_t>(group, c, Type::i32, mine);
    check_type<std::int64_t>(group, c, Type::i64, mine);
  });
  return prints;
}

/// Layouts of `ranks` that the algorithm can work on.
std::vector<std::vector<int>> layouts(const Case& c, int ranks) {
  std::vector<std::vector<int>> found;
  const Needs needs = find_row(c.collective, c.algorithm)->needs;
  const auto dealt = [&](auto&& machine) {
    std::vector<int> machine_of;
    for (int r = 0; r < ranks; ++r) {
      machine_of.push_back(machine(r));
    }
    return machine_of;
  };
  if (needs == Needs::machines) {
    if (ranks > 2) found.push_back(dealt([](int r) { return r % 2; }));
    if (ranks > 3) found.push_back(dealt([](int r) { return r / 3; }));  // the last has fewer
    if (ranks > 4) found.push_back(dealt([](int r) { return r == 0 ? 0 : 1 + r % 3; }));
  } else if (needs != Needs::power_of_two || (ranks & (ranks - 1)) == 0) {
    found.push_back(dealt([](int) { return 0; }));
  }
  return found;
}

class Reductions : public testing::TestWithParam<Case> {};

TEST_P(Reductions, EveryTypeOperationRankCountAndLength) {
  for (const int ranks : kRankCounts) {
    prepare(ranks);
    for (const auto& machine_of : layouts(GetParam(), ranks)) {
      const auto prints = run(GetParam(), machine_of);
      if (GetParam().collective != Collective::allreduce) continue;
      for (const auto& print : prints) {
        EXPECT_EQ(prints[0], print) << "ranks have different bits";
      }
    }
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

TEST_P(Reductions, SameBitsHoweverLateRanksCome) {
  const Case& c = GetParam();
  for (const int ranks : {3, 4, 7}) {
    for (const auto& machine_of : layouts(c, ranks)) {
      std::vector<Prints> first;
      for (unsigned round = 0; round < 3; ++round) {
        std::vector<Prints> prints(machine_of.size());
        on_machines(machine_of, {}, [&](Group& group) {
          group.use(c.collective, c.algorithm);
          std::mt19937 random(round * 100 + static_cast<unsigned>(group.rank()));
          for (const std::size_t count : {9U, 1000U, 70001U}) {
            auto data = values_of<float>(group.rank(), count);
            if (round > 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
            std::unique_ptr<Request> request;
            if (c.collective == Collective::allreduce) {
              request = group.start_allreduce(data.data(), count, Type::f32, Op::sum);
            } else {
              request = group.start_reduce_scatter(data.data(), count, Type::f32, Op::sum);
            }
            while (!request->test()) {
              if (round == 2 && random() % 4 == 0) {
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
              } else {
                std::this_thread::yield();
              }
            }
            const auto own = group.segment(count, group.rank());
            const bool all = c.collective == Collective::allreduce;
            prints[static_cast<std::size_t>(group.rank())].push_back(hash(
                data.data() + (all ? 0 : own.begin), (all ? count : own.count) * sizeof(float)));
          }
        });
        if (round == 0) first = prints;
        EXPECT_EQ(first, prints);
      }
    }
  }
}

TEST_P(Reductions, LongVectors) {
  const Case& c = GetParam();
  struct Size {
    int ranks;
    std::size_t count;
  };
  for (const auto& [ranks, count] : {Size{3, 16U << 20U}, {5, (1U << 20U) + 3}, {8, 300007}}) {
    const auto possible = layouts(c, ranks);
    if (possible.empty()) continue;
    on_machines(possible.back(), {}, [&, ranks = ranks, count = count](Group& group) {
      group.use(c.collective, c.algorithm);
      const auto value = [](int r, std::size_t i) {
        return static_cast<float>(i % 1021) * static_cast<float>(r + 1);
      };
      std::vector<float> data(count);
      for (std::size_t i = 0; i < count; ++i) {
        data[i] = value(group.rank(), i);
      }
      std::size_t begin = 0, end = count;
      if (c.collective == Collective::allreduce) {
        group.allreduce(data.data(), count, Type::f32, Op::sum);
      } else {
        group.reduce_scatter(data.data(), count, Type::f32, Op::sum);
        begin = group.segment(count, group.rank()).begin;
        end = begin + group.segment(count, group.rank()).count;
      }
      const int factor = ranks * (ranks + 1) / 2 - 1;  // all sums are integers below 2^24
      std::size_t wrong = 0;
      for (std::size_t i = begin; i < end; ++i) {
        wrong += data[i] != value(factor, i);
      }
      EXPECT_EQ(0U, wrong) << "of " << count << " on " << ranks << " ranks";
    });
  }
}

TEST_P(Reductions, MinAndMaxKeepNan) {
  const Case& c = GetParam();
  const auto possible = layouts(c, 4);
  on_machines(possible.front(), {}, [&](Group& group) {
    group.use(c.collective, c.algorithm);
    for (const Op op : {Op::min, Op::max, Op::sum}) {
      for (int where = 0; where < 4; ++where) {
        std::vector<float> x(4, group.rank() == where ? std::nanf("") : 1.0F);
        if (c.collective == Collective::allreduce) {
          group.allreduce(x.data(), 4, Type::f32, op);
        } else {
          group.reduce_scatter(x.data(), 4, Type::f32, op);
        }
        EXPECT_TRUE(std::isnan(x[static_cast<std::size_t>(group.rank())])) << name_of(op);
      }
    }
  });
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Collective collective : {Collective::allreduce, Collective::reduce_scatter}) {
    for (const auto& name : names_of(collective)) {
      all.push_back({collective, name});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Reductions, testing::ValuesIn(cases()), [](const auto& given) {
  return std::string(name_of(given.param.collective)) + "_" + given.param.algorithm;
});

TEST(Segments, CoverTheVectorForAnyRankCount) {
  for (int ranks = 1; ranks <= 9; ++ranks) {
    for (const std::size_t count : kLengths) {
      const auto starts = segments(count, ranks);
      ASSERT_EQ(static_cast<std::size_t>(ranks) + 1, starts.size());
      EXPECT_EQ(0U, starts.front());
      EXPECT_EQ(count, starts.back());
      for (std::size_t r = 1; r < starts.size(); ++r) {
        EXPECT_LE(starts[r - 1], starts[r]);
        EXPECT_LE(starts[r] - starts[r - 1], count / static_cast<std::size_t>(ranks) + 1);
      }
    }
  }
}

}  // namespace
}  // namespace thalweg::engine::comm
