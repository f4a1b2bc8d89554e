// The cuda device in bf16, layer by layer: near the reference device in float64, and the same bits
// on every executor. Without a GPU on the emulated one.
#include <gtest/gtest.h>

#include <algorithm>

#include "cases.h"
#include "engine/device/cuda/builder.h"
#include "near_reference_in_bf16.h"
#include "on_gpu.h"

namespace thalweg::engine::test {
namespace {

class SmallOnCudaInBf16 : public testing::TestWithParam<Case> {};
class LargerOnCudaInBf16 : public testing::TestWithParam<Case> {};

TEST_P(SmallOnCudaInBf16, IsNearTheReference) {
  const Graph graph = GetParam().graph();
  const cuda::CudaProgram program(some_gpu(), graph, GetParam().samples, Precision::bf16);
  GpuExecutor executor(program, statistics_of(graph));
  expect_near_reference_in_bf16(graph, program, executor, GetParam().samples, small_tolerance);
}

TEST_P(LargerOnCudaInBf16, IsNearTheReference) {
  const Graph graph = GetParam().graph();
  const cuda::CudaProgram program(some_gpu(), graph, GetParam().samples, Precision::bf16);
  GpuExecutor executor(program, statistics_of(graph));
  expect_near_reference_in_bf16(graph, program, executor, GetParam().samples, larger_tolerance);
}

TEST_P(LargerOnCudaInBf16, HasTheSameBitsOnEveryExecutor) {
  const Graph graph = GetParam().graph();
  const int samples = GetParam().samples;
  const Data data(graph.loss.data, samples);
  const cuda::CudaProgram program(some_gpu(), graph, samples, Precision::bf16);
  const auto values = start_values(graph);
  GpuExecutor one(program, statistics_of(graph)), other(program, statistics_of(graph));
  const auto a = train<float>(program, graph, data.batch, one, values, 1);
  train<float>(program, graph, Data(graph.loss.data, samples, 99).batch, other, values, 1);
  const auto b = train<float>(program, graph, data.batch, other, values, 1);
  EXPECT_EQ(a.result.loss_sum, b.result.loss_sum);
  EXPECT_EQ(a.gradients, b.gradients);
  EXPECT_EQ(a.statistics, b.statistics);
}

/// "conv 4x3x3x8 of 9x9 forward bf16": of the calls of a first layer with these channels.
std::string first_call(const LayerSpec& first, Precision precision, std::int64_t channels) {
  const LayerSpec flatten{"flatten", "flatten", {}};
  const Case of{
      "first", {channels, 9, 9}, 2, 3, {first, conv("b", 4, 3, 1, 1), flatten, linear("c", 3)}};
  const Graph graph = of.graph();
  const cuda::CudaProgram program(some_gpu(), graph, 2, precision);
  return program.library_calls().front().name;
}

// cuDNN would write the padded images itself, in forward and in backward.
TEST(FirstLayerOnCuda, HasEightChannelsInBf16WhereOnlyConvolutionsTakeTheInput) {
  const LayerSpec first = conv("a", 4, 3, 1, 1);
  EXPECT_EQ(first_call(first, Precision::bf16, 3), "conv 4x3x3x8 of 9x9 forward bf16");
  EXPECT_EQ(first_call(first, Precision::bf16, 7), "conv 4x3x3x8 of 9x9 forward bf16");
  EXPECT_EQ(first_call(first, Precision::bf16, 1), "conv 4x3x3x1 of 9x9 forward bf16");
  EXPECT_EQ(first_call(first, Precision::bf16, 9), "conv 4x3x3x9 of 9x9 forward bf16");
  EXPECT_EQ(first_call(first, Precision::fp32, 3), "conv 4x3x3x3 of 9x9 forward");
  EXPECT_EQ(first_call({"batch_norm", "a", {}}, Precision::bf16, 3),
            "conv 4x3x3x3 of 9x9 forward bf16");
}

// The logits of many classes stay in bf16, those of few are floats.
TEST(LogitsOnCudaInBf16, AreFloatsOfFewClassesOnly) {
  constexpr int samples = 3;
  for (const int classes : {4096, 4000}) {
    const Graph graph = build_graph({linear("a", classes)}, {{6}, classes, 1},
                                    jobspec::Map{{"name", "cross_entropy"}});
    CompileOptions options;
    options.precision = Precision::bf16;
    const auto stream = some_gpu().stream();
    const cuda::Plan plan = cuda::Builder(*stream, graph, samples, options).finish();
    const bool floats = std::any_of(plan.tensors.begin(), plan.tensors.end(), [&](const auto& t) {
      return t.home == Home::arena && t.desc.dims == Shape{samples, classes} &&
             t.desc.type == gpu::Type::f32;
    });
    EXPECT_EQ(floats, classes < 4096) << classes;
    const cuda::CudaProgram program(some_gpu(), graph, samples, Precision::bf16);
    GpuExecutor executor(program, statistics_of(graph));
    expect_near_reference_in_bf16(graph, program, executor, samples, small_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Layers, SmallOnCudaInBf16, testing::ValuesIn(small_cases()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(Shapes, LargerOnCudaInBf16, testing::ValuesIn(larger_cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
