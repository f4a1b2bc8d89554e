// What W&B's sweep files say, in their schema (github.com/wandb/sweeps, config/schema.json) and on
// its documentation's page of keys, and what is made of it.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "jobspec/program.h"
#include "tests/jobspec/support.h"
#include "tests/support/fuzz.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

const std::string kStart = "program: train.py\nmetric: {name: loss}\n";

Words arguments(const Sweep& sweep, const ExpandedTrial& trial, const std::string& macro) {
  Program program = *sweep.program;
  program.command = {macro};
  CommandValues values;
  values.config = program_config(program, trial.train, trial.seed);
  return expand_command(program, values, [](const auto&) { return std::nullopt; });
}

std::string notes_of(const Sweep& sweep) {
  std::string all;
  for (const std::string& note : sweep.notes)
    all += note + "\n";
  return all;
}

TEST(WandbFiles, EveryKeyThatCanMeanSomethingHereDoes) {
  const Sweep sweep = parse(
      "apiVersion: wandb.com/v1\nkind: sweep\ncontroller: {type: local}\nproject: p\nentity: e\n"
      "name: n\ndescription: d\nprogram: train.py\nmethod: bayes\nrun_cap: 20\n"
      "command: [\"${env}\", python3, \"${program}\", 500, 5e-4, true, \"${args}\"]\n"
      "metric: {name: loss, goal: maximize, target: 3, impute: best, impute_while_running: "
      "latest}\n"
      "early_terminate: {type: hyperband, max_iter: 27, s: 2, eta: 3, strict: true}\n"
      "scheduler: {engine: wandb}\n"
      "parameters:\n  a: {parameters: {b: {parameters: {c: {value: 1}}}}}\n  d: {value: 2}\n",
      "f.yaml");
  EXPECT_EQ(sweep.name, "n");
  EXPECT_EQ(sweep.run_cap, 20);
  EXPECT_TRUE(sweep.early_terminate->strict);
  EXPECT_EQ(sweep.metric.goal, Goal::maximize);
  EXPECT_EQ(sweep.metric.impute, Impute::best);
  EXPECT_EQ(sweep.metric.impute_while_running, Impute::latest);
  for (const char* said : {"f.yaml:14: scheduler: ignored", "project: ignored", "entity: ignored",
                           "apiVersion: ignored", "kind: ignored", "controller: ignored"})
    EXPECT_THAT(notes_of(sweep), HasSubstr(said));
  EXPECT_THAT(sweep.program->command,
              ElementsAre("${env}", "python3", "${program}", "500", "0.0005", "True", "${args}"));
  const ExpandedTrial trial = expand(sweep, test_schema()).trials.at(0);
  EXPECT_THAT(arguments(sweep, trial, "${args}"), ElementsAre("--a.b.c=1", "--d=2"));
}

TEST(WandbFiles, ProbabilitiesBesideValuesAreTheWeightedDistribution) {
  const auto drawn = [](const std::string& more) {
    const Sweep sweep =
        parse(kStart + "method: random\nrun_cap: 300\nparameters:\n  x: {min: 0.1, " +
              "max: 0.2}\n  noise: {" + more + "values: [null, 0.05, 0.25], " +
              "probabilities: [0.5, 0.5, 0.0]}\n");
    std::string values;
    for (const ExpandedTrial& trial : expand(sweep, test_schema()).trials)
      values += trial.parameters.find("noise")->to_json() + " ";
    return values;
  };
  const std::string named = drawn("distribution: categorical_w_probabilities, ");
  EXPECT_EQ(drawn(""), named);
  EXPECT_EQ(drawn("distribution: categorical, "), named);
  EXPECT_THAT(named, HasSubstr("null"));
  EXPECT_THAT(named, HasSubstr("0.05"));
  EXPECT_THAT(named, testing::Not(HasSubstr("0.25"))) << "its probability is 0";
}

TEST(WandbFiles, NamesOfHydraReachTheProgram) {
  const Sweep sweep = parse(kStart +
                            "method: grid\nparameters:\n"
                            "  +gpu: {value: 1}\n  ++seed: {value: 2}\n"
                            "  +wandb.project: {value: p}\n  db@backup: {value: b}\n"
                            "  opt/init_args/lr: {value: 0.5}\n  ~trainer: {value: x}\n");
  const ExpandedTrial trial = expand(sweep, test_schema()).trials.at(0);
  EXPECT_THAT(arguments(sweep, trial, "${args_no_hyphens}"),
              testing::UnorderedElementsAre("+gpu=1", "++seed=2", "+wandb.project=p", "db@backup=b",
                                            "opt/init_args/lr=0.5", "~trainer=x"));
}

TEST(WandbFiles, AValueStandsBesideNamesThatBeginWithIts) {
  for (const char* method : {"grid", "random\nrun_cap: 40", "bayes\nrun_cap: 40"}) {
    const Sweep sweep = parse(kStart + "method: " + method +
                              "\nparameters:\n"
                              "  optimizer.config.learning_rate: {values: [0.5, 0.25]}\n"
                              "  optimizer.config.beta: {values: [0.9]}\n"
                              "  optimizer: {values: [null, adam]}\n");
    EXPECT_THAT(notes_of(sweep),
                HasSubstr("parameters.optimizer.config.beta: optimizer has a value of its own"));
    std::set<std::string> configurations;
    for (const ExpandedTrial& trial : expand(sweep, test_schema()).trials)
      configurations.insert(trial.train.to_json());
    EXPECT_EQ(configurations.size(), 4u) << method;
    for (const std::string& each : configurations) {
      EXPECT_THAT(each, HasSubstr("{\"optimizer\":")) << each;
      EXPECT_THAT(each, HasSubstr("\"optimizer.config.learning_rate\":0.")) << each;
      EXPECT_THAT(each, HasSubstr("\"optimizer.config.beta\":0.9")) << each;
    }
  }
  const Sweep config =
      parse(kStart +
            "method: grid\nconfig: {optimizer: adam, depth: {of: 3}}\n"
            "parameters: {optimizer.lr: {values: [1]}, depth.to: {values: [4]}}\n");
  EXPECT_EQ(expand(config, test_schema()).trials.at(0).train.to_json(),
            R"({"optimizer":"adam","depth":{"of":3,"to":4},"optimizer.lr":1})");
}

/// Names of few parts, so that they begin with each other: whatever the order, every value reaches
/// the program once, under its own name.
TEST(WandbFiles, FuzzedNamesAllReachTheProgram) {
  test::fuzz(300, [](int, std::mt19937& random) {
    std::set<std::string> names;
    for (std::size_t i = 1 + random() % 7; i > 0; --i) {
      std::string name;
      for (std::size_t parts = 1 + random() % 4; parts > 0; --parts)
        name += std::string(name.empty() ? "" : ".") + "ab"[random() % 2];
      names.insert(name);
    }
    Words order(names.begin(), names.end());
    std::shuffle(order.begin(), order.end(), random);
    std::string file = kStart + (random() % 2 ? "method: grid\n" : "method: random\nrun_cap: 3\n");
    Words expected;
    const bool in_config = random() % 3 == 0 && order.size() > 1;
    if (in_config) {
      file += "config: {" + order.back() + ": in config}\n";
      expected.push_back(order.back() + "=in config");
      order.pop_back();
    }
    file += "parameters:\n";
    for (std::size_t i = 0; i < order.size(); ++i) {
      file += "  " + order[i] + ": {values: [" + std::to_string(i) + "]}\n";
      expected.push_back(order[i] + "=" + std::to_string(i));
    }
    const Sweep sweep = parse(file);
    const ExpandedTrial trial = expand(sweep, test_schema()).trials.at(0);
    EXPECT_THAT(arguments(sweep, trial, "${args_no_hyphens}"),
                testing::UnorderedElementsAreArray(expected))
        << file;
    for (const std::string& name : order)
      EXPECT_EQ(*trial.train.find(name), *trial.parameters.find(name)) << name << " of " << file;
  });
}

}  // namespace
}  // namespace thalweg::jobspec
