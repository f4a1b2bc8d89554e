#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <iostream>
#include <set>

#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* train_block = R"(
train:
  model: {name: mlp}
  data: {name: fashion-mnist}
  batch: {global: 128}
  epochs: 2
)";

Expansion expand_text(const std::string& head) {
  return expand(parse(head + train_block), test_schema());
}

std::vector<std::string> texts(const Expansion& expansion, const std::string& axis) {
  std::vector<std::string> found;
  for (const ExpandedTrial& trial : expansion.trials) {
    const Value* value = trial.parameters.find(axis);
    found.push_back(value ? value->to_text() : "-");
  }
  return found;
}

TEST(Expand, GridTakesAxesInFileOrderWithTheLastOneFastest) {
  const Expansion e = expand_text(R"(
method: grid
seeds: [7, 3]
parameters:
  optimizer.name: {values: [sgd, adamw]}
  optimizer: {parameters: {lr: {values: [0.1, 0.01]}}}
)");
  ASSERT_EQ(e.trials.size(), 8u);
  EXPECT_THAT(texts(e, "optimizer.name"),
              ElementsAre("sgd", "sgd", "sgd", "sgd", "adamw", "adamw", "adamw", "adamw"));
  EXPECT_THAT(texts(e, "optimizer.lr"),
              ElementsAre("0.1", "0.1", "0.01", "0.01", "0.1", "0.1", "0.01", "0.01"));
  EXPECT_EQ(e.trials[3].number, 4);
  EXPECT_EQ(e.trials[3].configuration, 2);
  EXPECT_EQ(e.trials[3].seed, 3u);
  EXPECT_EQ(e.trials[2].hash, e.trials[3].hash);
  EXPECT_NE(e.trials[1].hash, e.trials[2].hash);
  EXPECT_EQ(e.trials[3].train.find("optimizer.lr")->as_double(), 0.01);
  EXPECT_EQ(e.trials[3].train.find("batch.global")->as_int(), 128);
}

/// What itertools.product gives W&B of these parameters (github.com/wandb/sweeps, grid_search.py):
/// keys sorted at each level, the last one fastest, int_uniform with its end, q_uniform without.
TEST(Expand, GridOfAProgramGoesInWandbsOrder) {
  const Sweep sweep = parse_sweep(
      "program: train.py\nmethod: grid\nparameters:\n"
      "  b: {values: [2, 1]}\n"
      "  a-z: {value: 0}\n"
      "  a: {parameters: {z: {min: 1, max: 2}, y: {distribution: q_uniform, min: 0, max: 4, q: "
      "2}}}\n",
      "f.yaml", Schema());
  std::vector<std::string> found;
  for (const ExpandedTrial& trial : expand(sweep, Schema()).trials) {
    std::string text;
    for (const char* name : {"a.y", "a.z", "b"})
      text += trial.parameters.find(name)->to_text() + " ";
    found.push_back(text);
  }
  EXPECT_EQ(found, (std::vector<std::string>{"0 1 2 ", "0 1 1 ", "0 2 2 ", "0 2 1 ", "2 1 2 ",
                                             "2 1 1 ", "2 2 2 ", "2 2 1 "}));
}

TEST(Expand, GridOfRanges) {
  const Expansion e = expand_text(R"(
method: grid
parameters:
  optimizer.name: {value: sgd}
  steps: {min: 1, max: 3}
  data.fraction: {distribution: q_uniform, min: 0.25, max: 1, q: 0.25}
)");
  EXPECT_EQ(e.trials.size(), 9u);  // q_uniform leaves its max out, int_uniform does not
  EXPECT_EQ(texts(e, "steps").back(), "3");
  EXPECT_EQ(texts(e, "data.fraction").back(), "0.75");
}

TEST(Expand, GoldenHashesAndDraws) {
  const Expansion e = expand_text(R"(
method: random
run_cap: 3
seed: 42
parameters:
  optimizer.name: {values: [sgd, momentum, adamw]}
  optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 1}
  steps: {min: 1, max: 1000}
  model.dropout: {min: 0.0, max: 0.5}
  data.fraction: {distribution: q_uniform, min: 0.1, max: 1, q: 0.1}
)");
  std::vector<std::string> found;
  for (const ExpandedTrial& trial : e.trials) {
    found.push_back(trial.parameters.to_json() + " " + trial.hash);
  }
  // Checked once with an independent Python program: Philox and Murmur from their definitions,
  // libm's exp and log.
  EXPECT_THAT(
      found,
      ElementsAre(
          R"({"optimizer.name":"adamw","optimizer.lr":0.00034064013077295395,"steps":65,"model.dropout":0.4990681428620432,"data.fraction":0.30000000000000004} 7cbd81969185b6a821ecc9555d661f9b)",
          R"({"optimizer.name":"adamw","optimizer.lr":0.20068637524550295,"steps":275,"model.dropout":0.3916505353605924,"data.fraction":1.0} 329a26fc9e755f161e369c5595ba2960)",
          R"({"optimizer.name":"momentum","optimizer.lr":9.838089085323686e-05,"steps":499,"model.dropout":0.23782094141410853,"data.fraction":0.6000000000000001} d4447fc9316718abc51bdc6a5e108a4b)"));
}

TEST(Expand, HashDependsOnMeaningOnly) {
  const std::string a = R"(
method: grid
parameters: {optimizer.lr: {values: [1e-3]}, optimizer.name: {values: [sgd]}}
train: {epochs: 1, batch: {global: 64.0}, model: {name: lenet}, data: {name: fashion-mnist}}
resources: {time: 60}
)";
  const std::string b = R"(
name: another
method: random
run_cap: 5
resources: {time: "01:00:00", nodes: 1}
train:
  data: {name: fashion-mnist}
  model:
    name: "lenet"
  batch: {global: 64}
  epochs: 1.0
  optimizer: {lr: 0.001}
parameters: {optimizer.name: {value: sgd}}
)";
  const Expansion x = expand(parse(a), test_schema()), y = expand(parse(b), test_schema());
  EXPECT_EQ(x.trials.at(0).hash, y.trials.at(0).hash);
  EXPECT_EQ(y.trials.size(), 1u);
  EXPECT_EQ(y.duplicates, 4);
  const std::string c = a + "limits: {max_retries: 5}\n";
  EXPECT_EQ(expand(parse(c), test_schema()).trials.at(0).hash, x.trials.at(0).hash);
}

TEST(Expand, DuplicatesCollapse) {
  const Expansion e = expand_text(R"(
method: grid
parameters: {optimizer.name: {value: sgd}, optimizer.lr: {values: [0.1, 1e-1, 0.10, 0.2]}}
)");
  EXPECT_EQ(e.trials.size(), 2u);
  EXPECT_EQ(e.duplicates, 2);
  EXPECT_EQ(e.trials[1].configuration, 2);
}

TEST(Expand, RunCapCountsConfigurations) {
  const Expansion e = expand_text(R"(
method: grid
run_cap: 2
seeds: 3
parameters: {optimizer.name: {value: sgd}, optimizer.lr: {values: [0.1, 0.1, 0.2, 0.3]}}
)");
  EXPECT_EQ(e.trials.size(), 6u);
  EXPECT_EQ(e.duplicates, 1);
}

TEST(Expand, RandomDrawsDoNotDependOnOtherAxesOrTheCap) {
  const std::string lr =
      "  optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 1}\n"
      "  optimizer.name: {values: [sgd, adamw]}\n";
  const Expansion small = expand_text("method: random\nrun_cap: 3\nparameters:\n" + lr);
  const Expansion large = expand_text("method: random\nrun_cap: 9\nparameters:\n" +
                                      std::string("  steps: {min: 1, max: 9}\n") + lr);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(texts(small, "optimizer.lr")[i], texts(large, "optimizer.lr")[i]);
  }
  const Expansion other = expand_text("method: random\nseed: 2\nrun_cap: 3\nparameters:\n" + lr);
  EXPECT_NE(texts(small, "optimizer.lr"), texts(other, "optimizer.lr"));
}

/// A search among fewer combinations than it draws says so, and one of a single one draws once.
TEST(Expand, RandomSearchAmongFewCombinationsSaysSo) {
  const auto sweep = [](const std::string& more) {
    return parse_sweep("program: train.py\nmetric: {name: loss}\nmethod: random\n" + more, "f.yaml",
                       Schema());
  };
  const auto said = Contains(HasSubstr("20 draws from 18 combinations: some are drawn twice"));
  const std::string few = "parameters: {a: {values: [1, 2, 3]}, b: {min: 1, max: 6}}\n";
  EXPECT_THAT(sweep("run_cap: 20\n" + few).notes, said);
  EXPECT_THAT(sweep("run_cap: 17\n" + few).notes, Not(Contains(HasSubstr("draws from"))));
  EXPECT_THAT(
      sweep("run_cap: 20\nzip: [[a, b]]\nparameters: {a: {values: [1, 2]}, b: {values: [1, 2]}}\n")
          .notes,
      Not(Contains(HasSubstr("draws from"))));
  EXPECT_THAT(
      sweep("run_cap: 20\nparameters: {a: {values: [1, 2, 3]}, b: {min: 1.0, max: 6.0}}\n").notes,
      Not(Contains(HasSubstr("draws from"))));
  const Sweep single = sweep("parameters: {a: {value: 3}}\n");
  EXPECT_EQ(single.run_cap, 1);
  EXPECT_THAT(single.notes, Not(Contains(HasSubstr("run_cap"))));
  EXPECT_THAT(sweep(few).notes, Contains(HasSubstr("50 draws from 18 combinations")));
}

TEST(Expand, ZipAdvancesTogether) {
  const std::string zipped = R"(
zip: [[batch.global, optimizer.lr]]
parameters:
  batch.global: {values: [64, 128, 256]}
  optimizer.name: {values: [sgd, adamw]}
  optimizer.lr: {values: [0.1, 0.2, 0.4]}
)";
  const Expansion e = expand_text("method: grid\n" + zipped);
  ASSERT_EQ(e.trials.size(), 6u);
  EXPECT_THAT(texts(e, "batch.global"), ElementsAre("64", "64", "128", "128", "256", "256"));
  EXPECT_THAT(texts(e, "optimizer.lr"), ElementsAre("0.1", "0.1", "0.2", "0.2", "0.4", "0.4"));
  const Expansion r = expand_text("method: random\nrun_cap: 20\n" + zipped);
  EXPECT_GT(r.trials.size(), 2u);
  for (const ExpandedTrial& trial : r.trials) {
    EXPECT_EQ(trial.train.find("batch.global")->as_double() / 640,
              trial.train.find("optimizer.lr")->as_double());
  }
}

TEST(Expand, WhenLeavesAxesOut) {
  const Expansion e = expand_text(R"(
method: grid
when: {optimizer.momentum: {optimizer.name: [momentum, nesterov]}}
parameters:
  optimizer.name: {values: [momentum, adamw]}
  optimizer.momentum: {values: [0.5, 0.9]}
  optimizer.lr: {values: [0.1, 0.2]}
)");
  EXPECT_THAT(texts(e, "optimizer.name"),
              ElementsAre("momentum", "momentum", "momentum", "momentum", "adamw", "adamw"));
  EXPECT_THAT(texts(e, "optimizer.momentum"), ElementsAre("0.5", "0.5", "0.9", "0.9", "-", "-"));
  EXPECT_EQ(e.duplicates, 0);
  EXPECT_EQ(e.trials[5].train.find("optimizer.momentum"), nullptr);
}

TEST(Expand, ConstraintsLeaveCombinationsOut) {
  const Expansion e = expand_text(R"(
method: grid
constraint: [optimizer.lr * batch.global <= 10, "batch.global % 64 == 0"]
parameters:
  optimizer.name: {value: sgd}
  batch.global: {values: [64, 96, 128]}
  optimizer.lr: {values: [0.01, 0.1, 0.2]}
)");
  EXPECT_THAT(texts(e, "batch.global"), ElementsAre("64", "64", "128"));
  EXPECT_THAT(texts(e, "optimizer.lr"), ElementsAre("0.01", "0.1", "0.01"));
}

TEST(Expand, ConstraintsReplaceDraws) {
  const std::string space = R"(
parameters:
  optimizer.lr: {min: 0.0, max: 1.0}
  optimizer.name: {values: [sgd, adamw]}
)";
  const Expansion all = expand_text("method: random\nrun_cap: 40" + space);
  const Expansion kept =
      expand_text("method: random\nrun_cap: 12\nconstraint: optimizer.lr < 0.5" + space);
  std::vector<std::string> small;
  for (const ExpandedTrial& trial : all.trials)
    if (trial.parameters.find("optimizer.lr")->as_double() < 0.5) small.push_back(trial.hash);
  ASSERT_GE(small.size(), 12u);
  ASSERT_EQ(kept.trials.size(), 12u) << "run_cap counts those that hold";
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_EQ(kept.trials[i].hash, small[i]) << "the same draws, less those that break it";

  // Of a draw for each optimizer one may go and the other stay.
  const Expansion each = expand_text(
      "method: random\nrun_cap: 6\neach: optimizer.name\n"
      "constraint: optimizer.lr < 0.5 or optimizer.name == 'sgd'" +
      space);
  const auto names = texts(each, "optimizer.name");
  EXPECT_EQ(std::count(names.begin(), names.end(), "sgd"), 6);
  EXPECT_LT(std::count(names.begin(), names.end(), "adamw"), 6);
}

TEST(Expand, AConstrainedGridMayBeLargerThanTheLimitOfTrials) {
  std::string many;
  for (int i = 0; i < 400; ++i)
    many += (i ? ", " : "") + std::to_string(i / 1000.0);
  const Expansion e = expand_text(
      "method: grid\nconstraint: optimizer.lr == optimizer.weight_decay\n"
      "parameters:\n  optimizer.name: {value: adamw}\n"
      "  optimizer.lr: {values: [" +
      many +
      "]}\n"
      "  optimizer.weight_decay: {values: [" +
      many + "]}\n");
  EXPECT_EQ(e.trials.size(), 400u);
}

TEST(Expand, EachMeetsTheSameDraws) {
  const std::string parameters = R"(
parameters:
  optimizer.name: {values: [sgd, adamw]}
  optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 1}
)";
  const Expansion each =
      expand_text("method: random\nrun_cap: 3\neach: [optimizer.name]" + parameters);
  ASSERT_EQ(each.trials.size(), 6u);
  EXPECT_THAT(texts(each, "optimizer.name"),
              ElementsAre("sgd", "adamw", "sgd", "adamw", "sgd", "adamw"));
  const auto rates = texts(each, "optimizer.lr");
  const auto drawn = texts(expand_text("method: random\nrun_cap: 3" + parameters), "optimizer.lr");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rates[2 * i], rates[2 * i + 1]);
    EXPECT_EQ(rates[2 * i], drawn[i]) << "each changes which values a draw meets, not the draw";
  }
  const Expansion more =
      expand_text("method: random\nrun_cap: 5\neach: optimizer.name" + parameters);
  ASSERT_EQ(more.trials.size(), 10u);
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(more.trials[i].hash, each.trials[i].hash);
}

TEST(Expand, EachTakesZippedParametersAlong) {
  const Expansion e = expand_text(R"(
method: random
run_cap: 4
each: [batch.global]
zip: [batch.global, epochs]
parameters:
  optimizer.name: {value: sgd}
  batch.global: {values: [64, 128, 256]}
  epochs: {values: [1, 2, 4]}
  optimizer.lr: {min: 0.1, max: 1.0}
)");
  ASSERT_EQ(e.trials.size(), 12u);
  for (const ExpandedTrial& trial : e.trials)
    EXPECT_EQ(trial.train.find("batch.global")->as_int(),
              64 * trial.train.find("epochs")->as_int());
}

TEST(Expand, EachSkipsWhatIsLeftOut) {
  const Expansion e = expand_text(R"(
method: random
run_cap: 2
each: [optimizer.name, optimizer.momentum]
when: {optimizer.momentum: {optimizer.name: momentum}}
parameters:
  optimizer.name: {values: [momentum, adamw]}
  optimizer.momentum: {values: [0.5, 0.9]}
  optimizer.lr: {min: 0.1, max: 1.0}
)");
  EXPECT_THAT(texts(e, "optimizer.momentum"), ElementsAre("0.5", "0.9", "-", "0.5", "0.9", "-"));
  EXPECT_EQ(e.duplicates, 0);
}

TEST(Expand, GridGoesThroughDraws) {
  const auto text = [](const std::string& method, const std::string& samples) {
    return method +
           "parameters:\n"
           "  optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 1" +
           samples + "}\n  optimizer.name: {values: [sgd, adamw]}\n";
  };
  const Expansion e = expand_text(text("method: grid\n", ", samples: 3"));
  ASSERT_EQ(e.trials.size(), 6u);
  const auto rates = texts(e, "optimizer.lr");
  const auto drawn = texts(expand_text(text("method: random\nrun_cap: 3\n", "")), "optimizer.lr");
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rates[2 * i], drawn[i]) << "those that random search makes";
    EXPECT_EQ(rates[2 * i], rates[2 * i + 1]);
  }
}

TEST(Expand, ResourcesMayVary) {
  const Expansion e = expand_text(R"(
method: grid
resources: {ranks_per_node: 2}
parameters:
  optimizer.name: {value: sgd}
  resources: {parameters: {nodes: {values: [1, 2]}, time: {values: ["00:10:00", 5]}}}
)");
  ASSERT_EQ(e.trials.size(), 4u);
  EXPECT_EQ(e.trials[2].resources.ranks(), 4);
  EXPECT_EQ(e.trials[2].resources.time_limit_s, 600);
  EXPECT_EQ(e.trials[3].resources.time_limit_s, 300);
  EXPECT_EQ(e.trials[3].train.find("resources"), nullptr);
  std::set<std::string> hashes;
  for (const ExpandedTrial& trial : e.trials)
    hashes.insert(trial.hash);
  EXPECT_EQ(hashes.size(), 4u);
}

TEST(Expand, ClampTakesTheCapAndCollapsesWhatBecomesEqual) {
  const Sweep sweep = parse(std::string(R"(
method: grid
clamp: true
parameters:
  optimizer.name: {value: sgd}
  resources.nodes: {values: [32, 65, 128]}
)") + train_block);
  EXPECT_THAT(sweep.notes, ElementsAre(HasSubstr("clamped from 65 to 64 nodes"),
                                       HasSubstr("clamped from 128 to 64 nodes")));
  const Expansion e = expand(sweep, test_schema());
  ASSERT_EQ(e.trials.size(), 2u);
  EXPECT_EQ(e.trials[1].resources.nodes, 64);
  EXPECT_EQ(e.trials[1].parameters.find("resources.nodes")->as_int(), 64);
  EXPECT_EQ(e.duplicates, 1);
}

TEST(Expand, NoParametersIsOneConfiguration) {
  const Expansion e = expand(
      parse(std::string("seeds: 3\n") + train_block + "  optimizer: {name: sgd}\n"), test_schema());
  EXPECT_EQ(e.trials.size(), 3u);
  EXPECT_EQ(e.trials[2].configuration, 1);
}

TEST(Expand, EnvironmentIsNoPartOfTheConfiguration) {
  const std::string rest = std::string(train_block) + "  optimizer: {name: sgd}\n";
  const Sweep plain = parse(rest);
  const Sweep sweep = parse("env: {A: x, B: \"\", C: null}\n" + rest);
  using Variables = decltype(sweep.environment);
  EXPECT_EQ(sweep.environment, (Variables{{"A", "x"}, {"B", ""}, {"C", std::nullopt}}));
  EXPECT_EQ(expand(sweep, test_schema()).trials.at(0).hash,
            expand(plain, test_schema()).trials.at(0).hash);
}

TEST(Expand, HundredThousandTrials) {
  const auto start = std::chrono::steady_clock::now();
  const Sweep sweep = parse(std::string(R"(
method: random
run_cap: 50000
seeds: 2
parameters:
  optimizer.lr: {distribution: log_uniform_values, min: 1e-5, max: 1}
  optimizer.weight_decay: {distribution: log_uniform_values, min: 1e-7, max: 0.1}
  optimizer.name: {values: [momentum, adamw]}
  batch.global: {min: 1, max: 512}
  model.dropout: {min: 0.0, max: 0.5}
  data.fraction: {min: 0.1, max: 1.0}
)") + train_block);
  const Expansion e = expand(sweep, test_schema());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(e.trials.size(), 100'000u);
  std::cout << "parsed and expanded 100000 trials in " << took.count() << " s\n";
}

}  // namespace
}  // namespace thalweg::jobspec
