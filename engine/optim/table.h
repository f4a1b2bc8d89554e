// The table of optimizers. A new one: its .cpp with `OptimizerEntry name()`, and one row in
// table.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/optim/optimizer.h"
#include "jobspec/option.h"
#include "jobspec/options.h"
#include "jobspec/table.h"

namespace thalweg::engine::optim {

using jobspec::Options;

/// What `lr: auto` means for some models.
struct DefaultRate {
  std::string models;  ///< glob over rows of the model table
  double lr = 0;
  std::string source;
};

struct OptimizerEntry {
  std::string name;
  std::string doc;                       ///< one line: the formula's name and its source
  std::vector<DefaultRate> rates;        ///< the first that fits; the last one fits all
  std::vector<jobspec::Option> options;  ///< beside the common ones
  std::unique_ptr<Optimizer<float>> (*make_float)(const Options&,
                                                  const Parameters<float>&) = nullptr;
  std::unique_ptr<Optimizer<double>> (*make_double)(const Options&,
                                                    const Parameters<double>&) = nullptr;
};

const jobspec::Table<OptimizerEntry>& optimizer_table();
/// The row that `tree.name` names. Throws std::invalid_argument ("did you mean") with `where`
/// before the key.
const OptimizerEntry& find_optimizer(const jobspec::Value& tree, const std::string& where);

/// "*" stands for any text, "?" for one character.
bool matches_glob(const std::string& pattern, const std::string& text);

using jobspec::choice_option;
using jobspec::flag_option;
using jobspec::float_option;
using jobspec::int_option;
using jobspec::list_option;
using jobspec::string_option;

// Options that several rows share, spelled once.
jobspec::Option momentum_option(double fallback = 0.9);
jobspec::Option epsilon_option(double fallback);
/// beta1, beta2.
std::vector<jobspec::Option> beta_options(double beta1, double beta2);
/// weight_decay, decoupled.
std::vector<jobspec::Option> decay_options(double fallback, bool decoupled);
std::vector<jobspec::Option> operator+(std::vector<jobspec::Option> a,
                                       const std::vector<jobspec::Option>& b);

/// Weight decay of a row with decay_options(): as an L2 term of the gradient, or decoupled from it:
/// the weights shrink by lr * weight_decay (Loshchilov & Hutter 2019, arXiv:1711.05101).
struct Decay {
  explicit Decay(const Options& o)
      : weight(o.real("weight_decay")), decoupled(o.flag("decoupled")) {}
  /// Added to the gradient, times w.
  double l2(bool on) const { return on && !decoupled ? weight : 0; }
  /// Multiplies the weights.
  double keep(double lr, bool on) const { return on && decoupled ? 1 - lr * weight : 1; }

  double weight;
  bool decoupled;
};

}  // namespace thalweg::engine::optim
