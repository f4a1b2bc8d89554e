// Batch normalisation over all shards: shards in threads of their own against the whole batch as
// one, and against finite differences of the sum of their losses.
#include <gtest/gtest.h>

#include <barrier>
#include <cmath>
#include <thread>

#include "engine/device/batch.h"
#include "engine/device/device.h"
#include "engine/device/executor.h"
#include "engine/device/layer.h"
#include "engine/device/meeting.h"
#include "engine/nn/model.h"
#include "engine/tensor/buffer.h"
#include "jobspec/value.h"
#include "support.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;

constexpr int kShards = 3, kEach = 4;

class InMemory final : public Meeting {
 public:
  int shards() const override { return kShards; }
  void sum(int shard, float* values, std::size_t count) override {
    parts_[shard].assign(values, values + count);
    barrier_.arrive_and_wait();
    std::fill_n(values, count, 0.0f);
    for (const std::vector<float>& part : parts_)
      for (std::size_t i = 0; i < count; ++i)
        values[i] += part[i];
    barrier_.arrive_and_wait();
  }

 private:
  std::barrier<> barrier_{kShards};
  std::vector<float> parts_[kShards];
};

struct ShardsPassed {
  double loss = 0;
  std::vector<double> gradient;
  std::vector<float> statistics;
};

struct Data {
  explicit Data(const Shape& sample) : floats(static_cast<std::size_t>(elements(sample))) {
    for (std::size_t i = 0; i < floats * kShards * kEach; ++i)
      // Shards differ in mean and spread.
      inputs.push_back(static_cast<float>(std::sin(static_cast<double>(i)) *
                                              (1.0 + static_cast<double>(i / floats)) +
                                          static_cast<double>(i / floats) / 3));
    for (int i = 0; i < kShards * kEach; ++i)
      labels.push_back(i % 3);
  }
  Batch part(int first, int samples) const {
    Batch batch;
    batch.inputs = inputs.data() + static_cast<std::size_t>(first) * floats;
    batch.labels = labels.data() + first;
    batch.samples = samples;
    return batch;
  }
  std::size_t floats;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
};

void add(const Model& model, const float* gradients, ShardsPassed& to) {
  std::vector<float> plain(static_cast<std::size_t>(model.parameter_count()));
  model.to_plain(gradients, plain.data());
  to.gradient.resize(plain.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    to.gradient[i] += static_cast<double>(plain[i]);
}

std::vector<float> initial(const Model& model) {
  Buffer parameters = Buffer::of_floats(model.parameter_floats());
  std::vector<float> running(model.statistics()),
      plain(static_cast<std::size_t>(model.parameter_count()));
  model.initialize(7, parameters.floats(), running.data());
  model.to_plain(parameters.floats(), plain.data());
  return plain;
}

ShardsPassed whole(const Map& tree, const Shape& sample, const std::vector<float>& weights) {
  const Data data(sample);
  const auto model = build_model(tree, {sample, 3}, kShards * kEach, "reference");
  Buffer parameters = Buffer::of_floats(model->parameter_floats());
  model->from_plain(weights.data(), parameters.floats());
  Buffer gradients = Buffer::of_floats(model->parameter_floats());
  ShardsPassed passed;
  passed.statistics.resize(model->statistics());
  passed.loss = model->executor()
                    ->train(parameters.floats(), data.part(0, kShards * kEach), 1,
                            gradients.floats(), passed.statistics.data(), {})
                    .loss_sum;
  add(*model, gradients.floats(), passed);
  return passed;
}

/// The sum over the shards.
ShardsPassed in_shards(const Map& tree, const Shape& sample, const std::vector<float>& weights,
                       const char* device) {
  const Data data(sample);
  const auto model = build_model(tree, {sample, 3}, kEach, device);
  EXPECT_TRUE(model->joins_shards());
  Buffer parameters = Buffer::of_floats(model->parameter_floats());
  model->from_plain(weights.data(), parameters.floats());
  InMemory meeting;
  std::vector<Buffer> gradients;
  std::vector<std::vector<float>> statistics(kShards, std::vector<float>(model->statistics()));
  std::vector<double> losses(kShards);
  for (int shard = 0; shard < kShards; ++shard)
    gradients.push_back(Buffer::of_floats(model->parameter_floats()));
  std::vector<std::thread> threads;
  for (std::size_t shard = 0; shard < kShards; ++shard)
    threads.emplace_back([&, shard] {
      Batch batch = data.part(static_cast<int>(shard) * kEach, kEach);
      batch.meeting = &meeting;
      batch.shard = static_cast<int>(shard);
      losses[shard] = model->executor()
                          ->train(parameters.floats(), batch, 1, gradients[shard].floats(),
                                  statistics[shard].data(), {})
                          .loss_sum;
    });
  for (std::thread& thread : threads)
    thread.join();
  ShardsPassed passed;
  passed.statistics = statistics[0];
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(statistics[shard], statistics[0]);
    passed.loss += losses[shard];
    add(*model, gradients[shard].floats(), passed);
  }
  return passed;
}

struct Case {
  const char* name;
  Map model;
  Shape sample;
};

Map layers(List list) {
  return {{"name", "graph"}, {"layers", std::move(list)}};
}

std::vector<Case> cases() {
  const Map conv{{"kind", "conv2d"}, {"channels", 5}, {"kernel", 3}, {"padding", 1}},
      norm{{"kind", "batch_norm"}}, relu{{"kind", "relu"}}, flatten{{"kind", "flatten"}},
      head{{"kind", "linear"}, {"outputs", 3}};
  return {{"features", {{"name", "mlp"}, {"hidden", List{6, 5}}, {"batch_norm", true}}, {7}},
          {"images", layers({conv, norm, relu, conv, norm, flatten, head}), {2, 4, 4}},
          {"first", layers({norm, conv, norm, relu, flatten, head}), {2, 4, 4}},
          {"sixteen",
           layers({Map{{"kind", "conv2d"}, {"channels", 16}, {"kernel", 1}}, norm, relu, conv, norm,
                   relu, flatten, head}),
           {1, 5, 5}}};
}

class BatchNormOverShards : public testing::TestWithParam<std::tuple<int, const char*>> {};

TEST_P(BatchNormOverShards, IsThatOfTheWholeBatch) {
  const auto& [number, device] = GetParam();
  const Case c = cases()[static_cast<std::size_t>(number)];
  Map synchronised = c.model;
  synchronised.emplace_back("sync_batch_norm", true);
  const std::vector<float> weights = initial(*build_model(c.model, {c.sample, 3}, 1, "reference"));
  const ShardsPassed expected = whole(c.model, c.sample, weights);
  const ShardsPassed passed = in_shards(synchronised, c.sample, weights, device);
  EXPECT_NEAR(passed.loss, expected.loss, 1e-4) << c.name;
  for (std::size_t i = 0; i < expected.statistics.size(); ++i)
    EXPECT_NEAR(passed.statistics[i], expected.statistics[i],
                1e-5 * (1 + std::abs(expected.statistics[i])))
        << c.name;
  double largest = 0;
  for (const double g : expected.gradient)
    largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < expected.gradient.size(); ++i)
    EXPECT_NEAR(passed.gradient[i], expected.gradient[i], 1e-4 * largest) << c.name << " " << i;
}

INSTANTIATE_TEST_SUITE_P(All, BatchNormOverShards,
                         testing::Combine(testing::Range(0, 4),
                                          testing::Values("reference", "cpu")));

/// All shards of one step at once: the sum of their losses and of their gradients, plain.
template <class T>
struct Step {
  Step(const BasicProgram<T>& program, const Graph& graph, const test::Flat<T>& parameters,
       const Data& data) {
    std::vector<double> losses(kShards);
    std::vector<test::Flat<T>> of_shards(kShards, test::Flat<T>(parameters.size()));
    std::vector<std::thread> threads;
    InMemory meeting;
    for (std::size_t shard = 0; shard < kShards; ++shard)
      threads.emplace_back([&, shard] {
        Batch batch = data.part(static_cast<int>(shard) * kEach, kEach);
        batch.meeting = &meeting;
        batch.shard = static_cast<int>(shard);
        std::vector<T> statistics(test::statistics_of(graph));
        losses[shard] = program.executor()
                            ->train(parameters.data(), batch, T{1}, of_shards[shard].data(),
                                    statistics.data(), {})
                            .loss_sum;
      });
    for (std::thread& thread : threads)
      thread.join();
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      loss += losses[shard];
      add(program, of_shards[shard]);
    }
  }

  void add(const BasicProgram<T>& program, const test::Flat<T>& flat) {
    const auto& parameters = program.parameters();
    gradients.resize(parameters.size());
    for (std::size_t p = 0; p < parameters.size(); ++p) {
      std::vector<T> plain(static_cast<std::size_t>(elements(parameters[p].shape)));
      program.to_plain(static_cast<int>(p), flat.data() + parameters[p].offset, plain.data());
      gradients[p].resize(plain.size());
      for (std::size_t i = 0; i < plain.size(); ++i)
        gradients[p][i] += static_cast<double>(plain[i]);
    }
  }

  double loss = 0;
  std::vector<std::vector<double>> gradients;
};

/// What one parameter of all shards changes in the losses of all, through the common mean and
/// variance too. Meetings add 32-bit floats, so steps are long and differences of fourth order.
std::vector<double> differences(const BasicProgram<double>& program, const Graph& graph,
                                test::Flat<double>& parameters, std::size_t p, const Data& data) {
  constexpr double kStep = 0.02;
  std::vector<double> result;
  for (std::int64_t i = 0; i < elements(program.parameters()[p].shape); ++i) {
    double& w = parameters[program.parameters()[p].offset + static_cast<std::size_t>(i)];
    const double start = w;
    const auto loss_at = [&](double steps) {
      w = start + steps * kStep;
      return Step<double>(program, graph, parameters, data).loss;
    };
    const double near = loss_at(1) - loss_at(-1), far = loss_at(2) - loss_at(-2);
    w = start;
    result.push_back((8 * near - far) / (12 * kStep));
  }
  return result;
}

TEST(BatchNormOverShards, MatchesJointFiniteDifferences) {
  const LayerSpec conv{
      "conv2d", "conv", {{"channels", 3}, {"kernel", 3}, {"padding", 1}, {"bias", false}}},
      norm{"batch_norm", "norm", {{"sync", true}}}, gelu{"gelu", "gelu", {}},
      flatten{"flatten", "flatten", {}}, head{"linear", "head", {{"outputs", 3}}},
      hidden{"linear", "hidden", {{"outputs", 4}, {"bias", false}}};
  const test::Case cases[] = {{"images", {2, 3, 3}, kEach, 3, {conv, norm, gelu, flatten, head}},
                              {"features", {5}, kEach, 3, {hidden, norm, gelu, head}}};
  for (const test::Case& c : cases) {
    const Graph graph = c.graph();
    const Data data(c.input);
    const auto exact = reference::compile<double>(graph, kEach);
    const auto single = cpu::compile(graph, kEach);
    const auto values = test::start_values(graph);
    auto parameters = test::flat_memory<double>(*exact, values);
    const Step<double> step(*exact, graph, parameters, data);
    const Step<float> fast(*single, graph, test::flat_memory<float>(*single, values), data);
    for (std::size_t p = 0; p < values.size(); ++p) {
      const auto expected = differences(*exact, graph, parameters, p, data);
      const std::string& name = exact->parameters()[p].name;
      EXPECT_LT(test::relative_distance(step.gradients[p], expected), 1e-4)
          << c.name << " " << name;
      EXPECT_LT(test::relative_distance(fast.gradients[p], expected), 1e-4)
          << c.name << " " << name;
    }
  }
}

TEST(BatchNormOverShards, NeedsSomethingToSynchronise) {
  EXPECT_THROW(build_model(Map{{"name", "mlp"}, {"sync_batch_norm", true}}, {{4}, 3}, 2, "cpu"),
               std::invalid_argument);
  EXPECT_FALSE(
      build_model(Map{{"name", "mlp"}, {"batch_norm", true}}, {{4}, 3}, 2, "cpu")->joins_shards());
}

}  // namespace
}  // namespace thalweg::engine
