#include "engine/nn/graph.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include "engine/device/reference/layer.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Value;

[[noreturn]] void refuse(const std::string& owner, const std::string& message) {
  throw std::invalid_argument(owner + " " + message);
}

void check_option(const Option& option, const Value& value, const std::string& owner) {
  std::string hint;
  const std::string expected = jobspec::misfit(option, value, &hint);
  if (expected.empty()) return;
  refuse(owner, "expects " + expected + " for " + option.name + ", got " + value.to_text() +
                    (hint.empty() ? "" : ", " + hint));
}

const LayerKind& find_kind(const LayerSpec& spec, const std::string& owner) {
  std::vector<std::string> names;
  for (const LayerKind& kind : layer_table()) {
    if (kind.name == spec.kind) return kind;
    names.push_back(kind.name);
  }
  const std::string near = jobspec::nearest(spec.kind, names);
  refuse(owner, "is of an unknown kind" + (near.empty() ? "" : ", did you mean '" + near + "'?"));
}

/// Whether what layer `from` puts out meets a relu before it meets other weights.
bool feeds_relu(const Graph& graph, std::size_t from) {
  for (std::size_t l = from + 1; l < graph.layers.size(); ++l) {
    if (graph.layers[l].kind->name == "relu") return true;
    for (const ParameterPlan& parameter : graph.layers[l].parameters)
      if (!parameter.norm_or_bias) return false;
  }
  return false;
}

}  // namespace

jobspec::Map complete_options(const std::vector<Option>& options, const jobspec::Map& given,
                              const std::string& owner) {
  std::vector<std::string> names;
  for (const Option& option : options)
    names.push_back(option.name);
  for (const auto& [key, value] : given) {
    if (std::find(names.begin(), names.end(), key) != names.end()) continue;
    const std::string near = jobspec::nearest(key, names);
    refuse(owner,
           "has no option '" + key + "'" + (near.empty() ? "" : ", did you mean '" + near + "'?"));
  }
  jobspec::Map complete;
  for (const Option& option : options) {
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const auto& entry) { return entry.first == option.name; });
    if (found != given.end()) {
      check_option(option, found->second, owner);
      complete.push_back(*found);
    } else if (option.required) {
      refuse(owner, "needs the option '" + option.name + "' (" + option.doc + ")");
    } else {
      complete.emplace_back(option.name, option.fallback);
    }
  }
  return complete;
}

Graph build_graph(const std::vector<LayerSpec>& layers, const Shape& input, int classes) {
  if (layers.empty()) throw std::invalid_argument("a model needs at least one layer");
  if (classes < 1) throw std::invalid_argument("a model needs at least one class");
  for (const std::int64_t size : input)
    if (size < 1) throw std::invalid_argument("a sample of shape " + to_text(input) + " is empty");
  Graph graph;
  graph.input = input;
  graph.classes = classes;
  graph.loss = &loss_table().front();
  std::set<std::string> names;
  Shape shape = input;
  for (const LayerSpec& spec : layers) {
    const std::string owner = "layer " + std::to_string(graph.layers.size() + 1) + " (" +
                              spec.kind + " '" + spec.name + "')";
    if (!names.insert(spec.name).second) refuse(owner, "has the name of an earlier layer");
    LayerPlan plan;
    plan.kind = &find_kind(spec, owner);
    plan.name = spec.name;
    plan.number = static_cast<int>(graph.layers.size());
    plan.options = complete_options(plan.kind->options, spec.options, owner);
    plan.in = shape;
    try {
      plan.kind->reference->plan(plan);
    } catch (const std::invalid_argument& error) {
      refuse(owner, error.what());
    }
    shape = plan.out;
    graph.layers.push_back(std::move(plan));
  }
  if (shape != Shape{classes})
    throw std::invalid_argument("the last layer (" + layers.back().name + ") puts out " +
                                to_text(shape) + " where " + std::to_string(classes) +
                                " classes are expected");
  for (std::size_t l = 0; l < graph.layers.size(); ++l)
    for (ParameterPlan& parameter : graph.layers[l].parameters)
      if (parameter.init == Init::scaled_normal)
        parameter.gain_squared = feeds_relu(graph, l) ? 2 : 1;
  return graph;
}

}  // namespace thalweg::engine
