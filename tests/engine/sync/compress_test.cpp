// Compressed sums: what they keep, what they remember, and that training still gets there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "engine/sync/compress/matrix.h"
#include "engine/sync/compress/table.h"
#include "engine/sync/options.h"
#include "engine/tensor/random.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;
using test::Case;
using test::Trained;
using testing::HasSubstr;

float noise(std::uint32_t a, std::size_t b) {
  return uniform01(philox(5, Stream::noise, a, b)[0]) - 0.5f;
}

std::vector<float> noises(std::uint32_t a, std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = noise(a, i);
  return values;
}

TEST(Matrix, ProductsAgreeWithSlowOnes) {
  for (const std::size_t columns : {1u, 15u, 16u, 50u}) {
    constexpr std::size_t rows = 7, r = 3;
    const auto m = noises(1, rows * columns), in = noises(2, r * columns), p = noises(3, r * rows);
    std::vector<float> out(r * rows), back(r * columns), product(rows * columns, 1.0f);
    multiply({m.data(), rows, columns}, r, in.data(), out.data());
    multiply_transposed({m.data(), rows, columns}, r, p.data(), back.data());
    add_product(-2, r, p.data(), rows, in.data(), columns, product.data());
    for (std::size_t k = 0; k < r; ++k)
      for (std::size_t i = 0; i < rows; ++i) {
        double expected = 0;
        for (std::size_t j = 0; j < columns; ++j)
          expected += static_cast<double>(m[i * columns + j]) * in[k * columns + j];
        EXPECT_NEAR(out[k * rows + i], expected, 1e-5);
      }
    for (std::size_t j = 0; j < columns; ++j)
      for (std::size_t k = 0; k < r; ++k) {
        double expected = 0;
        for (std::size_t i = 0; i < rows; ++i)
          expected += static_cast<double>(m[i * columns + j]) * p[k * rows + i];
        EXPECT_NEAR(back[k * columns + j], expected, 1e-5);
      }
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) {
        double expected = 1;
        for (std::size_t k = 0; k < r; ++k)
          expected -= 2.0 * p[k * rows + i] * in[k * columns + j];
        EXPECT_NEAR(product[i * columns + j], expected, 1e-5);
      }
  }
}

TEST(Matrix, OrthonormalRowsAndNothingForWhatIsNoNewDirection) {
  constexpr std::size_t r = 4, count = 40;
  auto rows = noises(1, r * count);
  for (std::size_t i = 0; i < count; ++i)
    rows[2 * count + i] = 3 * rows[i] - rows[count + i];  // in the span of the first two
  orthonormalize(r, count, rows.data());
  for (std::size_t a = 0; a < r; ++a)
    for (std::size_t b = 0; b < r; ++b) {
      double dot = 0;
      for (std::size_t i = 0; i < count; ++i)
        dot += static_cast<double>(rows[a * count + i]) * rows[b * count + i];
      EXPECT_NEAR(dot, a == b && a != 2 ? 1 : 0, 1e-6) << a << " " << b;
    }
}

/// One compressor on each rank, and a gradient for it to sum.
class Sums {
 public:
  Sums(comm::Group& group, const Map& options)
      : model_(build_model(Map{{"name", "mlp"}, {"hidden", List{40}}}, {{30}, 3}, 1, "reference")) {
    const SyncConfig config(options, {});
    sum_ = config.compress.make(config.compression, {group, *model_, 11});
    gradient.resize(model_->parameter_floats());
    part_.leaves = {gradient.data()};
    part_.count = gradient.size();
    part_.parameters.resize(model_->parameters().size());
    std::iota(part_.parameters.begin(), part_.parameters.end(), 0);
  }
  void run(std::int64_t step) {
    if (const auto request = sum_->start(part_, step)) request->wait();
  }
  /// Of the first layer's weight, 40 x 30.
  float* weight() { return gradient.data(); }
  static constexpr std::size_t kRows = 40, kColumns = 30;
  /// The error memory of the first weight; 0 where there is none.
  double error(std::size_t i) {
    for (const SyncState& state : sum_->states())
      if (state.name == "error") return static_cast<double>(state.floats[i]);
    return 0;
  }

  std::vector<float> gradient;

 private:
  std::unique_ptr<Model> model_;
  std::unique_ptr<BucketSum> sum_;
  GradientPart part_;
};

struct Summed {
  std::vector<float> result;     ///< of the weight
  std::vector<double> summands;  ///< what the ranks brought, error memory included
  std::vector<double> errors;    ///< what is left on all ranks
};

/// The third of three sums of different random gradients.
Summed third_sum(const Map& options, int ranks) {
  constexpr std::size_t count = Sums::kRows * Sums::kColumns;
  Summed all{{}, std::vector<double>(count), std::vector<double>(count)};
  std::mutex mutex;
  test::on_ranks(ranks, [&](comm::Group& group) {
    Sums sums(group, options);
    for (int step = 0; step < 3; ++step) {
      const auto values = noises(static_cast<std::uint32_t>(100 * step + group.rank()), count);
      std::copy(values.begin(), values.end(), sums.weight());
      if (step == 2) {
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < count; ++i)
          all.summands[i] += values[i] + sums.error(i);
      }
      sums.run(step);
    }
    const std::lock_guard lock(mutex);
    const std::vector<float> mine(sums.weight(), sums.weight() + count);
    if (all.result.empty()) all.result = mine;
    EXPECT_EQ(mine, all.result) << "rank " << group.rank();
    for (std::size_t i = 0; i < count; ++i)
      all.errors[i] += sums.error(i);
  });
  return all;
}

const Map kPowerSgd{{"compress", "powersgd"}, {"compress_rank", 2}, {"compress_start", 0}};
const Map kTopK{{"compress", "top-k"}, {"compress_share", 0.05}};

TEST(Compress, NothingIsLostButPutOff) {
  for (const Map& options : {Map{}, kPowerSgd, kTopK})
    for (const int ranks : {1, 2, 3, 4}) {
      const Summed s = third_sum(options, ranks);
      for (std::size_t i = 0; i < s.result.size(); ++i)
        ASSERT_NEAR(s.result[i] + s.errors[i], s.summands[i], 1e-5)
            << Value(options).to_text() << " " << i;
    }
}

TEST(Compress, TopKSendsTheLargestOfEachRank) {
  const Summed s = third_sum(kTopK, 1);
  const auto sent = std::count_if(s.result.begin(), s.result.end(), [](float x) { return x != 0; });
  EXPECT_EQ(sent, 60);  // 5 % of 1200
  float least = 1e9f, most = 0;
  for (std::size_t i = 0; i < s.result.size(); ++i) {
    if (s.result[i] != 0)
      least = std::min(least, std::abs(s.result[i]));
    else
      most = std::max(most, static_cast<float>(std::abs(s.summands[i])));
  }
  EXPECT_GE(least, most);
}

TEST(Compress, TopKOfEqualSizesTakesExactlyAsMany) {
  test::on_ranks(2, [](comm::Group& group) {
    Sums sums(group, kTopK);
    std::fill(sums.gradient.begin(), sums.gradient.end(), -1.0f);
    sums.run(0);
    for (std::size_t i = 0; i < Sums::kRows * Sums::kColumns; ++i)
      EXPECT_EQ(sums.weight()[i], i < 60 ? -2.0f : 0.0f) << i;
  });
}

TEST(Compress, PowerSgdIsExactWhereTheSumHasItsRank) {
  test::on_ranks(3, [](comm::Group& group) {
    Sums sums(group, kPowerSgd);
    std::vector<double> expected(Sums::kRows * Sums::kColumns);
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      for (std::size_t i = 0; i < Sums::kRows; ++i)
        for (std::size_t j = 0; j < Sums::kColumns; ++j) {
          // Two directions for all ranks.
          const float value = noise(rank, i) * noise(77, j) + noise(rank + 9, i) * noise(78, j);
          expected[i * Sums::kColumns + j] += value;
          if (static_cast<int>(rank) == group.rank()) sums.weight()[i * Sums::kColumns + j] = value;
        }
    sums.run(0);
    for (std::size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(sums.weight()[i], expected[i], 1e-5);
  });
}

TEST(Compress, NarrowSumsAreNear) {
  for (const auto& [name, tolerance] : {std::pair{"fp16", 2e-3}, std::pair{"bf16", 2e-2}})
    for (const int ranks : {2, 3}) {
      const Summed s = third_sum(Map{{"compress", name}}, ranks);
      double worst = 0;
      for (std::size_t i = 0; i < s.result.size(); ++i)
        worst = std::max(worst, std::abs(s.result[i] - s.summands[i]));
      EXPECT_LT(worst, tolerance) << name;
      EXPECT_GT(worst, tolerance / 100) << name;  // it did travel narrow
    }
}

TEST(Compress, StartsWhenItIsToldTo) {
  Map options = kTopK;
  options.emplace_back("compress_start", 3);
  const Summed s = third_sum(options, 2);
  for (std::size_t i = 0; i < s.result.size(); ++i)
    ASSERT_NEAR(s.result[i], s.summands[i], 1e-6);
}

TEST(Compress, UnknownNameGetsTheNearestOne) {
  test::on_ranks(1, [](comm::Group& group) {
    try {
      Sums(group, Map{{"compress", "power-sgd"}});
      ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& e) {
      EXPECT_THAT(e.what(), HasSubstr("did you mean 'powersgd'?"));
    }
  });
}

Case problem(Map sync) {
  Case c{Map{{"name", "mlp"}, {"hidden", List{32}}}};
  c.optimizer = Map{{"name", "sgd"}};
  c.sync = std::move(sync);
  c.steps = 120;
  c.lr = 0.1;
  return c;
}

double final_loss(const Map& sync, int ranks = 2) {
  const auto results = test::train(problem(sync), ranks, 1);
  for (const Trained& result : results)
    EXPECT_EQ(result, results[0]) << Value(sync).to_text();
  return static_cast<double>(results[0].losses.back());
}

Map with(Map options, const char* key, Value value) {
  options.emplace_back(key, std::move(value));
  return options;
}

TEST(Compress, SumsOverRanksTrainAsSumsOverShardsDo) {
  const double shards = final_loss({});
  for (const int ranks : {1, 2, 3, 4})
    EXPECT_NEAR(final_loss(Map{{"sum", "ranks"}}, ranks), shards, 1e-5);
  EXPECT_NEAR(final_loss(Map{{"compress", "bf16"}}), shards, 0.02 * shards);
  EXPECT_NEAR(final_loss(Map{{"compress", "fp16"}}), shards, 0.01 * shards);
}

// With memory the loss is that of training without compression, within the tolerance; without it,
// it is not.
TEST(Compress, ErrorFeedbackIsWhatMakesItConverge) {
  const double expected = final_loss({});
  const Map top_k{{"compress", "top-k"}, {"compress_share", 0.02}};
  const Map power_sgd{{"compress", "powersgd"}, {"compress_rank", 1}, {"compress_start", 0}};
  for (const Map& options : {top_k, power_sgd}) {
    const double feedback = final_loss(options);
    const double none = final_loss(with(options, "error_feedback", false));
    EXPECT_LT(feedback, 1.1 * expected) << Value(options).to_text();
    EXPECT_GT(none, 1.2 * expected) << Value(options).to_text();
  }
}

TEST(Compress, GoesOnlyWithSumsOverRanks) {
  try {
    test::train(problem(Map{{"sum", "shards"}, {"compress", "bf16"}}), 1, 1);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("set sync.sum to ranks"));
  }
}

}  // namespace
}  // namespace thalweg::engine
