#include "engine/optim/table.h"

#include <stdexcept>

namespace thalweg::engine::optim {

using jobspec::Option;
using jobspec::OptionType;
using jobspec::Value;

// One row per optimizer: each is defined in the .cpp of its name.
// clang-format off
#define THALWEG_OPTIMIZERS(ROW)                              \
  ROW(sgd) ROW(momentum) ROW(nesterov)                       \
  ROW(adam) ROW(amsgrad) ROW(adamw) ROW(nadam) ROW(nadamw)   \
  ROW(adagrad) ROW(adadelta) ROW(rmsprop) ROW(lion)
// clang-format on

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

const Value& OptimizerOptions::value(const std::string& name) const {
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  throw std::logic_error("optimizer option '" + name + "' is not in its table row");
}

bool matches_glob(const std::string& pattern, const std::string& text) {
  std::size_t p = 0, t = 0, star = std::string::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string::npos) {
      p = star + 1;  // the last star takes one character more
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
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

Option flag_option(const char* name, bool fallback, const char* doc) {
  Option option;
  option.name = name;
  option.type = OptionType::boolean;
  option.doc = doc;
  option.fallback = fallback;
  return option;
}

Option whole_option(const char* name, int fallback, double min, double max, const char* doc) {
  Option option = real_option(name, fallback, min, max, doc);
  option.type = OptionType::integer;
  option.fallback = fallback;
  return option;
}

Option choice_option(const char* name, std::vector<std::string> choices, const char* doc) {
  Option option;
  option.name = name;
  option.doc = doc;
  option.fallback = choices.front();
  option.choices = std::move(choices);
  return option;
}

Option momentum_option(double fallback) {
  return real_option("momentum", fallback, 0, 1, "factor of the old velocity");
}

Option epsilon_option(double fallback) {
  return real_option("epsilon", fallback, 0, 1, "keeps the divisor from 0");
}

std::vector<Option> beta_options(double beta1, double beta2) {
  constexpr double below_one = 0.99999999;
  return {real_option("beta1", beta1, 0, below_one, "decay of the mean gradient"),
          real_option("beta2", beta2, 0, below_one, "decay of the mean squared gradient")};
}

std::vector<Option> decay_options(double fallback, bool decoupled) {
  return {
      real_option("weight_decay", fallback, 0, 1e6, "pulls the weights towards 0"),
      flag_option("decoupled", decoupled,
                  "decay shrinks the weights by lr times weight_decay; else it is an L2 term of "
                  "the gradient")};
}

std::vector<Option> operator+(std::vector<Option> a, const std::vector<Option>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace thalweg::engine::optim

namespace thalweg::engine {

using namespace optim;

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const Value& options,
                                             const Parameters<T>& parameters) {
  const OptimizerEntry& e = entry(options);
  Parameters<T> chosen = parameters;
  const Value* on = options.find("decay_on");
  for (ParameterInfo& info : chosen.infos)
    info.decay = info.decay || (on && on->as_string() == "all");
  return maker<T>(e)(OptimizerOptions(options, e.options), chosen);
}
template std::unique_ptr<Optimizer<float>> make_optimizer(const Value&, const Parameters<float>&);
template std::unique_ptr<Optimizer<double>> make_optimizer(const Value&, const Parameters<double>&);

double base_learning_rate(const Value& options, const std::string& model, std::string* note) {
  const OptimizerEntry& e = entry(options);
  const Value* lr = options.find("lr");
  if (lr && lr->is_number()) return lr->as_double();
  for (const DefaultRate& rate : e.rates) {
    if (!matches_glob(rate.models, model)) continue;
    if (note)
      *note = "optimizer.lr: auto is " + Value(rate.lr).to_text() + " for " + e.name +
              (rate.models == "*" ? "" : " on " + model) + " (" + rate.source + ")";
    return rate.lr;
  }
  throw std::logic_error("optimizer " + e.name + " has no learning rate for " + model);
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
  section.options = {
      lr,
      choice_option("decay_on", {"weights", "all"},
                    "what weight decay applies to: weights leaves out biases and normalisation")};
  for (const OptimizerEntry& e : optimizer_table())
    section.variants.push_back({e.name, e.doc, e.options});
  return {section};
}

}  // namespace thalweg::engine
