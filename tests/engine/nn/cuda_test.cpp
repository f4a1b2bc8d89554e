// The cuda device against the reference device in float64, layer by layer. Without a GPU on the
// emulated one, where all is tried but CUDA's own calls.
#include <gtest/gtest.h>

#include <algorithm>

#include "cases.h"
#include "engine/device/device.h"
#include "near_reference.h"
#include "on_gpu.h"
#include "tests/support/counted_plan.h"

namespace thalweg::engine::test {
namespace {

// Of the reference tensor's norm, as of the cpu device.
constexpr double tolerance = 1e-5;

class Cuda : public testing::TestWithParam<Case> {};

TEST_P(Cuda, MatchesReference) {
  const Graph graph = GetParam().graph();
  const cuda::CudaProgram program(some_gpu(), graph, GetParam().samples, Precision::fp32);
  GpuExecutor executor(program, statistics_of(graph));
  expect_near_reference(graph, program, executor, GetParam().samples, tolerance);
}

// Shards of a GPU are computed one after another: they cannot meet half way.
TEST(CudaBatchNorm, RefusesToSynchronise) {
  const Graph graph =
      build_graph({linear("a", 4), {"batch_norm", "norm", {{"sync", true}}}}, {{3}, 0, 1, 4});
  try {
    cuda::CudaProgram(some_gpu(), graph, 2, Precision::fp32);
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(
        error.what(),
        "norm: sync takes mean and variance over all shards at once, but device cuda computes the "
        "shards of a GPU one after another; leave sync off or use device: cpu");
  }
}

// Numbers far from 0 with a small spread: the squares' mean less the mean's square would be lost.
TEST(CudaBatchNorm, MeasuresNumbersFarFromZero) {
  const Graph graph = build_graph({{"batch_norm", "norm", {}}}, {{9, 6, 7}, 0, 1, 378});
  constexpr int samples = 5;
  Data data(graph.loss.data, samples);
  for (float& x : data.inputs)
    x += 100;
  const auto values = start_values(graph);
  const auto truth = reference::compile<double>(graph, samples);
  const auto expected = train<double>(*truth, graph, data.batch, *truth->executor(), values, 0.125);
  const cuda::CudaProgram program(some_gpu(), graph, samples, Precision::fp32);
  GpuExecutor executor(program, statistics_of(graph));
  const auto outcome = train<float>(program, graph, data.batch, executor, values, 0.125f);
  for (std::size_t i = 0; i < outcome.statistics.size(); ++i)
    EXPECT_NEAR(outcome.statistics[i], expected.statistics[i], 1e-5 * expected.statistics[i]) << i;
}

/// Calls of LSTMs in a plan for a library that has all that it is asked for.
std::ptrdiff_t lstm_calls_of(std::vector<LayerSpec> layers) {
  layers.push_back(linear("last", 3));
  const CountedPlan counted = count_plan(build_graph(layers, {{4, 3}, 3, 4}), 2, Precision::fp32);
  return std::count_if(counted.calls.begin(), counted.calls.end(),
                       [](const CallWork& call) { return call.kind == CallWork::Kind::lstm; });
}

// Training, evaluation, backward.
TEST(CudaLstm, IsOneCallOfTheLibraryWithThoseOverIt) {
  EXPECT_EQ(lstm_calls_of({{"lstm", "a", {{"width", 6}}}, {"lstm", "b", {{"width", 6}}}}), 3);
}

TEST(CudaLstm, StandsAloneBelowOneOfAnotherWidth) {
  EXPECT_EQ(lstm_calls_of({{"lstm", "a", {{"width", 6}}}, {"lstm", "b", {{"width", 4}}}}), 6);
}

/// Backward's operations of layer `name` that are no calls.
std::ptrdiff_t own_loops_backward_of(const std::string& name, const Graph& graph,
                                     const CompileOptions& options) {
  const CountedPlan counted = count_plan(graph, 2, options);
  return std::count_if(counted.operations.begin(), counted.operations.end(),
                       [&](const CountedOperation& o) {
                         return o.pass == CountedOperation::Pass::backward && o.call == nullptr &&
                                place_of(counted, o) == "linear " + name + " backward";
                       });
}

// Transformers that normalise after each sum: what a block's last product brings back to its input
// and what came by the other branch.
TEST(CudaLinear, AddsTheOtherBranchsGradientInItsProduct) {
  const Graph graph = build_graph({linear("i", 8),
                                   linear("a", 16),
                                   {"gelu", "g", {}},
                                   linear("b", 8),
                                   sum("s", {"i", "b"}),
                                   {"layer_norm", "n", {}},
                                   linear("o", 3)},
                                  {{8}, 3, 1});
  for (const Precision precision : {Precision::fp32, Precision::bf16})
    EXPECT_EQ(own_loops_backward_of("a", graph, precision), 0);
}

INSTANTIATE_TEST_SUITE_P(Layers, Cuda, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Windows, Cuda, testing::ValuesIn(exact_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, Cuda, testing::ValuesIn(larger_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
