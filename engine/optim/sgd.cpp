// sgd: w -= lr * (g + weight_decay * w).
#include "engine/optim/table.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine {
namespace {

struct Hyper {
  double weight_decay;
};

template <class T>
THALWEG_INLINE void loop(std::size_t n, T lr, T decay, T* __restrict w, const T* __restrict g) {
  for (std::size_t i = 0; i < n; ++i)
    w[i] -= lr * (g[i] + decay * w[i]);
}
THALWEG_SIMD void run(std::size_t n, float lr, float decay, float* w, const float* g) {
  loop(n, lr, decay, w, g);
}
THALWEG_SIMD void run(std::size_t n, double lr, double decay, double* w, const double* g) {
  loop(n, lr, decay, w, g);
}

template <class T>
void update(const Hyper& h, const StepContext& c, const Segment& s, T* w, const T* g,
            std::span<T* const>) {
  run(s.count, T(c.lr), s.decay ? T(h.weight_decay) : T(0), w + s.offset, g + s.offset);
}

template <class T>
std::unique_ptr<Optimizer<T>> make(const OptimizerOptions& o) {
  return std::make_unique<ElementwiseOptimizer<T, Hyper>>(0, Hyper{o.real("weight_decay")},
                                                          update<T>);
}

}  // namespace

OptimizerEntry sgd() {
  return {"sgd",
          "stochastic gradient descent: w -= lr g",
          0.1,
          "a common start for plain SGD at batch 128",
          {weight_decay_option(0, "L2 term added to the gradient")},
          make<float>,
          make<double>};
}

}  // namespace thalweg::engine
