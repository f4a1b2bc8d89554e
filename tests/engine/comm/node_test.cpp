// Collectives of ranks that share memory: in place, by bounce buffers, posted; many under way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "engine/comm/algorithms/shared/control_block.h"
#include "engine/comm/algorithms/shared/sums.h"
#include "engine/comm/algorithms/table.h"
#include "engine/comm/reduction/half.h"
#include "tests/engine/comm/threads.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine::comm {
namespace {

// Around what fits into a posting (13 floats), eager buffers and chunks of bounce buffers.
constexpr std::size_t kCounts[] = {0,    1,    12,   13,   14,    15,    1000,  2047,
                                   2048, 4096, 4097, 8192, 16385, 32768, 65539, 262147};

/// Small whole numbers: every order of adding gives the same.
int value(int rank, std::size_t i) {
  return static_cast<int>((i * 7 + static_cast<std::size_t>(rank) * 13) % 101) - 50;
}
int sum_of(int ranks, std::size_t i) {
  int sum = 0;
  for (int r = 0; r < ranks; ++r) {
    sum += value(r, i);
  }
  return sum;
}

/// In the group's memory, a little way in, or in ordinary memory.
class Vector {
 public:
  Vector(Group& group, std::size_t floats, bool common)
      : memory_(group.allocate((floats + 4) * sizeof(float))), plain_(common ? 0 : floats) {}
  float* data() {
    return plain_.empty() ? reinterpret_cast<float*>(memory_->data()) + 4 : plain_.data();
  }

 private:
  std::unique_ptr<Memory> memory_;
  std::vector<float> plain_;
};

enum class Where { common, ordinary, mixed };

class Node : public testing::TestWithParam<std::tuple<int, Where>> {
 protected:
  static int ranks() { return std::get<0>(GetParam()); }
  static bool is_common(int rank) {
    const Where where = std::get<1>(GetParam());
    return where == Where::common || (where == Where::mixed && rank % 2 == 0);
  }
};

TEST_P(Node, AllreduceOfEveryLength) {
  on_ranks(ranks(), [](Group& group) {
    const auto memory = group.allocate(2 << 20);
    std::vector<float> plain(262147);
    auto* x = is_common(group.rank()) ? reinterpret_cast<float*>(memory->data()) + 3 : plain.data();
    for (const std::size_t count : kCounts) {
      for (const Op op : {Op::sum, Op::average, Op::max}) {
        for (std::size_t i = 0; i < count; ++i) {
          x[i] = static_cast<float>(value(group.rank(), i));
        }
        group.allreduce(x, count, Type::f32, op);
        for (std::size_t i = 0; i < count; ++i) {
          float expected = static_cast<float>(sum_of(group.size(), i));
          if (op == Op::average) expected *= static_cast<float>(1.0 / group.size());
          if (op == Op::max) {
            expected = -100;
            for (int r = 0; r < group.size(); ++r) {
              expected = std::max(expected, static_cast<float>(value(r, i)));
            }
          }
          ASSERT_EQ(expected, x[i]) << count << " elements, " << i << ", " << name_of(op);
        }
      }
    }
    group.barrier();
  });
}

TEST_P(Node, TheOtherCollectives) {
  on_ranks(ranks(), [](Group& group) {
    const auto ranks = static_cast<std::size_t>(group.size());
    for (const std::size_t each : {1U, 100U, 5000U, 70001U}) {
      Vector x(group, each * ranks, is_common(group.rank()));
      Vector y(group, each * ranks, is_common(group.rank()));
      const auto me = static_cast<std::size_t>(group.rank());
      for (int root = 0; root < group.size(); ++root) {
        std::fill_n(x.data(), each, static_cast<float>(group.rank()));
        group.broadcast(x.data(), each * sizeof(float), root);
        ASSERT_THAT(std::vector<float>(x.data(), x.data() + each),
                    testing::Each(static_cast<float>(root)));
      }
      std::fill_n(x.data() + me * each, each, static_cast<float>(me + 1));
      group.allgather(x.data() + me * each, x.data(), each * sizeof(float));
      for (std::size_t i = 0; i < each * ranks; ++i) {
        ASSERT_EQ(static_cast<float>(i / each + 1), x.data()[i]);
      }
      for (std::size_t i = 0; i < each * ranks; ++i) {
        x.data()[i] = static_cast<float>(me * 100 + i / each);
      }
      group.all_to_all(x.data(), y.data(), each * sizeof(float));
      for (std::size_t i = 0; i < each * ranks; ++i) {
        ASSERT_EQ(static_cast<float>(i / each * 100 + me), y.data()[i]);
      }
      const std::size_t count = each * ranks - 1;
      for (std::size_t i = 0; i < count; ++i) {
        x.data()[i] = static_cast<float>(value(group.rank(), i));
      }
      group.reduce_scatter(x.data(), count, Type::f32, Op::sum);
      const auto segment = group.segment(count, group.rank());
      for (std::size_t i = segment.begin; i < segment.begin + segment.count; ++i) {
        ASSERT_EQ(static_cast<float>(sum_of(group.size(), i)), x.data()[i]);
      }
      group.allgather_segments(x.data(), count, Type::f32);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(static_cast<float>(sum_of(group.size(), i)), x.data()[i]);
      }
      group.barrier();
    }
  });
}

TEST_P(Node, ManyUnderWayAtOnce) {
  on_ranks(ranks(), [](Group& group) {
    std::mt19937 random(17);  // the same on all ranks
    const auto memory = group.allocate(4 << 20);
    std::vector<float> plain(1 << 20);
    float* next = is_common(group.rank()) ? reinterpret_cast<float*>(memory->data()) : plain.data();
    struct Call {
      float* x;
      std::size_t count;
      std::unique_ptr<Request> request;
    };
    std::vector<Call> calls;
    for (int i = 0; i < 100; ++i) {
      const std::size_t count = kCounts[random() % 14];
      if (next + count >
          (is_common(group.rank()) ? reinterpret_cast<float*>(memory->data()) : plain.data()) +
              (1 << 20)) {
        break;
      }
      for (std::size_t k = 0; k < count; ++k) {
        next[k] = static_cast<float>(value(group.rank(), k));
      }
      calls.push_back({next, count, group.start_allreduce(next, count, Type::f32, Op::sum)});
      next += count;
      if (random() % 8 == 0) group.barrier();
      if (random() % 4 == 0) {
        int one = 1;
        group.allreduce(&one, 1, Type::i32, Op::sum);
        ASSERT_EQ(group.size(), one);
      }
    }
    std::mt19937 own(static_cast<unsigned>(group.rank()));
    std::shuffle(calls.begin(), calls.end(), own);  // waited for in another order by every rank
    for (auto& call : calls) {
      call.request->wait();
      for (std::size_t k = 0; k < call.count; ++k) {
        ASSERT_EQ(static_cast<float>(sum_of(group.size(), k)), call.x[k]);
      }
    }
    calls.clear();
    group.barrier();
  });
}

std::string node_name_of(const testing::TestParamInfo<std::tuple<int, Where>>& given) {
  static constexpr const char* kNames[] = {"common", "ordinary", "mixed"};
  return std::to_string(std::get<0>(given.param)) + "_" +
         kNames[static_cast<int>(std::get<1>(given.param))];
}
INSTANTIATE_TEST_SUITE_P(Ranks, Node,
                         testing::Combine(testing::Values(2, 3, 4, 5, 8, 13),
                                          testing::Values(Where::common, Where::ordinary,
                                                          Where::mixed)),
                         node_name_of);

TEST(NodeGroup, AVectorOfSixteenRanks) {
  on_ranks(16, [](Group& group) {
    const auto memory = group.allocate(100003 * sizeof(double));
    auto* x = reinterpret_cast<double*>(memory->data());
    std::fill_n(x, 100003, group.rank());
    group.allreduce(x, 100003, Type::f64, Op::sum);
    ASSERT_EQ(120, x[0]);
    ASSERT_EQ(120, x[100002]);
    group.barrier();
  });
}

TEST(NodeGroup, SubGroupsShareMemoryThatTheWholeGroupAllocated) {
  on_ranks(6, [](Group& group) {
    const auto memory = group.allocate(400000);
    auto part = group.split(group.rank() % 2, -group.rank());
    auto* x = reinterpret_cast<std::int32_t*>(memory->data());
    std::fill_n(x, 100000, group.rank());
    part->allreduce(x, 100000, Type::i32, Op::sum);
    EXPECT_EQ(group.rank() % 2 ? 9 : 6, x[99999]);
    // And the other way round: of the part only, so by bounce buffers in the whole group.
    const auto theirs = part->allocate(400000);
    x = reinterpret_cast<std::int32_t*>(theirs->data());
    std::fill_n(x, 100000, group.rank());
    group.allreduce(x, 100000, Type::i32, Op::sum);
    EXPECT_EQ(15, x[99999]);
    group.barrier();
  });
}

TEST(NodeGroup, SumsOverShardsAreTheSameBitsInPlace) {
  for (const int shards : {4, 6, 16}) {
    std::vector<float> alone;
    for (const int ranks : {1, 2, 3, 4}) {
      for (const std::size_t count : {5U, 1000U, 70003U}) {
        std::vector<std::vector<float>> sums(static_cast<std::size_t>(ranks));
        on_ranks(ranks, [&](Group& group) {
          const int first = Group::first_shard(group.rank(), ranks, shards);
          const int last = Group::first_shard(group.rank() + 1, ranks, shards);
          const auto memory =
              group.allocate(static_cast<std::size_t>(last - first) * count * sizeof(float));
          std::vector<float*> mine;
          for (int s = first; s < last; ++s) {
            mine.push_back(reinterpret_cast<float*>(memory->data()) +
                           static_cast<std::size_t>(s - first) * count);
            std::mt19937 random(static_cast<unsigned>(s));
            std::generate_n(mine.back(), count,
                            [&] { return static_cast<float>(random()) * 1e-9F - 2.0F; });
          }
          group.start_shard_sum(mine, count, shards)->wait();
          sums[static_cast<std::size_t>(group.rank())].assign(mine[0], mine[0] + count);
          group.barrier();
        });
        for (const auto& sum : sums) {
          EXPECT_EQ(0, std::memcmp(sum.data(), sums[0].data(), count * sizeof(float)));
        }
        if (count != 70003U) continue;
        if (ranks == 1) alone = sums[0];
        EXPECT_EQ(0, std::memcmp(alone.data(), sums[0].data(), count * sizeof(float)))
            << shards << " shards on " << ranks;
      }
    }
  }
}

TEST(NodeGroup, ARankThatCallsSomethingElseIsNamed) {
  std::vector<std::string> messages(3);
  auto transports = memory_transports(3);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      Group group(std::move(transports[r]));
      std::vector<float> x(100);
      try {
        group.barrier();
        group.allreduce(x.data(), r == 1 ? 99 : 100, Type::f32, Op::sum);
        group.barrier();
      } catch (const CommError& e) {
        messages[r] = e.what();
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  for (const auto& message : messages) {
    EXPECT_THAT(message, testing::HasSubstr("allreduce of 99 f32 (sum)"));
    EXPECT_THAT(message, testing::HasSubstr("allreduce of 100 f32 (sum)"));
  }
}

TEST(NodeSums, SixteenBitFloatsAreRoundedOnce) {
  // In bf16, 256 + 1 is 256 again; three ones at once are not lost.
  const std::vector<float> values = {256, 1, 1, 1};
  std::vector<Bf16> vectors;
  for (const float v : values) {
    vectors.push_back(to_bf16(v));
  }
  std::vector<const void*> sources;
  for (const auto& v : vectors) {
    sources.push_back(&v);
  }
  Bf16 result{};
  void* const into[] = {&result};
  reduce_all(into, sources, 1, {Type::bf16, Op::sum});
  EXPECT_EQ(260, to_float(result));
  reduce_all(into, sources, 1, {Type::bf16, Op::average});
  EXPECT_EQ(65, to_float(result));  // 64.75
  reduce_all(into, sources, 1, {Type::bf16, Op::max});
  EXPECT_EQ(256, to_float(result));
}

}  // namespace
}  // namespace thalweg::engine::comm
