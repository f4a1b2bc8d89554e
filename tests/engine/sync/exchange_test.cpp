// Exchanges between GPUs: which one the ranks take, and that all of them sum alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "engine/comm/reduction/shard_tree.h"
#include "engine/gpu/gpu.h"
#include "engine/sync/device/gpu/exchange/part_on_gpu.h"
#include "engine/sync/device/gpu/exchange/table.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"
#include "tests/support/deadline.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;
using testing::HasSubstr;

// Which one.

ExchangeRanks two_gpus() {
  ExchangeRank rank;
  rank.node = "a";
  rank.gpu = "GPU-1";
  rank.peers = "NCCL 2.28.9";
  rank.process = 1;
  ExchangeRanks ranks{rank, rank};
  ranks[1].gpu = "GPU-2";
  ranks[1].process = 2;
  return ranks;
}

std::string chosen(const ExchangeRanks& ranks, const char* wish = "auto", bool over_shards = true) {
  return choose_exchange(wish, ranks, over_shards).row->name;
}

std::string refusal(const char* wish, const ExchangeRanks& ranks, bool over_shards = true) {
  try {
    (void)choose_exchange(wish, ranks, over_shards);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no refusal";
}

TEST(ChooseExchange, NcclWhereEveryRankOfANodeHasAGpuOfItsOwn) {
  EXPECT_EQ(chosen(two_gpus()), "nccl");
  EXPECT_EQ(choose_exchange("auto", two_gpus(), true).why, "");
}

TEST(ChooseExchange, UcxOrTheHostWhereRanksShareAGpu) {
  ExchangeRanks ranks = two_gpus();
  ranks[1].gpu = ranks[0].gpu;
  EXPECT_EQ(chosen(ranks), "host");
  EXPECT_THAT(choose_exchange("auto", ranks, true).why,
              HasSubstr("ranks 0 and 1 share GPU-1 on node a"));
  EXPECT_THAT(refusal("nccl", ranks), HasSubstr("ranks 0 and 1 share GPU-1 on node a"));
  EXPECT_THAT(refusal("nccl", ranks), HasSubstr("host"));
  for (ExchangeRank& rank : ranks)
    rank.sends_gpu_memory = true;
  EXPECT_EQ(chosen(ranks), "ucx");
  EXPECT_EQ(chosen(ranks, "host"), "host");
}

TEST(ChooseExchange, OverSeveralNodesNcclOnlyWhereItIsAskedFor) {
  ExchangeRanks ranks = two_gpus();
  ranks[1].node = "b";
  EXPECT_EQ(chosen(ranks), "host");
  EXPECT_THAT(choose_exchange("auto", ranks, true).why, HasSubstr("several nodes"));
  EXPECT_EQ(chosen(ranks, "nccl"), "nccl");
}

TEST(ChooseExchange, OneRankWithoutNcclIsEnough) {
  ExchangeRanks ranks = two_gpus();
  ranks[1].peers = "";
  ranks[1].why_no_peers = "there is no NCCL 2: install it";
  EXPECT_EQ(chosen(ranks), "host");
  EXPECT_THAT(refusal("nccl", ranks), HasSubstr("rank 1 on a: there is no NCCL 2: install it"));
  ranks[1].peers = "NCCL 2.20.5";
  EXPECT_THAT(refusal("nccl", ranks), HasSubstr("rank 1 on a has NCCL 2.20.5, rank 0 NCCL 2.28.9"));
}

TEST(ChooseExchange, UcxIsRefusedWithoutCuda) {
  ExchangeRanks ranks = two_gpus();
  ranks[0].sends_gpu_memory = true;
  EXPECT_THAT(refusal("ucx", ranks), HasSubstr("UCX has no CUDA for rank 1 on a"));
}

TEST(ChooseExchange, TheEmulatedGpuTakesTheHostUnlessItIsAsked) {
  ExchangeRanks ranks = two_gpus();
  for (ExchangeRank& rank : ranks) {
    rank.emulated = true;
    rank.gpu = "emulated";
    rank.process = 1;
  }
  EXPECT_EQ(chosen(ranks), "host");
  for (const char* name : {"nccl", "ucx", "host"})
    EXPECT_EQ(chosen(ranks, name), name);
  ranks[1].process = 2;
  EXPECT_THAT(refusal("nccl", ranks), HasSubstr("one process"));
}

TEST(ChooseExchange, CompressionTakesTheHost) {
  EXPECT_EQ(chosen(two_gpus(), "auto", false), "host");
  EXPECT_THAT(refusal("nccl", two_gpus(), false), HasSubstr("sync.compress"));
  EXPECT_THAT(refusal("ucx", two_gpus(), false), HasSubstr("sync.compress"));
  EXPECT_THAT(refusal("mpi", two_gpus()), HasSubstr("'mpi'"));
}

// The tree as a kernel takes it.

TEST(JoinsOf, AreTheTreesAdditionsInOrder) {
  for (int shards = 1; shards <= 33; ++shards)
    for (int ranks = 1; ranks <= shards; ++ranks) {
      const comm::ShardTree tree(ranks - 1, ranks, shards);
      const std::vector<int> joins = joins_of(tree);
      ASSERT_EQ(joins.size(), tree.partials.size());
      std::vector<int> open;
      std::size_t next = 0;
      for (int place = 0; place < static_cast<int>(joins.size()); ++place) {
        open.push_back(place);
        for (int join = 0; join < joins[static_cast<std::size_t>(place)]; ++join, ++next) {
          ASSERT_GE(open.size(), 2u);
          EXPECT_EQ(tree.across[next].from, open.back());
          open.pop_back();
          EXPECT_EQ(tree.across[next].into, open.back());
        }
      }
      EXPECT_EQ(open.size(), 1u);
      EXPECT_EQ(next, tree.across.size());
    }
}

// Training by each of them.

class Exchange : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  Exchange() : machine_(std::get<1>(GetParam())) {}
  static const char* way() { return std::get<0>(GetParam()); }

  /// Several buckets, some of which are long enough to be cut into slices.
  Case several_buckets() const {
    Case c;
    c.model = Map{{"name", "mlp"}, {"hidden", List{64, 48, 32}}};
    c.device = "cuda";
    c.steps = 5;
    c.sync = Map{{"gpu_exchange", way()}, {"first_bucket_mib", 0.001}, {"bucket_mib", 0.008}};
    return c;
  }
  Case with_norm_and_dropout() const {
    Case c = batch_norm_and_dropout();
    c.device = "cuda";
    c.steps = 5;
    c.sync = Map{{"gpu_exchange", way()}};
    return c;
  }

 private:
  Emulated machine_;
};

void expect_equal_on_any_ranks(Case c) {
  const Trained one = train(c, 1, 1).front();
  for (const int ranks : {2, 3, 4})
    for (const Trained& other : train(c, ranks, 1))
      EXPECT_EQ(other, one) << ranks << " ranks, " << c.shards << " shards";
}

TEST_P(Exchange, MakesTheCurveOfOneRank) {
  for (const int shards : {4, 6, 8}) {
    Case c = several_buckets();
    c.shards = shards;
    expect_equal_on_any_ranks(c);
  }
  expect_equal_on_any_ranks(with_norm_and_dropout());
}

// Of the last micro-batch buckets go while its backward runs, as partial sums are added up.
TEST_P(Exchange, MicroBatchesGiveTheBitsOfShards) {
  Case c = several_buckets();
  c.noise_every = 0;
  c.shards = 12;
  const Trained shards = train(c, 1, 1).front();
  c.shards = 3;
  c.micro_batches = 4;
  for (const int ranks : {1, 2, 3})
    for (const Trained& micro : train(c, ranks, 1)) {
      EXPECT_EQ(micro.parameters, shards.parameters) << ranks << " ranks";
      EXPECT_EQ(micro.losses, shards.losses) << ranks << " ranks";
    }
}

TEST_P(Exchange, SumsTwiceInAStepThatLooksAtCurvature) {
  Case c = several_buckets();
  c.optimizer = Map{{"name", "sophia_g"}, {"every", 2}};
  c.lr = 0.001;
  c.steps = 7;
  expect_equal_on_any_ranks(c);
}

TEST_P(Exchange, MakesTheSameBitsWithoutOverlap) {
  Case c = several_buckets();
  c.micro_batches = 2;
  const Trained one = train(c, 1, 1).front();
  c.sync = Map{{"gpu_exchange", way()}, {"overlap", false}, {"bucket_mib", 0.004}};
  for (const Trained& other : train(c, 3, 1))
    EXPECT_EQ(other, one);
}

TEST_P(Exchange, AWishToStopReachesEveryRankOnce) {
  for (const Trained& trained : train(several_buckets(), 3, 1, 2))
    EXPECT_TRUE(trained.stopped);
  for (const Trained& trained : train(several_buckets(), 3, 1))
    EXPECT_FALSE(trained.stopped);
}

TEST_P(Exchange, TellsTimesOfTheStepBefore) {
  for (const Trained& trained : train(several_buckets(), 2, 1)) {
    EXPECT_EQ(trained.times.size(), 4u);
    for (const CommTimes& times : trained.times) {
      EXPECT_GT(times.comm_ms, 0);
      EXPECT_GE(times.exposed_ms, 0);
      EXPECT_LE(times.exposed_ms, times.comm_ms + 1e-9);
      EXPECT_GE(times.skew_ms, -1e-9);
    }
  }
}

TEST_P(Exchange, SaysWhichWayItTakes) {
  const Case c = several_buckets();
  on_ranks(2, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    EXPECT_THAT(mode->note(), HasSubstr("gradients go between GPUs "));
    EXPECT_EQ(mode->note().find('('), std::string::npos) << "asked for: no reason is due";
  });
}

TEST_P(Exchange, EndsWithTheNameOfARankThatDies) {
  struct Died {};
  const Case c = several_buckets();
  std::vector<std::string> said(3);
  const auto body = [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    try {
      for (int step = 0;; ++step) {
        if (step == 3 && group.rank() == 1) throw Died();
        mode->step(rank.input(step));
      }
    } catch (const comm::CommError& error) {
      said[static_cast<std::size_t>(group.rank())] = error.what();
      EXPECT_EQ(error.rank(), 1);
    }
  };
  EXPECT_THROW(on_ranks(3, body), Died);
  EXPECT_THAT(said[0], HasSubstr("rank 1"));
  EXPECT_THAT(said[2], HasSubstr("rank 1"));
}

INSTANTIATE_TEST_SUITE_P(Rows, Exchange,
                         testing::Combine(testing::Values("nccl", "ucx", "host"), testing::Bool()),
                         [](const auto& test) {
                           return std::get<0>(test.param) +
                                  std::string(std::get<1>(test.param) ? "_threads" : "");
                         });

TEST(NcclExchange, ASteadyStepOfSeveralRanksAllocatesNothingAndWaitsForNothing) {
  const Emulated machine(true);
  Case c;
  c.model = Map{{"name", "mlp"}, {"hidden", List{64, 48, 32}}};
  c.device = "cuda";
  c.sync = Map{{"gpu_exchange", "nccl"}, {"first_bucket_mib", 0.001}, {"bucket_mib", 0.008}};
  on_ranks(2, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    int step = 0;
    for (; step < 8; ++step)
      mode->step(rank.input(step));
    group.barrier();
    const gpu::Counts before = rank.model->gpu()->counts();
    group.barrier();
    for (; step < 20; ++step)
      mode->step(rank.input(step));
    group.barrier();
    const gpu::Counts after = rank.model->gpu()->counts();
    group.barrier();
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.pageable_copies, before.pageable_copies);
    EXPECT_EQ(after.waits, before.waits);
    mode->settle();
  });
}

TEST(NcclExchange, MessagesThatDoNotComeAreAnErrorAfterTheStallTime) {
  for (const bool threads : {false, true}) {
    const Emulated machine(threads);
    Case c;
    c.model = Map{{"name", "mlp"}, {"hidden", List{8}}};
    c.device = "cuda";
    c.sync = Map{{"gpu_exchange", "nccl"}, {"stall_timeout_s", 0.05}};
    std::atomic<bool> told{false};
    const auto body = [&](comm::Group& group) {
      TestRank rank(c, group, 1);
      const auto mode = make_sync_mode(c.sync, rank.parts());
      if (group.rank() == 0) {
        try {
          mode->step(rank.input(0));
          mode->settle();
        } catch (const comm::CommError& error) {
          EXPECT_THAT(error.what(), HasSubstr("no progress"));
          told = true;
        }
        return;
      }
      // It has joined the step, and answers; its GPU has nothing to send.
      const auto joined = group.start_barrier();
      while (!told && !joined->test())
        std::this_thread::yield();
      const thalweg::test::Deadline deadline(std::chrono::seconds(60));
      while (!told && !deadline.passed())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    on_ranks(2, body);
    EXPECT_TRUE(told) << threads;
  }
}

TEST(ExchangeOption, IsForGpus) {
  Case c;
  c.model = Map{{"name", "mlp"}, {"hidden", List{8}}};
  c.sync = Map{{"gpu_exchange", "nccl"}};
  EXPECT_THROW(train(c, 1, 1), std::invalid_argument);
  c.sync = Map{{"gpu_exchange", "host"}};
  EXPECT_NO_THROW(train(c, 1, 1));
}

}  // namespace
}  // namespace thalweg::engine::test
