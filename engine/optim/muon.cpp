// muon: steps of matrices are made orthogonal:
//   b = m b + (1 - m) g;   u = (1 - m) g + m b (Nesterov) or b
//   X = u / (|u| + 1e-7), turned where it has more rows than columns; `iterations` times
//     A = X X^T;  X = 3.4445 X + (-4.7750 A + 2.0315 A A) X          (Newton-Schulz)
//   w -= lr sqrt(max(1, rows / columns)) X, after w's decay
// Vectors, embeddings and the last matrix (the classifier) take AdamW's step.
// Jordan et al. 2024 (KellerJordan/Muon); scale match_rms_adamw: 0.2 sqrt(max(rows, columns)), as
// in PyTorch (torch/optim/_muon.py) and Liu et al. 2025 (arXiv:2502.16982).
#include "engine/optim/adam.h"
#include "engine/optim/matrix.h"
#include "engine/optim/norm.h"

namespace thalweg::engine::optim {
namespace {

/// Leaves u in the gradient's place.
template <class T>
struct Direction {
  using keeps_weights = void;
  using writes_gradient = void;
  T m, rest, of_g, of_b;
  THALWEG_FORMULA void operator()(T&, T& g, T& b) const {
    b = m * b + rest * g;
    g = of_g * g + of_b * b;
  }
};
THALWEG_FUSED(Direction, 1)

template <class T>
struct Step {
  T rate, keep;
  THALWEG_FORMULA void operator()(T& w, T x) const { w = keep * w - rate * x; }
};
THALWEG_FUSED(Step, 0)

/// x = of_x x + of_y y
template <class T>
void combine(std::size_t n, T of_x, T* x, T of_y, const T* y) {
  for (std::size_t i = 0; i < n; ++i)
    x[i] = of_x * x[i] + of_y * y[i];
}

/// x (rows, columns) becomes nearly orthogonal, with singular values around 1.
template <class T>
void newton_schulz(const MatrixShape& s, int iterations, T* x) {
  const std::size_t n = s.rows, count = s.count();
  T* a = scratch<T>(2, n * n);
  T* b = scratch<T>(3, n * n);
  T* bx = scratch<T>(4, count);
  const T scale = T(1 / (norm(count, x) + 1e-7));
  for (std::size_t i = 0; i < count; ++i)
    x[i] *= scale;
  for (int i = 0; i < iterations; ++i) {
    multiply(n, n, s.columns, x, Stored::plain, x, Stored::transposed, a);
    multiply(n, n, n, a, Stored::plain, a, Stored::plain, b);
    combine(n * n, T(2.0315), b, T(-4.7750), a);
    multiply(n, s.columns, n, b, Stored::plain, x, Stored::plain, bx);
    combine(count, T(3.4445), x, T(1), bx);
  }
}

template <class T>
void transpose(const MatrixShape& s, const T* from, T* to) {
  for (std::size_t i = 0; i < s.rows; ++i)
    for (std::size_t j = 0; j < s.columns; ++j)
      to[j * s.rows + i] = from[i * s.columns + j];
}

template <class T>
class Muon final : public Optimizer<T> {
 public:
  Muon(const OptimizerOptions& o, const Parameters<T>& p)
      : infos_(p.infos),
        layout_(p.layout),
        momentum_(o.real("momentum")),
        nesterov_(o.flag("nesterov")),
        match_rms_(o.text("scale") == "match_rms_adamw"),
        iterations_(o.whole("iterations")),
        decay_(o.real("weight_decay")),
        adam_{o.real("adamw_beta1"), o.real("adamw_beta2"), o.real("adamw_epsilon")},
        adam_factor_(o.real("adamw_lr_factor")) {
    const std::string& rest = o.text("adamw_for");
    std::size_t last = infos_.size();
    for (std::size_t i = 0; i < infos_.size(); ++i) {
      shapes_.push_back(matrix_shape(infos_[i].shape));
      if (infos_[i].shape.size() > 1) last = i;
    }
    for (std::size_t i = 0; i < infos_.size(); ++i)
      adamw_.push_back(!shapes_[i].is_matrix() || infos_[i].norm_or_bias ||
                       (rest == "auto" ? i == last || matches_glob("*embed*", infos_[i].name)
                                       : matches_glob(rest, infos_[i].name)));
  }
  int states() const override { return 2; }  // b; or Adam's two
  bool elementwise(int p) const override { return adamw_[static_cast<std::size_t>(p)]; }

  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const auto p = static_cast<std::size_t>(s.parameter);
    if (adamw_[p]) {
      const double lr = c.lr * adam_factor_;
      run(adam_.formula<T>(lr, c.step + 1, 0, infos_[p].decay ? 1 - lr * decay_ : 1),
          stretch(s, x, 2));
      return;
    }
    const T m = T(c.momentum.value_or(momentum_)), rest = T(1 - c.momentum.value_or(momentum_));
    const Direction<T> direction =
        nesterov_ ? Direction<T>{m, rest, rest, m} : Direction<T>{m, rest, T(0), T(1)};
    run(direction, stretch(s, x, 1));
    orthogonalize(s, x.g + s.offset);
    const auto rows = static_cast<double>(shapes_[p].rows);
    const auto columns = static_cast<double>(shapes_[p].columns);
    const double scale = match_rms_ ? 0.2 * std::sqrt(std::max(rows, columns))
                                    : std::sqrt(std::max(1.0, rows / columns));
    const double keep = infos_[p].decay ? 1 - c.lr * decay_ : 1;
    run(Step<T>{T(c.lr * scale), T(keep)}, stretch(s, x, 0));
  }

 private:
  /// The direction of a matrix, in the device's layout.
  void orthogonalize(const Segment& segment, T* u) const {
    const MatrixShape s = shapes_[static_cast<std::size_t>(segment.parameter)];
    T* plain = u;
    if (layout_) {
      plain = scratch<T>(0, s.count());
      layout_->to_plain(segment.parameter, u, plain);
    }
    if (s.rows > s.columns) {
      const MatrixShape turned{s.columns, s.rows};
      T* wide = scratch<T>(1, s.count());
      transpose(s, plain, wide);
      newton_schulz(turned, iterations_, wide);
      transpose(turned, wide, plain);
    } else {
      newton_schulz(s, iterations_, plain);
    }
    if (layout_) layout_->from_plain(segment.parameter, plain, u);
  }

  std::vector<ParameterInfo> infos_;
  std::shared_ptr<const Layout<T>> layout_;
  std::vector<MatrixShape> shapes_;
  std::vector<bool> adamw_;
  double momentum_;
  bool nesterov_, match_rms_;
  int iterations_;
  double decay_;
  AdamHyper adam_;
  double adam_factor_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make(const OptimizerOptions& o, const Parameters<T>& p) {
  return std::make_unique<Muon<T>>(o, p);
}

jobspec::Option rest_option() {
  return text_option(
      "adamw_for", "auto",
      "glob over the names of matrices that take AdamW's step; auto = embeddings and the last one");
}

}  // namespace

OptimizerEntry muon() {
  return {"muon",
          "Muon (KellerJordan/Muon): orthogonal steps for hidden matrices, AdamW's for the rest",
          {{"*", 0.02, "the author's default, with AdamW at 3e-4 for the rest"}},
          {momentum_option(0.95), flag_option("nesterov", true, "look ahead along the momentum"),
           choice_option("scale", {"spectral", "match_rms_adamw"},
                         "of a step: sqrt(max(1, rows / columns)), or as large as AdamW's"),
           whole_option("iterations", 5, 1, 100, "of Newton and Schulz"),
           real_option("weight_decay", 0, 0, 1e6, "decoupled weight decay"), rest_option(),
           real_option("adamw_lr_factor", 0.015, 0, 1e6, "AdamW's rate as a part of lr"),
           real_option("adamw_beta1", 0.9, 0, 0.99999999, "AdamW's beta1"),
           real_option("adamw_beta2", 0.95, 0, 0.99999999, "AdamW's beta2"),
           real_option("adamw_epsilon", 1e-10, 0, 1, "AdamW's epsilon")},
          make<float>,
          make<double>};
}

}  // namespace thalweg::engine::optim
