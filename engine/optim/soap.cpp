// soap: Adam in the eigenbasis of Shampoo's factors:
//   L, R = decaying means of G G^T, G^T G;   G' = Ql^T G Qr;   m, v = Adam's means of G', G'^2
//   w -= lr Ql (m^ / (sqrt(v^) + epsilon)) Qr^T;   w -= lr weight_decay w
//   every few steps Q = QR(L Q), its columns sorted by Q^T L Q before; m keeps its meaning
// The first step only looks: Q are the eigenvectors of its L and R. A side longer than max_dim has
// no basis; vectors have none at all (plain Adam).
// Where the gradients so far do not span a side (a layer longer than the samples seen, dead units),
// its basis there is any: the steps depend on rounding. Vyas et al. 2024 (arXiv:2409.11321), as in
// nikhilvyas/SOAP; convolutions are (out, in kh kw).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/optim/matrix.h"
#include "engine/optim/table.h"

namespace thalweg::engine::optim {
namespace {

/// One side of a matrix: its factor and its basis, (n, n) each, in the optimizer's own memory.
template <class T>
struct Side {
  std::size_t n = 0;  ///< 0: no basis
  T* factor = nullptr;
  T* basis = nullptr;
};

template <class T>
class Soap final : public Optimizer<T> {
 public:
  Soap(const Options& o, const Parameters<T>& p)
      : infos_(p.infos),
        layout_(p.layout),
        beta1_(o.real("beta1")),
        beta2_(o.real("beta2")),
        factor_beta_(o.real("shampoo_beta") > 0 ? o.real("shampoo_beta") : beta2_),
        epsilon_(o.real("epsilon")),
        decay_(o.real("weight_decay")),
        every_(static_cast<int>(o.integer("every"))) {
    const auto max_dim = static_cast<std::size_t>(o.integer("max_dim"));
    for (const ParameterInfo& info : infos_) {
      Place place;
      place.shape = matrix_shape(info.shape);
      const bool matrix = place.shape.is_matrix();
      place.rows = matrix && place.shape.rows <= max_dim ? place.shape.rows : 0;
      place.columns = matrix && place.shape.columns <= max_dim ? place.shape.columns : 0;
      place.own = own_;
      own_ += 2 * (place.shape.count() + place.rows * place.rows + place.columns * place.columns);
      places_.push_back(place);
    }
  }
  int states() const override { return 0; }
  // m and v in the eigenbasis, factors and bases, one tensor after another.
  std::size_t own() const override { return own_; }
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& segment,
              const OptimizerMemory<T>& memory) const override {
    const auto p = static_cast<std::size_t>(segment.parameter);
    const MatrixShape& s = places_[p].shape;
    const Tensor x = tensor(places_[p], memory);
    PlainTensor<T> plain(layout_.get(), segment, s.count(), memory);
    if (c.step > 0) {
      step(c, s, x, plain.g(), plain.w(), infos_[p].decay);
      plain.store();
    }
    gather(s, x, plain.g());
    if (c.step == 0)
      begin(x);
    else if (c.step % every_ == 0)
      turn(s, x);
  }

 private:
  struct Place {
    MatrixShape shape;
    std::size_t rows = 0, columns = 0;  ///< sizes of the bases
    std::size_t own = 0;
  };
  struct Tensor {
    T *m, *v;
    Side<T> left, right;
  };
  Tensor tensor(const Place& p, const OptimizerMemory<T>& memory) const {
    T* at = memory.own.data() + p.own;
    const auto take = [&](std::size_t count) {
      T* chunk = at;
      at += count;
      return chunk;
    };
    Tensor x{take(p.shape.count()), take(p.shape.count()), {}, {}};
    x.left = {p.rows, take(p.rows * p.rows), take(p.rows * p.rows)};
    x.right = {p.columns, take(p.columns * p.columns), take(p.columns * p.columns)};
    return x;
  }

  /// Into the eigenbases, or back from them; the result stands in one of two chunks of scratch
  /// memory, or is `g` itself.
  static const T* rotate(const MatrixShape& s, const Tensor& x, const T* g, bool back) {
    if (x.left.n > 0) {
      T* out = scratch<T>(0, s.count());
      multiply(s.rows, s.columns, s.rows, x.left.basis, back ? Stored::plain : Stored::transposed,
               g, Stored::plain, out);
      g = out;
    }
    if (x.right.n > 0) {
      T* out = scratch<T>(1, s.count());
      multiply(s.rows, s.columns, s.columns, g, Stored::plain, x.right.basis,
               back ? Stored::transposed : Stored::plain, out);
      g = out;
    }
    return g;
  }

  void step(const StepContext& c, const MatrixShape& s, const Tensor& x, const T* g, T* w,
            bool decays) const {
    const double t = static_cast<double>(c.step), beta1 = c.momentum.value_or(beta1_);
    const T b1 = T(beta1), r1 = T(1 - beta1), b2 = T(beta2_), r2 = T(1 - beta2_);
    const T* turned = rotate(s, x, g, false);
    T* direction = scratch<T>(2, s.count());
    for (std::size_t i = 0; i < s.count(); ++i) {
      x.m[i] = b1 * x.m[i] + r1 * turned[i];
      x.v[i] = b2 * x.v[i] + r2 * turned[i] * turned[i];
      direction[i] = x.m[i] / (std::sqrt(x.v[i]) + T(epsilon_));
    }
    const T* plain = rotate(s, x, direction, true);
    const T rate = T(c.lr * std::sqrt(1 - std::pow(beta2_, t)) / (1 - std::pow(beta1, t)));
    const T keep = decays ? T(1 - c.lr * decay_) : T(1);
    for (std::size_t i = 0; i < s.count(); ++i)
      w[i] = keep * (w[i] - rate * plain[i]);
  }

  void gather(const MatrixShape& s, const Tensor& x, const T* g) const {
    for (const bool columns : {false, true}) {
      const Side<T>& side = columns ? x.right : x.left;
      if (side.n == 0) continue;
      T* product = scratch<T>(0, side.n * side.n);
      multiply_by_transpose(side.n, columns ? s.rows : s.columns, g,
                            columns ? Stored::transposed : Stored::plain, product);
      const T fresh = T(1 - factor_beta_);
      for (std::size_t i = 0; i < side.n * side.n; ++i)
        side.factor[i] += fresh * (product[i] - side.factor[i]);
    }
  }

  static void begin(const Tensor& x) {
    for (const Side<T>& side : {x.left, x.right}) {
      if (side.n == 0) continue;
      const std::size_t size = side.n * side.n;
      double* a = scratch<double>(3, size);
      double* vectors = scratch<double>(4, size);
      std::copy_n(side.factor, size, a);
      symmetric_eigen(side.n, a, vectors, scratch<double>(5, side.n));
      std::transform(vectors, vectors + size, side.basis,
                     [](double q) { return static_cast<T>(q); });
    }
  }

  /// New bases; m and v follow.
  static void turn(const MatrixShape& s, const Tensor& x) {
    T* m = scratch<T>(6, s.count());
    std::copy_n(rotate(s, x, x.m, true), s.count(), m);
    if (x.left.n > 0) {
      const std::vector<std::size_t> order = refresh(x.left);
      T* v = scratch<T>(7, s.count());
      for (std::size_t i = 0; i < s.rows; ++i)
        std::copy_n(x.v + order[i] * s.columns, s.columns, v + i * s.columns);
      std::copy_n(v, s.count(), x.v);
    }
    if (x.right.n > 0) {
      const std::vector<std::size_t> order = refresh(x.right);
      T* row = scratch<T>(7, s.columns);
      for (std::size_t i = 0; i < s.rows; ++i) {
        for (std::size_t j = 0; j < s.columns; ++j)
          row[j] = x.v[i * s.columns + order[j]];
        std::copy_n(row, s.columns, x.v + i * s.columns);
      }
    }
    std::copy_n(rotate(s, x, m, false), s.count(), x.m);
  }

  /// One round of power iteration; returns where each new column stood before.
  static std::vector<std::size_t> refresh(const Side<T>& side) {
    const std::size_t n = side.n;
    T* product = scratch<T>(8, n * n);
    multiply(n, n, n, side.factor, Stored::plain, side.basis, Stored::plain, product);
    std::vector<double> value(n, 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        value[j] +=
            static_cast<double>(side.basis[i * n + j]) * static_cast<double>(product[i * n + j]);
    std::vector<std::size_t> order(n);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return value[a] > value[b]; });
    double* q = scratch<double>(3, n * n);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        q[i * n + j] = static_cast<double>(product[i * n + order[j]]);
    orthonormalize(n, q);
    std::transform(q, q + n * n, side.basis, [](double v) { return static_cast<T>(v); });
    return order;
  }

  std::vector<ParameterInfo> infos_;
  std::shared_ptr<const Layout<T>> layout_;
  std::vector<Place> places_;
  std::size_t own_ = 0;
  double beta1_, beta2_, factor_beta_, epsilon_, decay_;
  int every_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_soap(const Options& o, const Parameters<T>& p) {
  return std::make_unique<Soap<T>>(o, p);
}

}  // namespace

OptimizerEntry soap() {
  return {"soap",
          "SOAP (arXiv:2409.11321): Adam in the eigenbasis of Shampoo's factors; steps depend on "
          "rounding where gradients do not span a side",
          {{"*", 3e-3, "the authors' default"}},
          beta_options(0.95, 0.95) +
              std::vector{
                  float_option("shampoo_beta", 0, 0, 0.99999999, "decay of the factors; 0 = beta2"),
                  epsilon_option(1e-8),
                  float_option("weight_decay", 0.01, 0, 1e6, "decoupled weight decay"),
                  int_option("every", 10, 1, 1e6, "steps between two turns of the bases"),
                  int_option("max_dim", 1024, 1, 1e6, "longest side with a basis")},
          make_soap<float>,
          make_soap<double>};
}

}  // namespace thalweg::engine::optim
