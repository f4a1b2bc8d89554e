// Whole models on the cuda device: a training pass of each against the reference device in
// float64. Without a GPU on the emulated one.
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/device/device.h"
#include "engine/device/executor.h"
#include "engine/nn/model_table.h"
#include "on_gpu.h"
#include "tests/support/distance.h"

namespace thalweg::engine::test {
namespace {

// Of the reference gradient's norm, as layer by layer (cuda_test.cpp, cuda_bf16_test.cpp): in bf16
// values cross the edges of relus and pools.
constexpr double fp32_tolerance = 1e-5, bf16_tolerance = 0.12;
constexpr double bf16_loss_tolerance = 0.02;

struct CudaModelCase {
  std::string name;
  jobspec::Map model;
  InputShape shape;
};

void PrintTo(const CudaModelCase& c, std::ostream* out) {
  *out << c.name;
}

std::vector<CudaModelCase> models_of_sequences() {
  using jobspec::Map;
  // Heads are 8 wide, so that in bf16 attention is the library's where it has one.
  return {
      {"gpt",
       Map{{"name", "gpt"}, {"layers", 2}, {"heads", 2}, {"width", 16}, {"dropout", 0.1}},
       {{6}, 9, 6, 0, 9}},
      {"bert",
       Map{{"name", "bert"}, {"layers", 2}, {"heads", 2}, {"width", 16}, {"dropout", 0.1}},
       {{6}, 9, 6, 0, 9}},
      {"encoder_decoder",
       Map{{"name", "encoder_decoder"}, {"layers", 2}, {"heads", 2}, {"width", 16}},
       {{6}, 9, 6, 0, 9}},
      {"lstm_lm", Map{{"name", "lstm_lm"}, {"width", 12}, {"dropout", 0.1}}, {{6}, 9, 6, 0, 9}},
      {"lstm", Map{{"name", "lstm"}, {"width", 10}, {"layers", 2}}, {{7, 5}, 3}},
      {"conv_lstm",
       Map{{"name", "conv_lstm"}, {"width", 16}, {"channels", 4}, {"embedding", 8}},
       {{1, 8, 8, 8}, 0, 0, 5}},
  };
}

std::vector<CudaModelCase> models_of_images() {
  using jobspec::Map;
  return {
      {"lenet", Map{{"name", "lenet"}}, {{1, 8, 8}, 0, 0, 4}},
      {"simple_cnn", Map{{"name", "simple_cnn"}}, {{1, 8, 8}, 0, 0, 4}},
      {"cosmoflow", Map{{"name", "cosmoflow"}, {"channels", 2}}, {{2, 32, 32, 32}, 0, 0, 3}},
      {"unet", Map{{"name", "unet"}, {"depth", 2}, {"channels", 8}}, {{2, 8, 12}, 0, 0, 96}},
      {"unet_of_volumes",
       Map{{"name", "unet"}, {"depth", 1}, {"channels", 4}},
       {{1, 4, 6, 4}, 0, 0, 96}},
  };
}

template <class T>
std::vector<T> joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const auto& part : parts)
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

/// Of all gradients together, as one vector.
double distance_from_reference(const CudaModelCase& c, Precision precision, std::uint64_t seed) {
  constexpr int samples = 3;
  const Graph graph = build_model_graph(c.model, c.shape);
  const Data data(c.shape, samples, seed);
  const auto values = start_values(graph);
  const auto truth = reference::compile<double>(graph, samples);
  const auto truth_executor = truth->executor();
  const auto expected = train<double>(*truth, graph, data.batch, *truth_executor, values, 0.125);
  const cuda::CudaProgram program(some_gpu(), graph, samples, precision);
  GpuExecutor executor(program, statistics_of(graph));
  const auto outcome = train<float>(program, graph, data.batch, executor, values, 0.125f);
  const double loss = expected.result.loss_sum;
  EXPECT_NEAR(
      outcome.result.loss_sum, loss,
      (precision == Precision::bf16 ? bf16_loss_tolerance : fp32_tolerance) * std::abs(loss));
  return relative_distance(joined(outcome.gradients), joined(expected.gradients));
}

/// The median over five batches, as layer by layer.
double median_in_bf16(const CudaModelCase& c) {
  std::vector<double> distances;
  for (std::uint64_t seed = 0; seed < 5; ++seed)
    distances.push_back(distance_from_reference(c, Precision::bf16, seed));
  std::sort(distances.begin(), distances.end());
  return distances[distances.size() / 2];
}

struct Distances {
  double cuda = 0, reference_in_floats = 0;
};

/// Of resnet18's gradients on images of size^2, three of them: the mean over batches.
Distances of_resnet(int size, int batches) {
  constexpr int samples = 3;
  const CudaModelCase c{
      "resnet", {{"name", "resnet"}, {"stem", "cifar"}}, {{1, size, size}, 0, 0, 4}};
  const Graph graph = build_model_graph(c.model, c.shape);
  const auto values = start_values(graph);
  const auto truth = reference::compile<double>(graph, samples);
  const auto floats = reference::compile<float>(graph, samples);
  const auto truth_executor = truth->executor();
  const auto floats_lane = floats->executor();
  const cuda::CudaProgram cuda(some_gpu(), graph, samples, Precision::fp32);
  GpuExecutor cuda_executor(cuda, statistics_of(graph));
  Distances sum;
  for (int batch = 0; batch < batches; ++batch) {
    const Data data(c.shape, samples, static_cast<std::uint64_t>(7 + batch));
    const auto expected =
        joined(train<double>(*truth, graph, data.batch, *truth_executor, values, 0.125).gradients);
    const auto distance = [&](const BasicProgram<float>& program, BasicExecutor<float>& executor) {
      return relative_distance(
          joined(train<float>(program, graph, data.batch, executor, values, 0.125f).gradients),
          expected);
    };
    sum.cuda += distance(cuda, cuda_executor) / batches;
    sum.reference_in_floats += distance(*floats, *floats_lane) / batches;
  }
  return sum;
}

// Resnet's last batch norms measure mean and variance over what is left of the images: of 8^2
// three numbers a channel, which may lie close together, so that dividing by their deviation makes
// rounding larger. The reference itself is then off by 3e-5 in floats: the cuda device may be, too,
// but not by more than that.
TEST(CudaResnet, IsAsNearAsFloatsAre) {
  const Distances small = of_resnet(8, 3), larger = of_resnet(16, 1);
  EXPECT_LT(larger.cuda, fp32_tolerance);
  EXPECT_GT(small.reference_in_floats, fp32_tolerance)
      << "well conditioned: judge it as the others";
  EXPECT_LT(small.cuda, 2 * small.reference_in_floats);
}

class CudaModels : public testing::TestWithParam<CudaModelCase> {};

TEST_P(CudaModels, MatchTheReference) {
  const double distance = distance_from_reference(GetParam(), Precision::fp32, 7);
  thalweg::test::note_distance(distance, fp32_tolerance);
  EXPECT_LT(distance, fp32_tolerance);
  const double in_bf16 = median_in_bf16(GetParam());
  thalweg::test::note_distance(in_bf16, bf16_tolerance);
  EXPECT_LT(in_bf16, bf16_tolerance);
}

INSTANTIATE_TEST_SUITE_P(OfImages, CudaModels, testing::ValuesIn(models_of_images()),
                         [](const auto& test) { return test.param.name; });
INSTANTIATE_TEST_SUITE_P(OfSequences, CudaModels, testing::ValuesIn(models_of_sequences()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
