#include "engine/optim/table.h"

#include <stdexcept>

namespace thalweg::engine {

using jobspec::Option;
using jobspec::OptionType;
using jobspec::Value;

// One row per optimizer: each is defined in the .cpp of its name.
#define THALWEG_OPTIMIZERS(ROW) ROW(sgd) ROW(momentum) ROW(nesterov) ROW(adam) ROW(adamw)

#define THALWEG_DECLARE(name) OptimizerEntry name();
THALWEG_OPTIMIZERS(THALWEG_DECLARE)
#undef THALWEG_DECLARE

const std::vector<OptimizerEntry>& optimizer_table() {
#define THALWEG_CALL(name) name(),
  static const std::vector<OptimizerEntry> table{THALWEG_OPTIMIZERS(THALWEG_CALL)};
#undef THALWEG_CALL
  return table;
}

namespace {

const OptimizerEntry& entry(const Value& tree) {
  const Value* name = tree.find("name");
  std::vector<std::string> known;
  for (const OptimizerEntry& e : optimizer_table()) {
    if (name && name->is_string() && e.name == name->as_string()) return e;
    known.push_back(e.name);
  }
  const std::string given = name && name->is_string() ? name->as_string() : "";
  std::string message = "optimizer.name: unknown optimizer '" + given + "'";
  if (const std::string near = jobspec::nearest(given, known); !near.empty())
    message += " (did you mean '" + near + "'?)";
  throw std::invalid_argument(message);
}

template <class T>
auto maker(const OptimizerEntry& e) {
  if constexpr (std::is_same_v<T, float>)
    return e.make_float;
  else
    return e.make_double;
}

}  // namespace

OptimizerOptions::OptimizerOptions(const Value& tree, const std::vector<Option>& options) {
  for (const Option& option : options) {
    const Value* given = tree.find(option.name);
    values_.emplace_back(option.name, given ? *given : option.fallback);
  }
}

double OptimizerOptions::real(const std::string& name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value.as_double();
  throw std::logic_error("optimizer option '" + name + "' is not in its table row");
}

bool OptimizerOptions::flag(const std::string& name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value.as_bool();
  throw std::logic_error("optimizer option '" + name + "' is not in its table row");
}

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const Value& options) {
  const OptimizerEntry& e = entry(options);
  return maker<T>(e)(OptimizerOptions(options, e.options));
}
template std::unique_ptr<Optimizer<float>> make_optimizer<float>(const Value&);
template std::unique_ptr<Optimizer<double>> make_optimizer<double>(const Value&);

double base_learning_rate(const Value& options, std::string* note) {
  const OptimizerEntry& e = entry(options);
  const Value* lr = options.find("lr");
  if (lr && lr->is_number()) return lr->as_double();
  if (note)
    *note = "optimizer.lr: auto is " + Value(e.default_lr).to_text() + " for " + e.name + " (" +
            e.default_lr_source + ")";
  return e.default_lr;
}

std::vector<jobspec::Section> optimizer_schema() {
  jobspec::Section section;
  section.path = "optimizer";
  section.doc = "how a gradient changes the weights";
  Option lr;
  lr.name = "lr";
  lr.type = OptionType::real;
  lr.doc = "base learning rate; the schedule multiplies it";
  lr.fallback = "auto";
  lr.min = 0;
  lr.or_auto = true;
  section.options.push_back(lr);
  for (const OptimizerEntry& e : optimizer_table())
    section.variants.push_back({e.name, e.doc, e.options});
  return {section};
}

Option real_option(const char* name, double fallback, double min, double max, const char* doc) {
  Option option;
  option.name = name;
  option.type = OptionType::real;
  option.doc = doc;
  option.fallback = fallback;
  option.min = min;
  option.max = max;
  return option;
}

Option momentum_option() {
  return real_option("momentum", 0.9, 0, 1, "factor of the old velocity");
}

Option weight_decay_option(double fallback, const char* doc) {
  return real_option("weight_decay", fallback, 0, 1e6, doc);
}

}  // namespace thalweg::engine
