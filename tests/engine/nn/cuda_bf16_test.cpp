// The cuda device in bf16, layer by layer: near the reference device in float64, and the same bits
// on every lane. Without a GPU on the emulated one.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cases.h"
#include "on_gpu.h"

namespace thalweg::engine::test {
namespace {

// As of the cpu device in bf16 (bf16_test.cpp): of the reference tensor's norm, the median over
// five batches.
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
  const cuda::CudaProgram program(some_gpu(), graph, samples, Precision::bf16);
  const auto truth_lane = truth->lane();
  LaneOnGpu lane(program, statistics_of(graph));
  const auto flat = flat_memory(program, values);
  const auto flat_truth = flat_memory(*truth, values);
  std::map<std::string, std::vector<double>> distances, losses;
  for (std::uint64_t seed = 0; seed < batches; ++seed) {
    const Data data(graph.loss.data, samples, seed);
    const auto expected = train<double>(*truth, graph, data.batch, *truth_lane, values, 0.125);
    const auto outcome = train<float>(program, graph, data.batch, lane, values, 0.125f);
    EXPECT_EQ(outcome.ready, program.ready_order());
    for (std::size_t p = 0; p < values.size(); ++p)
      distances[program.parameters()[p].name].push_back(
          relative_distance(outcome.gradients[p], expected.gradients[p]));
    distances["statistics"].push_back(relative_distance(outcome.statistics, expected.statistics));
    const auto compare_losses = [&](const char* name, const ShardResult& a, const ShardResult& b) {
      losses[name].push_back(std::abs(a.loss_sum - b.loss_sum) / std::abs(b.loss_sum));
    };
    compare_losses("training", outcome.result, expected.result);
    const std::vector<float> running(expected.statistics.begin(), expected.statistics.end());
    compare_losses("evaluation", lane.evaluate(flat.data(), running.data(), data.batch),
                   truth_lane->evaluate(flat_truth.data(), expected.statistics.data(), data.batch));
  }
  for (const auto& [name, each] : distances)
    EXPECT_LT(median(each), allowed) << name;
  for (const auto& [name, each] : losses)
    EXPECT_LT(median(each), loss_tolerance) << name;
}

class SmallOnCudaInBf16 : public testing::TestWithParam<Case> {};
class LargerOnCudaInBf16 : public testing::TestWithParam<Case> {};

TEST_P(SmallOnCudaInBf16, IsNearTheReference) {
  expect_near_reference(GetParam().graph(), GetParam().samples, small_tolerance);
}

TEST_P(LargerOnCudaInBf16, IsNearTheReference) {
  expect_near_reference(GetParam().graph(), GetParam().samples, larger_tolerance);
}

TEST_P(LargerOnCudaInBf16, HasTheSameBitsOnEveryLane) {
  const Graph graph = GetParam().graph();
  const int samples = GetParam().samples;
  const Data data(graph.loss.data, samples);
  const cuda::CudaProgram program(some_gpu(), graph, samples, Precision::bf16);
  const auto values = start_values(graph);
  LaneOnGpu one(program, statistics_of(graph)), other(program, statistics_of(graph));
  const auto a = train<float>(program, graph, data.batch, one, values, 1);
  train<float>(program, graph, Data(graph.loss.data, samples, 99).batch, other, values, 1);
  const auto b = train<float>(program, graph, data.batch, other, values, 1);
  EXPECT_EQ(a.result.loss_sum, b.result.loss_sum);
  EXPECT_EQ(a.gradients, b.gradients);
  EXPECT_EQ(a.statistics, b.statistics);
}

INSTANTIATE_TEST_SUITE_P(Layers, SmallOnCudaInBf16, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, LargerOnCudaInBf16, testing::ValuesIn(larger_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
