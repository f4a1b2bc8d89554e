// adafactor: the second moment of a matrix from the means of its rows R and columns C:
//   r = t^-0.8;  R, C, V = (1 - r) old + r new means of g^2;   V = R C / mean(R) for matrices
//   u = g / sqrt(V);  u /= max(1, rms(u) / clip);  w -= max(floor, rms(w)) min(lr, 1 / sqrt(t)) u
// Shazeer & Stern 2018 (arXiv:1804.04235), as in PyTorch (torch/optim/_adafactor.py). A
// convolution's kernel is one matrix, (out, in kh kw).
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/optim/matrix.h"
#include "engine/optim/norm.h"
#include "engine/optim/table.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
class Adafactor final : public Optimizer<T> {
 public:
  Adafactor(const Options& o, const Parameters<T>& p)
      : infos_(p.infos),
        layout_(p.layout),
        beta2_decay_(o.real("beta2_decay")),
        floor_(o.real("floor")),
        clip_(o.real("clip")),
        decay_(o.real("weight_decay")) {
    for (const ParameterInfo& info : infos_) {
      shapes_.push_back(matrix_shape(info.shape));
      places_.push_back(own_);
      const MatrixShape& s = shapes_.back();
      own_ += s.is_matrix() ? s.rows + s.columns : s.count();
    }
  }
  int states() const override { return 0; }
  std::size_t own() const override { return own_; }
  bool elementwise(int) const override { return false; }

  void update(const StepContext& c, const Segment& segment,
              const OptimizerMemory<T>& memory) const override {
    const auto p = static_cast<std::size_t>(segment.parameter);
    const MatrixShape& s = shapes_[p];
    PlainTensor<T> x(layout_.get(), segment, s.count(), memory);
    T* moments = memory.own.data() + places_[p];
    const double t = static_cast<double>(c.step + 1), fresh = std::pow(t, -beta2_decay_);
    const double size = std::max(floor_, rms(s.count(), x.w()));
    const double rate = size * std::min(c.lr, 1 / std::sqrt(t));
    if (s.is_matrix())
      factored(s, T(fresh), x.g(), moments, moments + s.rows);
    else
      whole(s.count(), T(fresh), x.g(), moments);
    const double step = rate / std::max(1.0, rms(s.count(), x.g()) / clip_);
    const T keep = infos_[p].decay ? T(1 - c.lr * decay_) : T(1);
    for (std::size_t i = 0; i < s.count(); ++i)
      x.w()[i] = keep * x.w()[i] - T(step) * x.g()[i];
    x.store();
  }

 private:
  static constexpr T kEpsilon = std::numeric_limits<T>::epsilon();

  static double rms(std::size_t n, const T* x) {
    return n == 0 ? 0 : norm(n, x) / std::sqrt(static_cast<double>(n));
  }
  static T root(T variance) { return std::sqrt(std::max(variance, kEpsilon * kEpsilon)); }

  /// g becomes u.
  static void factored(const MatrixShape& s, T fresh, T* g, T* row, T* column) {
    T* squares = scratch<T>(0, s.columns);
    std::fill_n(squares, s.columns, T(0));
    double mean = 0;
    for (std::size_t i = 0; i < s.rows; ++i) {
      const T* gi = g + i * s.columns;
      for (std::size_t j = 0; j < s.columns; ++j)
        squares[j] += gi[j] * gi[j];
      const double sum = sum_of_squares(s.columns, gi);
      row[i] += fresh * (T(sum / static_cast<double>(s.columns)) - row[i]);
      mean += static_cast<double>(row[i]);
    }
    mean /= static_cast<double>(s.rows);
    for (std::size_t j = 0; j < s.columns; ++j)
      column[j] += fresh * (squares[j] / static_cast<T>(s.rows) - column[j]);
    const T scale = T(1) / std::max(T(mean), kEpsilon);
    for (std::size_t i = 0; i < s.rows; ++i)
      for (std::size_t j = 0; j < s.columns; ++j)
        g[i * s.columns + j] /= root(row[i] * column[j] * scale);
  }
  static void whole(std::size_t n, T fresh, T* g, T* variance) {
    for (std::size_t i = 0; i < n; ++i) {
      variance[i] += fresh * (g[i] * g[i] - variance[i]);
      g[i] /= root(variance[i]);
    }
  }

  std::vector<ParameterInfo> infos_;
  std::shared_ptr<const Layout<T>> layout_;
  std::vector<MatrixShape> shapes_;
  std::vector<std::size_t> places_;
  std::size_t own_ = 0;
  double beta2_decay_, floor_, clip_, decay_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_adafactor(const Options& o, const Parameters<T>& p) {
  return std::make_unique<Adafactor<T>>(o, p);
}

}  // namespace

OptimizerEntry adafactor() {
  return {
      "adafactor",
      "Adafactor (arXiv:1804.04235): Adam's divisor from rows and columns, in little memory",
      {{"*", 1e-2, "PyTorch's default, next to the size of the weights"}},
      {float_option("beta2_decay", 0.8, 0, 10, "new squares weigh t to the power of minus this"),
       float_option("floor", 1e-3, 0, 1e6, "least size that a tensor's weights count for"),
       float_option("clip", 1, 1e-6, 1e6, "largest root mean square of a step's direction"),
       float_option("weight_decay", 0, 0, 1e6, "decoupled weight decay")},
      make_adafactor<float>,
      make_adafactor<double>};
}

}  // namespace thalweg::engine::optim
