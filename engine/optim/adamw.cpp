// adamw: w shrinks by 1 - lr * weight_decay, then Adam's step.
#include "engine/optim/adam_kernel.h"

namespace thalweg::engine {
namespace {

template <class T>
std::unique_ptr<Optimizer<T>> make(const OptimizerOptions& o) {
  return adam_detail::make<T>(
      {o.real("beta1"), o.real("beta2"), o.real("epsilon"), 0, o.real("weight_decay")});
}

}  // namespace

OptimizerEntry adamw() {
  return {"adamw",
          "Adam with decoupled weight decay (arXiv:1711.05101)",
          1e-3,
          "the paper's default",
          adam_detail::options(weight_decay_option(0.01, "shrinks the weights by lr times this")),
          make<float>,
          make<double>};
}

}  // namespace thalweg::engine
