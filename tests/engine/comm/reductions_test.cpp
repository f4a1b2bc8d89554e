// Every algorithm of allreduce and reduce-scatter where ranks come late, and with NaN. Numbers:
// matrix_reductions_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "engine/comm/algorithms/table.h"
#include "tests/engine/comm/layouts.h"
#include "tests/engine/comm/pattern.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

std::vector<float> values_of(int rank, std::size_t count) {
  std::vector<float> values(count);
  repeat<float>(values, 0, pattern_of<float>(rank));
  return values;
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

Needs needs(const Case& c) {
  return find_row(c.collective, c.algorithm)->needs;
}

class Reductions : public testing::TestWithParam<Case> {};

TEST_P(Reductions, SameBitsHoweverLateRanksCome) {
  const Case& c = GetParam();
  for (const int ranks : {3, 4, 7}) {
    for (const auto& machine_of : layouts(needs(c), ranks)) {
      std::vector<Prints> first;
      for (unsigned round = 0; round < 3; ++round) {
        std::vector<Prints> prints(machine_of.size());
        on_machines(machine_of, {}, [&](Group& group) {
          group.use(c.collective, c.algorithm);
          std::mt19937 random(round * 100 + static_cast<unsigned>(group.rank()));
          for (const std::size_t count : {9U, 1000U, 70001U}) {
            auto data = values_of(group.rank(), count);
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

TEST_P(Reductions, MinAndMaxKeepNan) {
  const Case& c = GetParam();
  const auto possible = layouts(needs(c), 4);
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
    for (const std::size_t count : {0U, 1U, 2U, 3U, 5U, 8U, 15U, 17U, 100U, 1025U, 20011U}) {
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
