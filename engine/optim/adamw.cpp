// adamw: w shrinks by 1 - lr weight_decay, then Adam's step.
#include "engine/optim/adam.h"

namespace thalweg::engine::optim {

OptimizerEntry adamw() {
  return {"adamw",
          "Adam with decoupled weight decay (arXiv:1711.05101)",
          {{"gpt*", 6e-4, "GPT-3 (arXiv:2005.14165), its smallest model"},
           {"*", 1e-3, "the paper's default"}},
          beta_options(0.9, 0.999) + std::vector{epsilon_option(1e-8)} + decay_options(0.01, true),
          make_fused<float, AdamRule>,
          make_fused<double, AdamRule>};
}

}  // namespace thalweg::engine::optim
