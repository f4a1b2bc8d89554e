// Random networks from a seeded generator: each is refused with a sentence or runs, and then the
// cpu and the cuda device compute what the reference does. How many: tests/support/fuzz.h.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "engine/device/device.h"
#include "engine/device/executor.h"
#include "engine/nn/model_table.h"
#include "jobspec/schema.h"
#include "on_gpu.h"
#include "support.h"
#include "tests/support/fuzz.h"

namespace thalweg::engine::test {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Option;
using jobspec::OptionType;
using jobspec::Value;

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::size_t below(std::size_t n) { return random_() % n; }
  bool once_in(std::size_t n) { return below(n) == 0; }

  InputShape shape() {
    const Shape shapes[] = {{6}, {3, 4}, {2, 5, 4}, {3, 6, 6}, {16, 4, 4}, {1, 3, 4, 3}};
    return {shapes[below(std::size(shapes))], 3};
  }

  /// Mostly what fits, now and then anything.
  Value value(const Option& option) {
    const Value odd[] = {-1, 0, 1 << 24, 1 << 10, 0.5, "auto", "x", List{1}, Value(), true};
    if (once_in(20)) return odd[below(std::size(odd))];
    switch (option.type) {
      case OptionType::integer:
        return static_cast<std::int64_t>(1 + below(once_in(4) ? 20 : 4));
      case OptionType::boolean:
        return once_in(2);
      default:
        return option.default_value;
    }
  }

  Value layer(const std::vector<std::string>& names) {
    const jobspec::Table<LayerKind>& table = layer_table();
    const LayerKind& kind = table[below(table.size())];
    Map map{{"kind", kind.name}, {"name", "l" + std::to_string(names.size())}};
    for (const Option& option : kind.options)
      if (option.required || once_in(2)) map.emplace_back(option.name, value(option));
    List inputs;
    const auto wanted = static_cast<std::size_t>(kind.inputs == 0 ? 2 : kind.inputs);
    if (wanted > 1 || once_in(4))
      for (std::size_t i = 0; i < wanted; ++i)
        inputs.push_back(names[once_in(2) ? names.size() - 1 : below(names.size())]);
    if (!inputs.empty()) map.emplace_back("inputs", inputs);
    return map;
  }

 private:
  std::mt19937 random_;
};

/// Everything that nothing takes is flattened and joined for the answer.
Value finished(List layers, const InputShape& shape) {
  std::vector<std::string> unused;
  for (const Value& layer : layers)
    unused.push_back(layer.find("name")->as_string());
  for (const Value& layer : layers)
    if (const Value* inputs = layer.find("inputs"))
      for (const Value& name : inputs->as_list())
        std::erase(unused, name.as_string());
  for (std::size_t l = 1; l < layers.size(); ++l)
    if (layers[l].find("inputs") == nullptr)
      std::erase(unused, layers[l - 1].find("name")->as_string());
  List joined;
  for (const std::string& name : unused) {
    joined.push_back("flat_" + name);
    layers.push_back(Map{{"kind", "flatten"}, {"name", joined.back()}, {"inputs", List{name}}});
  }
  if (joined.size() > 1) layers.push_back(Map{{"kind", "concat"}, {"inputs", joined}});
  layers.push_back(Map{{"kind", "linear"}, {"outputs", shape.classes}});
  return Map{{"name", "graph"}, {"layers", std::move(layers)}};
}

/// Null where it is refused.
std::unique_ptr<Graph> build(const Value& model, const InputShape& shape) {
  try {
    return std::make_unique<Graph>(build_model_graph(model, shape));
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()), "") << model.to_json();
    return nullptr;
  }
}

bool small(const Graph& graph) {
  std::int64_t numbers = 0;
  for (const LayerPlan& layer : graph.layers) {
    numbers += elements(layer.out);
    for (const ParameterPlan& parameter : layer.parameters)
      numbers += elements(parameter.shape);
  }
  return numbers < 20'000;
}

/// A pass of training on the cuda device, and the same bits with layers computed again. Nothing
/// where it refuses the network, as it does norms over all shards.
std::optional<Outcome<float>> on_gpu(const Graph& graph, const Data& data,
                                     const std::vector<std::vector<float>>& values,
                                     const std::string& text) {
  std::optional<Outcome<float>> found;
  for (const bool recompute : {false, true}) {
    CompileOptions options;
    options.recompute = recompute;
    std::unique_ptr<cuda::CudaProgram> program;
    try {
      program = std::make_unique<cuda::CudaProgram>(some_gpu(), graph, data.batch.samples, options);
    } catch (const std::invalid_argument&) {
      return std::nullopt;
    }
    GpuExecutor executor(*program, statistics_of(graph));
    auto outcome = train<float>(*program, graph, data.batch, executor, values, 1.0f);
    if (!found) {
      found = std::move(outcome);
      continue;
    }
    for (std::size_t p = 0; p < values.size(); ++p)
      EXPECT_EQ(std::memcmp(outcome.gradients[p].data(), found->gradients[p].data(),
                            values[p].size() * sizeof(float)),
                0)
          << "computed again: parameter " << p << " of " << text;
  }
  return found;
}

void compare(const Graph& graph, const std::string& text) {
  constexpr int kSamples = 3;
  const Data data(graph.loss.data, kSamples);
  const auto values = start_values(graph);
  const auto run = [&](const auto& program, auto scale) {
    const auto executor = program->executor();
    return train(*program, graph, data.batch, *executor, values, scale);
  };
  const auto expected = run(reference::compile<double>(graph, kSamples), 1.0);
  // Norms over a few nearly equal numbers magnify rounding: so much it is on the reference.
  const auto rounded = run(reference::compile<float>(graph, kSamples), 1.0f);
  const std::pair<const char*, std::optional<Outcome<float>>> devices[] = {
      {"cpu", run(cpu::compile(graph, kSamples), 1.0f)},
      {"cuda", on_gpu(graph, data, values, text)}};
  if (!(std::abs(expected.result.loss_sum) < 1e3)) return;  // nothing to compare
  constexpr double kMargin = 100;
  for (const auto& [device, outcome] : devices) {
    if (!outcome) continue;
    EXPECT_NEAR(outcome->result.loss_sum, expected.result.loss_sum,
                1e-3 + kMargin * std::abs(rounded.result.loss_sum - expected.result.loss_sum))
        << device << ": " << text;
    for (std::size_t p = 0; p < values.size(); ++p) {
      double difference = 0, rounding = 0, norm = 0;
      for (std::size_t i = 0; i < values[p].size(); ++i) {
        difference += std::pow(outcome->gradients[p][i] - expected.gradients[p][i], 2);
        rounding += std::pow(rounded.gradients[p][i] - expected.gradients[p][i], 2);
        norm += std::pow(expected.gradients[p][i], 2);
      }
      // A gradient that cancels to nothing shows rounding alone, which norms of equal numbers
      // magnify by 1 / sqrt(epsilon) each.
      constexpr double kNothing = 1e-12, kMagnified = 0.02;
      const double floor = norm < kNothing ? kMagnified : 1e-4;
      EXPECT_LE(std::sqrt(difference),
                floor + 1e-3 * std::sqrt(norm) + kMargin * std::sqrt(rounding))
          << device << ", " << graph.layers.size() << " layers, parameter " << p << " of " << text;
    }
  }
}

TEST(GraphFuzz, IsRefusedOrRunsAsOnTheReference) {
  const auto inputs = thalweg::test::fuzz_range(200);
  int ran = 0, refused = 0;
  for (int number = inputs.first; number < inputs.end(); ++number) {
    SCOPED_TRACE("network " + std::to_string(number));
    Generator generator(20261120u + static_cast<unsigned>(number));
    const InputShape shape = generator.shape();
    List layers;
    std::vector<std::string> names{input_name};
    std::unique_ptr<Graph> graph;
    const std::size_t wanted = 1 + generator.below(7);
    for (std::size_t tries = 0; tries < 4 * wanted && layers.size() < wanted; ++tries) {
      List longer = layers;
      longer.push_back(generator.layer(names));
      auto built = build(finished(longer, shape), shape);
      refused += built == nullptr;
      if (built == nullptr || !small(*built)) continue;
      graph = std::move(built);
      layers = std::move(longer);
      names.push_back(layers.back().find("name")->as_string());
    }
    if (graph == nullptr) continue;
    const std::string text = finished(layers, shape).to_json();
    try {
      compare(*graph, text);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << " of input " << to_text(shape.sample) << ": " << text;
    }
    ++ran;
  }
  if (!inputs.many()) return;
  EXPECT_GT(ran, inputs.count / 2);
  EXPECT_GT(refused, inputs.count);
}

}  // namespace
}  // namespace thalweg::engine::test
