// What every row of the table must keep to, whatever its formula: the bits of a step do not depend
// on the order of parameters, on where they are cut, on padding, or on a checkpoint in between.
#include "engine/optim/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/optim/trainee.h"

namespace thalweg::engine {
namespace {

using test::Device;
using test::Trainee;
using test::TraineeShape;

/// A small network's parameters: matrices wide and tall, a convolution, vectors.
std::vector<TraineeShape> network() {
  return {{"conv1.weight", {4, 3, 2, 2}}, {"conv1.bias", {4}, false}, {"norm.weight", {4}, false},
          {"fc1.weight", {9, 16}},        {"fc1.bias", {9}, false},   {"fc2.weight", {5, 9}},
          {"fc2.bias", {5}, false}};
}

Trainee<float>::Values wave(const std::vector<TraineeShape>& shapes, double phase) {
  Trainee<float>::Values values;
  for (const TraineeShape& s : shapes) {
    values.emplace_back(static_cast<std::size_t>(elements(s.shape)));
    for (float& x : values.back())
      x = static_cast<float>(std::sin(phase += 1.7));
  }
  return values;
}

std::vector<std::string> every_row() {
  std::vector<std::string> options;
  for (const optim::OptimizerEntry& entry : optim::optimizer_table())
    options.push_back("{name: " + entry.name + "}");
  for (const char* other :
       {"{name: rmsprop, momentum: 0.9, centered: true}", "{name: adam, larc: clip}",
        "{name: momentum, ema: 0.9}", "{name: lars, variant: tpu}", "{name: sophia_g, every: 2}",
        "{name: soap, every: 2}", "{name: shampoo, every: 2, max_dim: 8}",
        "{name: shampoo, graft: sgd, beta2: 0.99, epsilon: 1e-6}",
        "{name: muon, scale: match_rms_adamw}",
        "{name: prodigy, decoupled: false, weight_decay: 0.1}",
        "{name: nadam, groups: [{match: '*.bias', name: lion}, {match: 'fc*', lr_factor: 2}]}"})
    options.push_back(other);
  return options;
}

Trainee<float> trained(const std::string& options, int first, int end, Device device) {
  Trainee<float> t(options, network(), device);
  t.put(t.w, wave(network(), 1));
  for (int step = first; step < end; ++step)
    t.step({step, 0.01}, wave(network(), 100 + step));
  return t;
}

class EveryOptimizer : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Table, EveryOptimizer, testing::ValuesIn(every_row()),
                         [](const auto& tested) {
                           std::string name;
                           for (const char c : tested.param)
                             if (std::isalnum(static_cast<unsigned char>(c))) name += c;
                           return name;
                         });

TEST_P(EveryOptimizer, MovesTheWeightsAndKeepsPaddingAtZero) {
  for (const Device device : {Device::plain, Device::backwards}) {
    const Trainee<float> t = trained(GetParam(), 0, 4, device);
    const auto before = wave(network(), 1), after = t.plain(t.w);
    for (std::size_t p = 0; p < before.size(); ++p)
      EXPECT_NE(before[p], after[p]) << network()[p].name;
    std::vector<float> again(t.w.size());
    t.put(again, after);
    EXPECT_EQ(again, t.w) << "padding";
    for (const auto& values : after)
      for (const float x : values)
        EXPECT_TRUE(std::isfinite(x));
  }
}

TEST_P(EveryOptimizer, GoesOnAfterACheckpoint) {
  for (const Device device : {Device::plain, Device::backwards}) {
    const Trainee<float> straight = trained(GetParam(), 0, 9, device);
    const Trainee<float> half = trained(GetParam(), 0, 4, device);
    // As the trainer does: states go through the plain layout, own and scalars as they are.
    Trainee<float> resumed(GetParam(), network(), device);
    resumed.put(resumed.w, half.plain(half.w));
    for (std::size_t s = 0; s < half.states.size(); ++s)
      resumed.put(resumed.states[s], half.plain(half.states[s]));
    resumed.own = half.own;
    resumed.scalars = half.scalars;
    for (int step = 4; step < 9; ++step)
      resumed.step({step, 0.01}, wave(network(), 100 + step));
    EXPECT_EQ(resumed.w, straight.w);
    EXPECT_EQ(resumed.states, straight.states);
    EXPECT_EQ(resumed.own, straight.own);
    EXPECT_EQ(resumed.scalars, straight.scalars);
  }
}

TEST_P(EveryOptimizer, GivesTheSameBitsInAnyOrderAndCut) {
  const Trainee<float> whole = trained(GetParam(), 0, 4, Device::backwards);
  Trainee<float> cut(GetParam(), network(), Device::backwards);
  cut.put(cut.w, wave(network(), 1));
  for (int step = 0; step < 4; ++step) {
    const StepContext context{step, 0.01};
    cut.put(cut.g, wave(network(), 100 + step));
    for (int p = static_cast<int>(network().size()) - 1; p >= 0; --p) {
      const ParameterInfo& info = cut.parameters.infos[static_cast<std::size_t>(p)];
      if (!cut.optimizer->elementwise(p)) {
        cut.update(context, p);
        continue;
      }
      for (std::size_t at = info.count; at > 0;) {  // from behind, parts of at most 7
        const std::size_t part = std::min<std::size_t>(7, at);
        at -= part;
        cut.optimizer->update(context, {p, info.offset + at, part}, cut.memory());
      }
    }
    cut.optimizer->finish(context, cut.memory());
    cut.observe(context, wave(network(), 100 + step));
  }
  EXPECT_EQ(cut.w, whole.w);
  EXPECT_EQ(cut.states, whole.states);
  EXPECT_EQ(cut.own, whole.own);
  EXPECT_EQ(cut.scalars, whole.scalars);
}

TEST_P(EveryOptimizer, DoesNotDependOnTheDevicesLayout) {
  const Trainee<float> a = trained(GetParam(), 0, 4, Device::plain);
  const Trainee<float> b = trained(GetParam(), 0, 4, Device::backwards);
  const auto x = a.plain(a.w), y = b.plain(b.w);
  for (std::size_t p = 0; p < x.size(); ++p)
    for (std::size_t i = 0; i < x[p].size(); ++i)
      EXPECT_NEAR(x[p][i], y[p][i], 1e-4) << network()[p].name << " " << i;
}

TEST(OptimizerTable, TellsWhatItsRowsAre) {
  for (const optim::OptimizerEntry& entry : optim::optimizer_table()) {
    EXPECT_FALSE(entry.doc.empty()) << entry.name;
    ASSERT_FALSE(entry.rates.empty()) << entry.name;
    EXPECT_EQ(entry.rates.back().models, "*") << entry.name;
    for (const optim::DefaultRate& rate : entry.rates) {
      EXPECT_GT(rate.lr, 0) << entry.name;
      EXPECT_FALSE(rate.source.empty()) << entry.name;
    }
    for (const jobspec::Option& option : entry.options)
      EXPECT_FALSE(option.doc.empty()) << entry.name << " " << option.name;
  }
}

TEST(OptimizerTable, UnknownNameSuggestsTheNearest) {
  try {
    Trainee<float>("{name: adamv}", {{"a", {1}}});
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("did you mean 'adam"));
  }
}

TEST(LearningRate, SaysWhereAnAutomaticOneComesFrom) {
  std::string note;
  const auto rate = [&](const char* options, const char* model) {
    note.clear();
    return base_learning_rate(jobspec::read_yaml(options, "t"), model, &note);
  };
  EXPECT_DOUBLE_EQ(rate("{name: adamw, lr: auto}", "mlp"), 1e-3);
  EXPECT_THAT(note, testing::HasSubstr("0.001 for adamw (the paper's default)"));
  EXPECT_DOUBLE_EQ(rate("{name: momentum, lr: auto}", "resnet50"), 0.1);
  EXPECT_THAT(note, testing::HasSubstr("0.1 for momentum on resnet50 (Goyal"));
  EXPECT_DOUBLE_EQ(rate("{name: momentum, lr: auto}", "lenet"), 0.02);
  EXPECT_DOUBLE_EQ(rate("{name: adamw, lr: 0.5}", "mlp"), 0.5);
  EXPECT_TRUE(note.empty());
}

TEST(Glob, StarsStandForAnyText) {
  EXPECT_TRUE(optim::matches_glob("*", ""));
  EXPECT_TRUE(optim::matches_glob("resnet*", "resnet50"));
  EXPECT_TRUE(optim::matches_glob("*.bias", "fc1.bias"));
  EXPECT_TRUE(optim::matches_glob("*a*b?", "xaybabc"));
  EXPECT_FALSE(optim::matches_glob("*.bias", "fc1.bias2"));
  EXPECT_FALSE(optim::matches_glob("?", ""));
  EXPECT_FALSE(optim::matches_glob("resnet", "resnet50"));
}

TEST(ScaleBetas, KeepsTheSamplesThatAMeanSpans) {
  jobspec::Value tree =
      jobspec::read_yaml("{name: adamw, beta1: 0.9, beta2: 0.99, beta_batch: 128}", "t");
  const std::string text = scale_betas(tree, 256);
  EXPECT_DOUBLE_EQ(tree.find("beta1")->as_double(), 0.81);
  EXPECT_DOUBLE_EQ(tree.find("beta2")->as_double(), 0.9801);
  EXPECT_THAT(text, testing::HasSubstr("optimizer.beta1: 0.9 for batch 128 becomes 0.81"));
  jobspec::Value same =
      jobspec::read_yaml("{name: adamw, beta1: 0.9, beta2: 0.99, beta_batch: 256}", "t");
  EXPECT_EQ(scale_betas(same, 256), "");
  jobspec::Value off = jobspec::read_yaml("{name: adamw, beta1: 0.9, beta_batch: 0}", "t");
  EXPECT_EQ(scale_betas(off, 256), "");
  EXPECT_DOUBLE_EQ(off.find("beta1")->as_double(), 0.9);
}

TEST(ScaleBetas, EveryGroupHasItsOwn) {
  jobspec::Value tree = jobspec::read_yaml(
      "{name: adamw, beta1: 0.9, beta2: 0.99, beta_batch: 128, groups: ["
      "{match: a, beta_batch: 512}, {match: b, beta1: 0.5}, {match: c, beta_batch: 0}, "
      "{match: d, name: lion, beta_batch: 64}, {match: e, name: lion}, {match: f, name: sgd}]}",
      "t");
  const std::string text = scale_betas(tree, 256);
  EXPECT_DOUBLE_EQ(tree.find("beta1")->as_double(), 0.81);
  const jobspec::List& groups = tree.find("groups")->as_list();
  const auto beta = [&](std::size_t group, const char* name) {
    return groups[group].find(name)->as_double();
  };
  EXPECT_DOUBLE_EQ(beta(0, "beta1"), std::sqrt(0.9));
  EXPECT_DOUBLE_EQ(beta(0, "beta2"), std::sqrt(0.99));
  EXPECT_DOUBLE_EQ(beta(1, "beta1"), 0.25) << "for the optimizer's 128";
  EXPECT_DOUBLE_EQ(beta(1, "beta2"), 0.9801);
  EXPECT_DOUBLE_EQ(beta(2, "beta1"), 0.9) << "as they are";
  EXPECT_DOUBLE_EQ(beta(2, "beta2"), 0.99);
  EXPECT_DOUBLE_EQ(beta(3, "beta1"), std::pow(0.9, 4)) << "lion's own default";
  EXPECT_DOUBLE_EQ(beta(4, "beta1"), 0.9) << "of another optimizer nothing is inherited";
  EXPECT_EQ(groups[5].find("beta1"), nullptr);
  EXPECT_THAT(text, testing::HasSubstr("; optimizer.groups[0].beta1: 0.9 for batch 512 becomes"));
}

TEST(ScaleBetas, AGroupAloneMayAskForIt) {
  jobspec::Value tree = jobspec::read_yaml(
      "{name: adamw, beta1: 0.9, beta2: 0.99, beta_batch: 0, groups: [{match: a, beta_batch: "
      "128}]}",
      "t");
  EXPECT_THAT(scale_betas(tree, 256), testing::StartsWith("optimizer.groups[0].beta1: 0.9 for"));
  EXPECT_DOUBLE_EQ(tree.find("beta1")->as_double(), 0.9);
  EXPECT_DOUBLE_EQ(tree.find("groups")->as_list()[0].find("beta2")->as_double(), 0.9801);
}

}  // namespace
}  // namespace thalweg::engine
