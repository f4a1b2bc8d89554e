// A study's two stages, from the file alone: which draws there are, and what wins.
#include "jobspec/search/study.h"

#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "jobspec/search/search.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// `kind` a has the parameter x, b also y.
std::string file_with(const std::string& study, const std::string& more = "") {
  return "program: f\nmetric: {name: loss, goal: minimize}\n"
         "study: {compare: kind, " +
         study +
         "}\n"
         "parameters:\n"
         "  kind: {values: [a, b]}\n"
         "  x: {min: 0.0, max: 1.0}\n"
         "  y: {min: 0.0, max: 1.0}\n"
         "when: {y: {kind: b}}\n" +
         more;
}

Expansion expanded(const std::string& text) {
  return expand(parse_sweep(text, "sweep.yaml", Schema()), Schema());
}

std::vector<ExpandedTrial> trials_of(const std::string& text) {
  return expanded(text).trials;
}

std::string kind_of(const ExpandedTrial& trial) {
  return trial.parameters.find("kind")->as_string();
}

TEST(Study, DrawsByTurnsThenHoldsPlacesForTheWinners) {
  const Expansion all = expanded(file_with("budget: 6, final_seeds: 3"));
  ASSERT_EQ(all.draws, 12);
  ASSERT_EQ(all.trials.size(), 12u + 6);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(kind_of(all.trials[i]), i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(all.trials[i].seed, 1u);
    EXPECT_EQ(all.trials[i].configuration, static_cast<std::int64_t>(i + 1));
  }
  for (std::size_t i = 12; i < 18; ++i) {
    EXPECT_EQ(kind_of(all.trials[i]), i % 2 == 0 ? "a" : "b");
    EXPECT_EQ(all.trials[i].seed, 2 + (i - 12) / 2) << "seed by seed, none of a draw";
    EXPECT_EQ(all.trials[i].configuration, i % 2 == 0 ? 13 : 14);
  }
}

/// Those of a sweep that has this value alone.
TEST(Study, ValuesAreDrawnAsSobolDoesInTheirOwnSpace) {
  const auto study = trials_of(file_with("budget: 8, final_seeds: 2"));
  const auto alone = trials_of(
      "program: f\nmetric: {name: loss}\nmethod: sobol\nrun_cap: 8\n"
      "parameters: {x: {min: 0.0, max: 1.0}, y: {min: 0.0, max: 1.0}}\n");
  ASSERT_EQ(alone.size(), 8u);
  std::set<double> different;
  for (std::size_t i = 0; i < 8; ++i) {
    const ExpandedTrial &a = study[2 * i], &b = study[2 * i + 1];
    EXPECT_EQ(a.parameters.find("y"), nullptr);
    for (const char* name : {"x", "y"})
      EXPECT_EQ(*b.parameters.find(name), *alone[i].parameters.find(name));
    EXPECT_EQ(*a.parameters.find("x"), *alone[i].parameters.find("x"))
        << "the same points of what both have";
    different.insert(a.parameters.find("x")->as_double());
  }
  EXPECT_EQ(different.size(), 8u);
}

TEST(Study, MoreFinalSeedsKeepAllThatWasThere) {
  const auto few = trials_of(file_with("budget: 4, final_seeds: 3"));
  const auto many = trials_of(file_with("budget: 4, final_seeds: 5"));
  ASSERT_EQ(many.size(), few.size() + 4);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].hash, many[i].hash);
    EXPECT_EQ(few[i].seed, many[i].seed);
    EXPECT_EQ(few[i].configuration, many[i].configuration);
  }
}

TEST(Study, FinalSeedsAreThoseThatNoDrawUses) {
  const auto fresh = [](const std::string& seeds) {
    const std::string text = file_with("budget: 2, final_seeds: 3", seeds);
    std::set<std::uint64_t> found;
    const Expansion all = expanded(text);
    for (const ExpandedTrial& trial : all.trials)
      if (trial.number > all.draws) found.insert(trial.seed);
    const auto read = study_seeds(read_yaml(text, "sweep.yaml"));
    EXPECT_EQ(std::set<std::uint64_t>(read->final_seeds.begin(), read->final_seeds.end()), found)
        << "what the record's readers take for them";
    EXPECT_EQ(read->compare, "kind");
    return found;
  };
  EXPECT_THAT(fresh(""), ElementsAre(2, 3, 4));
  EXPECT_THAT(fresh("seeds: 2\n"), ElementsAre(3, 4, 5));
  EXPECT_THAT(fresh("seeds: [2, 7]\n"), ElementsAre(1, 3, 4));
  EXPECT_FALSE(study_seeds(read_yaml("{method: grid, seeds: 3}", "sweep.yaml")));
}

TEST(Study, EqualDrawsRunOnce) {
  const Expansion all = expanded(
      "program: f\nmetric: {name: loss, goal: minimize}\n"
      "study: {compare: kind, budget: 9, final_seeds: 2}\n"
      "parameters: {kind: {values: [a, b]}, x: {values: [1, 2]}, y: {min: 0.0, max: 1.0}}\n"
      "when: {y: {kind: b}}\n");
  EXPECT_EQ(all.draws, 2 + 9) << "a has two configurations only";
  EXPECT_EQ(all.duplicates, 7);
  EXPECT_EQ(all.trials.size(), 11u + 4);
}

TEST(Study, SaysBothStages) {
  const Sweep sweep =
      parse_sweep(file_with("budget: 6, final_seeds: 3", "seeds: 2\n"), "sweep.yaml", Schema());
  EXPECT_THAT(sweep.notes,
              testing::Contains(HasSubstr("2 values of kind with 6 draws each: at most 24 trials. "
                                          "Then the best draw of each value runs with 3 seeds that "
                                          "no draw used (3 to 5): 6 trials")));
}

TEST(Study, MeansTheMethodWhereNoneIsNamed) {
  const std::string text = file_with("budget: 3");
  EXPECT_EQ(parse_sweep(text, "sweep.yaml", Schema()).method->name, "study");
  const auto named = trials_of("method: study\n" + text);
  const auto plain = trials_of(text);
  ASSERT_EQ(named.size(), plain.size());
  EXPECT_EQ(named.back().hash, plain.back().hash);
}

constexpr char of_the_engine[] =
    "study: {compare: optimizer.name, budget: 4, spaces: algoperf}\n"
    "metric: {name: val/error}\n"
    "train:\n"
    "  model: {name: mlp}\n"
    "  data: {name: synthetic}\n"
    "  batch: {global: 100}\n"
    "  epochs: 1\n";

std::vector<ExpandedTrial> trials_with(const std::string& more) {
  return expand(parse(of_the_engine + more), test_schema()).trials;
}

/// The values of a parameter in the first draws of one optimizer.
std::vector<Value> values_of(const std::vector<ExpandedTrial>& trials, const std::string& optimizer,
                             const char* name) {
  std::vector<Value> found;
  for (const ExpandedTrial& trial : trials)
    if (trial.seed == 1 && *trial.parameters.find("optimizer.name") == Value(optimizer))
      if (const Value* value = trial.parameters.find(name)) found.push_back(*value);
  return found;
}

TEST(Study, EachValueHasItsPublishedSpace) {
  const auto trials = trials_with(
      "parameters:\n  optimizer.name: {values: [adamw, sgd]}\n"
      "  optimizer.lr: {min: 0.01, max: 0.02}\n"
      "when: {optimizer.lr: {optimizer.name: sgd}}\n");
  for (const Value& lr : values_of(trials, "adamw", "optimizer.lr"))
    EXPECT_TRUE(lr.as_double() >= 1e-4 && lr.as_double() <= 1e-2) << lr.to_text();
  for (const Value& lr : values_of(trials, "sgd", "optimizer.lr"))
    EXPECT_GE(lr.as_double(), 0.01) << "the file's own, which the set has not";
  for (const Value& beta : values_of(trials, "adamw", "optimizer.beta1"))
    EXPECT_TRUE(beta.as_double() >= 0.5 && beta.as_double() <= 0.98) << beta.to_text();
  EXPECT_EQ(values_of(trials, "adamw", "optimizer.beta2"), std::vector<Value>(4, Value(0.999)));
  EXPECT_THAT(values_of(trials, "sgd", "optimizer.beta1"), IsEmpty());
}

TEST(Study, WhatTheFileSaysReplacesPublishedParameters) {
  const auto trials = trials_with(
      "parameters:\n  optimizer.name: {values: [adamw, sgd]}\n"
      "  optimizer.lr: {value: 0.5}\n  optimizer.beta1: {min: 0.1, max: 0.2}\n"
      "  optimizer.weight_decay: {min: 0.3, max: 0.4}\n"
      "when: {optimizer.beta1: {optimizer.name: adamw}}\n");
  EXPECT_EQ(values_of(trials, "adamw", "optimizer.lr"), std::vector<Value>(4, Value(0.5)));
  for (const Value& beta : values_of(trials, "adamw", "optimizer.beta1"))
    EXPECT_TRUE(beta.as_double() >= 0.1 && beta.as_double() <= 0.2) << beta.to_text();
  EXPECT_EQ(values_of(trials, "sgd", "optimizer.weight_decay").size(), 4u);
}

std::vector<Observed> draws_of_values(std::vector<std::optional<double>> values) {
  std::vector<Observed> draws;
  for (const auto& value : values) {
    Observed draw;
    draw.configuration = static_cast<std::int64_t>(draws.size()) + 1;
    draw.value = value;
    draws.push_back(draw);
  }
  return draws;
}

Metric metric_with(Goal goal) {
  Metric metric;
  metric.name = "loss";
  metric.goal = goal;
  return metric;
}

TEST(Study, TheBestDrawWins) {
  const auto draws = draws_of_values({0.4, 0.2, 0.9, 0.2});
  EXPECT_EQ(best_draw(draws, metric_with(Goal::minimize))->configuration, 2) << "of equal ones";
  EXPECT_EQ(best_draw(draws, metric_with(Goal::maximize))->configuration, 3);
  EXPECT_THAT(best_draw(draws, metric_with(Goal::maximize))->reason,
              HasSubstr("best of 4 draws: configuration 3, loss 0.9"));
}

TEST(Study, WhatFailedIsWorseThanAnyValue) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  auto draws = draws_of_values({nan, std::nullopt, 5.0, 0.1});
  draws[3].state = Observed::State::failed;
  for (const Goal goal : {Goal::minimize, Goal::maximize}) {
    const auto best = best_draw(draws, metric_with(goal));
    EXPECT_EQ(best->configuration, 3);
    EXPECT_THAT(best->reason, HasSubstr("3 without a value"));
  }
  draws[2].state = Observed::State::failed;
  EXPECT_FALSE(best_draw(draws, metric_with(Goal::minimize)));
  EXPECT_FALSE(best_draw({}, metric_with(Goal::minimize)));
}

TEST(Study, SeedsOfADrawCountByTheirMean) {
  auto draws = draws_of_values({0.1, 0.9, 0.4, 0.4, 0.0, 0.0});
  for (std::size_t i = 0; i < draws.size(); ++i)
    draws[i].configuration = static_cast<std::int64_t>(i / 2) + 1;
  draws[5].state = Observed::State::failed;
  EXPECT_EQ(best_draw(draws, metric_with(Goal::minimize))->configuration, 2)
      << "the third has a seed that failed";
}

}  // namespace
}  // namespace thalweg::jobspec
