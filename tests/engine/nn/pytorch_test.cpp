// Layers, losses and whole models against PyTorch's numbers (pytorch/*.json, written by
// fixtures_pytorch.py from PyTorch in float64): losses, gradients, statistics of batch norm and
// evaluation of small networks; the first 20 losses of training. Weights and data are drawn by the
// same formulas on both sides (pytorch/draw.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/device/device.h"
#include "engine/device/executor.h"
#include "engine/nn/model_table.h"
#include "engine/optim/optimizer.h"
#include "support.h"

namespace thalweg::engine::test {
namespace {

using nlohmann::json;

/// Of a tensor's norm, or of a loss.
template <class T>
constexpr double kTolerance = std::is_same_v<T, double> ? 1e-11 : 1e-5;

/// Of a model's gradients, and of the loss after `step` updates: rounding grows with every one.
struct Tolerances {
  double gradients, loss;
  double loss_after(int step) const { return loss * std::pow(1.4, step); }
};
template <class T>
Tolerances tolerances_of(const json& row) {
  if (std::is_same_v<T, double>) return {kTolerance<double>, 1e-10};
  return {row["cpu_tolerances"][0], row["cpu_tolerances"][1]};
}

json read_rows(const char* file) {
  std::ifstream in(std::string(THALWEG_SOURCE_DIR) + "/tests/engine/nn/pytorch/" + file);
  return json::parse(in);
}

const json& rows_of(const char* file) {
  static std::map<std::string, json> files;
  const auto [at, fresh] = files.try_emplace(file);
  if (fresh) at->second = read_rows(file);
  return at->second;
}

std::vector<std::string> names_of(const char* file) {
  std::vector<std::string> names;
  for (const json& row : rows_of(file))
    names.push_back(row["name"]);
  return names;
}

const json& row_of(const char* file, const std::string& name) {
  for (const json& row : rows_of(file))
    if (row["name"] == name) return row;
  throw std::logic_error("no row " + name);
}

InputShape data_of(const json& row) {
  const json& data = row["data"];
  return {data["sample"].get<Shape>(), data["classes"], data["labels"], data["targets"],
          data["vocabulary"]};
}

Graph graph_of(const json& row) {
  const std::string loss = row.value("loss", "");
  return build_model_graph(jobspec::read_yaml(row["model"].get<std::string>(), "model"),
                           data_of(row),
                           loss.empty() ? jobspec::Value() : jobspec::read_yaml(loss, "loss"));
}

/// As parameter() and statistic() of pytorch/draw.py.
std::vector<float> drawn(std::uint32_t number, const Shape& shape, bool is_bias) {
  std::vector<float> values(static_cast<std::size_t>(elements(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double u = uniform01(philox(5, Stream::noise, 16 + number, i)[0]);
    const double fan_in = static_cast<double>(elements(shape)) / static_cast<double>(shape[0]);
    const double value = shape.size() > 1 ? std::sqrt(3.0 / fan_in) * (2.0 * u - 1.0)
                                          : 0.2 * u + (is_bias ? -0.1 : 0.9);
    values[i] = static_cast<float>(value);
  }
  return values;
}

std::vector<std::vector<float>> drawn_parameters(const Graph& graph) {
  std::vector<std::vector<float>> values;
  for (const LayerPlan& layer : graph.layers)
    for (const ParameterPlan& p : layer.parameters)
      values.push_back(drawn(static_cast<std::uint32_t>(values.size()), p.shape,
                             p.name.find("bias") != std::string::npos));
  return values;
}

template <class T>
std::vector<T> drawn_statistics(const Graph& graph) {
  std::vector<T> values;
  std::uint32_t number = 0;
  for (const LayerPlan& layer : graph.layers)
    for (const StatisticPlan& s : layer.statistics) {
      const auto some = drawn(1000 + number++, {s.count}, s.name != "variance");
      values.insert(values.end(), some.begin(), some.end());
    }
  return values;
}

/// As digest() of pytorch/draw.py: what is stored of a tensor.
template <class T>
void expect_digest(const std::vector<T>& values, const json& digest, double tolerance,
                   double min_norm, const std::string& name) {
  constexpr std::size_t kWhole = 16, kSome = 8;
  const double norm = std::max(digest["norm"].get<double>(), min_norm);
  const json& some = digest["some"];
  const std::size_t step = values.size() <= kWhole ? 1 : values.size() / kSome;
  ASSERT_EQ(some.size(), (values.size() + step - 1) / step) << name;
  for (std::size_t i = 0; i < some.size(); ++i)
    EXPECT_NEAR(values[i * step], some[i].get<double>(), tolerance * norm)
        << name << "[" << i * step << "]";
  if (!digest.contains("sums")) return;
  for (std::uint32_t k = 0; k < digest["sums"].size(); ++k) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += (2.0 * uniform01(philox(3, Stream::noise, k, i)[0]) - 1.0) *
             static_cast<double>(values[i]);
    EXPECT_NEAR(sum, digest["sums"][k].get<double>(), tolerance * norm) << name << ", sum " << k;
  }
}

/// Gradients that cancel to nothing (of a bias before a norm) are as exact as the others.
double min_norm(const json& digests) {
  double largest = 0;
  for (const json& digest : digests)
    largest = std::max(largest, digest["norm"].get<double>());
  return 0.01 * largest;
}

template <class T>
void expect_gradients(const std::vector<ParameterInfo>& infos,
                      const std::vector<std::vector<T>>& gradients, const json& digests,
                      double tolerance) {
  ASSERT_EQ(gradients.size(), digests.size());
  for (std::size_t p = 0; p < gradients.size(); ++p)
    expect_digest(gradients[p], digests[p], tolerance, min_norm(digests), infos[p].name);
}

template <class T>
void expect_layers(const BasicProgram<T>& program, const Graph& graph, const json& row) {
  const auto values = drawn_parameters(graph);
  const Data data(graph.loss.data, row["samples"]);
  const auto executor = program.executor();
  const auto outcome = train<T>(program, graph, data.batch, *executor, values, T(0.125));
  const double loss = row["loss_sum"], evaluated = row["evaluated"];
  EXPECT_NEAR(outcome.result.loss_sum, loss, kTolerance<T> * loss);
  expect_gradients(program.parameters(), outcome.gradients, row["gradients"], kTolerance<T>);
  if (!row["statistics"].is_null())
    expect_digest(outcome.statistics, row["statistics"], kTolerance<T>, 0, "statistics");
  const auto running = drawn_statistics<T>(graph);
  EXPECT_NEAR(
      executor->evaluate(flat_memory(program, values).data(), running.data(), data.batch).loss_sum,
      evaluated, kTolerance<T> * evaluated);
}

class PytorchLayers : public testing::TestWithParam<std::string> {};

TEST_P(PytorchLayers, Agree) {
  const json& row = row_of("layers.json", GetParam());
  const Graph graph = graph_of(row);
  {
    SCOPED_TRACE("reference device");
    expect_layers(*reference::compile<double>(graph, row["samples"]), graph, row);
  }
  SCOPED_TRACE("cpu device");
  expect_layers(*cpu::compile(graph, row["samples"]), graph, row);
}

const auto by_name = [](const auto& test) { return test.param; };
INSTANTIATE_TEST_SUITE_P(Nn, PytorchLayers, testing::ValuesIn(names_of("layers.json")), by_name);

template <class T>
class ProgramLayout final : public Layout<T> {
 public:
  explicit ProgramLayout(const BasicProgram<T>& program) : program_(program) {}
  void to_plain(int parameter, const T* device, T* plain) const override {
    program_.to_plain(parameter, device, plain);
  }
  void from_plain(int parameter, const T* plain, T* device) const override {
    program_.from_plain(parameter, plain, device);
  }

 private:
  const BasicProgram<T>& program_;
};

/// A program under an optimizer.
template <class T>
class Training {
 public:
  Training(const BasicProgram<T>& program, const Graph& graph, const json& row)
      : program_(program),
        graph_(graph),
        row_(row),
        executor_(program.executor()),
        w_(flat_memory(program, drawn_parameters(graph))),
        g_(w_.size()),
        statistics_(statistics_of(graph)) {
    Parameters<T> parameters{program.parameters(), std::make_shared<ProgramLayout<T>>(program)};
    for (ParameterInfo& info : parameters.infos)
      info.decay = true;  // PyTorch's optimizers leave nothing out
    optimizer_ = make_optimizer<T>(
        jobspec::read_yaml(row["optimizer"].get<std::string>(), "optimizer"), parameters);
    states_.assign(static_cast<std::size_t>(optimizer_->states()), Flat<T>(w_.size()));
    scalars_.resize(optimizer_->scalars());
  }

  /// The loss before the update.
  double step(int number) {
    constexpr int kBatches = 4;
    const int samples = row_["samples"];
    const Data data(graph_.loss.data, samples, static_cast<std::uint64_t>(100 + number % kBatches));
    const ShardResult result = executor_->train(
        w_.data(), data.batch, T(1) / static_cast<T>(samples), g_.data(), statistics_.data(), {});
    std::vector<T*> states;
    for (auto& state : states_)
      states.push_back(state.data());
    const OptimizerMemory<T> memory{w_.data(), g_.data(), states, {}, scalars_};
    const StepContext context{number, row_["lr"].get<double>(), {}, samples};
    for (int p = 0; p < static_cast<int>(program_.parameters().size()); ++p) {
      const ParameterInfo& info = program_.parameters()[static_cast<std::size_t>(p)];
      optimizer_->update(context, {p, info.offset, info.count}, memory);
    }
    optimizer_->finish(context, memory);
    return result.loss_sum;
  }
  std::vector<std::vector<T>> first_gradients() const {
    const int samples = row_["samples"];
    const Data data(graph_.loss.data, samples, 100);
    return train<T>(program_, graph_, data.batch, *executor_, drawn_parameters(graph_),
                    T(1) / static_cast<T>(samples))
        .gradients;
  }

 private:
  const BasicProgram<T>& program_;
  const Graph& graph_;
  const json& row_;
  std::unique_ptr<BasicExecutor<T>> executor_;
  std::unique_ptr<Optimizer<T>> optimizer_;
  Flat<T> w_, g_;
  std::vector<T> statistics_;
  std::vector<Flat<T>> states_;
  std::vector<double> scalars_;
};

template <class T>
void expect_training(const BasicProgram<T>& program, const Graph& graph, const json& row,
                     int steps) {
  Training<T> training(program, graph, row);
  const Tolerances allowed = tolerances_of<T>(row);
  expect_gradients(program.parameters(), training.first_gradients(), row["gradients"],
                   allowed.gradients);
  for (int step = 0; step < steps; ++step) {
    const double loss = row["losses"][static_cast<std::size_t>(step)];
    EXPECT_NEAR(training.step(step), loss, allowed.loss_after(step) * loss) << "step " << step;
  }
}

class PytorchModels : public testing::TestWithParam<std::string> {};

TEST_P(PytorchModels, HaveTheFirstLosses) {
  const json& row = row_of("models.json", GetParam());
  const Graph graph = graph_of(row);
  ASSERT_EQ(row["losses"].size(), 20u);
  if (const int steps = row["reference"]; steps > 0) {
    SCOPED_TRACE("reference device");
    expect_training(*reference::compile<double>(graph, row["samples"]), graph, row, steps);
  }
  if (const int steps = row["cpu"]; steps > 0) {
    SCOPED_TRACE("cpu device");
    expect_training(*cpu::compile(graph, row["samples"]), graph, row, steps);
  }
}

INSTANTIATE_TEST_SUITE_P(Nn, PytorchModels, testing::ValuesIn(names_of("models.json")), by_name);

constexpr const char* kRemedy =
    " has no row: add one to tests/engine/nn/pytorch/{cases,families}.py and run "
    "tests/engine/nn/fixtures_pytorch.py, or say below why PyTorch has none";

TEST(PytorchRows, EveryLayerHasOne) {
  const std::set<std::string> none{
      "dropout",  // draws other masks: see device/dropout_mask.h
  };
  std::set<std::string> kinds = none;
  for (const json& row : rows_of("layers.json"))
    for (const std::string kind : row["kinds"])
      kinds.insert(kind);
  for (const LayerKind& kind : layer_table())
    EXPECT_TRUE(kinds.contains(kind.name)) << "layer " << kind.name << kRemedy;
}

TEST(PytorchRows, EveryLossHasOne) {
  const std::set<std::string> none{
      "quadratic_deep",  // of DeepOBS alone: tests/engine/train/quadratic_deep_test.cpp
  };
  std::set<std::string> kinds = none;
  for (const json& row : rows_of("layers.json"))
    kinds.insert(graph_of(row).loss.kind->name);
  for (const LossKind& kind : loss_table())
    EXPECT_TRUE(kinds.contains(kind.name)) << "loss " << kind.name << kRemedy;
}

TEST(PytorchRows, EveryModelHasOne) {
  const std::set<std::string> none{
      "graph",  // what layers.json is made of
  };
  std::set<std::string> kinds = none;
  for (const json& row : rows_of("models.json"))
    kinds.insert(
        jobspec::read_yaml(row["model"].get<std::string>(), "model").find("name")->as_string());
  for (const ModelKind& kind : model_table())
    EXPECT_TRUE(kinds.contains(kind.name)) << "model " << kind.name << kRemedy;
}

}  // namespace
}  // namespace thalweg::engine::test
