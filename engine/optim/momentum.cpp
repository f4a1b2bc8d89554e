// momentum: v = m v + (1 - dampening) g;  w -= lr v.
// Source: PyTorch's SGD (torch/optim/sgd.py), whose velocity starts as the first gradient.
#include "engine/optim/table.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine {
namespace {

struct Hyper {
  double momentum, dampening, weight_decay;
};

template <class T>
THALWEG_INLINE void loop(std::size_t n, T lr, T m, T keep, T decay, T* __restrict w,
                         const T* __restrict g, T* __restrict v) {
  for (std::size_t i = 0; i < n; ++i) {
    const T gi = g[i] + decay * w[i];
    v[i] = m * v[i] + keep * gi;
    w[i] -= lr * v[i];
  }
}
THALWEG_SIMD void run(std::size_t n, float lr, float m, float keep, float decay, float* w,
                      const float* g, float* v) {
  loop(n, lr, m, keep, decay, w, g, v);
}
THALWEG_SIMD void run(std::size_t n, double lr, double m, double keep, double decay, double* w,
                      const double* g, double* v) {
  loop(n, lr, m, keep, decay, w, g, v);
}

template <class T>
void update(const Hyper& h, const StepContext& c, const Segment& s, T* w, const T* g,
            std::span<T* const> state) {
  const double keep = c.step == 0 ? 1 : 1 - h.dampening;  // the velocity starts undampened
  run(s.count, T(c.lr), T(c.momentum.value_or(h.momentum)), T(keep),
      s.decay ? T(h.weight_decay) : T(0), w + s.offset, g + s.offset, at(state, 0, s));
}

template <class T>
std::unique_ptr<Optimizer<T>> make(const OptimizerOptions& o) {
  return std::make_unique<ElementwiseOptimizer<T, Hyper>>(
      1, Hyper{o.real("momentum"), o.real("dampening"), o.real("weight_decay")}, update<T>);
}

}  // namespace

OptimizerEntry momentum() {
  return {"momentum",
          "SGD with heavy-ball momentum: v = m v + g; w -= lr v",
          0.02,
          "good for batch 128 on Fashion-MNIST, constant or cosine",
          {momentum_option(),
           real_option("dampening", 0, 0, 1, "how much of the new gradient is left out"),
           weight_decay_option(0, "L2 term added to the gradient")},
          make<float>,
          make<double>};
}

}  // namespace thalweg::engine
