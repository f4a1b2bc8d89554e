// From the trial's `train.optimizer` tree to an optimizer: rows of the table, groups, wrappers.
#include "engine/optim/optimizer.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "engine/optim/table.h"
#include "engine/optim/wrap.h"
#include "jobspec/complete.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Option;
using jobspec::Options;
using jobspec::Value;
using optim::OptimizerEntry;
using optim::operator+;

// What every optimizer has beside its own options; a group may set those that are marked.
std::vector<Option> common_options() {
  return {
      optim::float_option("lr", "auto", 0, jobspec::no_limit,
                          "base learning rate; the schedule multiplies it"),
      optim::choice_option(
          "decay_on", {"weights", "all"},
          "what weight decay applies to: weights leaves out biases and normalisation"),
      optim::float_option("ema", 0, 0, 0.999999,
                          "validate at a running mean of the weights with this decay; 0 = at the "
                          "weights themselves"),
      optim::choice_option("larc", {"none", "clip", "scale", "clip_one"},
                           "scale each tensor's gradient by r = trust |w| / |g| "
                           "(arXiv:1708.03888): min(r / lr, 1), r "
                           "or min(r, 1)"),
      optim::float_option("larc_trust", 0.02, 0, 1, "trust of larc"),
      optim::float_option("larc_fallback", 0, 0, 1,
                          "r of larc where a norm is 0; 0 = such gradients stay as they are"),
      optim::list_option(
          "groups", jobspec::List{},
          "parameters with options of their own, the first that fits: {match: \"*.bias\", "
          "lr_factor: 2, decay_factor: 0, any other option of the optimizer, or name: another "
          "one}"),
  };
}

bool is_larc(const std::string& name) {
  return name.rfind("larc", 0) == 0;
}

template <class T>
auto maker(const OptimizerEntry& e) {
  if constexpr (std::is_same_v<T, float>)
    return e.make_float;
  else
    return e.make_double;
}

/// One optimizer for those parameters whose count is not 0.
template <class T>
std::unique_ptr<Optimizer<T>> make_one(const Value& tree, const std::string& where,
                                       const Parameters<T>& parameters) {
  const OptimizerEntry& e = optim::find_optimizer(tree, where);
  const Options common(tree, common_options());
  optim::LarcOptions larc;
  larc.mode = common.text("larc");
  if (larc.mode == "none") return maker<T>(e)(Options(tree, e.options), parameters);
  larc.trust = common.real("larc_trust");
  larc.fallback = common.real("larc_fallback");
  // The decay joins the gradient before it is scaled; the base has none left.
  Value base = tree;
  for (const Option& option : e.options)
    if (option.name == "weight_decay") {
      larc.decay = Options(tree, e.options).real("weight_decay");
      base.set("weight_decay", 0.0);
    }
  return optim::with_larc<T>(maker<T>(e)(Options(base, e.options), parameters), parameters, larc);
}

/// What a group says beside options of its optimizer.
std::vector<Option> group_options() {
  return {jobspec::required(
              optim::string_option("match", {}, "a pattern of parameter names, \"*.bias\"")),
          optim::string_option("name", {}, "its optimizer"),
          optim::float_option("lr_factor", 1.0, 0, jobspec::no_limit, "times the learning rate"),
          optim::float_option("decay_factor", 1.0, 0, jobspec::no_limit, "times the weight decay")};
}

/// A group's complete tree: the optimizer's own, with the group's options over it.
Value group_tree(const Value& options, const Value& group, const std::string& where) {
  Value tree = options;
  if (const Value* name = group.find("name"))
    if (name->to_text() != options.find("name")->to_text()) tree = Map{{"name", name->to_text()}};
  std::vector<Option> own = optim::find_optimizer(tree, where).options;
  for (const Option& option : common_options())
    if (is_larc(option.name)) own.push_back(option);
  std::vector<jobspec::ValidationError> errors;
  jobspec::complete_options(group.as_map(), own + group_options(), errors);
  if (!errors.empty()) throw std::invalid_argument(where + jobspec::to_text(errors.front()));
  for (const Option& option : own)
    if (const Value* value = group.find(option.name)) tree.set(option.name, *value);
  return tree;
}

/// Parameters of one group alone: the others count nothing.
template <class T>
Parameters<T> only(const Parameters<T>& all, const std::vector<int>& group_of, int group) {
  Parameters<T> some = all;
  for (std::size_t p = 0; p < group_of.size(); ++p)
    if (group_of[p] != group) {
      some.infos[p].shape = {0};
      some.infos[p].count = 0;
    }
  return some;
}

template <class T>
std::unique_ptr<Optimizer<T>> make_groups(const Value& options, const jobspec::List& given,
                                          const Parameters<T>& parameters) {
  // Group 0 are those that no pattern takes.
  std::vector<int> group_of(parameters.infos.size(), 0);
  std::vector<Value> trees{options};
  std::vector<double> factors{1};
  for (std::size_t g = 0; g < given.size(); ++g) {
    const std::string where = "optimizer.groups[" + std::to_string(g) + "].";
    if (!given[g].is_map())
      throw std::invalid_argument("optimizer.groups: found " + jobspec::describe(given[g]) +
                                  " in the list, expected maps of keys");
    trees.push_back(group_tree(options, given[g], where));
    const Options group(given[g], group_options());
    bool any = false;
    for (std::size_t p = 0; p < group_of.size(); ++p) {
      if (!optim::matches_glob(group.text("match"), parameters.infos[p].name)) continue;
      any = true;
      if (group_of[p] == 0) group_of[p] = static_cast<int>(g) + 1;
    }
    if (!any) {
      std::string names;
      for (const ParameterInfo& info : parameters.infos)
        names += (names.empty() ? "" : ", ") + info.name;
      throw std::invalid_argument(where + "match: \"" + group.text("match") +
                                  "\" fits no parameter; there are " + names);
    }
    factors.push_back(group.real("lr_factor"));
    const double decay = group.real("decay_factor");
    for (const Option& option : optim::find_optimizer(trees.back(), where).options)
      if (option.name == "weight_decay") {
        const Value* own = trees.back().find("weight_decay");
        trees.back().set("weight_decay",
                         decay * (own ? own->as_double() : option.default_value.as_double()));
      }
  }
  std::vector<optim::ParameterGroup<T>> groups;
  for (std::size_t g = 0; g < trees.size(); ++g)
    groups.push_back(
        {make_one<T>(trees[g], "optimizer.", only(parameters, group_of, static_cast<int>(g))),
         factors[g]});
  return optim::in_groups<T>(std::move(groups), std::move(group_of), parameters.infos);
}

/// An option of the optimizer or of a group, nobody's betas scaled: its own, the optimizer's where
/// both are of one row, or the row's default. Null where the row has none such.
Value unscaled(const Value& tree, const Value& optimizer, const std::string& option) {
  const Value* const own_name = tree.find("name");
  const Value* const name = own_name ? own_name : optimizer.find("name");
  for (const OptimizerEntry& e : optim::optimizer_table()) {
    if (name == nullptr || e.name != name->to_text()) continue;
    for (const Option& o : e.options) {
      if (o.name != option) continue;
      if (const Value* own = tree.find(option)) return *own;
      const Value* inherited =
          optimizer.find("name")->to_text() == e.name ? optimizer.find(option) : nullptr;
      return inherited ? *inherited : o.default_value;
    }
  }
  return {};
}

/// scale_betas() for one tree: the optimizer's, or one of its groups'.
std::string scale_betas_of(Value& tree, const Value& optimizer, const std::string& where,
                           int global_batch) {
  const Value meant = unscaled(tree, optimizer, "beta_batch");
  if (!meant.is_int() || meant.as_int() < 0) return "";
  const bool scales = meant.as_int() != 0 && meant.as_int() != global_batch;
  const double ratio = static_cast<double>(global_batch) / static_cast<double>(meant.as_int());
  std::string text;
  for (const char* name : {"beta1", "beta2"}) {
    const Value beta = unscaled(tree, optimizer, name);
    if (!beta.is_number()) continue;
    // A group without a scale of its own must not inherit the optimizer's scaled ones.
    if (!scales) {
      tree.set(name, beta);
      continue;
    }
    const double scaled = std::pow(beta.as_double(), ratio);
    text += (text.empty() ? where : ", ") + name + ": " + beta.to_text() + " for batch " +
            meant.to_text() + " becomes " + Value(scaled).to_text();
    tree.set(name, scaled);
  }
  return text;
}

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const Value& options,
                                             const Parameters<T>& parameters) {
  const Options common(options, common_options());
  Parameters<T> chosen = parameters;
  for (ParameterInfo& info : chosen.infos)
    info.decay = info.decay || common.text("decay_on") == "all";
  const jobspec::List& groups = common.value("groups").as_list();
  auto optimizer = groups.empty() ? make_one<T>(options, "optimizer.", chosen)
                                  : make_groups<T>(options, groups, chosen);
  if (const double decay = common.real("ema"); decay > 0)
    optimizer = optim::with_average<T>(std::move(optimizer), chosen, decay);
  return optimizer;
}
template std::unique_ptr<Optimizer<float>> make_optimizer(const Value&, const Parameters<float>&);
template std::unique_ptr<Optimizer<double>> make_optimizer(const Value&, const Parameters<double>&);

double base_learning_rate(const Value& options, const std::string& model, std::string* note) {
  const OptimizerEntry& e = optim::find_optimizer(options, "optimizer.");
  const Value* lr = options.find("lr");
  if (lr && lr->is_number()) return lr->as_double();
  for (const optim::DefaultRate& rate : e.rates) {
    if (!optim::matches_glob(rate.models, model)) continue;
    if (note)
      *note = "optimizer.lr: auto is " + Value(rate.lr).to_text() + " for " + e.name +
              (rate.models == "*" ? "" : " on " + model) + " (" + rate.source + ")";
    return rate.lr;
  }
  throw std::logic_error("optimizer " + e.name + " has no learning rate for " + model);
}

std::string scale_betas(Value& optimizer, int global_batch) {
  const Value given = optimizer;
  std::string text = scale_betas_of(optimizer, given, "optimizer.", global_batch);
  const Value* list = given.find("groups");
  if (list == nullptr || !list->is_list()) return text;
  jobspec::List groups = list->as_list();
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!groups[g].is_map()) continue;  // make_optimizer reports it
    const std::string where = "optimizer.groups[" + std::to_string(g) + "].";
    const std::string more = scale_betas_of(groups[g], given, where, global_batch);
    text += (text.empty() || more.empty() ? "" : "; ") + more;
  }
  if (groups != list->as_list()) optimizer.set("groups", groups);
  return text;
}

std::vector<jobspec::Section> optimizer_schema() {
  jobspec::Section section;
  section.path = "optimizer";
  section.doc = "how a gradient changes the weights";
  section.options = common_options();
  for (const OptimizerEntry& e : optim::optimizer_table())
    section.variants.push_back({e.name, e.doc, e.options});
  return {section};
}

}  // namespace thalweg::engine
