// The synchronous mode on a GPU; without one on the emulated machine.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "engine/device/executor.h"
#include "engine/gpu/gpu.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"
#include "tests/support/distance.h"
#include "tests/support/processor.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

/// The models' GPU is the emulated one where this computer has none.
class GpuSync : public testing::Test {
 protected:
  void SetUp() override {
    if (gpu::gpu_count() == 0) setenv("THALWEG_GPU", "emulated", 1);
  }
};

Case small() {
  Case c;
  c.model = Map{{"name", "mlp"}, {"hidden", List{8, 5}}};
  c.device = "cuda";
  c.steps = 6;
  return c;
}

Case with_norm_and_dropout() {
  Case c = batch_norm_and_dropout();
  c.device = "cuda";
  c.steps = 6;
  return c;
}

void expect_equal_on_gpus(const Case& c) {
  const Trained one = train(c, 1, 1).front();
  for (const int ranks : {2, 4})
    for (const Trained& other : train(c, ranks, 1))
      EXPECT_EQ(other, one) << ranks << " ranks";
}

void expect_near_the_reference(Case c) {
  c.noise_every = 0;
  const Trained here = train(c, 1, 1).front();
  c.device = "reference";
  const Trained truth = train(c, 1, 1).front();
  ASSERT_EQ(here.losses.size(), truth.losses.size());
  for (std::size_t i = 0; i < truth.losses.size(); ++i)
    thalweg::test::expect_near(here.losses[i], truth.losses[i], 1e-4f * std::abs(truth.losses[i]),
                               i);
  for (std::size_t i = 0; i < truth.parameters.size(); ++i)
    thalweg::test::expect_near(here.parameters[i], truth.parameters[i], 1e-4f, i);
  for (std::size_t i = 0; i < truth.running.size(); ++i)
    thalweg::test::expect_near(here.running[i], truth.running[i], 1e-4f, i);
}

void expect_steady(const Case& c) {
  on_ranks(1, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    int step = 0;
    for (; step < 8; ++step)
      mode->step(rank.input(step));
    const gpu::Counts before = rank.model->gpu()->counts();
    for (; step < 20; ++step)
      mode->step(rank.input(step));
    const gpu::Counts after = rank.model->gpu()->counts();
    EXPECT_EQ(after.allocations, before.allocations);
    EXPECT_EQ(after.pageable_copies, before.pageable_copies);
    // A real GPU is waited for where it is a whole step behind.
    if (rank.model->gpu()->info().emulated) {
      EXPECT_EQ(after.waits, before.waits);
    }
    mode->settle();
  });
}

TEST_F(GpuSync, MakesTheSameCurveOnAnyNumberOfRanks) {
  expect_equal_on_gpus(small());
  expect_equal_on_gpus(with_norm_and_dropout());
}

TEST_F(GpuSync, IsNearTheReference) {
  expect_near_the_reference(small());
  Case c = small();
  c.optimizer = Map{{"name", "adamw"}};
  c.lr = 0.01;
  expect_near_the_reference(c);
  c.clip_norm = 0.05;
  c.clip_value = 0.02;
  expect_near_the_reference(c);
  c.optimizer = Map{{"name", "sophia_g"}, {"every", 1}};  // goes over each batch twice
  c.lr = 0.001;
  expect_near_the_reference(c);
}

TEST_F(GpuSync, MicroBatchesAreAsManyMoreShards) {
  Case c = small();
  c.shards = 4;
  c.noise_every = 0;
  const Trained shards = train(c, 1, 1).front();
  c.shards = 2;
  c.micro_batches = 2;
  for (const int ranks : {1, 2}) {
    const Trained micro = train(c, ranks, 1).front();
    EXPECT_EQ(micro.parameters, shards.parameters);
    EXPECT_EQ(micro.losses, shards.losses);
  }
}

TEST_F(GpuSync, NoiseIsMeasuredAndTheSameOnAnyRanks) {
  const std::vector<double> noise = train(small(), 1, 1).front().noise;
  ASSERT_EQ(noise.size(), 12u);
  for (const double squares : noise)
    EXPECT_GT(squares, 0);
  // At the first step the first small batch is the reference's too.
  for (const int micro_batches : {1, 2}) {
    Case c = small();
    c.micro_batches = micro_batches;
    const std::vector<double> here = train(c, 1, 1).front().noise;
    c.device = "reference";
    const std::vector<double> truth = train(c, 1, 1).front().noise;
    thalweg::test::expect_near(here[0], truth[0], 1e-4 * truth[0], 0);
    thalweg::test::expect_near(here[1], truth[1], 1e-4 * truth[1], 1);
  }
}

TEST_F(GpuSync, NamesTheGradientThatIsNotFinite) {
  Case c = small();
  c.poisoned_from = 3;
  c.poisoned = 20;
  Case on_host = c;
  on_host.device = "reference";
  const std::string name = train(on_host, 1, 1).front().not_finite;
  EXPECT_FALSE(name.empty());
  for (const int ranks : {1, 2})
    for (const Trained& trained : train(c, ranks, 1)) {
      EXPECT_EQ(trained.not_finite_step, 3);
      EXPECT_EQ(trained.not_finite, name);
    }
}

TEST_F(GpuSync, AWishToStopReachesEveryRank) {
  for (const int ranks : {1, 2})
    for (const Trained& trained : train(small(), ranks, 1, ranks - 1))
      EXPECT_TRUE(trained.stopped);
}

TEST_F(GpuSync, SumsOverRanksAndCompressionsWork) {
  for (const Value& sync : {Value(Map{{"sum", "ranks"}}), Value(Map{{"compress", "bf16"}})}) {
    Case c = small();
    c.sync = sync;
    const std::vector<Trained> ranks = train(c, 2, 1);
    EXPECT_EQ(ranks[0], ranks[1]);
    const Trained exact = train(small(), 2, 1).front();
    for (std::size_t i = 0; i < exact.parameters.size(); ++i)
      thalweg::test::expect_near(ranks[0].parameters[i], exact.parameters[i], 1e-2f, i);
  }
}

TEST_F(GpuSync, RefusesWhatNeedsTheHost) {
  Case c = small();
  c.sync = Map{{"shard_optimizer", true}};
  EXPECT_THROW(train(c, 2, 1), std::invalid_argument);
}

class GpuAdasum : public GpuSync, public testing::WithParamInterface<const char*> {};

// As on the host, whose bits are not a GPU's.
TEST_P(GpuAdasum, IsAsOnTheHost) {
  Case c = small();
  c.noise_every = 0;
  c.sync = Map{{"mode", "adasum"}, {"form", GetParam()}};
  Case reference = c;
  reference.device = "reference";
  for (const int ranks : {1, 2, 4}) {
    const std::vector<Trained> here = train(c, ranks, 1);
    for (const Trained& rank : here)
      EXPECT_EQ(rank, here[0]) << ranks << " ranks";
    const Trained truth = train(reference, ranks, 1).front();
    for (std::size_t i = 0; i < truth.parameters.size(); ++i)
      thalweg::test::expect_near(here[0].parameters[i], truth.parameters[i], 1e-4f, i);
    for (std::size_t i = 0; i < truth.losses.size(); ++i)
      thalweg::test::expect_near(here[0].losses[i], truth.losses[i], 1e-4f * truth.losses[i], i);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, GpuAdasum, testing::Values("gradient", "change"));

// What reads weights in bfloat16 sees those that were combined, not the rank's own.
TEST_F(GpuSync, AdasumOfChangesRenewsTheNarrowWeights) {
  Case c = small();
  c.noise_every = 0;
  c.lr = 0.5;
  c.precision = Precision::bf16;
  c.sync = Map{{"mode", "adasum"}, {"form", "change"}};
  const std::vector<Trained> here = train(c, 4, 1);
  for (const Trained& rank : here)
    EXPECT_EQ(rank, here[0]);
  if (!thalweg::test::multiplies_bf16()) GTEST_SKIP() << "this processor does not multiply bf16";
  c.device = "cpu";
  const Trained host = train(c, 4, 1).front();
  for (std::size_t i = 0; i < host.losses.size(); ++i)
    thalweg::test::expect_near(here[0].losses[i], host.losses[i], 2e-2f * host.losses[i], i);
}

TEST_F(GpuSync, AdasumOfChangesNamesWhatIsNotFinite) {
  Case c = small();
  c.sync = Map{{"mode", "adasum"}, {"form", "change"}};
  c.noise_every = 0;
  c.poisoned_from = 2;
  for (const Trained& trained : train(c, 2, 1)) {
    EXPECT_EQ(trained.not_finite_step, 2);
    EXPECT_FALSE(trained.not_finite.empty());
  }
}

std::vector<std::uint16_t> bits_of(const std::vector<float>& parameters) {
  std::vector<std::uint16_t> bits;
  for (const float parameter : parameters)
    bits.push_back(gpu::store<gpu::Bf16>(parameter).bits);
  return bits;
}

TEST_F(GpuSync, TheUpdateWritesTheParametersInBf16) {
  // One pass, and several; muon's last ones are products.
  for (const std::string optimizer : {"momentum", "lamb", "lars", "muon"}) {
    Case c = small();
    c.precision = Precision::bf16;
    c.optimizer = Map{{"name", optimizer}};
    on_ranks(1, [&](comm::Group& group) {
      TestRank rank(c, group, 1);
      const auto mode = make_sync_mode(c.sync, rank.parts());
      Executor& executor = rank.executors->executor(0);
      for (int step = 0; step < 6; ++step) {
        mode->step(rank.input(step));
        mode->settle();
        std::vector<std::uint16_t> narrow(rank.model->parameter_floats());
        rank.model->gpu()->copy(narrow.data(), executor.narrow_parameters(), narrow.size() * 2);
        EXPECT_EQ(narrow == bits_of(rank.replica->parameters.read()), optimizer != "muon")
            << optimizer << " " << step;
      }
    });
  }
}

TEST_F(GpuSync, UpdatesOfSeveralPassesAreRecordedWithTheStep) {
  const std::vector<Map> optimizers{Map{{"name", "lamb"}, {"lr", 0.01}},
                                    Map{{"name", "lars"}, {"lr", 0.5}},
                                    Map{{"name", "adamw"}, {"larc", "clip"}},
                                    Map{{"name", "adamw"}, {"ema", 0.9}}, Map{{"name", "muon"}}};
  for (const Map& optimizer : optimizers) {
    Case c = small();
    c.optimizer = optimizer;
    expect_near_the_reference(c);
    expect_equal_on_gpus(c);
    expect_steady(c);
  }
}

TEST_F(GpuSync, ALaneThatLookedAtOtherParametersTakesItsOwnAgain) {
  Case c = small();
  c.precision = Precision::bf16;
  const Trained plain = train(c, 1, 1).front();
  on_ranks(1, [&](comm::Group& group) {
    TestRank rank(c, group, 1);
    const auto mode = make_sync_mode(c.sync, rank.parts());
    Executor& executor = rank.executors->executor(0);
    const FlatVector others(rank.model->gpu(), rank.model->parameter_floats(), "zeros");
    const auto stream = rank.model->gpu()->stream();
    for (int step = 0; step < c.steps; ++step) {
      mode->step(rank.input(step));
      mode->settle();
      executor.take_parameters(*stream, others.floats());  // as validation at a mean does
      stream->wait();
    }
    EXPECT_EQ(rank.plain_parameters(), plain.parameters);
  });
}

/// The last of the algorithms that were measured, for all calls.
KernelOptions last_algorithms_of(const Model& model) {
  KernelTimes times = model.measure_calls({});
  for (auto& [key, call] : times)
    if (!call.algorithms.empty()) call.algorithms = {call.algorithms.back()};
  return {std::numeric_limits<std::size_t>::max(),
          std::make_shared<const KernelTimes>(std::move(times))};
}

TEST_F(GpuSync, ASteadyStepAllocatesNothingAndWaitsForNothing) {
  expect_steady(with_norm_and_dropout());
}

TEST_F(GpuSync, ASteadyStepOfMeasuredKernelsAllocatesNothingAndWaitsForNothing) {
  Case c = with_norm_and_dropout();
  on_ranks(
      1, [&](comm::Group& group) { c.kernels = last_algorithms_of(*TestRank(c, group, 1).model); });
  EXPECT_FALSE(c.kernels.times->empty());
  expect_steady(c);
  if (gpu::chosen_gpu().info().emulated) {
    EXPECT_NE(train(c, 1, 1).front().losses, train(with_norm_and_dropout(), 1, 1).front().losses);
  }
  expect_equal_on_gpus(c);
}

}  // namespace
}  // namespace thalweg::engine::test
