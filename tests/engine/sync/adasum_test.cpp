// Adasum: published properties and numbers, and training with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/sync/adasum_sum.h"
#include "engine/tensor/random.h"
#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using test::Case;
using test::Trained;
using testing::HasSubstr;

std::vector<float> of_pair(std::vector<float> a, const std::vector<float>& b) {
  const std::size_t end = a.size();
  adasum(a.data(), b.data(), {&end, 1});
  return a;
}

void expect_near(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a[i], b[i], 1e-6) << i;
}

// Computed from the formula of Maleki et al., arXiv:2006.02924.
TEST(Adasum, OfTwo) {
  expect_near(of_pair({3, 4}, {1, 0}), {2.32f, 3.76f});
  expect_near(of_pair({1, 0}, {2, 0}), {1.5f, 0});
  expect_near(of_pair({1, 2}, {-2, 1}), {-1, 3});   // orthogonal: the sum
  expect_near(of_pair({1, -2}, {1, -2}), {1, -2});  // parallel and equal: the average
  expect_near(of_pair({1, -2}, {-1, 2}), {0, 0});   // opposite: nothing
  expect_near(of_pair({0, 0}, {5, 6}), {5, 6});
}

TEST(Adasum, TakesEachTensorByItself) {
  std::vector<float> a{3, 4, 1, 0}, b{1, 0, 2, 0};
  const std::vector<std::size_t> ends{2, 4};
  adasum(a.data(), b.data(), ends);
  expect_near(a, {2.32f, 3.76f, 1.5f, 0});
}

TEST(Adasum, OfFourRanksIsTheTreeOfPairs) {
  const std::vector<std::vector<float>> ranks{{1, 2, 3}, {0, 1, -1}, {2, 0, 1}, {-1, 1, 2}};
  test::on_ranks(4, [&](comm::Group& group) {
    const auto model =
        build_model(Map{{"name", "mlp"}, {"hidden", List{}}}, {{1}, 3}, 1, "reference");
    AdasumSum sum(group, *model);
    std::vector<float> mine(model->parameter_floats());
    const auto& own = ranks[static_cast<std::size_t>(group.rank())];
    std::copy(own.begin(), own.end(), mine.begin());  // the weight; the bias is 0
    GradientPart part;
    part.leaves = {mine.data()};
    part.count = mine.size();
    part.parameters = {1, 0};
    if (const auto request = sum.start(part, 0)) request->wait();
    expect_near({mine.begin(), mine.begin() + 3},
                {1.253843171754f, 2.810018339869f, 2.910496220198f});
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
      EXPECT_FALSE(result.not_finite.empty());
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

}  // namespace
}  // namespace thalweg::engine
