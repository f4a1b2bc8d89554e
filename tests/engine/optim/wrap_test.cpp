// What goes around any row of the table: groups of parameters, the running mean of the weights.
#include "engine/optim/wrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/optim/trainee_on_gpu.h"

namespace thalweg::engine {
namespace {

using test::Trainee;
using Vectors = Trainee<double>::Values;

Vectors two_steps(const std::string& options) {
  Trainee<double> t(options, {{"fc1.weight", {2}}, {"fc1.bias", {1}, false}, {"fc2.weight", {2}}});
  t.put(t.w, {{1, 2}, {3}, {4, 5}});
  for (int step = 0; step < 2; ++step)
    t.step({step, 0.1}, {{0.1, -0.3}, {0.5}, {0.2, 0.7}});
  return t.plain(t.w);
}

TEST(Groups, FirstPatternThatFitsGivesTheOptions) {
  const Vectors plain = two_steps("{name: adamw}");
  const Vectors fast = two_steps("{name: adamw, weight_decay: 0}");
  const Vectors grouped = two_steps(
      "{name: adamw, groups: [{match: fc1.weight, decay_factor: 0}, {match: \"fc1.*\", lr_factor: "
      "0}]}");
  EXPECT_EQ(grouped[0], fast[0]);
  EXPECT_EQ(grouped[1], (std::vector<double>{3}));
  EXPECT_EQ(grouped[2], plain[2]);
}

TEST(Groups, MayHaveAnotherOptimizer) {
  const Vectors sgd = two_steps("{name: sgd}"), nadam = two_steps("{name: nadam, epsilon: 1e-3}");
  const Vectors grouped = two_steps(
      "{name: sgd, weight_decay: 0, groups: [{match: \"*2.*\", name: nadam, epsilon: 1e-3}]}");
  EXPECT_EQ(grouped[0], sgd[0]);
  EXPECT_EQ(grouped[1], sgd[1]);
  EXPECT_EQ(grouped[2], nadam[2]);
}

TEST(Groups, TwoOfOneKindKeepTheirStateApart) {
  const Vectors plain = two_steps("{name: nadam}");
  EXPECT_EQ(two_steps("{name: nadam, groups: [{match: \"fc1*\"}, {match: \"fc2*\"}]}"), plain);
  const Vectors lars = two_steps("{name: lars}");
  EXPECT_EQ(two_steps("{name: lars, groups: [{match: \"fc1*\"}]}"), lars);
}

template <class SomeTrainee>
typename SomeTrainee::Values six_steps(const std::string& options) {
  using T = typename SomeTrainee::Number;
  SomeTrainee t(options, {{"a", {3}}, {"b", {3}}});
  t.put(t.w, {{T(1), T(-2), T(3)}, {T(0.5), T(0.25), T(-1.5)}});
  for (int step = 0; step < 6; ++step) {
    const T s = T(step);
    t.step({step, 0.1}, {{T(0.5) + s, T(-1), T(0.25) * s}, {T(1), s - T(2), T(0.1)}});
  }
  return t.plain(t.w);
}

/// Two periods in one optimizer, each as it would be alone.
template <class SomeTrainee>
void expect_own_periods() {
  const auto two = six_steps<SomeTrainee>("{name: sophia_g, rho: 10, every: 2}");
  const auto three = six_steps<SomeTrainee>("{name: sophia_g, rho: 10, every: 3}");
  ASSERT_NE(two, three);
  const auto grouped =
      six_steps<SomeTrainee>("{name: sophia_g, rho: 10, every: 2, groups: [{match: b, every: 3}]}");
  EXPECT_EQ(grouped[0], two[0]);
  EXPECT_EQ(grouped[1], three[1]);
}

TEST(Groups, CurvatureIsSeenWhenAGroupsOwnPeriodEnds) {
  expect_own_periods<Trainee<double>>();
  expect_own_periods<test::TraineeOnGpu>();
}

TEST(Groups, OneWithoutParametersAsksForNoCurvature) {
  const Trainee<double> t("{name: sophia_g, every: 2, groups: [{match: \"*\", every: 3}]}",
                          {{"a", {3}}});
  EXPECT_FALSE(t.optimizer->curvature_due(1));
  EXPECT_TRUE(t.optimizer->curvature_due(2));
}

TEST(Groups, MistakesAreNamed) {
  const auto complaint = [](const std::string& group) {
    try {
      two_steps("{name: adamw, groups: [" + group + "]}");
    } catch (const std::invalid_argument& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  using testing::HasSubstr;
  EXPECT_THAT(complaint("{lr_factor: 2}"), HasSubstr("groups[0].match"));
  EXPECT_THAT(complaint("{match: \"fc3*\"}"), HasSubstr("fits no parameter; there are fc1.weight"));
  EXPECT_THAT(complaint("{match: \"*\", beta3: 1}"), HasSubstr("did you mean 'beta1'"));
  EXPECT_THAT(complaint("{match: \"*\", beta1: 3}"), HasSubstr("groups[0].beta1: found 3"));
  EXPECT_THAT(complaint("{match: \"*\", lr_factor: -1}"), HasSubstr("at least 0"));
  EXPECT_THAT(complaint("{match: \"*\", name: adamx}"),
              HasSubstr("groups[0].name: there is no optimizer 'adamx', did you mean 'adam'?"));
}

TEST(Average, ForgetsTheFirstWeightsAndThenFollowsSlowly) {
  Trainee<double> t("{name: sgd, ema: 0.5}", {{"a", {1}}});
  t.put(t.w, {{10}});
  double w = 10, mean = 10;
  for (int step = 0; step < 12; ++step) {
    t.step({step, 0.1}, {{5}});
    w -= 0.5;
    const double keep = std::min(0.5, (2.0 + step) / (11.0 + step));
    mean = keep * mean + (1 - keep) * w;
    EXPECT_NEAR(t.evaluated()[0][0], mean, 1e-12) << step;
    EXPECT_NEAR(t.plain(t.w)[0][0], w, 1e-12);
  }
}

}  // namespace
}  // namespace thalweg::engine
