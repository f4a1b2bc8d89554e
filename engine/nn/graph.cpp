#include "engine/nn/graph.h"

#include <algorithm>
#include <stdexcept>

#include "engine/device/reference/layer.h"
#include "jobspec/complete.h"
#include "jobspec/options.h"
#include "jobspec/schema.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Value;

/// A layer in messages.
struct Owner {
  std::size_t number = 0;
  std::string name;  ///< "layer 3 (linear 'fc1')"

  [[noreturn]] void refuse(const std::string& option, const std::string& message) const {
    throw LayerError(number, option, name + " " + message);
  }
};

const LayerKind& find_kind(const LayerSpec& spec, const Owner& owner) {
  if (const LayerKind* kind = layer_table().find(spec.kind)) return *kind;
  owner.refuse("kind",
               "is of an unknown kind" + jobspec::suggestion(spec.kind, layer_table().names()));
}

bool has_weights(const LayerPlan& layer) {
  return std::any_of(layer.parameters.begin(), layer.parameters.end(),
                     [](const ParameterPlan& p) { return !p.norm_or_bias; });
}

/// Sizes that no machine holds, or that do not fit into 64 bits.
void check_size(const Shape& shape, const std::string& what) {
  constexpr double kMax = 0x1p36;
  double count = 1;
  for (const std::int64_t size : shape)
    count *= static_cast<double>(size);
  if (count > kMax)
    throw std::invalid_argument(what + " " + to_text(shape) + ", which is too large");
}

/// For each layer, whether what it puts out meets a relu before it meets other weights.
std::vector<bool> feeding_relu(const Graph& graph) {
  std::vector<bool> feeds(graph.layers.size(), false);
  for (std::size_t l = graph.layers.size(); l-- > 0;) {
    const LayerPlan& layer = graph.layers[l];
    const bool relu = layer.kind->is_relu;
    if (!relu && (has_weights(layer) || !feeds[l])) continue;
    for (const int value : layer.from)
      if (value > 0) feeds[static_cast<std::size_t>(value) - 1] = true;
  }
  return feeds;
}

/// The values that a layer takes. `names[v]` is the name of value v.
std::vector<int> find_inputs(const LayerSpec& spec, const LayerKind& kind,
                             const std::vector<std::string>& names, const Owner& owner) {
  std::vector<int> from;
  for (const std::string& name : spec.inputs) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      owner.refuse("inputs", "takes '" + name + "', which is no layer before it" +
                                 jobspec::suggestion(name, names));
    from.push_back(static_cast<int>(found - names.begin()));
  }
  if (from.empty()) from.push_back(static_cast<int>(names.size()) - 1);
  const bool fits =
      kind.inputs == 0 ? from.size() > 1 : from.size() == static_cast<std::size_t>(kind.inputs);
  if (!fits)
    owner.refuse("inputs", "takes " + std::to_string(from.size()) + " inputs where " +
                               (kind.inputs == 0 ? "two or more" : std::to_string(kind.inputs)) +
                               " are expected");
  return from;
}

}  // namespace

std::string describe_layers() {
  std::string text;
  for (const LayerKind& kind : layer_table()) {
    text += kind.name + ": " + kind.doc + "\n";
    for (const Option& option : kind.options)
      text += "  " + option.name + ": " + option.doc + " (" + jobspec::expected_of(option) +
              (option.required ? "; required" : "; " + option.default_value.to_text()) + ")\n";
  }
  return text;
}

jobspec::Map complete_options(const std::vector<Option>& options, const jobspec::Map& given,
                              const std::string& owner) {
  std::vector<jobspec::ValidationError> errors;
  jobspec::Map complete = jobspec::complete_options(given, options, errors);
  if (!errors.empty())
    throw OptionError(errors.front().path, owner + ": " + jobspec::to_text(errors.front()));
  return complete;
}

Graph build_graph(const std::vector<LayerSpec>& layers, const InputShape& data, const Value& loss) {
  const Shape& input = data.sample;
  if (layers.empty()) throw std::invalid_argument("a model needs at least one layer");
  if (data.classes < 1 && data.targets < 1)
    throw std::invalid_argument("a model needs at least one class, or targets");
  for (const std::int64_t size : input)
    if (size < 1) throw std::invalid_argument("a sample of shape " + to_text(input) + " is empty");
  Graph graph;
  graph.input = input;
  std::vector<std::string> names{input_name};
  for (const LayerSpec& spec : layers) {
    const std::size_t number = graph.layers.size() + 1;
    const Owner owner{
        number, "layer " + std::to_string(number) + " (" + spec.kind + " '" + spec.name + "')"};
    if (std::find(names.begin(), names.end(), spec.name) != names.end())
      owner.refuse("name", "has the name of an earlier layer");
    LayerPlan plan;
    plan.kind = &find_kind(spec, owner);
    plan.name = spec.name;
    plan.number = static_cast<int>(graph.layers.size());
    jobspec::Options options;
    try {
      options = {complete_options(plan.kind->options, spec.options, owner.name),
                 plan.kind->options};
    } catch (const OptionError& error) {
      throw LayerError(number, error.option(), error.what());
    }
    plan.from = find_inputs(spec, *plan.kind, names, owner);
    for (const int value : plan.from)
      plan.ins.push_back(value == 0 ? input
                                    : graph.layers[static_cast<std::size_t>(value) - 1].out);
    plan.in = plan.ins.front();
    const bool given_tokens = plan.from.front() == 0 && data.vocabulary > 0;
    if (given_tokens != plan.kind->tokens)
      owner.refuse("inputs", given_tokens ? "cannot take tokens: they must be embedded first"
                                          : "expects tokens, and its input is none");
    try {
      plan.kind->reference->plan(plan, options);
      check_size(plan.out, "puts out");
      for (const ParameterPlan& parameter : plan.parameters)
        check_size(parameter.shape, "has a " + parameter.name + " of");
    } catch (const std::invalid_argument& error) {
      owner.refuse("", error.what());
    }
    names.push_back(spec.name);
    graph.layers.push_back(std::move(plan));
  }
  graph.loss = plan_loss(loss, data, graph.layers.back().out);
  const std::vector<int> uses = graph.uses();
  for (std::size_t l = 0; l + 1 < graph.layers.size(); ++l)
    if (uses[l + 1] == 0)
      throw LayerError(l + 1, "",
                       "nothing takes what layer '" + graph.layers[l].name + "' puts out");
  const std::vector<bool> feeds_relu = feeding_relu(graph);
  for (std::size_t l = 0; l < graph.layers.size(); ++l)
    for (ParameterPlan& parameter : graph.layers[l].parameters)
      if (parameter.init == Init::scaled_normal) parameter.gain_squared = feeds_relu[l] ? 2 : 1;
  return graph;
}

}  // namespace thalweg::engine
