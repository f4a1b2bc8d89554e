// The table of optimizers. A new one: its .cpp with `OptimizerEntry name()`, and one row in
// table.cpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/optim/optimizer.h"

namespace thalweg::engine {

/// Option values with the table's defaults filled in.
class OptimizerOptions {
 public:
  OptimizerOptions(const jobspec::Value& tree, const std::vector<jobspec::Option>& options);
  double real(const std::string& name) const;
  bool flag(const std::string& name) const;

 private:
  jobspec::Map values_;
};

struct OptimizerEntry {
  std::string name;
  std::string doc;                       ///< one line: the formula's name and its source
  double default_lr = 0;                 ///< what `lr: auto` means
  std::string default_lr_source;         ///< where that value comes from
  std::vector<jobspec::Option> options;  ///< beside the common `lr`
  std::unique_ptr<Optimizer<float>> (*make_float)(const OptimizerOptions&) = nullptr;
  std::unique_ptr<Optimizer<double>> (*make_double)(const OptimizerOptions&) = nullptr;
};

const std::vector<OptimizerEntry>& optimizer_table();

/// An optimizer whose work on one segment is a plain function: what every row but the odd one
/// needs.
template <class T, class Hyper>
class ElementwiseOptimizer final : public Optimizer<T> {
 public:
  using Kernel = void (*)(const Hyper&, const StepContext&, const Segment&, T* w, const T* g,
                          std::span<T* const> state);
  ElementwiseOptimizer(int states, Hyper hyper, Kernel kernel)
      : states_(states), hyper_(hyper), kernel_(kernel) {}
  int states() const override { return states_; }
  void update(const StepContext& context, const Segment& segment, T* w, const T* g,
              std::span<T* const> state) const override {
    kernel_(hyper_, context, segment, w, g, state);
  }

 private:
  int states_;
  Hyper hyper_;
  Kernel kernel_;
};

/// Options that several rows share, spelled once.
jobspec::Option momentum_option();
jobspec::Option weight_decay_option(double fallback, const char* doc);
jobspec::Option real_option(const char* name, double fallback, double min, double max,
                            const char* doc);
/// The state pointer of a segment: state vectors have the parameters' layout.
template <class T>
T* at(std::span<T* const> state, int which, const Segment& segment) {
  return state[static_cast<std::size_t>(which)] + segment.offset;
}

}  // namespace thalweg::engine
