// Whole models through model.h: sizes, initial values, layouts, devices, executors and bad input.
#include "engine/nn/model.h"
#include "engine/nn/flops.h"
#include "engine/nn/model_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "engine/device/batch.h"
#include "engine/device/device.h"
#include "engine/device/executor.h"
#include "jobspec/schema.h"
#include "support.h"
#include "training.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Value;

const InputShape digits{{1, 28, 28}, 10};

Value mlp(std::vector<int> hidden, Map more = {}) {
  List sizes(hidden.begin(), hidden.end());
  Map map{{"name", "mlp"}, {"hidden", sizes}};
  map.insert(map.end(), more.begin(), more.end());
  return map;
}

Value lenet(Map more = {}) {
  more.insert(more.begin(), {"name", "lenet"});
  return more;
}

TEST(Models, HaveTheKnownSizes) {
  // 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10
  EXPECT_EQ(build_model(mlp({512, 512}), {{784}, 10}, 32, "cpu")->parameter_count(), 669'706);
  // 9 * 32 + 32, 9 * 32 * 64 + 64, 7 * 7 * 64 * 128 + 128, 128 * 10 + 10
  EXPECT_EQ(build_model(lenet(), digits, 32, "cpu")->parameter_count(),
            320 + 18'496 + 401'536 + 1'290);
  EXPECT_EQ(build_model(lenet({{"batch_norm", true}}), digits, 32, "reference")->statistics(),
            2u * (32 + 64 + 128));
}

std::int64_t parameters_of_graph(const Map& model, const InputShape& input) {
  return parameter_count(build_model_graph(model, input));
}

TEST(Models, HaveThePublishedSizes) {
  // torchvision's resnet18, resnet34, resnet50
  const InputShape imagenet{{3, 224, 224}, 1000};
  EXPECT_EQ(parameters_of_graph(Map{{"name", "resnet"}, {"depth", 18}}, imagenet), 11'689'512);
  EXPECT_EQ(parameters_of_graph(Map{{"name", "resnet"}, {"depth", 34}}, imagenet), 21'797'672);
  EXPECT_EQ(parameters_of_graph(Map{{"name", "resnet"}, {"depth", 50}}, imagenet), 25'557'032);
  // Shallue et al., arXiv:1811.03600
  EXPECT_EQ(parameters_of_graph(Map{{"name", "simple_cnn"}}, digits), 3'274'634);
  // MLPerf HPC's CosmoFlow, and that of SC18
  EXPECT_EQ(parameters_of_graph(Map{{"name", "cosmoflow"}}, {{4, 128, 128, 128}, 0, 0, 4}),
            8'907'556);
  EXPECT_EQ(parameters_of_graph(Map{{"name", "cosmoflow"}, {"form", "sc18"}},
                                {{1, 128, 128, 128}, 0, 0, 3}),
            7'041'443);
}

TEST(Models, OfSegmentationHaveThePublishedSizes) {
  const auto of = [](Shape sample, int classes) {
    const std::int64_t pixels = elements(sample) / sample[0];
    return InputShape{std::move(sample), classes, pixels};
  };
  // milesial/Pytorch-UNet
  EXPECT_EQ(parameters_of_graph(Map{{"name", "unet"}}, of({3, 64, 64}, 2)), 31'037'698);
  // Cicek et al., whose batch norm has no parameters of its own while the convolutions have biases
  EXPECT_EQ(
      parameters_of_graph(Map{{"name", "unet"}, {"batch_norm", false}}, of({3, 16, 16, 16}, 3)),
      19'069'955);
  constexpr std::int64_t kConv = 32 * 32 * 27 + 32;
  EXPECT_EQ(parameters_of_graph(Map{{"name", "flood_filling"}}, {{2, 8, 8, 8}, 0, 0, 512}),
            2 * 32 * 27 + 32 + kConv + 8 * 2 * kConv + 33);
}

TEST(Models, TransformersHaveTheSizeThatTheirPartsSay) {
  const InputShape text{{128}, 256, 128, 0, 256};
  constexpr std::int64_t kWidth = 256, kInner = 1024;
  constexpr std::int64_t kAttention = kWidth * 3 * kWidth + 3 * kWidth + kWidth * kWidth + kWidth;
  constexpr std::int64_t kMlp = kWidth * kInner + kInner + kInner * kWidth + kWidth;
  constexpr std::int64_t kBlock = kAttention + kMlp + 4 * kWidth;
  constexpr std::int64_t kEmbedding = 256 * kWidth + 128 * kWidth;
  EXPECT_EQ(parameters_of_graph(Map{{"name", "gpt"}}, text),
            kEmbedding + 4 * kBlock + 2 * kWidth + 256 * kWidth);
  EXPECT_EQ(
      parameters_of_graph(Map{{"name", "bert"}}, text),
      kEmbedding + 2 * kWidth + 4 * kBlock + kWidth * kWidth + 3 * kWidth + 256 * kWidth + 256);
}

// torch.nn.Transformer(32, 4, 2, 2, 64) has 42,880 parameters (PyTorch 1.13.1).
TEST(Models, AnEncoderDecoderHasTheSizeOfPyTorchs) {
  constexpr std::int64_t kEmbedding = 65 * 32 + 32 * 32, kHead = 65 * 32 + 65;
  EXPECT_EQ(parameters_of_graph(
                Map{{"name", "encoder_decoder"}, {"layers", 2}, {"width", 32}, {"inner", 64}},
                {{32}, 65, 32, 0, 65}),
            42'880 + kEmbedding + kHead);
}

TEST(Models, LstmsHaveTheSizeThatTheirPartsSay) {
  // Two layers of 200 over 10,000 words, as in PyTorch's example of a language model
  EXPECT_EQ(
      parameters_of_graph(Map{{"name", "lstm_lm"}, {"width", 200}}, {{35}, 10'000, 35, 0, 10'000}),
      4'653'200);
  EXPECT_EQ(parameters_of_graph(Map{{"name", "lstm"}}, {{28, 28}, 10}),
            4 * 128 * (28 + 128 + 2) + 128 * 10 + 10);
}

TEST(Models, ResnetsNameTheirParametersAsEverywhere) {
  const Graph graph = build_model_graph(Map{{"name", "resnet"}}, {{1, 32, 32}, 10});
  std::vector<std::string> names;
  for (const ParameterInfo& info : place_parameters(graph, {}))
    names.push_back(info.name);
  ASSERT_EQ(names.size(), 62u);
  EXPECT_THAT(
      std::vector(names.begin(), names.begin() + 4),
      testing::ElementsAre("conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight"));
  EXPECT_THAT(names, testing::Contains("layer2.0.downsample.0.weight"));
  EXPECT_EQ(names.back(), "fc.bias");
}

TEST(Models, NewOnesMatchTheReferenceAndLearn) {
  for (const auto& [model, shape, rate] : learners()) {
    const Data data(shape, 2);
    Training cpu(model, shape, 2, "cpu"), reference(model, shape, 2, "reference");
    const ShardResult a = cpu.train(data.batch), b = reference.train(data.batch);
    // Batch norm over two samples of few pixels magnifies each layer's rounding.
    EXPECT_NEAR(a.loss_sum, b.loss_sum, 1e-4 * b.loss_sum) << model.front().second.to_text();
    if (model.size() > 1 && model[1].second == Value(50)) continue;  // too few pixels to learn
    double last = 0;
    for (int step = 0; step < 10; ++step) {
      last = cpu.train(data.batch).loss_sum;
      cpu.descend(rate);
    }
    EXPECT_LT(last, 0.9 * a.loss_sum) << model.front().second.to_text();
  }
}

TEST(Models, PlaceParametersOnCacheLinesWithoutGaps) {
  for (const char* device : {"cpu", "reference"}) {
    const auto model = build_model(lenet({{"batch_norm", true}}), digits, 4, device);
    std::size_t expected = 0;
    for (const ParameterInfo& info : model->parameters()) {
      EXPECT_EQ(info.offset, expected) << info.name;
      EXPECT_EQ(info.offset % alignment_floats, 0u) << info.name;
      EXPECT_GE(info.count, static_cast<std::size_t>(elements(info.shape))) << info.name;
      EXPECT_EQ(info.decay, !info.norm_or_bias);
      EXPECT_EQ(info.decay, info.name.ends_with("weight") && !info.name.starts_with("norm"));
      expected += info.count;
    }
    EXPECT_EQ(model->parameter_floats(), expected);
  }
}

TEST(Models, StartEquallyOnEveryDevice) {
  const Training a(lenet(), digits, 4, "cpu"), b(lenet(), digits, 4, "reference");
  EXPECT_EQ(a.plain(a.parameters), b.plain(b.parameters));
}

TEST(Models, StartWithTheStatedSpread) {
  const Training t(mlp({512}), {{784}, 10}, 2, "reference");
  const std::vector<float> plain = t.plain(t.parameters);
  const auto deviation = [&](std::size_t first, std::size_t count) {
    double squares = 0;
    for (std::size_t i = first; i < first + count; ++i)
      squares += plain[i] * plain[i];
    return std::sqrt(squares / static_cast<double>(count));
  };
  EXPECT_NEAR(deviation(0, 784 * 512), std::sqrt(2.0 / 784), 0.01 * std::sqrt(2.0 / 784));
  EXPECT_EQ(deviation(784 * 512, 512), 0);
  EXPECT_NEAR(deviation(784 * 512 + 512, 5120), std::sqrt(1.0 / 512), 0.05 * std::sqrt(1.0 / 512));
}

TEST(Models, ComeBackFromThePlainLayout) {
  for (const Value& value : {lenet({{"batch_norm", true}}), mlp({37, 53})}) {
    const Training t(value, {{3, 18, 14}, 7}, 2, "cpu");
    std::vector<float> plain(static_cast<std::size_t>(t.model->parameter_count()));
    std::iota(plain.begin(), plain.end(), 1.0f);
    Buffer device = Buffer::of_floats(t.model->parameter_floats());
    std::fill_n(device.floats(), t.model->parameter_floats(), 777.0f);
    t.model->from_plain(plain.data(), device.floats());
    EXPECT_EQ(t.plain(device), plain);
    // Everything that is not a parameter is padding, and 0.
    std::vector<float> sorted(device.floats(), device.floats() + t.model->parameter_floats());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t padding = sorted.size() - plain.size();
    EXPECT_EQ(std::count(sorted.begin(), sorted.end(), 0.0f), static_cast<long>(padding));
    EXPECT_TRUE(
        std::equal(plain.begin(), plain.end(), sorted.begin() + static_cast<long>(padding)));
  }
}

TEST(Models, KeepPaddingZeroInGradients) {
  Training t(lenet({{"batch_norm", true}}), {{3, 18, 14}, 7}, 3, "cpu");
  const Data data({3, 18, 14}, 3, 7);
  std::fill_n(t.gradients.floats(), t.model->parameter_floats(), 777.0f);
  t.train(data.batch);
  Buffer again = Buffer::of_floats(t.model->parameter_floats());
  t.model->from_plain(t.plain(t.gradients).data(), again.floats());
  EXPECT_EQ(std::memcmp(again.floats(), t.gradients.floats(),
                        t.model->parameter_floats() * sizeof(float)),
            0);
}

struct Sizes {
  std::string name;
  Value model;
  InputShape input;
  int samples;
};
void PrintTo(const Sizes& sizes, std::ostream* out) {
  *out << sizes.name;
}

class WholeModel : public testing::TestWithParam<Sizes> {};

// One step's gradients within 1e-5 of the reference's, by norm; and the same curve over some steps.
TEST_P(WholeModel, TrainsAsOnTheReference) {
  const Sizes& p = GetParam();
  Training cpu(p.model, p.input, p.samples, "cpu");
  Training reference(p.model, p.input, p.samples, "reference");
  double first = 0, last = 0;
  for (std::uint32_t step = 0; step < 5; ++step) {
    Data data(p.input.sample, p.samples, p.input.classes);
    data.batch.step = step;
    const ShardResult a = cpu.train(data.batch), b = reference.train(data.batch);
    EXPECT_NEAR(a.loss_sum, b.loss_sum, 1e-4 * b.loss_sum) << "step " << step;
    if (step == 0) {
      EXPECT_LT(relative_distance(cpu.plain(cpu.gradients), reference.plain(reference.gradients)),
                1e-5);
      EXPECT_LT(relative_distance(cpu.statistics, reference.statistics), 1e-5);
      first = a.loss_sum;
    }
    last = a.loss_sum;
    for (Training* t : {&cpu, &reference}) {
      t->descend(0.05f);
      t->model->update_running(t->statistics.data(), 1, t->running.data());
    }
  }
  EXPECT_LT(last, first);
  const Data data(p.input.sample, p.samples, p.input.classes);
  const double a =
      cpu.executor->evaluate(cpu.parameters.floats(), cpu.running.data(), data.batch).loss_sum;
  const double b =
      reference.executor
          ->evaluate(reference.parameters.floats(), reference.running.data(), data.batch)
          .loss_sum;
  EXPECT_NEAR(a, b, 1e-4 * b);
}

INSTANTIATE_TEST_SUITE_P(Models, WholeModel,
                         testing::Values(Sizes{"mlp", mlp({64, 64}), {{1, 12, 12}, 10}, 16},
                                         Sizes{"mlp_one_hidden_odd", mlp({33}), {{50}, 7}, 5},
                                         Sizes{"mlp_linear_only", mlp({}), {{50}, 7}, 5},
                                         Sizes{"mlp_dropout_norm",
                                               mlp({40, 40},
                                                   {{"dropout", 0.2}, {"batch_norm", true}}),
                                               {{50}, 7},
                                               24},
                                         Sizes{"lenet", lenet(), {{1, 28, 28}, 10}, 4},
                                         Sizes{"lenet_odd_images", lenet(), {{3, 19, 22}, 5}, 3},
                                         Sizes{"lenet_dropout_norm",
                                               lenet({{"dropout", 0.3}, {"batch_norm", true}}),
                                               {{1, 12, 12}, 10},
                                               6}),
                         [](const auto& test) { return test.param.name; });

std::vector<float> gradients_of(const Model& model, const Buffer& parameters, Executor& executor,
                                const Batch& batch) {
  Buffer gradients = Buffer::of_floats(model.parameter_floats());
  std::vector<float> statistics(model.statistics());
  executor.train(parameters.floats(), batch, 0.1f, gradients.floats(), statistics.data(), {});
  std::vector<float> all(gradients.floats(), gradients.floats() + model.parameter_floats());
  all.insert(all.end(), statistics.begin(), statistics.end());
  return all;
}

TEST(Executors, GiveTheSameBitsInEveryThreadAndPlace) {
  const Value value = lenet({{"dropout", 0.3}, {"batch_norm", true}});
  const Training t(value, digits, 8, "cpu");
  constexpr int shards = 6;
  std::vector<Data> data;
  for (int s = 0; s < shards; ++s) {
    data.emplace_back(digits.sample, 8, 10, static_cast<std::uint64_t>(s));
    data.back().batch.first_sample = static_cast<std::uint64_t>(8 * s);
  }
  std::vector<std::vector<float>> alone, together(shards);
  for (const Data& d : data)
    alone.push_back(gradients_of(*t.model, t.parameters, *t.executor, d.batch));

  std::vector<std::thread> threads;
  for (int thread = 0; thread < 2; ++thread)
    threads.emplace_back([&, thread] {
      const auto executor = t.model->executor();
      for (int s = thread; s < shards; s += 2)
        together[static_cast<std::size_t>(s)] = gradients_of(
            *t.model, t.parameters, *executor, data[static_cast<std::size_t>(s)].batch);
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(alone, together);

  // Another compilation of the same model, and inputs at another address, make no difference
  // either.
  const Training again(value, digits, 8, "cpu");
  std::vector<float> shifted(data[0].inputs.size() + 1);
  std::copy(data[0].inputs.begin(), data[0].inputs.end(), shifted.begin() + 1);
  Batch batch = data[0].batch;
  batch.inputs = shifted.data() + 1;
  EXPECT_EQ(gradients_of(*again.model, again.parameters, *again.executor, batch), alone[0]);
}

TEST(Executors, DropOutByPositionInTheGlobalBatch) {
  // Two shards of 4 draw what one shard of 8 draws: the sum of their gradients is its gradient.
  const Value value = mlp({31}, {{"dropout", 0.5}});
  for (const char* device : {"cpu", "reference"}) {
    const Training whole(value, {{20}, 5}, 8, device), half(value, {{20}, 5}, 4, device);
    const Data data({20}, 8, 5);
    Batch first = data.batch, second = data.batch;
    first.samples = second.samples = 4;
    second.inputs += 4 * 20;
    second.labels += 4;
    second.first_sample += 4;
    const auto expected = gradients_of(*whole.model, whole.parameters, *whole.executor, data.batch);
    auto sum = gradients_of(*half.model, half.parameters, *half.executor, first);
    const auto other = gradients_of(*half.model, half.parameters, *half.executor, second);
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += other[i];
    EXPECT_LT(relative_distance(sum, expected), 1e-5) << device;

    Batch later = data.batch;
    ++later.step;
    EXPECT_GT(relative_distance(
                  gradients_of(*whole.model, whole.parameters, *whole.executor, later), expected),
              0.01)
        << device;
    Batch other_seed = data.batch;
    ++other_seed.seed;
    EXPECT_GT(
        relative_distance(gradients_of(*whole.model, whole.parameters, *whole.executor, other_seed),
                          expected),
        0.01)
        << device;
  }
}

TEST(Executors, LetNanAndInfinityThrough) {
  for (const char* device : {"cpu", "reference"}) {
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      Training t(lenet(), digits, 4, device);
      for (std::size_t i = 0; i < t.model->parameter_floats(); ++i)
        t.parameters.floats()[i] = bad;
      const Data data(digits.sample, 4, 10);
      const ShardResult result = t.train(data.batch);
      EXPECT_TRUE(std::isnan(result.loss_sum)) << device;
      EXPECT_EQ(result.sums[0], 4) << device;
      EXPECT_TRUE(std::isnan(t.plain(t.gradients).back())) << device;
    }
  }
}

TEST(Models, UpdateRunningStatisticsByTheirMomentum) {
  const auto model = build_model(mlp({2}, {{"batch_norm", true}}), {{3}, 2}, 2, "cpu");
  ASSERT_EQ(model->statistics(), 4u);
  std::vector<float> parameters(model->parameter_floats()), running(4);
  model->initialize(1, parameters.data(), running.data());
  EXPECT_THAT(running, testing::ElementsAre(0, 0, 1, 1));
  const std::vector<float> sums{4, 8, 12, 16};
  model->update_running(sums.data(), 4, running.data());
  EXPECT_THAT(running,
              testing::Pointwise(testing::FloatEq(), {0.1f, 0.2f, 0.9f + 0.3f, 0.9f + 0.4f}));
}

std::string complaint(const Value& model, const InputShape& input, int samples = 4,
                      const std::string& device = "cpu") {
  try {
    build_model(model, input, samples, device);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(BadInput, IsRefusedWithASentence) {
  using testing::HasSubstr;
  EXPECT_THAT(complaint(Map{{"name", "lenett"}}, digits), HasSubstr("did you mean 'lenet'?"));
  EXPECT_THAT(complaint(Map{}, digits), HasSubstr("model.name is missing"));
  EXPECT_THAT(complaint(lenet({{"batchnorm", true}}), digits),
              HasSubstr("model lenet: batchnorm: unknown key (did you mean 'batch_norm'?)"));
  EXPECT_THAT(complaint(lenet({{"dropout", 1.5}}), digits),
              HasSubstr("model lenet: dropout: found 1.5, expected a number from 0 to 0.999"));
  EXPECT_THAT(complaint(lenet({{"dropout", "much"}}), digits),
              HasSubstr("dropout: found text \"much\", expected a number"));
  EXPECT_THAT(complaint(lenet(), {{784}, 10}), HasSubstr("expects images"));
  EXPECT_THAT(complaint(lenet(), {{1, 3, 3}, 10}),
              HasSubstr("layer 6 (max_pool2d 'pool2') expects images of at least 2x2"));
  EXPECT_THAT(complaint(mlp({0}), digits), HasSubstr("positive integers"));
  EXPECT_THAT(complaint(mlp({8}, {{"activation", "tanh"}}), digits),
              HasSubstr("model mlp: activation: found text \"tanh\", expected relu"));
  EXPECT_THAT(complaint(Map{{"name", "unet"}}, digits), HasSubstr("each of the 784 pixels"));
  EXPECT_THAT(complaint(Map{{"name", "unet"}}, {{1, 24, 24}, 2, 576}),
              HasSubstr("halves its input 4 times (depth), which does not fit (1, 24, 24)"));
  EXPECT_THAT(complaint(mlp({8}), digits, 0), HasSubstr("a shard of 0 samples"));
  EXPECT_THAT(complaint(mlp({8}), digits, 4, "gpu"), HasSubstr("there is no device 'gpu'"));
}

TEST(BadInput, OfLayersNamesTheLayer) {
  using testing::HasSubstr;
  const auto layers = [](std::vector<LayerSpec> specs, Shape input) -> std::string {
    try {
      build_graph(specs, {input, 3});
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no complaint";
  };
  EXPECT_THAT(layers({{"linear", "fc", {{"outputs", 3}}}}, {1, 4, 4}),
              HasSubstr("layer 1 (linear 'fc') expects flat features, got (1, 4, 4)"));
  EXPECT_THAT(layers({{"liner", "fc", {}}}, {4}), HasSubstr("did you mean 'linear'?"));
  EXPECT_THAT(
      layers({{"linear", "fc", {}}}, {4}),
      HasSubstr("layer 1 (linear 'fc'): outputs: missing, expected a whole number from 1 to"));
  EXPECT_THAT(layers({{"linear", "fc", {{"outputs", 5}}}}, {4}),
              HasSubstr("puts out (5) where 3 classes are expected"));
  const auto loss = [](const jobspec::Value& options, const InputShape& data) -> std::string {
    try {
      build_graph({{"linear", "fc", {{"outputs", 3}}}}, data, options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "no complaint";
  };
  EXPECT_THAT(loss(Map{{"name", "crossentropy"}}, {{4}, 3}),
              HasSubstr("no loss 'crossentropy', did you mean 'cross_entropy'?"));
  EXPECT_THAT(loss(Map{{"name", "mse"}}, {{4}, 3}), HasSubstr("but the data has labels"));
  EXPECT_THAT(loss(Map{{"name", "dice"}}, {{4}, 0, 0, 3}), HasSubstr("but the data has targets"));
  EXPECT_THAT(loss({}, {{4}, 0, 0, 2}), HasSubstr("puts out (3) where 2 targets are to be met"));
  EXPECT_THAT(loss({}, {{4}, 3, 2}), HasSubstr("where (2, 3) or 3 classes of 2 pixels"));
  EXPECT_THAT(loss(Map{{"class_weights", jobspec::List{1, 2}}}, {{4}, 3}),
              HasSubstr("2 weights for 3 classes"));
  EXPECT_THAT(loss(Map{{"class_weights", jobspec::List{1, 2, "x"}}}, {{4}, 3}),
              HasSubstr("expected numbers of at least 0, found x"));
  EXPECT_THAT(loss({}, {{4}, 3, 1, 0, 100}), HasSubstr("cannot take tokens"));
  EXPECT_THAT(layers({{"relu", "a", {}}, {"relu", "a", {}}}, {3}),
              HasSubstr("layer 2 (relu 'a') has the name of an earlier layer"));
  EXPECT_THAT(
      layers({{"conv2d", "c", {{"channels", 3}, {"kernel", 3}, {"padding", 3}}}}, {1, 4, 4}),
      HasSubstr("expects a padding smaller than its kernel of 3"));
  EXPECT_THAT(layers({{"group_norm", "g", {{"groups", 2}}}}, {3, 4, 4}),
              HasSubstr("layer 1 (group_norm 'g') expects channels that 2 groups divide"));
  EXPECT_THAT(layers({}, {4}), HasSubstr("at least one layer"));
  const LayerSpec fc{"linear", "fc", {{"outputs", 3}}};
  EXPECT_THAT(layers({fc, {"add", "sum", {}, {"fc", "fd"}}}, {4}),
              HasSubstr("takes 'fd', which is no layer before it, did you mean 'fc'?"));
  EXPECT_THAT(layers({fc, {"add", "sum", {}}}, {4}),
              HasSubstr("takes 1 inputs where two or more are expected"));
  EXPECT_THAT(layers({fc, {"relu", "r", {}, {"fc", "input"}}}, {4}),
              HasSubstr("takes 2 inputs where 1 are expected"));
  EXPECT_THAT(layers({fc, {"add", "sum", {}, {"fc", "input"}}}, {4}),
              HasSubstr("expects inputs of one shape, got (3) and (4)"));
  EXPECT_THAT(layers({fc, {"relu", "r", {}, {"input"}}, fc}, {3}),
              HasSubstr("has the name of an earlier layer"));
  EXPECT_THAT(layers({{"relu", "unused", {}}, {"linear", "fc", {{"outputs", 3}}, {"input"}}}, {3}),
              HasSubstr("nothing takes what layer 'unused' puts out"));
}

Value layers_graph(const char* layers) {
  return Map{{"name", "graph"}, {"layers", *jobspec::read_yaml(layers, "layers").find("layers")}};
}

constexpr const char* kLayers = R"(
layers:
- {kind: conv2d, name: c1, channels: 4, kernel: 3, padding: 1}
- {kind: relu, name: r1}
- {kind: conv2d, channels: 4, kernel: 3, padding: 1}
- {kind: add, inputs: [conv2d3, r1]}
- {kind: flatten}
- {kind: linear, outputs: auto}
)";

TEST(InlineGraph, IsTheModelThatItsLayersSay) {
  const Graph graph = build_model_graph(layers_graph(kLayers), {{1, 6, 6}, 5});
  ASSERT_EQ(graph.layers.size(), 6u);
  EXPECT_EQ(graph.layers[3].name, "add4");
  EXPECT_EQ(graph.layers[3].from, (std::vector<int>{3, 2}));
  EXPECT_EQ(graph.layers[5].out, Shape{5});
  const Data data({1, 6, 6}, 4, 5);
  Training cpu(layers_graph(kLayers), {{1, 6, 6}, 5}, 4, "cpu");
  Training reference(layers_graph(kLayers), {{1, 6, 6}, 5}, 4, "reference");
  const double expected = reference.train(data.batch).loss_sum;
  EXPECT_NEAR(cpu.train(data.batch).loss_sum, expected, 1e-5 * expected);
}

TEST(InlineGraph, ComplainsAboutTheLayer) {
  using testing::HasSubstr;
  const auto said = [](const char* layers) {
    return complaint(layers_graph(layers), {{1, 6, 6}, 5});
  };
  EXPECT_THAT(said("layers: []"), HasSubstr("at least one layer"));
  EXPECT_THAT(said("layers: [relu]"), HasSubstr("layer 1 of model graph is text \"relu\" where"));
  EXPECT_THAT(said("layers: [{name: a}]"), HasSubstr("layer 1 of model graph has no kind"));
  EXPECT_THAT(said("layers: [{kind: 3}]"), HasSubstr("expects text for kind, got 3"));
  EXPECT_THAT(said("layers: [{kind: add, inputs: [input, 2]}]"),
              HasSubstr("layer 1 of model graph expects names of layers for inputs, got 2"));
  EXPECT_THAT(said("layers: [{kind: relu}, {kind: linear, name: fc1, outputs: 5}]"),
              HasSubstr("layer 2 (linear 'fc1') expects flat features, got (1, 6, 6)"));
  EXPECT_THAT(said("layers: [{kind: rellu}]"), HasSubstr("did you mean 'relu'?"));
  EXPECT_THAT(said("layers: [{kind: flatten}, {kind: linear, output: 5}]"),
              HasSubstr("output: unknown key (did you mean 'outputs'?)"));
  EXPECT_THAT(said("layers: [{kind: flatten}, {kind: linear, outputs: 16777216}, "
                   "{kind: linear, outputs: 16777216}]"),
              HasSubstr("layer 3 (linear 'linear3') has a weight of (16777216, 16777216), which is "
                        "too large"));
  EXPECT_THAT(complaint(Map{{"name", "graph"}}, digits),
              HasSubstr("model graph: layers: missing, expected a list"));
}

TEST(Layers, AreListedWithTheirOptions) {
  const std::string page = "\n" + describe_layers();
  for (const LayerKind& kind : layer_table())
    EXPECT_THAT(page, testing::HasSubstr("\n" + kind.name + ": " + kind.doc)) << kind.name;
  EXPECT_THAT(page, testing::HasSubstr("  slope: below 0 (a number from 0 to 1; 0.01)\n"));
  EXPECT_THAT(page, testing::HasSubstr("  outputs: output features (a whole number"));
}

TEST(BadInput, OfBatchesIsRefused) {
  for (const char* device : {"cpu", "reference"}) {
    Training t(mlp({8}), {{6}, 3}, 4, device);
    Data data({6}, 5, 3);
    EXPECT_THROW(t.train(data.batch), std::invalid_argument);
    data.batch.samples = 3;
    EXPECT_THROW(t.train(data.batch), std::invalid_argument);
    data.batch.samples = 4;
    data.labels[2] = 3;
    EXPECT_THROW(t.train(data.batch), std::invalid_argument);
    data.labels[2] = -1;
    EXPECT_THROW(t.executor->evaluate(t.parameters.floats(), nullptr, data.batch),
                 std::invalid_argument);
  }
}

TEST(Schema, ListsEveryModelWithItsOptions) {
  const auto sections = model_schema();
  ASSERT_EQ(sections.size(), 2u);
  EXPECT_EQ(sections[1].path, "loss");
  EXPECT_EQ(sections[0].path, "model");
  std::vector<std::string> names;
  for (const jobspec::Variant& variant : sections[0].variants) {
    names.push_back(variant.name);
    EXPECT_FALSE(variant.doc.empty());
  }
  EXPECT_THAT(names, testing::ElementsAre("mlp", "lenet", "simple_cnn", "resnet", "cosmoflow",
                                          "gpt", "bert", "encoder_decoder", "lstm_lm", "lstm",
                                          "conv_lstm", "unet", "flood_filling", "graph"));
}

}  // namespace
}  // namespace thalweg::engine::test
