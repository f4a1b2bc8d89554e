// The cuda device in bf16, layer by layer: near the reference device in float64, and the same bits
// on every lane. Without a GPU on the emulated one.
#include <gtest/gtest.h>

#include "cases.h"
#include "near_reference_in_bf16.h"
#include "on_gpu.h"

namespace thalweg::engine::test {
namespace {

class SmallOnCudaInBf16 : public testing::TestWithParam<Case> {};
class LargerOnCudaInBf16 : public testing::TestWithParam<Case> {};

TEST_P(SmallOnCudaInBf16, IsNearTheReference) {
  const Graph graph = GetParam().graph();
  const cuda::CudaProgram program(some_gpu(), graph, GetParam().samples, Precision::bf16);
  LaneOnGpu lane(program, statistics_of(graph));
  expect_near_reference_in_bf16(graph, program, lane, GetParam().samples, small_tolerance);
}

TEST_P(LargerOnCudaInBf16, IsNearTheReference) {
  const Graph graph = GetParam().graph();
  const cuda::CudaProgram program(some_gpu(), graph, GetParam().samples, Precision::bf16);
  LaneOnGpu lane(program, statistics_of(graph));
  expect_near_reference_in_bf16(graph, program, lane, GetParam().samples, larger_tolerance);
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
