// Adasum: published properties and numbers, and training with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/sync/adasum_sum.h"
#include "jobspec/value.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using test::Case;
using test::Trained;
using testing::HasSubstr;

void expect_near(const float* a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < b.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-6) << i;
}

// Numbers from the formula of Maleki et al., arXiv:2006.02924.
TEST(AdasumSum, TakesEachParameterByItself) {
  const std::vector<std::vector<float>> weights{{1, 2, 3}, {0, 1, -1}, {2, 0, 1}, {-1, 1, 2}};
  const std::vector<std::vector<float>> biases{{3, 4, 0}, {1, 0, 0}, {0, 0, 0}, {0, 0, 0}};
  test::on_ranks(4, [&](comm::Group& group) {
    const auto model =
        build_model(Map{{"name", "mlp"}, {"hidden", List{}}}, {{1}, 3}, 1, "reference");
    AdasumSum sum(group, *model, comm::Adasum::over_ranks);
    std::vector<float> mine(model->parameter_floats());
    const auto rank = static_cast<std::size_t>(group.rank());
    const std::size_t bias = model->parameters()[1].offset;
    std::copy(weights[rank].begin(), weights[rank].end(), mine.begin());
    std::copy(biases[rank].begin(), biases[rank].end(),
              mine.begin() + static_cast<std::ptrdiff_t>(bias));
    GradientPart part;
    part.leaves = {mine.data()};
    part.count = mine.size();
    part.parameters = {1, 0};
    if (const auto request = sum.start(part, 0)) request->wait();
    expect_near(mine.data(), {1.253843171754f, 2.810018339869f, 2.910496220198f});
    expect_near(mine.data() + bias, {2.32f, 3.76f, 0});
  });
}

Case problem(const char* form) {
  Case c{Map{{"name", "mlp"}, {"hidden", List{16}}}};
  c.sync = Map{{"mode", "adasum"}, {"form", form}};
  c.steps = 40;
  return c;
}

TEST(AdasumMode, LearnsWithTheSameWeightsOnEveryRank) {
  for (const char* form : {"gradient", "change"})
    for (const int ranks : {1, 2, 4}) {
      const auto results = test::train(problem(form), ranks, 1);
      for (const Trained& result : results)
        EXPECT_EQ(result, results[0]) << form;
      EXPECT_LT(results[0].losses.back(), 0.3f * results[0].losses.front()) << form << ranks;
    }
}

TEST(AdasumMode, OfOneRankIsTheSynchronousMode) {
  Case synchronous = problem("gradient");
  synchronous.sync = Map{};
  synchronous.noise_every = 0;  // which adasum does not measure
  const Trained expected = test::train(synchronous, 1, 1)[0];
  EXPECT_EQ(test::train(problem("gradient"), 1, 1)[0], expected);
  const Trained changes = test::train(problem("change"), 1, 1)[0];
  for (std::size_t i = 0; i < expected.parameters.size(); ++i)
    EXPECT_NEAR(changes.parameters[i], expected.parameters[i], 1e-5);
}

// Without momentum and with small steps, both forms are the same to first order.
TEST(AdasumMode, TheFormsAgreeForPlainSgd) {
  Case gradient = problem("gradient"), change = problem("change");
  gradient.optimizer = change.optimizer = Map{{"name", "sgd"}};
  gradient.steps = change.steps = 3;
  const Trained a = test::train(gradient, 2, 1)[0], b = test::train(change, 2, 1)[0];
  for (std::size_t i = 0; i < a.parameters.size(); ++i)
    EXPECT_NEAR(a.parameters[i], b.parameters[i], 1e-5);
}

TEST(AdasumMode, TellsEveryRankOfADivergence) {
  for (const char* form : {"gradient", "change"}) {
    Case c = problem(form);
    c.poisoned_from = 2;
    c.steps = 3;
    for (const Trained& result : test::train(c, 2, 1)) {
      EXPECT_EQ(result.not_finite_step, 2) << form;
      EXPECT_EQ(result.not_finite, "fc2.weight") << form;  // the first that backward completes
    }
  }
}

TEST(AdasumMode, NeedsAPowerOfTwoOfRanks) {
  try {
    test::train(problem("gradient"), 3, 1);
    FAIL() << "accepted";
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("power of two"));
    EXPECT_THAT(e.what(), HasSubstr("not 3"));
  }
}

// Ranks as threads are all on one machine: its average is all there is.
TEST(AdasumMode, OverMachinesAveragesTheRanksOfEach) {
  Case machines = problem("gradient");
  machines.sync.set("pairs", "machines");
  Case average = machines;
  average.sync = Map{{"sum", "ranks"}};
  machines.steps = average.steps = 3;
  const Trained a = test::train(machines, 3, 1)[0], b = test::train(average, 3, 1)[0];
  // 4 shards on 3 ranks: the rank with two of them counts no more than the others.
  machines.shards = average.shards = 3;
  const Trained c = test::train(machines, 3, 1)[0], d = test::train(average, 3, 1)[0];
  double uneven = 0, even = 0;
  for (std::size_t i = 0; i < a.parameters.size(); ++i) {
    uneven = std::max(uneven, std::abs(static_cast<double>(a.parameters[i] - b.parameters[i])));
    even = std::max(even, std::abs(static_cast<double>(c.parameters[i] - d.parameters[i])));
  }
  EXPECT_LT(even, 1e-6);
  EXPECT_GT(uneven, 1e-4);
}

}  // namespace
}  // namespace thalweg::engine
