// adam: m, v = decaying means of g, g^2;  w -= lr m^ / (sqrt(v^) + epsilon), with bias-corrected
// m^, v^.
#include "engine/optim/adam_kernel.h"

namespace thalweg::engine {
namespace adam_detail {

THALWEG_SIMD void run(std::size_t n, const Factors<float>& f, float* w, const float* g, float* m,
                      float* v) {
  loop(n, f, w, g, m, v);
}
THALWEG_SIMD void run(std::size_t n, const Factors<double>& f, double* w, const double* g,
                      double* m, double* v) {
  loop(n, f, w, g, m, v);
}

}  // namespace adam_detail

namespace {

template <class T>
std::unique_ptr<Optimizer<T>> make(const OptimizerOptions& o) {
  return adam_detail::make<T>(
      {o.real("beta1"), o.real("beta2"), o.real("epsilon"), o.real("weight_decay"), 0});
}

}  // namespace

OptimizerEntry adam() {
  return {"adam",
          "Adam (arXiv:1412.6980); weight decay as an L2 term",
          1e-3,
          "the paper's default",
          adam_detail::options(weight_decay_option(0, "L2 term added to the gradient")),
          make<float>,
          make<double>};
}

}  // namespace thalweg::engine
