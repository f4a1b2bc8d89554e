// The cpu device in bf16: near the reference device in float64, and what is kept between calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "cases.h"
#include "engine/device/cpu/program.h"
#include "engine/nn/model.h"
#include "engine/nn/model_table.h"
#include "near_reference_in_bf16.h"
#include "support.h"
#include "training.h"

namespace thalweg::engine::test {
namespace {

#define SKIP_WITHOUT_BF16() \
  if (!cpu::has_bf16()) GTEST_SKIP() << "this processor does not multiply bf16"

class SmallInBf16 : public testing::TestWithParam<Case> {};
class LargerInBf16 : public testing::TestWithParam<Case> {};

TEST_P(SmallInBf16, IsNearTheReference) {
  SKIP_WITHOUT_BF16();
  const Graph graph = GetParam().graph();
  const auto program = cpu::compile(graph, GetParam().samples, Precision::bf16);
  expect_near_reference_in_bf16(graph, *program, *program->executor(), GetParam().samples,
                                small_tolerance);
}

TEST_P(LargerInBf16, IsNearTheReference) {
  SKIP_WITHOUT_BF16();
  const Graph graph = GetParam().graph();
  const auto program = cpu::compile(graph, GetParam().samples, Precision::bf16);
  expect_near_reference_in_bf16(graph, *program, *program->executor(), GetParam().samples,
                                larger_tolerance);
}

INSTANTIATE_TEST_SUITE_P(Layers, SmallInBf16, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, LargerInBf16, testing::ValuesIn(larger_cases()),
                         [](const auto& test) { return test.param.name; });

TEST(Bf16, IsRefusedByTheReferenceDevice) {
  const jobspec::Map mlp{{"name", "mlp"}};
  try {
    build_model(mlp, {{3}, 2}, 1, "reference", {}, Precision::bf16);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "precision: the reference device computes in fp32 only; use device: cpu");
  }
  EXPECT_THROW(precision_named("fp8"), std::invalid_argument);
}

// A round says that parameters are as they were, so that copies in other types are made once.
TEST(Bf16, ReadsParametersOnceARound) {
  SKIP_WITHOUT_BF16();
  const Graph graph = larger_cases().front().graph();
  Data data(graph.loss.data, 33);
  const auto program = cpu::compile(graph, 33, Precision::bf16);
  const auto executor = program->executor();
  const auto values = start_values(graph);
  auto flat = flat_memory<float>(*program, values);
  std::vector<float> gradients(flat.size());
  const auto loss = [&](std::uint64_t round) {
    data.batch.round = round;
    return executor->train(flat.data(), data.batch, 1, gradients.data(), nullptr, {}).loss_sum;
  };
  const double before = loss(7);
  for (float& number : flat)
    number *= 2;
  const double unread = loss(7), after = loss(8);
  EXPECT_NE(after, before);
  EXPECT_NE(unread, after);  // biases are read where they lie
  EXPECT_EQ(loss(0), after);
  for (float& number : flat)
    number /= 2;
  EXPECT_EQ(loss(0), before);
}

TEST(Bf16, HasTheSameBitsOnEveryExecutor) {
  SKIP_WITHOUT_BF16();
  for (const Case& c : larger_cases()) {
    const Graph graph = c.graph();
    const Data data(graph.loss.data, c.samples);
    const auto program = cpu::compile(graph, c.samples, Precision::bf16);
    const auto values = start_values(graph);
    const auto one = program->executor(), other = program->executor();
    const auto a = train<float>(*program, graph, data.batch, *one, values, 1);
    train<float>(*program, graph, Data(graph.loss.data, c.samples, 99).batch, *other, values, 1);
    const auto b = train<float>(*program, graph, data.batch, *other, values, 1);
    EXPECT_EQ(a.result.loss_sum, b.result.loss_sum) << c.name;
    EXPECT_EQ(a.gradients, b.gradients) << c.name;
    EXPECT_EQ(a.statistics, b.statistics) << c.name;
  }
}

// Two small windows find the largest of a large one.
TEST(Bf16, MaxPoolsOfMoreThan256InAWindowPassGradientsToTheLargest) {
  SKIP_WITHOUT_BF16();
  const auto gradients_of = [](const std::vector<LayerSpec>& pools) {
    std::vector<LayerSpec> layers{conv("a", 16, 3, 1, 1)};
    layers.insert(layers.end(), pools.begin(), pools.end());
    layers.push_back({"flatten", "f", {}});
    layers.push_back(linear("b", 3));
    const Graph graph = build_graph(layers, {{2, 40, 60}, 3});
    const Data data(graph.loss.data, 2);
    const auto program = cpu::compile(graph, 2, Precision::bf16);
    return train<float>(*program, graph, data.batch, *program->executor(), start_values(graph), 1)
        .gradients;
  };
  LayerSpec small = pool("max_pool2d", 4, 4, 0);
  small.name = "small";
  const auto twice = gradients_of({small, pool("max_pool2d", 5, 5, 0)});
  const auto once = gradients_of({pool("max_pool2d", 20, 20, 0)});
  ASSERT_EQ(once.size(), twice.size());
  double difference = 0, norm = 0;
  for (std::size_t p = 0; p < once.size(); ++p)
    for (std::size_t i = 0; i < once[p].size(); ++i) {
      difference += (once[p][i] - twice[p][i]) * (once[p][i] - twice[p][i]);
      norm += twice[p][i] * twice[p][i];
    }
  EXPECT_LT(difference, 1e-3 * norm);
}

TEST(Bf16, EveryFamilyLearns) {
  SKIP_WITHOUT_BF16();
  for (const auto& [model, shape, rate] : learners()) {
    if (model.size() > 1 && model[1].second == jobspec::Value(50)) continue;  // too few pixels
    const Data data(shape, 2);
    Training training(model, shape, 2, "cpu", Precision::bf16);
    const double first = training.train(data.batch).loss_sum;
    double last = 0;
    for (int step = 0; step < 10; ++step) {
      last = training.train(data.batch).loss_sum;
      training.descend(rate);
    }
    EXPECT_LT(last, 0.9 * first) << model.front().second.to_text();
  }
}

/// A picture for each class under noise, other samples each step.
Data noisy_pictures(const InputShape& shape, int samples, std::uint64_t step) {
  Data data(shape, samples, step + 100);
  const Data pictures(shape, shape.classes, 1);
  const auto size = static_cast<std::size_t>(elements(shape.sample));
  for (std::size_t n = 0; n < static_cast<std::size_t>(samples); ++n)
    for (std::size_t i = 0; i < size; ++i)
      data.inputs[n * size + i] +=
          0.5f * pictures.inputs[static_cast<std::size_t>(data.labels[n]) * size + i];
  return data;
}

// 150 steps of momentum: the mean loss of the last 50 is far below the first, and as far from
// fp32's as 1 % of it at most.
TEST(Bf16, LongRunsEndWhereFp32Does) {
  SKIP_WITHOUT_BF16();
  constexpr int samples = 32, steps = 150, counted = 50;
  const InputShape digits{{1, 28, 28}, 10};
  for (const char* name : {"mlp", "lenet"}) {
    double last[2] = {0, 0}, first = 0;
    for (const Precision precision : {Precision::fp32, Precision::bf16}) {
      Training training(jobspec::Map{{"name", name}}, digits, samples, "cpu", precision);
      std::vector<float> velocity(training.model->parameter_floats());
      for (int step = 0; step < steps; ++step) {
        const double loss =
            training.train(noisy_pictures(digits, samples, step).batch).loss_sum / samples;
        for (std::size_t i = 0; i < velocity.size(); ++i) {
          velocity[i] = 0.9f * velocity[i] + training.gradients.floats()[i];
          training.parameters.floats()[i] -= 0.01f * velocity[i];
        }
        if (step == 0) first = loss;
        if (step >= steps - counted) last[static_cast<std::size_t>(precision)] += loss / counted;
      }
    }
    std::cout << name << ": " << first << " -> " << last[0] << " in fp32, " << last[1]
              << " in bf16\n";
    EXPECT_LT(last[1], 0.5 * first) << name;
    EXPECT_NEAR(last[1], last[0], 0.01 * first) << name;
  }
}

}  // namespace
}  // namespace thalweg::engine::test
