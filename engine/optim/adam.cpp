// adam: m, v = decaying means of g, g^2;  w -= lr m^ / (sqrt(v^) + epsilon), with bias-corrected
// m^, v^.
#include "engine/optim/adam.h"

namespace thalweg::engine::optim {

THALWEG_FUSED(AdamFormula, 2)

OptimizerEntry adam() {
  return {"adam",
          "Adam (arXiv:1412.6980); weight decay as an L2 term",
          {{"*", 1e-3, "the paper's default"}},
          beta_options(0.9, 0.999) + std::vector{epsilon_option(1e-8)} + decay_options(0, false),
          make_fused<float, AdamRule>,
          make_fused<double, AdamRule>};
}

}  // namespace thalweg::engine::optim
