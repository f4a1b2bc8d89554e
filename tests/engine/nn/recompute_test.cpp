// Layers that backward computes again: the same bits for less memory.
#include <gtest/gtest.h>

#include "cases.h"
#include "engine/device/cuda/builder.h"
#include "engine/device/graph/recompute.h"
#include "engine/nn/model.h"
#include "engine/nn/model_table.h"
#include "on_gpu.h"

namespace thalweg::engine::test {
namespace {

using cuda::CudaProgram;

CompileOptions computing_again() {
  CompileOptions options;
  options.recompute = true;
  return options;
}

/// Both ways on the same batches; returns operations that were done again.
std::size_t expect_same_bits(const Graph& graph, int samples) {
  const CudaProgram kept(some_gpu(), graph, samples, {});
  const CudaProgram again(some_gpu(), graph, samples, computing_again());
  GpuExecutor a(kept, statistics_of(graph)), b(again, statistics_of(graph));
  const auto values = start_values(graph);
  for (const std::uint64_t seed : {7, 8}) {
    const Data data(graph.loss.data, samples, seed);
    const auto expected = train<float>(kept, graph, data.batch, a, values, 0.5f);
    const auto found = train<float>(again, graph, data.batch, b, values, 0.5f);
    EXPECT_EQ(found.result.loss_sum, expected.result.loss_sum);
    EXPECT_EQ(found.gradients, expected.gradients);
    EXPECT_EQ(found.statistics, expected.statistics);
    EXPECT_EQ(found.ready, expected.ready);
    const auto flat = flat_memory<float>(again, values);
    EXPECT_EQ(b.evaluate(flat.data(), found.statistics.data(), data.batch).loss_sum,
              a.evaluate(flat.data(), expected.statistics.data(), data.batch).loss_sum);
  }
  return again.plan().recomputed;
}

class Recompute : public testing::TestWithParam<Case> {};

TEST_P(Recompute, HasTheSameBits) {
  expect_same_bits(GetParam().graph(), GetParam().samples);
}

INSTANTIATE_TEST_SUITE_P(Layers, Recompute, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, Recompute, testing::ValuesIn(larger_cases()),
                         [](const auto& test) { return test.param.name; });

Graph deep_chain(int blocks) {
  std::vector<LayerSpec> layers;
  for (int i = 0; i < blocks; ++i) {
    const std::string n = std::to_string(i);
    layers.push_back({"linear", "a" + n, {{"outputs", 64}, {"bias", true}}});
    layers.push_back({"relu", "r" + n, {}});
  }
  layers.push_back(linear("last", 5));
  return build_graph(layers, {{64}, 5}, {});
}

/// Blocks x + f(x), each of which takes the sum before it twice.
Graph residual(int blocks) {
  std::vector<LayerSpec> layers{conv("stem", 8, 3, 1, 1)};
  std::string before = "stem";
  for (int i = 0; i < blocks; ++i) {
    const std::string n = std::to_string(i);
    const auto after = [&](const char* kind, const std::string& name, jobspec::Map options,
                           const std::string& input) {
      layers.push_back({kind, name + n, std::move(options), {input}});
      return name + n;
    };
    const jobspec::Map three{
        {"channels", 8}, {"kernel", 3}, {"stride", 1}, {"padding", 1}, {"bias", false}};
    std::string x = after("conv2d", "a", three, before);
    x = after("batch_norm", "n", {}, x);
    x = after("relu", "r", {}, x);
    x = after("conv2d", "b", three, x);
    layers.push_back({"add", "s" + n, {}, {before, x}});
    before = "s" + n;
  }
  layers.push_back({"flatten", "flat", {}, {before}});
  layers.push_back(linear("last", 3));
  return build_graph(layers, {{3, 8, 8}, 3}, {});
}

TEST(Recompute, TakesLessMemory) {
  for (const Graph& graph : {deep_chain(36), residual(12)}) {
    EXPECT_GT(expect_same_bits(graph, 64), 0u);
    const CudaProgram kept(some_gpu(), graph, 64, {});
    const CudaProgram again(some_gpu(), graph, 64, computing_again());
    EXPECT_EQ(kept.plan().recomputed, 0u);
    EXPECT_LT(again.executor_memory().activations, kept.executor_memory().activations / 2);
    EXPECT_EQ(again.executor_memory().staging, kept.executor_memory().staging);
  }
}

TEST(Recompute, CutsChainsIntoSegmentsOfTheRootOfTheirLength) {
  const Graph graph = deep_chain(36);
  const std::vector<int> segments = segments_of(graph, fuse(graph, cuda::joins));
  ASSERT_EQ(segments.size(), 37u);
  EXPECT_EQ(segments.front(), 0);
  EXPECT_EQ(segments.back(), -1);
  int longest = 0, run = 0, count = 1;
  for (std::size_t i = 1; i < segments.size(); ++i) {
    run = segments[i] == segments[i - 1] ? run + 1 : 0;
    count += run == 0 ? 1 : 0;
    longest = std::max(longest, run + 1);
    EXPECT_TRUE(segments[i] == segments[i - 1] || segments[i] == segments[i - 1] + 1 ||
                segments[i] == -1);
  }
  EXPECT_LE(longest, 9);
  EXPECT_LE(count, 9);
}

TEST(Recompute, CutsBetweenBlocks) {
  const Graph graph = residual(12);
  const std::vector<Node> nodes = fuse(graph, cuda::joins);
  const std::vector<int> segments = segments_of(graph, nodes);
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    if (segments[i] != segments[i + 1]) {
      EXPECT_TRUE(nodes[i].layer->kind->name == "add" || i == 0) << nodes[i].layer->name;
    }
  }
}

TEST(Recompute, IsRefusedWhereThereIsNone) {
  const jobspec::Map mlp{{"name", "mlp"}};
  for (const char* device : {"cpu", "reference"})
    EXPECT_THROW(build_model(mlp, {{3}, 2}, 1, device, {}, computing_again()),
                 std::invalid_argument);
}

}  // namespace
}  // namespace thalweg::engine::test
