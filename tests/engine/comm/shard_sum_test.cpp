// The sum over logical shards: same bits for every rank count, many in flight, any order.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "engine/comm/reduction/shard_sum_plan.h"
#include "engine/comm/reduction/shard_tree.h"
#include "tests/engine/comm/threads.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 5, 1000, 1025, 65537};

std::vector<float> leaf_of(int shard, std::size_t count, unsigned salt = 0) {
  std::mt19937 random(static_cast<unsigned>(shard) * 104729U + salt * 31U + 5U);
  std::vector<float> values(count);
  for (auto& value : values) {
    // Magnitudes differ widely, so that another order of additions gives other bits.
    const int exponent = static_cast<int>(random() % 16) - 8;
    value = std::ldexp(static_cast<float>(random() % 4096) - 2048.0F, exponent);
  }
  return values;
}

/// Written from the definition alone: tree(n) = tree(p) + tree(n - p).
std::vector<float> tree_sum(int first, int leaves, std::size_t count, unsigned salt) {
  if (leaves == 1) return leaf_of(first, count, salt);
  int power = 1;
  while (power * 2 < leaves) {
    power *= 2;
  }
  auto left = tree_sum(first, power, count, salt);
  const auto right = tree_sum(first + power, leaves - power, count, salt);
  for (std::size_t i = 0; i < count; ++i) {
    left[i] += right[i];
  }
  return left;
}

bool same_bits(const float* a, const std::vector<float>& b) {
  return b.empty() || std::memcmp(a, b.data(), b.size() * sizeof(float)) == 0;
}

struct Leaves {
  std::vector<std::vector<float>> values;
  std::vector<float*> pointers;

  Leaves(const Group& group, int shards, std::size_t count, unsigned salt = 0) {
    for (int s = Group::first_shard(group.rank(), group.size(), shards);
         s < Group::first_shard(group.rank() + 1, group.size(), shards); ++s) {
      values.push_back(leaf_of(s, count, salt));
    }
    for (auto& v : values) {
      pointers.push_back(v.data());
    }
  }
};

class ShardSumTest : public testing::TestWithParam<int> {};

TEST_P(ShardSumTest, SameBitsForEveryRankCount) {
  const int shards = GetParam();
  std::vector<std::vector<float>> expected;
  for (const std::size_t count : kLengths) {
    expected.push_back(tree_sum(0, shards, count, 0));
  }
  for (int ranks = 1; ranks <= shards; ++ranks) {
    on_ranks(ranks, [&](Group& group) {
      for (std::size_t i = 0; i < std::size(kLengths); ++i) {
        Leaves leaves(group, shards, kLengths[i]);
        group.start_shard_sum(leaves.pointers, kLengths[i], shards)->wait();
        ASSERT_TRUE(same_bits(leaves.pointers[0], expected[i]))
            << kLengths[i] << " floats, " << shards << " shards, rank " << group.rank() << " of "
            << group.size();
      }
    });
  }
}

// Speeds 1:1:2:4, ranks that run along without leaves, all on one rank.
TEST(ShardSums, AnyOwnershipHasTheSameBits) {
  const std::vector<std::vector<int>> tables = {{0, 1, 2, 4, 8}, {0, 4, 6, 7, 8}, {0, 0, 3, 3, 8},
                                                {0, 8, 8, 8, 8}, {0, 0, 0, 0, 8}, {0, 3, 8}};
  for (const std::vector<int>& first : tables) {
    const int ranks = static_cast<int>(first.size()) - 1;
    std::vector<int> one(static_cast<std::size_t>(ranks)), apart(one);
    std::iota(apart.begin(), apart.end(), 0);
    for (const std::vector<int>& machine_of : {one, apart})
      on_machines(machine_of, {}, [&](Group& group) {
        group.own_shards(first);
        EXPECT_EQ(group.first_shards(8), first);
        for (const std::size_t count : kLengths) {
          const auto rank = static_cast<std::size_t>(group.rank());
          const int mine = first[rank + 1] - first[rank];
          const auto memory = group.allocate(std::max<std::size_t>(1, count) * 8 * sizeof(float));
          std::vector<float*> leaves;
          for (int leaf = 0; leaf < std::max(1, mine); ++leaf) {
            leaves.push_back(reinterpret_cast<float*>(memory->data()) +
                             static_cast<std::size_t>(leaf) * count);
            const auto values = leaf_of(first[rank] + leaf, count, mine == 0 ? 99 : 0);
            std::copy(values.begin(), values.end(), leaves.back());
          }
          group.start_shard_sum(leaves, count, 8)->wait();
          ASSERT_TRUE(same_bits(leaves[0], tree_sum(0, 8, count, 0)))
              << count << " floats, rank " << rank;
          group.barrier();
        }
      });
  }
}

TEST(ShardSums, ATableThatIsNoneOfTheseRanksIsRefused) {
  Group group(std::move(memory_transports(2)[0]));
  for (const std::vector<int>& wrong :
       {std::vector<int>{}, {0, 4}, {1, 2, 4}, {0, 4, 2}, {0, 0, 0}, {0, 1, 2, 3}})
    EXPECT_THROW(group.own_shards(wrong), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Shards, ShardSumTest, testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16),
                         testing::PrintToStringParamName());

TEST(ShardSums, ManyInFlightFinishInAnyOrder) {
  constexpr int kShards = 6;
  constexpr unsigned kSums = 20;
  const auto length = [](unsigned i) { return static_cast<std::size_t>(i * i * 97 % 5000 + i); };
  for (const int ranks : {1, 2, 3, 5, 6}) {
    on_ranks(ranks, [&](Group& group) {
      std::vector<std::unique_ptr<Leaves>> leaves;
      std::vector<std::unique_ptr<Request>> requests;
      for (unsigned i = 0; i < kSums; ++i) {
        leaves.push_back(std::make_unique<Leaves>(group, kShards, length(i), i));
        requests.push_back(group.start_shard_sum(leaves[i]->pointers, length(i), kShards));
      }
      // Another operation in between, and every rank waits in an order of its own.
      int one = 1;
      group.allreduce(&one, 1, Type::i32, Op::sum);
      EXPECT_EQ(group.size(), one);
      std::vector<unsigned> order(kSums);
      for (unsigned i = 0; i < kSums; ++i) {
        order[i] = i;
      }
      std::shuffle(order.begin(), order.end(), std::mt19937(static_cast<unsigned>(group.rank())));
      for (const unsigned i : order) {
        if (i % 3 == 0) {
          while (!requests[i]->test()) {
            std::this_thread::yield();
          }
        } else {
          requests[i]->wait();
        }
        ASSERT_TRUE(same_bits(leaves[i]->pointers[0], tree_sum(0, kShards, length(i), i)));
      }
    });
  }
}

TEST(ShardSums, AMemoryAfterASumIsReusedForLongerAndShorterOnes) {
  on_ranks(3, [](Group& group) {
    for (const std::size_t count : {5000, 10, 9000, 1, 5000}) {
      Leaves leaves(group, 4, count);
      group.start_shard_sum(leaves.pointers, count, 4)->wait();
      ASSERT_TRUE(same_bits(leaves.pointers[0], tree_sum(0, 4, count, 0)));
    }
  });
}

TEST(ShardSums, WrongNumbersOfLeavesAndShardsAreRefused) {
  auto transports = memory_transports(3);
  Group group(std::move(transports[0]));
  std::vector<float> a(4);
  std::vector<float*> two{a.data(), a.data()};
  EXPECT_THROW((void)group.start_shard_sum(two, 4, 3), std::invalid_argument);
  EXPECT_THROW((void)group.start_shard_sum(two, 4, 2), std::invalid_argument);
}

/// Additions that take a few looks, as those of a GPU do.
class Slowly : public SumElsewhere {
 public:
  Slowly(const Group& group, int shards, const std::vector<float*>& mine, std::size_t count)
      : tree_(group.rank(), group.size(), shards),
        scratch_(ShardSumPlan::scratch_floats(tree_, group.rank(), group.size(), count) + 16),
        plan_(tree_, group.rank(), group.size(), mine, count, scratch()) {
    run(tree_.local, mine.data(), count);
  }
  MessageMemory memory() const override { return MessageMemory::host; }
  float* scratch() override {
    void* at = scratch_.data();
    std::size_t room = scratch_.size() * sizeof(float);
    return static_cast<float*>(std::align(64, 1, at, room));
  }
  bool add_up() override {
    if (++looks_ < 3) return false;
    EXPECT_EQ(looks_, 3) << "done, and asked again";
    run(tree_.across, plan_.places.data(), plan_.count);
    if (plan_.places[0] != plan_.result) std::copy_n(plan_.places[0], plan_.count, plan_.result);
    return true;
  }
  const ShardSumPlan& plan() const { return plan_; }

 private:
  ShardTree tree_;
  std::vector<float> scratch_;
  ShardSumPlan plan_;
  int looks_ = 0;
};

TEST_P(ShardSumTest, ElsewhereItHasTheSameBits) {
  const int shards = GetParam();
  for (int ranks = 1; ranks <= shards; ++ranks)
    on_ranks(ranks, {.checked = ranks == 3}, [&](Group& group) {
      std::vector<std::unique_ptr<Leaves>> leaves;
      std::vector<std::unique_ptr<Slowly>> slowly;
      std::vector<std::unique_ptr<Request>> requests;
      for (const std::size_t count : kLengths) {
        leaves.push_back(std::make_unique<Leaves>(group, shards, count));
        const std::vector<float*>& mine = leaves.back()->pointers;
        slowly.push_back(std::make_unique<Slowly>(group, shards, mine, count));
        requests.push_back(
            group.start_shard_sum_elsewhere(mine, count, shards, *slowly.back(), "a bucket"));
      }
      for (std::size_t i = requests.size(); i-- > 0;) {
        requests[i]->wait();
        ASSERT_TRUE(same_bits(leaves[i]->pointers[0], tree_sum(0, shards, kLengths[i], 0)))
            << kLengths[i] << " floats, rank " << group.rank() << " of " << group.size();
      }
    });
}

TEST(ShardSums, ElsewhereIsRefusedWhereNoMessageReaches) {
  class InCuda : public SumElsewhere {
    MessageMemory memory() const override { return MessageMemory::cuda; }
    float* scratch() override { return nullptr; }
    bool add_up() override { return true; }
  } where;
  Group group(std::move(memory_transports(1).front()));
  EXPECT_TRUE(group.supports(MessageMemory::host));
  EXPECT_FALSE(group.supports(MessageMemory::cuda));
  float one = 1;
  std::vector<float*> mine{&one};
  EXPECT_THROW((void)group.start_shard_sum_elsewhere(mine, 1, 1, where), std::invalid_argument);
}

/// What one rank sends another is what that one expects, in order.
TEST(ShardSumPlanTest, MessagesMeet) {
  for (const int shards : {2, 3, 4, 7, 8})
    for (int ranks = 2; ranks <= shards; ++ranks)
      for (const std::size_t count : {5U, 1000U, 1025U, 4097U}) {
        std::vector<ShardSumPlan> plans;
        std::vector<float> memory(64 * count + 1024);
        for (int rank = 0; rank < ranks; ++rank) {
          const ShardTree tree(rank, ranks, shards);
          std::vector<float*> mine(static_cast<std::size_t>(shards), memory.data());
          plans.emplace_back(tree, rank, ranks, mine, count, memory.data());
        }
        const auto lengths = [&](const std::vector<ShardSumPlan::Message>& messages, int peer) {
          std::vector<std::size_t> all;
          for (const auto& message : messages)
            if (message.peer == peer) all.push_back(message.floats);
          return all;
        };
        for (int a = 0; a < ranks; ++a)
          for (int b = 0; b < ranks; ++b) {
            const ShardSumPlan& from = plans[static_cast<std::size_t>(a)];
            const ShardSumPlan& to = plans[static_cast<std::size_t>(b)];
            EXPECT_EQ(lengths(from.send, b), lengths(to.receive, a));
            EXPECT_EQ(lengths(from.send_slices, b), lengths(to.receive_slices, a));
          }
      }
}

TEST(ShardTreeTest, FiveLeavesOnTwoRanks) {
  // ((0 1)(2 3)) 4 ; rank 0 owns leaves 0 and 1, rank 1 owns 2, 3 and 4.
  const ShardTree tree(1, 2, 5);
  ASSERT_EQ(3U, tree.partials.size());
  EXPECT_EQ(0, tree.partials[0].leaf);
  EXPECT_EQ(2, tree.partials[1].leaf);
  EXPECT_EQ(4, tree.partials[2].leaf);
  EXPECT_EQ(1, tree.partials[2].rank);
  ASSERT_EQ(1U, tree.local.size());
  EXPECT_EQ(0, tree.local[0].into);
  EXPECT_EQ(1, tree.local[0].from);
  ASSERT_EQ(2U, tree.across.size());
  EXPECT_EQ(1, tree.across[0].from);
  EXPECT_EQ(2, tree.across[1].from);
}

TEST(ShardTreeTest, EveryLeafIsAddedOnceForAnyShape) {
  for (int shards = 1; shards <= 70; ++shards) {
    for (int ranks = 1; ranks <= shards; ++ranks) {
      std::size_t additions = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ShardTree tree(rank, ranks, shards);
        additions += tree.local.size();
        if (rank == 0) additions += tree.across.size();
      }
      ASSERT_EQ(static_cast<std::size_t>(shards) - 1, additions) << shards << "/" << ranks;
    }
  }
}

}  // namespace
}  // namespace thalweg::engine::comm
