// The update that adam and adamw share. Kingma & Ba 2015 (arXiv:1412.6980), algorithm 1; decoupled
// decay: Loshchilov & Hutter 2019 (arXiv:1711.05101).
#pragma once

#include <cmath>

#include "engine/optim/table.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::adam_detail {

struct Hyper {
  double beta1, beta2, epsilon;
  double l2;         ///< added to the gradient
  double decoupled;  ///< shrinks the weights directly, times lr
};

/// The factors of one update, computed once in double.
template <class T>
struct Factors {
  T beta1, rest1, beta2, rest2, epsilon, l2, shrink;
  T step;  ///< lr / (1 - beta1^t)
  T root;  ///< 1 / sqrt(1 - beta2^t)
};

template <class T>
THALWEG_INLINE void loop(std::size_t n, const Factors<T>& f, T* __restrict w, const T* __restrict g,
                         T* __restrict m, T* __restrict v) {
  for (std::size_t i = 0; i < n; ++i) {
    const T gi = g[i] + f.l2 * w[i];
    m[i] = f.beta1 * m[i] + f.rest1 * gi;
    v[i] = f.beta2 * v[i] + f.rest2 * gi * gi;
    w[i] = f.shrink * w[i] - f.step * m[i] / (std::sqrt(v[i]) * f.root + f.epsilon);
  }
}
void run(std::size_t n, const Factors<float>& f, float* w, const float* g, float* m, float* v);
void run(std::size_t n, const Factors<double>& f, double* w, const double* g, double* m, double* v);

template <class T>
void update(const Hyper& h, const StepContext& c, const Segment& s, T* w, const T* g,
            std::span<T* const> state) {
  const double t = static_cast<double>(c.step + 1);
  const double beta1 = c.momentum.value_or(h.beta1);
  Factors<T> f;
  f.beta1 = T(beta1);
  f.rest1 = T(1 - beta1);
  f.beta2 = T(h.beta2);
  f.rest2 = T(1 - h.beta2);
  f.epsilon = T(h.epsilon);
  f.l2 = s.decay ? T(h.l2) : T(0);
  f.shrink = s.decay ? T(1 - c.lr * h.decoupled) : T(1);
  f.step = T(c.lr / (1 - std::pow(beta1, t)));
  f.root = T(1 / std::sqrt(1 - std::pow(h.beta2, t)));
  run(s.count, f, w + s.offset, g + s.offset, at(state, 0, s), at(state, 1, s));
}

template <class T>
std::unique_ptr<Optimizer<T>> make(const Hyper& hyper) {
  return std::make_unique<ElementwiseOptimizer<T, Hyper>>(2, hyper, update<T>);
}

inline std::vector<jobspec::Option> options(jobspec::Option weight_decay) {
  return {real_option("beta1", 0.9, 0, 1, "decay of the mean gradient"),
          real_option("beta2", 0.999, 0, 1, "decay of the mean squared gradient"),
          real_option("epsilon", 1e-8, 0, 1, "added to the root"), std::move(weight_decay)};
}

}  // namespace thalweg::engine::adam_detail
