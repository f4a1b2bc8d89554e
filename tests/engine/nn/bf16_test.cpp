// The cpu device in bf16: near the reference device in float64, and what is kept between calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cases.h"
#include "engine/device/cpu/program.h"
#include "engine/nn/model.h"
#include "engine/nn/model_table.h"
#include "support.h"

namespace thalweg::engine::test {
namespace {

#define SKIP_WITHOUT_BF16() \
  if (!cpu::has_bf16()) GTEST_SKIP() << "this processor does not multiply bf16"

// Of the reference tensor's norm, the median over five batches: bf16 has 8 binary digits, and a
// value that rounding takes across a relu's edge, or past another under a pool, moves a whole
// gradient. Of many values some always do.
constexpr double small_tolerance = 0.025;
constexpr double larger_tolerance = 0.12;
constexpr double loss_tolerance = 0.02;
constexpr std::uint64_t batches = 5;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void expect_near_reference(const Graph& graph, int samples, double allowed) {
  const auto values = start_values(graph);
  const auto truth = reference::compile<double>(graph, samples);
  const auto program = cpu::compile(graph, samples, Precision::bf16);
  const auto truth_lane = truth->lane();
  const auto lane = program->lane();
  const auto flat = flat_memory(*program, values);
  const auto flat_truth = flat_memory(*truth, values);
  std::map<std::string, std::vector<double>> distances, losses;
  for (std::uint64_t seed = 0; seed < batches; ++seed) {
    const Data data(graph.loss.data, samples, seed);
    const auto expected = train<double>(*truth, graph, data.batch, *truth_lane, values, 0.125);
    const auto outcome = train<float>(*program, graph, data.batch, *lane, values, 0.125f);
    EXPECT_EQ(outcome.ready, program->ready_order());
    for (std::size_t p = 0; p < values.size(); ++p)
      distances[program->parameters()[p].name].push_back(
          relative_distance(outcome.gradients[p], expected.gradients[p]));
    distances["statistics"].push_back(relative_distance(outcome.statistics, expected.statistics));
    const auto compare_losses = [&](const char* name, const ShardResult& a, const ShardResult& b) {
      losses[name].push_back(std::abs(a.loss_sum - b.loss_sum) / std::abs(b.loss_sum));
    };
    compare_losses("training", outcome.result, expected.result);
    const std::vector<float> running(expected.statistics.begin(), expected.statistics.end());
    Batch fewer = data.batch;
    fewer.samples = std::max(1, samples - 1);
    compare_losses("evaluation", lane->evaluate(flat.data(), running.data(), fewer),
                   truth_lane->evaluate(flat_truth.data(), expected.statistics.data(), fewer));
  }
  for (const auto& [name, each] : distances)
    EXPECT_LT(median(each), allowed) << name;
  for (const auto& [name, each] : losses)
    EXPECT_LT(median(each), loss_tolerance) << name;
}

class SmallInBf16 : public testing::TestWithParam<Case> {};
class LargerInBf16 : public testing::TestWithParam<Case> {};

TEST_P(SmallInBf16, IsNearTheReference) {
  SKIP_WITHOUT_BF16();
  expect_near_reference(GetParam().graph(), GetParam().samples, small_tolerance);
}

TEST_P(LargerInBf16, IsNearTheReference) {
  SKIP_WITHOUT_BF16();
  expect_near_reference(GetParam().graph(), GetParam().samples, larger_tolerance);
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
  const auto lane = program->lane();
  const auto values = start_values(graph);
  auto flat = flat_memory<float>(*program, values);
  std::vector<float> gradients(flat.size());
  const auto loss = [&](std::uint64_t round) {
    data.batch.round = round;
    return lane->train(flat.data(), data.batch, 1, gradients.data(), nullptr, {}).loss_sum;
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

TEST(Bf16, HasTheSameBitsOnEveryLane) {
  SKIP_WITHOUT_BF16();
  for (const Case& c : larger_cases()) {
    const Graph graph = c.graph();
    const Data data(graph.loss.data, c.samples);
    const auto program = cpu::compile(graph, c.samples, Precision::bf16);
    const auto values = start_values(graph);
    const auto one = program->lane(), other = program->lane();
    const auto a = train<float>(*program, graph, data.batch, *one, values, 1);
    train<float>(*program, graph, Data(graph.loss.data, c.samples, 99).batch, *other, values, 1);
    const auto b = train<float>(*program, graph, data.batch, *other, values, 1);
    EXPECT_EQ(a.result.loss_sum, b.result.loss_sum) << c.name;
    EXPECT_EQ(a.gradients, b.gradients) << c.name;
    EXPECT_EQ(a.statistics, b.statistics) << c.name;
  }
}

}  // namespace
}  // namespace thalweg::engine::test
