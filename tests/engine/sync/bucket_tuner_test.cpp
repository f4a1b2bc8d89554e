// sync.bucket_mib: auto: the choice from made-up times, and in training the same bits and the same
// choice on all ranks.
#include "engine/sync/bucket_tuner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include "engine/sync/device/host/gradient_path.h"
#include "jobspec/schema.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;
using test::Case;
using test::Trained;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// Layers of `mib` MiB each.
std::vector<ParameterInfo> layers(std::size_t count, double mib) {
  std::vector<ParameterInfo> parameters(count);
  for (std::size_t i = 0; i < count; ++i) {
    parameters[i].count = static_cast<std::size_t>(mib * kMiB / sizeof(float));
    parameters[i].offset = i * parameters[i].count;
  }
  return parameters;
}

std::vector<int> from_the_end(std::size_t n) {
  std::vector<int> order(n);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

std::vector<double> mib_of(const std::vector<BucketSizes>& candidates) {
  std::vector<double> mib;
  for (const BucketSizes& sizes : candidates)
    mib.push_back(static_cast<double>(sizes.bytes) / kMiB);
  return mib;
}

TEST(BucketCandidates, AreThoseThatDifferForTheModel) {
  EXPECT_THAT(mib_of(bucket_candidates(layers(200, 0.5), from_the_end(200), {})),
              ElementsAre(25, 1, 2, 5, 10, 50, 101));
  // 1 MiB, then the other 2: so do all sizes of at least 2.
  EXPECT_THAT(mib_of(bucket_candidates(layers(6, 0.5), from_the_end(6), {})),
              ElementsAre(25, 1, 4));
  EXPECT_THAT(mib_of(bucket_candidates(layers(2, 0.25), from_the_end(2), {})), ElementsAre(25));
}

TEST(BucketCandidates, EndWithOneBucketAndHaveNoLargerFirstOne) {
  const auto parameters = layers(40, 1);
  const auto all = bucket_candidates(parameters, from_the_end(40), {8 * kMiB, 25 * kMiB});
  EXPECT_EQ(plan_buckets(parameters, from_the_end(40), all.back()).size(), 1u);
  EXPECT_EQ(all.front().first_bytes, 8 * kMiB);
  EXPECT_EQ(all[1].bytes, kMiB);
  EXPECT_EQ(all[1].first_bytes, kMiB);
}

/// Makes the steps and gives each the time that `cost` says; the tuner's choice.
BucketChoice tuned(const std::function<double(const BucketSizes& sizes, int step)>& cost,
                   int* steps = nullptr) {
  BucketTuner tuner(bucket_candidates(layers(200, 0.5), from_the_end(200), {}));
  int step = 0;
  for (; !tuner.measured() && step < 1000; ++step)
    tuner.add(cost(tuner.sizes(), step));
  if (steps != nullptr) *steps = step;
  return tuner.choose(tuner.medians());
}

/// A message costs 0.2 ms, and of the last bucket nothing is hidden.
double model_cost(const BucketSizes& sizes) {
  const double mib = static_cast<double>(sizes.bytes) / kMiB;
  return 20 + 0.2 * 100 / mib + 0.3 * mib;
}

TEST(BucketTuner, FindsTheShortestStep) {
  int steps = 0;
  const BucketChoice choice =
      tuned([](const BucketSizes& sizes, int) { return model_cost(sizes); }, &steps);
  EXPECT_EQ(choice.sizes.bytes, 10 * kMiB);  // 25, against 25.5 with 5 MiB and 28.3 with 25
  EXPECT_EQ(steps, 3 * 6 * 7);
  EXPECT_EQ(choice.text,
            "sync.bucket_mib: auto is 10, with first_bucket_mib 1; ms per step: 25: 28.3, 1: 40.3, "
            "2: 30.6, 5: 25.5, 10: 25, 50: 35.4, 101: 50.5");
}

TEST(BucketTuner, IsNotMisledBySlowStepsNorByAMachineThatSlowsDown) {
  const BucketChoice slow_ones = tuned([](const BucketSizes& sizes, int step) {
    return model_cost(sizes) * (step % 6 == 0 || step % 4 == 1 ? 10 : 1);
  });
  EXPECT_EQ(slow_ones.sizes.bytes, 10 * kMiB);
  // Twice as slow at the end: one candidate after the other would favour the first ones.
  const BucketChoice slower = tuned(
      [](const BucketSizes& sizes, int step) { return model_cost(sizes) * (1 + step / 126.0); });
  EXPECT_THAT(slower.sizes.bytes, testing::AnyOf(5 * kMiB, 10 * kMiB));
}

TEST(BucketTuner, KeepsTheUsualSizesUnlessOthersAreClearlyFaster) {
  EXPECT_EQ(choose_buckets({100, 98, 99}), 0u);
  EXPECT_EQ(choose_buckets({100, 98, 96}), 2u);
  EXPECT_EQ(choose_buckets({100, 96, 96}), 1u);
  EXPECT_EQ(choose_buckets({0}), 0u);
}

/// Its weights of 1.4 MiB make three different plans: 54 steps are measured after the first.
Case two_large_layers() {
  Case c{Map{{"name", "mlp"}, {"hidden", List{600, 600, 600}}}};
  c.device = "cpu";
  c.steps = 58;
  c.lr = 0.01;
  return c;
}

Case with_auto(Case c) {
  Value sync = c.sync;
  sync.set("bucket_mib", "auto");
  c.sync = std::move(sync);
  return c;
}

TEST(TunedBuckets, GiveTheBitsOfFixedOnes) {
  Case adamw = two_large_layers();
  adamw.optimizer = Map{{"name", "adamw"}};
  adamw.clip_norm = 0.1;
  adamw.sync = Map{{"priority", "forward"}};
  for (const Case& c : {two_large_layers(), adamw}) {
    const Trained alone = test::train(c, 1, 1)[0];
    for (const int ranks : {1, 2, 3})
      for (const Trained& result : test::train(with_auto(c), ranks, 1))
        EXPECT_EQ(result, alone) << ranks;
  }
}

TEST(TunedBuckets, GiveTheBitsOfFixedOnesInOtherKindsOfSteps) {
  Case without_overlap = two_large_layers();
  without_overlap.sync = Map{{"overlap", false}};
  Case parted_optimizer = two_large_layers();
  parted_optimizer.sync = Map{{"shard_optimizer", true}};
  Case runs_along = two_large_layers();  // rank 1 has no shard
  runs_along.firsts = {0, 4, 4};
  Case curvature = two_large_layers();  // some steps have a second backward pass
  curvature.optimizer = Map{{"name", "sophia_g"}};
  for (const Case& c : {without_overlap, parted_optimizer, runs_along, curvature}) {
    Case fixed = c;
    fixed.firsts.clear();
    const Trained alone = test::train(fixed, 1, 1)[0];
    for (const Trained& result : test::train(with_auto(c), 2, 1))
      EXPECT_EQ(result, alone) << c.sync.to_text();
  }
}

TEST(TunedBuckets, GiveTheBitsOfFixedOnesWhereParametersAreLeftOut) {
  Case c = two_large_layers();
  c.wrap = [](std::unique_ptr<Model> model) {
    return test::rewire(std::move(model),
                        {{0, 7, 1, 6, 2, 5, 3, 4}, [](int parameter, const Batch& batch) {
                           return parameter != 1 || batch.first_sample < 6;
                         }});
  };
  const Trained alone = test::train(c, 1, 1)[0];
  for (const Trained& result : test::train(with_auto(c), 2, 2))
    EXPECT_EQ(result, alone);
}

// The times of the ranks differ, what they choose does not.
TEST(TunedBuckets, AreTheSameOnAllRanksInEveryStep) {
  constexpr int kRanks = 3, kSteps = 58;
  std::vector<std::vector<std::size_t>> counts(kRanks);
  std::vector<std::string> texts(kRanks);
  std::vector<int> told(kRanks);
  const Case c = with_auto(two_large_layers());
  test::on_ranks(kRanks, [&](comm::Group& group) {
    const auto r = static_cast<std::size_t>(group.rank());
    test::TestRank rank(c, group, 1);
    SyncParts parts = rank.parts();
    parts.on_buckets = [&](const BucketChoice& choice) {
      ++told[r];
      texts[r] = choice.text;
    };
    GradientPath path(parts, SyncConfig(c.sync, {}).common, 1.0f / test::kBatch);
    for (int step = 0; step < kSteps; ++step) {
      StepOutcome outcome;
      path.run(rank.input(step), outcome);
      path.finish(outcome);
      counts[r].push_back(path.buckets().size());
    }
  });
  EXPECT_THAT(told, ElementsAre(1, 1, 1));
  for (std::size_t rank = 1; rank < kRanks; ++rank) {
    EXPECT_EQ(counts[rank], counts[0]);
    EXPECT_EQ(texts[rank], texts[0]);
  }
  // It has tried what there is, and then stays with one of them.
  EXPECT_EQ(std::set<std::size_t>(counts[0].begin(), counts[0].end()).size(), 3u);
  EXPECT_EQ(*std::min_element(counts[0].begin(), counts[0].end()), 1u);
  EXPECT_THAT(texts[0], HasSubstr("ms per step: 25: "));
  for (std::size_t step = 54; step < kSteps; ++step)
    EXPECT_EQ(counts[0][step], counts[0].back());
}

TEST(TunedBuckets, AreTheUsualOnesOnOneRank) {
  std::string text;
  test::on_ranks(1, [&](comm::Group& group) {
    const Case c = with_auto(two_large_layers());
    test::TestRank rank(c, group, 1);
    SyncParts parts = rank.parts();
    parts.on_buckets = [&](const BucketChoice& choice) { text = choice.text; };
    GradientPath path(parts, SyncConfig(c.sync, {}).common, 1.0f / test::kBatch);
    StepOutcome outcome;
    path.run(rank.input(0), outcome);
    path.finish(outcome);
  });
  EXPECT_EQ(
      text,
      "sync.bucket_mib: auto is 25, with first_bucket_mib 1; there was nothing to choose from");
}

std::string refusal(Map sync, bool on_gpu = false) {
  sync.emplace_back("bucket_mib", "auto");
  return test::refusal_of(sync, [&](SyncFacts& facts) {
    facts.ranks = 2;
    facts.on_gpu = on_gpu;
  });
}

TEST(TunedBuckets, AreRefusedWhereNumbersDependOnThemOrNothingIsGained) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({{"overlap", false}, {"shard_optimizer", true}}), "");
  EXPECT_EQ(
      refusal({}, true),
      "sync.bucket_mib: a GPU's captured step keeps its buckets, and auto tries several; give "
      "a number of MiB");
  EXPECT_THAT(refusal({{"sum", "ranks"}}),
              HasSubstr("sync.bucket_mib: the bits of sums by ranks (sync.sum, compress) depend on "
                        "buckets"));
  EXPECT_THAT(refusal({{"compress", "bf16"}}), HasSubstr("depend on buckets"));
  for (const char* mode : {"lag", "local", "async", "hybrid", "abs", "adasum"})
    EXPECT_THAT(refusal({{"mode", mode}}),
                HasSubstr("sync.bucket_mib: auto goes by the time of a step of mode sync, mode " +
                          std::string(mode)))
        << mode;
}

}  // namespace
}  // namespace thalweg::engine
