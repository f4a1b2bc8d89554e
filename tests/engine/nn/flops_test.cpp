// FLOPs of graphs against published counts and against what the cuda device's plans multiply.
#include "engine/nn/flops.h"

#include <gtest/gtest.h>

#include "engine/device/compile_options.h"
#include "engine/device/reference/layer.h"
#include "engine/layers/table.h"
#include "engine/nn/graph.h"
#include "engine/nn/model_table.h"
#include "tests/support/counted_plan.h"
#include "tests/support/models.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

constexpr double giga = 1e9;
const InputShape imagenet{{3, 224, 224}, 1000};

/// In 10^9 multiplications, of one image: what papers and torchvision call GFLOPs.
double gmacs(const Value& model, const InputShape& data = imagenet) {
  return flops_of(build_model_graph(model, data)).forward / 2 / giga;
}

Value resnet(int depth) {
  return Map{{"name", "resnet"}, {"depth", depth}, {"stem", "imagenet"}};
}

struct Network {
  List layers;

  Network& conv(int channels, int kernel, int stride, int padding) {
    layers.push_back(Map{{"kind", "conv2d"},
                         {"channels", channels},
                         {"kernel", kernel},
                         {"stride", stride},
                         {"padding", padding}});
    layers.push_back(Map{{"kind", "relu"}});
    return *this;
  }
  Network& pool(int kernel, int stride) {
    layers.push_back(Map{{"kind", "max_pool2d"}, {"kernel", kernel}, {"stride", stride}});
    return *this;
  }
  Value classify() {
    layers.push_back(Map{{"kind", "flatten"}});
    for (const int outputs : {4096, 4096, 1000})
      layers.push_back(Map{{"kind", "linear"}, {"outputs", outputs}});
    return Map{{"name", "graph"}, {"layers", layers}};
  }
};

Value alexnet() {
  Network n;
  n.conv(64, 11, 4, 2).pool(3, 2).conv(192, 5, 1, 2).pool(3, 2);
  n.conv(384, 3, 1, 1).conv(256, 3, 1, 1).conv(256, 3, 1, 1).pool(3, 2);
  return n.classify();
}

Value vgg16() {
  Network n;
  const std::vector<std::vector<int>> stages{
      {64, 64}, {128, 128}, {256, 256, 256}, {512, 512, 512}, {512, 512, 512}};
  for (const std::vector<int>& stage : stages) {
    for (const int channels : stage)
      n.conv(channels, 3, 1, 1);
    n.pool(2, 2);
  }
  return n.classify();
}

/// Source: the column "GFLOPS" (multiplications and additions as one) of the table of
/// classification weights in torchvision's documentation
/// (https://pytorch.org/vision/stable/models.html).
TEST(Flops, OfImageNetworksAreThePublishedOnes) {
  constexpr double rounded = 0.006;
  EXPECT_NEAR(gmacs(alexnet()), 0.71, rounded);
  EXPECT_NEAR(gmacs(vgg16()), 15.47, rounded);
  EXPECT_NEAR(gmacs(resnet(18)), 1.81, rounded);
  EXPECT_NEAR(gmacs(resnet(34)), 3.66, rounded);
  EXPECT_NEAR(gmacs(resnet(50)), 4.09, rounded);
}

Value gpt(int layers, int heads, int width) {
  return Map{{"name", "gpt"}, {"layers", layers}, {"heads", heads}, {"width", width}};
}

InputShape text(std::int64_t positions, int tokens) {
  return {{positions}, tokens, positions, 0, tokens};
}

/// Source: Brown et al., arXiv:2005.14165, table D.1: GPT-3 of 175 B parameters takes 3.14e23 FLOPs
/// for 300 B tokens, 6 for each parameter. That leaves attention between positions out, which is
/// 2.8 % here.
TEST(Flops, OfGpt3AreSixForEachParameterAndToken) {
  const Graph graph = build_model_graph(gpt(96, 96, 12288), text(2048, 50257));
  const double token = flops_of(graph).training() / 2048;
  EXPECT_NEAR(token / (3.14e23 / 300e9), 1, 0.035);
}

/// Source: Chowdhery et al. (PaLM), arXiv:2204.02311, appendix B: 6 N + 12 L H Q T a token, N
/// without what is looked up, heads times their size the width.
TEST(Flops, OfATransformerAreThoseOfItsMatricesAndItsAttention) {
  constexpr double layers = 12, width = 768, positions = 1024, tokens = 50304;
  const Graph graph = build_model_graph(gpt(12, 12, 768), text(1024, 50304));
  const double matrices = layers * 12 * width * width + width * tokens;
  EXPECT_DOUBLE_EQ(flops_of(graph).training() / positions,
                   6 * matrices + 12 * layers * width * positions);
}

TEST(Flops, OfCrossAttentionAreOfBothSides) {
  const Graph graph = build_model_graph(
      Map{{"name", "encoder_decoder"}, {"layers", 1}, {"heads", 2}, {"width", 8}, {"source", 6}},
      text(16, 32));
  const std::vector<Flops> all = layer_flops(graph);
  int found = 0;
  for (std::size_t l = 0; l < all.size(); ++l) {
    if (graph.layers[l].kind->name != "cross_attention") continue;
    ++found;
    EXPECT_EQ(all[l].forward, 2 * 2 * 10 * 6 * 8);  // of 10 positions, 6 are looked at
    EXPECT_EQ(all[l].backward, 2 * all[l].forward);
  }
  EXPECT_EQ(found, 1);
}

TEST(Flops, OfATransposedConvolutionAreThoseOfTheConvolutionBack) {
  const auto forward = [](const char* kind, int channels, const Shape& shape) {
    std::vector<LayerSpec> specs{
        {kind, "layer", {{"channels", channels}, {"kernel", 2}, {"stride", 2}}}};
    specs.push_back({"flatten", "flat", {}});
    specs.push_back({"linear", "answers", {{"outputs", 2}}});
    return layer_flops(build_graph(specs, {shape, 2})).front().forward;
  };
  EXPECT_EQ(forward("conv_transpose2d", 3, {5, 4, 4}), forward("conv2d", 5, {3, 8, 8}));
}

/// h goes from position to position: its weights' products have a gradient of h and one of the
/// weights, those of x only the latter in the first layer.
TEST(Flops, OfAnLstm) {
  const Graph graph = build_model_graph(Map{{"name", "lstm"}, {"layers", 2}, {"width", 16}},
                                        InputShape{{10, 8}, 4});
  const std::vector<Flops> all = layer_flops(graph);
  constexpr double of_h = 2 * 10 * 64 * 16, of_x = 2 * 10 * 64 * 8;
  EXPECT_EQ(all[0].forward, of_h + of_x);
  EXPECT_EQ(all[0].backward, 2 * of_h + of_x);
  EXPECT_EQ(all[1].forward, 2 * of_h);
  EXPECT_EQ(all[1].backward, 4 * of_h);
}

TEST(Flops, OfBackwardAreTwiceThoseOfForwardButForTheFirstLayer) {
  const Graph graph = build_model_graph(Map{{"name", "mlp"}}, {{784}, 10});
  const Flops all = flops_of(graph);
  EXPECT_EQ(all.backward, 2 * all.forward - 2 * 784 * 512);
}

TEST(Flops, AreGivenByEveryLayerThatMultiplies) {
  for (const LayerKind& kind : layer_table())
    EXPECT_TRUE(!kind.multiplies || kind.reference->flops != nullptr) << kind.name;
}

class FlopsOfPlans : public ::testing::TestWithParam<ModelCase> {};

/// What library calls of a plan multiply in a step is what the graph says; in bf16 some channels
/// are padded.
TEST_P(FlopsOfPlans, AreWhatTheLibraryCallsMultiply) {
  const ModelCase& c = GetParam();
  const CountedPlan counted =
      count_plan(build_model_graph(c.model, c.data), c.batch, CompileOptions(Precision::fp32));
  double calls = 0;
  for (const CountedOperation& operation : counted.operations)
    if (operation.call) calls += operation.call->flops;
  EXPECT_NEAR(calls / (flops_of(counted.graph).training() * c.batch), 1, 0.001);
}

std::vector<ModelCase> without_recurrence_and_attention() {
  std::vector<ModelCase> cases;
  for (const auto* all : {&model_cases(), &gpu_model_cases()})
    for (const ModelCase& c : *all)
      if (c.name.find("lstm") == c.name.npos && c.name.find("gpt") == c.name.npos &&
          c.name.find("bert") == c.name.npos)
        cases.push_back(c);
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, FlopsOfPlans, ::testing::ValuesIn(without_recurrence_and_attention()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
