// The norms that tell the gradient noise scale, against gradients of an executor alone.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using test::Case;
using test::train;

struct Squares {
  double small = 0, large = 0;
};

/// From the gradients of `batches` equal parts of the batch, added up in double; `small` is that of
/// the part whose turn it is.
Squares by_hand(const Case& c, int batches, int turn = 0) {
  Squares squares;
  test::on_ranks(1, [&](comm::Group& group) {
    test::TestRank rank(c, group, 1);
    const StepInput input = rank.input(0);
    const int samples = test::kBatch / batches;
    const auto model = build_model(c.model, {{6}, 3}, samples, "reference");
    const auto executor = model->executor();
    const std::size_t floats = model->parameter_floats();
    Buffer gradient = Buffer::of_floats(floats);
    std::vector<double> sum(floats);
    for (int b = 0; b < batches; ++b) {
      Batch batch;
      batch.samples = samples;
      batch.inputs = input.inputs + static_cast<std::size_t>(b * samples) * input.sample_floats;
      batch.labels = input.labels + b * samples;
      executor->train(rank.replica->parameters.floats(), batch, 1.0f / static_cast<float>(samples),
                      gradient.floats(), nullptr, [](int) {});
      for (std::size_t i = 0; i < floats; ++i) {
        const auto g = static_cast<double>(gradient.floats()[i]);
        if (b == turn) squares.small += g * g;
        sum[i] += g / batches;
      }
    }
    for (const double g : sum)
      squares.large += g * g;
  });
  return squares;
}

Case plain() {
  return {Map{{"name", "mlp"}, {"hidden", List{8}}}};
}

void expect_noise(const Case& c, int batches, const char* what) {
  const Squares expected = by_hand(c, batches);
  for (const int ranks : {1, 2}) {
    const test::Trained trained = train(c, ranks, 1)[0];
    ASSERT_EQ(trained.noise.size(), 2U * static_cast<std::size_t>(c.steps)) << what;
    EXPECT_NEAR(trained.noise[0], expected.small, 1e-5 * expected.small) << what;
    EXPECT_NEAR(trained.noise[1], expected.large, 1e-5 * expected.large) << what;
  }
}

TEST(Noise, NormsAreThoseOfTheShardsAndOfTheWholeBatch) {
  expect_noise(plain(), 4, "shards");
  Case c = plain();
  c.micro_batches = 2;
  expect_noise(c, 8, "micro-batches are the small batches");
  c = plain();
  c.shards = 1;
  c.micro_batches = 3;
  for (const test::Trained& alone : train(c, 1, 1))
    EXPECT_NEAR(alone.noise[0], by_hand(c, 3).small, 1e-5 * alone.noise[0]);
}

// At a learning rate of 0 every step sees the same gradients.
TEST(Noise, EverySmallBatchHasItsTurn) {
  Case c = plain();
  c.lr = 0;
  c.steps = 6;
  for (const int every : {1, 2}) {
    c.noise_every = every;
    for (const test::Trained& trained : train(c, 2, 1))
      for (std::size_t i = 0; i < trained.noise.size() / 2; ++i) {
        const Squares expected = by_hand(c, 4, static_cast<int>(i) % 4);
        EXPECT_NEAR(trained.noise[2 * i], expected.small, 1e-5 * expected.small) << i;
      }
  }
}

TEST(Noise, IsMeasuredBeforeClippingAndWhereSumsAreRounded) {
  Case c = plain();
  c.clip_norm = 1e-3;
  expect_noise(c, 4, "clip_norm");
  c = plain();
  c.clip_value = 1e-4;
  expect_noise(c, 4, "clip_value");
  c = plain();
  c.sync = Map{{"sum", "ranks"}};
  expect_noise(c, 4, "sum: ranks");
  c.sync = Map{{"compress", "bf16"}};
  const Squares expected = by_hand(c, 4);
  const test::Trained rounded = train(c, 2, 1)[0];
  EXPECT_NEAR(rounded.noise[0], expected.small, 1e-5 * expected.small);
  EXPECT_NEAR(rounded.noise[1], expected.large, 1e-2 * expected.large);
}

TEST(Noise, IsNotMeasuredWhereTheGradientIsNoMeanOrThereIsOneBatch) {
  for (const Map& sync : {Map{{"compress", "powersgd"}}, Map{{"compress", "top-k"}},
                          Map{{"mode", "adasum"}}, Map{{"mode", "adasum"}, {"form", "change"}}}) {
    Case c = plain();
    c.sync = sync;
    EXPECT_TRUE(train(c, 2, 1)[0].noise.empty()) << jobspec::Value(sync).to_text();
  }
  Case one = plain();
  one.shards = 1;
  EXPECT_TRUE(train(one, 1, 1)[0].noise.empty());
}

TEST(Noise, IsMeasuredAsOftenAsAskedAndChangesNothing) {
  Case c = plain();
  c.steps = 5;
  c.noise_every = 2;  // steps 0, 2 and 4
  const test::Trained now_and_then = train(c, 2, 1)[0];
  EXPECT_EQ(now_and_then.noise.size(), 6U);
  c.noise_every = 0;
  test::Trained never = train(c, 2, 1)[0];
  EXPECT_TRUE(never.noise.empty());
  never.noise = now_and_then.noise;
  EXPECT_EQ(never, now_and_then);
  c.noise_every = 1;
  c.optimizer = Map{{"name", "sophia_g"}};  // looks at two gradients in some steps
  EXPECT_EQ(train(c, 2, 1)[0].noise.size(), 10U);
}

}  // namespace
}  // namespace thalweg::engine
