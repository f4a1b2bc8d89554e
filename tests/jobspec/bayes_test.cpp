// Search that learns from results: the process behind it, what it chooses, and what a file may say.
#include "jobspec/search/learning.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

#include "jobspec/gaussian_process.h"
#include "jobspec/suggest.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using testing::HasSubstr;

/// Worked out with NumPy's dense algebra (numpy.linalg.solve, slogdet): the same grid of lengths
/// and noises, the same order.
TEST(GaussianProcess, PredictsAsDenseAlgebraDoes) {
  const GaussianProcess model({{.1, .9}, {.25, .4}, {.5, .5}, {.6, .1}, {.75, .8}, {.9, .3}},
                              {1.2, .55, .1, .35, .7, 1.4}, Matern::five_halves);
  EXPECT_NEAR(model.lengths().at(0), .2, 1e-12);
  EXPECT_NEAR(model.lengths().at(1), .6727171322029716, 1e-12);
  EXPECT_NEAR(model.noise(), 3.535533905932737e-07, 1e-18);
  const struct {
    Point at;
    double mean, deviation;
  } rows[] = {{{.5, .5}, 0.10000019577952035, 0.00029013356741114095},
              {{.4, .3}, 0.1987502702583963, 0.223927988298073},
              {{0, 0}, 0.8089097718157673, 0.4453843696363209},
              {{.95, .95}, 1.0234153899141762, 0.38036901976955606}};
  for (const auto& row : rows) {
    const auto found = model.at(row.at);
    EXPECT_NEAR(found.mean, row.mean, 1e-9);
    EXPECT_NEAR(found.deviation, row.deviation, 1e-9);
  }
}

TEST(GaussianProcess, ABelievedPointIsKnownButChangesNoPrediction) {
  const std::vector<Point> points{{.05}, {.2}, {.4}, {.6}, {.75}, {.95}};
  const std::vector<double> values{0.3, 0.1, 0.0, 0.05, 0.15, 0.4};
  const GaussianProcess before(points, values, Matern::three_halves);
  GaussianProcess model(points, values, Matern::three_halves);
  model.believe({.5});
  for (const double x : {.1, .3, .5, .55, .85})
    EXPECT_NEAR(model.at({x}).mean, before.at({x}).mean, 1e-3) << x;
  EXPECT_LT(model.at({.5}).deviation, before.at({.5}).deviation / 10);
  EXPECT_NEAR(model.at({.85}).deviation, before.at({.85}).deviation, 1e-3);
}

TEST(GaussianProcess, ConstantValuesAndTwinsAreNoTrouble) {
  const GaussianProcess flat({{.1}, {.1}, {.9}}, {3, 3, 3}, Matern::three_halves);
  EXPECT_NEAR(flat.at({.5}).mean, 3, 1e-12);
  const GaussianProcess twins({{.1}, {.1}, {.9}, {.9}}, {1, 2, 5, 6}, Matern::five_halves);
  EXPECT_GT(twins.at({.1}).mean, 1);
  EXPECT_LT(twins.at({.1}).mean, 2);
}

/// phi(0) = 0.39894, and phi(1) - (1 - Phi(1)) = 0.08332 of the standard normal tables.
TEST(GaussianProcess, ExpectedImprovement) {
  EXPECT_NEAR(expected_improvement({0, 1}, 0), 0.398942280401, 1e-12);
  EXPECT_NEAR(expected_improvement({1, 1}, 0), 0.083315470587, 1e-12);
  EXPECT_NEAR(expected_improvement({2, 3}, 5), 3 * (1 * 0.841344746069 + 0.241970724519), 1e-11);
  EXPECT_EQ(expected_improvement({1, 0}, 3), 2);
  EXPECT_EQ(expected_improvement({4, 0}, 3), 0);
}

constexpr char space[] =
    "program: train.py\nmethod: bayes\nrun_cap: 30\nmetric: {name: loss}\nparameters:\n"
    "  lr: {min: 0.00001, max: 1.0, distribution: log_uniform_values}\n"
    "  width: {min: 10, max: 200}\n"
    "  kind: {values: [relu, tanh, gelu]}\n";

/// Least, 0, at lr = 0.01, width = 80, gelu.
double loss(const Value& parameters) {
  const double lr = std::log10(parameters.find("lr")->as_double()) + 2;
  const double width = (parameters.find("width")->as_double() - 80) / 100;
  const std::string& kind = parameters.find("kind")->as_string();
  return lr * lr + width * width + (kind == "gelu" ? 0 : kind == "relu" ? 0.5 : 1);
}

/// The best loss of a sweep whose trials run one after the other.
double run_sweep(const Sweep& sweep, bool by_results) {
  const Expansion drawn = expand(sweep, Schema());
  std::vector<Observed> observed;
  std::set<std::string> taken;
  double best = 1e9;
  for (const ExpandedTrial& trial : drawn.trials) {
    ExpandedTrial next = trial;
    if (by_results && trial.number > sweep.learning->drawn_trials())
      next = suggest(sweep, Schema(), observed, taken, trial.configuration)->trial;
    EXPECT_TRUE(taken.insert(next.hash).second);
    observed.push_back({next.parameters, Observed::State::ended, loss(next.parameters)});
    best = std::min(best, *observed.back().value);
  }
  return best;
}

TEST(Suggest, FindsMoreThanAsManyDrawsDo) {
  std::vector<double> by_results, drawn;
  for (std::uint64_t seed = 1; seed <= 9; ++seed) {
    Sweep sweep = parse(space);
    sweep.seed = seed;
    by_results.push_back(run_sweep(sweep, true));
    drawn.push_back(run_sweep(sweep, false));
  }
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  EXPECT_LT(median(by_results), 0.02);
  EXPECT_LT(median(by_results) * 5, median(drawn));
}

std::vector<Observed> some_results(const Sweep& sweep) {
  std::vector<Observed> observed;
  for (const ExpandedTrial& trial : expand(sweep, Schema()).trials)
    if (trial.number <= 12)
      observed.push_back({trial.parameters, Observed::State::ended, loss(trial.parameters)});
  return observed;
}

TEST(Suggest, IsTheSameForTheSameResultsAndMaximizesWhereItIsTold) {
  Sweep sweep = parse(space);
  std::vector<Observed> observed = some_results(sweep);
  const auto first = suggest(sweep, Schema(), observed, {}, 13);
  ASSERT_TRUE(first);
  EXPECT_THAT(first->reason, HasSubstr("chosen by 12 results: loss "));
  EXPECT_EQ(suggest(sweep, Schema(), observed, {}, 13)->trial.hash, first->trial.hash);
  EXPECT_NE(suggest(sweep, Schema(), observed, {}, 14)->trial.hash, first->trial.hash)
      << "other draws are looked at";
  EXPECT_EQ(first->trial.hash, configuration_hash(first->trial.train, first->trial.resources));
  for (Observed& each : observed)
    each.value = -*each.value;
  sweep.metric.goal = Goal::maximize;
  EXPECT_EQ(suggest(sweep, Schema(), observed, {}, 13)->trial.hash, first->trial.hash);
}

TEST(Suggest, KeepsAwayFromWhatRunsAndFromWhatFailed) {
  Sweep sweep = parse(space);
  std::vector<Observed> observed = some_results(sweep);
  const auto first = suggest(sweep, Schema(), observed, {}, 13);
  // The value that a running trial shows is not its result.
  observed.push_back({first->trial.parameters, Observed::State::running, 1e6});
  const auto second = suggest(sweep, Schema(), observed, {first->trial.hash}, 13);
  EXPECT_NE(second->trial.hash, first->trial.hash);
  EXPECT_THAT(second->reason, HasSubstr("chosen by 12 results"));
  observed.back() = {first->trial.parameters, Observed::State::failed, {}};
  const auto third = suggest(sweep, Schema(), observed, {}, 13);
  EXPECT_THAT(third->reason, HasSubstr("chosen by 13 results"));
  EXPECT_NE(third->trial.hash, first->trial.hash);
  EXPECT_GT(
      std::abs(std::log10(third->trial.parameters.find("lr")->as_double() /
                          first->trial.parameters.find("lr")->as_double())) +
          std::abs(third->trial.parameters.find("width")->as_double() -
                   first->trial.parameters.find("width")->as_double()) /
              190 +
          (*third->trial.parameters.find("kind") == *first->trial.parameters.find("kind") ? 0 : 1),
      0.05);
}

/// How a trial that failed, or runs, is taken into account: the choice is the one of a trial that
/// ended with the value that stands for its result.
TEST(Suggest, ImputesWhatTheMetricSays) {
  const double best = 0.2, latest = 0.7, worst = 1e9;
  const auto hash = [](const Sweep& sweep, Observed::State state, std::optional<double> value,
                       std::optional<double> newest) {
    std::vector<Observed> observed = some_results(sweep);
    observed.push_back({some_results(sweep)[3].parameters, state, value, newest});
    if (sweep.metric.goal == Goal::maximize) {
      for (Observed& each : observed) {
        if (each.value) *each.value *= -1;
        if (each.latest) *each.latest *= -1;
      }
    }
    return suggest(sweep, Schema(), observed, {}, 13)->trial.hash;
  };
  using State = Observed::State;
  for (const Goal goal : {Goal::minimize, Goal::maximize}) {
    Sweep sweep = parse(space);
    sweep.metric.goal = goal;
    double largest = 0;
    for (const Observed& each : some_results(sweep))
      largest = std::max(largest, *each.value);
    const std::pair<Impute, double> stands[] = {
        {Impute::best, best}, {Impute::latest, latest}, {Impute::worst, largest}};
    EXPECT_NE(hash(sweep, State::ended, best, {}), hash(sweep, State::ended, largest, {}));
    for (const auto& [impute, value] : stands) {
      const auto wanted = hash(sweep, State::ended, value, {});
      sweep.metric.impute = impute;
      EXPECT_EQ(hash(sweep, State::failed, best, latest), wanted);
      EXPECT_EQ(hash(sweep, State::failed, {}, {}), hash(sweep, State::ended, largest, {}));
      const auto believed = hash(sweep, State::running, worst, worst);
      sweep.metric.impute_while_running = impute;
      EXPECT_EQ(hash(sweep, State::running, best, latest), wanted);
      EXPECT_EQ(hash(sweep, State::running, {}, {}), impute == Impute::worst ? wanted : believed)
          << "one without a value is expected as before";
      sweep.metric.impute_while_running.reset();
    }
  }
}

TEST(Suggest, ChoosesAmongWhatTheConstraintsLeave) {
  const Sweep free = parse(space);
  const auto best = suggest(free, Schema(), some_results(free), {}, 13)->trial.parameters;
  const std::string bound = best.find("width")->to_text();
  const Sweep sweep = parse(space + ("constraint: width < " + bound + "\n"));
  for (int configuration = 13; configuration < 20; ++configuration) {
    const auto chosen = suggest(sweep, Schema(), some_results(free), {}, configuration);
    EXPECT_LT(chosen->trial.parameters.find("width")->as_int(), best.find("width")->as_int());
  }
}

TEST(Suggest, NothingWithoutAResultAndARepetitionWhereNothingIsLeft) {
  Sweep sweep = parse(space);
  EXPECT_FALSE(suggest(sweep, Schema(), {}, {}, 1));
  EXPECT_FALSE(suggest(sweep, Schema(), {{Map{}, Observed::State::running, 3.0}}, {}, 1));
  Sweep small = parse(
      "program: t.py\nmethod: bayes\nrun_cap: 9\nmetric: {name: loss}\n"
      "parameters: {a: {values: [1, 2, 3]}}\n");
  std::vector<Observed> observed;
  std::set<std::string> taken;
  for (const ExpandedTrial& trial : expand(small, Schema()).trials) {
    observed.push_back(
        {trial.parameters, Observed::State::ended, trial.parameters.find("a")->as_double()});
    taken.insert(trial.hash);
  }
  ASSERT_EQ(taken.size(), 3u);
  const auto again = suggest(small, Schema(), observed, taken, 4);
  ASSERT_TRUE(again);
  EXPECT_EQ(taken.count(again->trial.hash), 1u);
  const auto left = *taken.begin();
  taken.erase(left);
  EXPECT_EQ(suggest(small, Schema(), observed, taken, 4)->trial.hash, left)
      << "what has not been tried comes first";
}

TEST(Bayes, DefaultsFollowTheLengthOfTheSweep) {
  const auto parsed = [](const std::string& more) {
    return *parse(
                "program: t.py\nmethod: bayes\nmetric: {name: loss}\n"
                "parameters: {lr: {min: 0.1, max: 0.2}}\n" +
                more)
                .learning;
  };
  EXPECT_EQ(parsed("run_cap: 50\n").initial, 10);
  EXPECT_EQ(parsed("run_cap: 12\n").initial, 4);
  EXPECT_EQ(parsed("run_cap: 1\n").initial, 1);
  EXPECT_EQ(parsed("run_cap: 50\n").parallel, 4);
  const Learning set = parsed("run_cap: 50\nseeds: 3\nbayes: {initial: 5, parallel: 2}\n");
  EXPECT_EQ(set.drawn_trials(), 15);
  EXPECT_EQ(set.parallel, 2);
  const Sweep endless = parse(
      "program: t.py\nmethod: bayes\nmetric: {name: loss}\n"
      "parameters: {lr: {min: 0.1, max: 0.2}}\n");
  EXPECT_EQ(endless.run_cap, 50) << "as in W&B's files, which need not say it";
  EXPECT_THAT(endless.notes.front(), HasSubstr("run_cap: 50 configurations"));
}

}  // namespace
}  // namespace thalweg::jobspec
