// graph: layers written down one by one. Each is a map: `kind`, and where wanted `name` (the kind
// and its place: "linear3"), `inputs` (names of layers before it, or "input"; the layer before) and
// the kind's own options. `auto` for outputs, channels and tokens is what the data has.
#include <algorithm>
#include <stdexcept>

#include "engine/nn/model_table.h"

namespace thalweg::engine {
namespace {

using jobspec::Value;

[[noreturn]] void refuse(std::size_t number, const std::string& message) {
  throw LayerError(number, "", "layer " + std::to_string(number) + " of model graph " + message);
}

std::vector<std::string> read_inputs(const Value& value, std::size_t number) {
  std::vector<std::string> names;
  const jobspec::List one{value};
  for (const Value& name : value.is_list() ? value.as_list() : one) {
    if (!name.is_string())
      refuse(number, "expects names of layers for inputs, got " + name.to_text());
    names.push_back(name.as_string());
  }
  return names;
}

/// What `auto` stands for; null where the data does not say it.
Value of_the_data(const std::string& option, const InputShape& input) {
  if (option == "outputs") return input.outputs();
  if (option == "channels" && input.classes > 0) return input.classes;
  if (option == "tokens" && input.vocabulary > 0) return input.vocabulary;
  return {};
}

LayerSpec read_layer(const Value& layer, std::size_t number, const InputShape& input) {
  if (!layer.is_map())
    refuse(number, "is " + jobspec::describe(layer) + " where a map like {kind: relu} is expected");
  LayerSpec spec;
  for (const auto& [key, value] : layer.as_map()) {
    const bool text = key == "kind" || key == "name";
    if (text && (!value.is_string() || value.as_string().empty()))
      refuse(number, "expects text for " + key + ", got " + value.to_text());
    if (key == "kind") {
      spec.kind = value.as_string();
    } else if (key == "name") {
      spec.name = value.as_string();
    } else if (key == "inputs") {
      spec.inputs = read_inputs(value, number);
    } else {
      const Value known = value == Value("auto") ? of_the_data(key, input) : Value();
      spec.options.emplace_back(key, known.is_null() ? value : known);
    }
  }
  if (spec.kind.empty()) refuse(number, "has no kind");
  if (spec.name.empty()) spec.name = spec.kind + std::to_string(number);
  return spec;
}

}  // namespace

std::vector<LayerSpec> inline_graph(const jobspec::Options& options, const InputShape& input) {
  std::vector<LayerSpec> layers;
  for (const Value& layer : options.list("layers"))
    layers.push_back(read_layer(layer, layers.size() + 1, input));
  return layers;
}

}  // namespace thalweg::engine
