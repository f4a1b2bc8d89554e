// The cuda device against the reference device in float64, layer by layer. Without a GPU on the
// emulated one, where all is tried but CUDA's own calls.
#include <gtest/gtest.h>

#include <algorithm>

#include "cases.h"
#include "on_gpu.h"

namespace thalweg::engine::test {
namespace {

// Of the reference tensor's norm, as of the cpu device.
constexpr double tolerance = 1e-5;

void expect_near_reference(const Graph& graph, int samples, Precision precision, double allowed) {
  const Data data(graph.loss.data, samples);
  const auto values = start_values(graph);
  const auto truth = reference::compile<double>(graph, samples);
  const auto truth_lane = truth->lane();
  const auto expected = train<double>(*truth, graph, data.batch, *truth_lane, values, 0.125);
  const cuda::CudaProgram program(some_gpu(), graph, samples, precision);
  LaneOnGpu lane(program, statistics_of(graph));
  const auto outcome = train<float>(program, graph, data.batch, lane, values, 0.125f);

  EXPECT_NEAR(outcome.result.loss_sum, expected.result.loss_sum,
              allowed * std::abs(expected.result.loss_sum));
  for (std::size_t p = 0; p < values.size(); ++p)
    EXPECT_LT(relative_distance(outcome.gradients[p], expected.gradients[p]), allowed)
        << program.parameters()[p].name;
  EXPECT_LT(relative_distance(outcome.statistics, expected.statistics), allowed);
  EXPECT_EQ(outcome.ready, program.ready_order());
  std::vector<int> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i] = static_cast<int>(i);
  EXPECT_TRUE(
      std::is_permutation(all.begin(), all.end(), outcome.ready.begin(), outcome.ready.end()));

  // Evaluation, with fewer samples than a shard too.
  std::vector<double> running(expected.statistics);
  std::vector<float> running_f(running.begin(), running.end());
  for (const int count : {samples, std::max(1, samples - 1)}) {
    Batch batch = data.batch;
    batch.samples = count;
    const ShardResult a =
        truth_lane->evaluate(flat_memory(*truth, values).data(), running.data(), batch);
    const ShardResult b =
        lane.evaluate(flat_memory(program, values).data(), running_f.data(), batch);
    EXPECT_NEAR(b.loss_sum, a.loss_sum, allowed * std::abs(a.loss_sum));
    for (std::size_t i = 0; i < most_sums && precision != Precision::bf16; ++i)
      EXPECT_NEAR(b.sums[i], a.sums[i], allowed * a.sums[i]) << i;
  }
}

class Cuda : public testing::TestWithParam<Case> {};

TEST_P(Cuda, MatchesReference) {
  expect_near_reference(GetParam().graph(), GetParam().samples, Precision::fp32, tolerance);
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
        "norm: sync takes mean and variance over all shards at once, but on device cuda the shards "
        "of a GPU are computed one after another; leave sync off or use device: cpu");
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
  const auto expected = train<double>(*truth, graph, data.batch, *truth->lane(), values, 0.125);
  const cuda::CudaProgram program(some_gpu(), graph, samples, Precision::fp32);
  LaneOnGpu lane(program, statistics_of(graph));
  const auto outcome = train<float>(program, graph, data.batch, lane, values, 0.125f);
  for (std::size_t i = 0; i < outcome.statistics.size(); ++i)
    EXPECT_NEAR(outcome.statistics[i], expected.statistics[i], 1e-5 * expected.statistics[i]) << i;
}

INSTANTIATE_TEST_SUITE_P(Layers, Cuda, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, Cuda, testing::ValuesIn(larger_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
