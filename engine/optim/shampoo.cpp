// shampoo: m = beta1 m + (1 - beta1) g, bias-corrected;   L += G G^T;  R += G^T G  (beta2 = 1), or
// their bias-corrected decaying means;  P = (L + epsilon I)^(-1/4) M (R + epsilon I)^(-1/4);
// w -= lr |N| / |P| P, where N is the step of the optimizer that is grafted on (Adam or SGD), or
// w -= lr P without. Gupta et al. 2018 (arXiv:1802.09568), algorithm 1; grafting: Agarwal et al.
// 2020 (arXiv:2002.11803); roots every few steps as in facebookresearch/optimizers
// (distributed_shampoo). A side longer than max_dim has no factor (and the other the power -1/2);
// vectors, and matrices before `start`, take the grafted step. Where the gradients so far do not
// span a side, its factor is singular but for epsilon: at the default 1e-12 the steps depend on
// rounding.
#include <algorithm>
#include <cmath>

#include "engine/optim/fused.h"
#include "engine/optim/matrix.h"
#include "engine/optim/norm.h"

namespace thalweg::engine::optim {
namespace {

/// x (n, n) = keep x + fresh m m^T, or m^T m for the columns' side.
template <class T>
void gather(const MatrixShape& s, bool columns, T keep, T fresh, const T* m, T* x) {
  const std::size_t n = columns ? s.columns : s.rows, k = columns ? s.rows : s.columns;
  T* product = scratch<T>(0, n * n);
  multiply_by_transpose(n, k, m, columns ? Stored::transposed : Stored::plain, product);
  for (std::size_t i = 0; i < n * n; ++i)
    x[i] = keep * x[i] + fresh * product[i];
}

/// (scale x + epsilon I)^power of a symmetric x >= 0.
template <class T>
void matrix_power(std::size_t n, const T* x, double scale, double epsilon, double power,
                  T* result) {
  double* a = scratch<double>(1, n * n);
  double* vectors = scratch<double>(2, n * n);
  double* values = scratch<double>(3, n);
  std::transform(x, x + n * n, a, [&](T v) { return scale * static_cast<double>(v); });
  symmetric_eigen(n, a, vectors, values);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      a[i * n + j] = vectors[i * n + j] * std::pow(std::max(values[j], 0.0) + epsilon, power);
  double* out = scratch<double>(4, n * n);
  multiply(n, n, n, a, Stored::plain, vectors, Stored::transposed, out);
  std::transform(out, out + n * n, result, [](double v) { return static_cast<T>(v); });
}

template <class T>
class Shampoo final : public Optimizer<T> {
 public:
  Shampoo(const Options& o, const Parameters<T>& p)
      : infos_(p.infos),
        layout_(p.layout),
        beta1_(o.real("beta1")),
        beta2_(o.real("beta2")),
        epsilon_(o.real("epsilon")),
        every_(static_cast<int>(o.integer("every"))),
        start_(static_cast<int>(o.integer("start"))),
        graft_(o.text("graft")),
        graft_beta2_(o.real("graft_beta2")),
        graft_epsilon_(o.real("graft_epsilon")),
        decay_(o.real("weight_decay")) {
    const auto max_dim = static_cast<std::size_t>(o.integer("max_dim"));
    for (const ParameterInfo& info : infos_) {
      Place place;
      place.shape = matrix_shape(info.shape);
      const bool matrix = place.shape.is_matrix();
      place.left = matrix && place.shape.rows <= max_dim ? place.shape.rows : 0;
      place.right = matrix && place.shape.columns <= max_dim ? place.shape.columns : 0;
      place.own = own_;
      own_ += 2 * (place.left * place.left + place.right * place.right);
      places_.push_back(place);
    }
  }
  int states() const override { return graft_ == "adam" ? 2 : 1; }  // m, and v
  std::size_t own() const override {
    return own_;
  }  // L, R and their roots, one tensor after another
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& segment,
              const OptimizerMemory<T>& memory) const override {
    const auto p = static_cast<std::size_t>(segment.parameter);
    const Place& place = places_[p];
    const std::size_t n = place.shape.count();
    if (place.left + place.right > 0) gather_factors(c, segment, memory);
    // The grafted step, in the device's layout, takes the gradient's place.
    T* m = memory.states[0] + segment.offset;
    T* g = memory.g + segment.offset;
    const double t = static_cast<double>(c.step + 1), beta1 = c.momentum.value_or(beta1_);
    const T mean = T(1 / (1 - std::pow(beta1, t)));
    const T root = T(1 / std::sqrt(1 - std::pow(graft_beta2_, t)));
    for (std::size_t i = 0; i < segment.count; ++i) {
      m[i] = T(beta1) * m[i] + T(1 - beta1) * g[i];
      T step = mean * m[i];
      if (graft_ == "adam") {
        T& v = memory.states[1][segment.offset + i];
        v = T(graft_beta2_) * v + T(1 - graft_beta2_) * g[i] * g[i];
        step /= std::sqrt(v) * root + T(graft_epsilon_);
      }
      g[i] = step;
    }
    double scale = 1;
    if (place.left + place.right > 0 && c.step + 1 >= start_) {
      const double grafted = norm(segment.count, g);
      T* plain = scratch<T>(5, n);
      to_plain(segment.parameter, m, plain, n);
      for (std::size_t i = 0; i < n; ++i)
        plain[i] *= mean;
      const T* direction = precondition(place, memory, plain);
      if (graft_ != "none") {
        const double length = norm(n, direction);
        scale = length > 0 ? grafted / length : 0;
      }
      from_plain(segment.parameter, direction, g, n);
    }
    T* w = memory.w + segment.offset;
    const T keep = infos_[p].decay ? T(1 - c.lr * decay_) : T(1), rate = T(c.lr * scale);
    for (std::size_t i = 0; i < segment.count; ++i)
      w[i] = keep * w[i] - rate * g[i];
  }

 private:
  struct Place {
    MatrixShape shape;
    std::size_t left = 0, right = 0;  ///< sizes of the factors; 0: none
    std::size_t own = 0;
  };
  struct Factors {
    T *left, *right, *left_root, *right_root;
  };
  Factors factors(const Place& p, const OptimizerMemory<T>& memory) const {
    T* left = memory.own.data() + p.own;
    T* right = left + p.left * p.left;
    T* left_root = right + p.right * p.right;
    return {left, right, left_root, left_root + p.left * p.left};
  }

  void to_plain(int parameter, const T* device, T* plain, std::size_t n) const {
    if (layout_)
      layout_->to_plain(parameter, device, plain);
    else
      std::copy_n(device, n, plain);
  }
  void from_plain(int parameter, const T* plain, T* device, std::size_t n) const {
    if (layout_)
      layout_->from_plain(parameter, plain, device);
    else
      std::copy_n(plain, n, device);
  }

  void gather_factors(const StepContext& c, const Segment& segment,
                      const OptimizerMemory<T>& memory) const {
    const Place& place = places_[static_cast<std::size_t>(segment.parameter)];
    const Factors f = factors(place, memory);
    T* g = scratch<T>(5, place.shape.count());
    to_plain(segment.parameter, memory.g + segment.offset, g, place.shape.count());
    const T fresh = beta2_ < 1 ? T(1 - beta2_) : T(1);
    if (place.left > 0) gather(place.shape, false, T(beta2_), fresh, g, f.left);
    if (place.right > 0) gather(place.shape, true, T(beta2_), fresh, g, f.right);
    const std::int64_t t = c.step + 1;
    if (t < start_ || (t != start_ && (t - start_) % every_ != 0)) return;
    const double scale = beta2_ < 1 ? 1 / (1 - std::pow(beta2_, static_cast<double>(t))) : 1;
    const double power = place.left > 0 && place.right > 0 ? -0.25 : -0.5;
    if (place.left > 0) matrix_power(place.left, f.left, scale, epsilon_, power, f.left_root);
    if (place.right > 0) matrix_power(place.right, f.right, scale, epsilon_, power, f.right_root);
  }

  const T* precondition(const Place& p, const OptimizerMemory<T>& memory, const T* m) const {
    const Factors f = factors(p, memory);
    const T* direction = m;
    if (p.left > 0) {
      T* product = scratch<T>(6, p.shape.count());
      multiply(p.shape.rows, p.shape.columns, p.shape.rows, f.left_root, Stored::plain, direction,
               Stored::plain, product);
      direction = product;
    }
    if (p.right > 0) {
      T* product = scratch<T>(7, p.shape.count());
      multiply(p.shape.rows, p.shape.columns, p.shape.columns, direction, Stored::plain,
               f.right_root, Stored::plain, product);
      direction = product;
    }
    return direction;
  }

  std::vector<ParameterInfo> infos_;
  std::shared_ptr<const Layout<T>> layout_;
  std::vector<Place> places_;
  std::size_t own_ = 0;
  double beta1_, beta2_, epsilon_;
  int every_, start_;
  std::string graft_;
  double graft_beta2_, graft_epsilon_, decay_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_shampoo(const Options& o, const Parameters<T>& p) {
  return std::make_unique<Shampoo<T>>(o, p);
}

}  // namespace

OptimizerEntry shampoo() {
  return {
      "shampoo",
      "Shampoo (arXiv:1802.09568) with grafting: whitens a matrix's rows and columns",
      {{"*", 1e-2, "distributed_shampoo's default"}},
      {float_option("beta1", 0.9, 0, 0.99999999, "decay of the mean gradient"),
       float_option("beta2", 1, 0, 1, "decay of the factors; 1 = their sum"),
       float_option("epsilon", 1e-12, 0, 1,
                    "added to the factors' eigenvalues; at 1e-12 steps depend on rounding where "
                    "gradients do not span a side"),
       int_option("every", 10, 1, 1e6, "steps between two computations of the roots"),
       int_option("start", 1, 1, 1e9, "first step (from 1) that is preconditioned"),
       int_option("max_dim", 1024, 1, 1e6, "longest side with a factor"),
       choice_option("graft", {"adam", "sgd", "none"}, "whose size a tensor's step has"),
       float_option("graft_beta2", 0.999, 0, 0.99999999, "of the grafted Adam"),
       float_option("graft_epsilon", 1e-8, 0, 1, "of the grafted Adam"),
       float_option("weight_decay", 0, 0, 1e6, "decoupled weight decay")},
      make_shampoo<float>,
      make_shampoo<double>};
}

}  // namespace thalweg::engine::optim
