// muon: steps of matrices are made orthogonal:
//   b = m b + (1 - m) g;   u = (1 - m) g + m b (Nesterov) or b
//   X = u / (|u| + 1e-7); `iterations` times
//     A = X X^T;  X = 3.4445 X + (-4.7750 A + 2.0315 A A) X          (Newton-Schulz)
//   or A = X^T X and X (...) where X has more rows than columns
//   w -= lr sqrt(max(1, rows / columns)) X, after w's decay
// A convolution (out, in, kh, kw) is the matrix (out, in kh kw) in the scale too; KellerJordan/Muon
// takes kh / kw there. Vectors, embeddings and the last matrix (the classifier) take AdamW's step,
// with adamw_beta1 also where one-cycle moves the momentum.
// Jordan et al. 2024 (KellerJordan/Muon); scale match_rms_adamw: 0.2 sqrt(max(rows, columns)), as
// in PyTorch (torch/optim/_muon.py) and Liu et al. 2025 (arXiv:2502.16982).
#include <algorithm>
#include <array>
#include <map>

#include "engine/optim/adam.h"
#include "engine/optim/large_product.h"
#include "engine/optim/matrix.h"
#include "engine/optim/newton_schulz.h"
#include "engine/optim/norm.h"
#include "engine/optim/ratios.h"

namespace thalweg::engine::optim {
namespace {

/// Leaves u in the gradient's place.
template <class T>
struct MuonDirection {
  using keeps_weights = void;
  using writes_gradient = void;
  T m, one_minus_m, g_coefficient, b_coefficient;
  THALWEG_FORMULA void operator()(T&, T& g, T& b) const {
    b = m * b + one_minus_m * g;
    g = g_coefficient * g + b_coefficient * b;
  }
};
THALWEG_FUSED(MuonDirection, 1)

template <class T>
struct MuonStep {
  T rate, keep;
  THALWEG_FORMULA void operator()(T& w, T x) const { w = keep * w - rate * x; }
};
THALWEG_FUSED(MuonStep, 0)

/// x = of_x x + of_y y
template <class T>
void combine(std::size_t n, T of_x, T* x, T of_y, const T* y) {
  for (std::size_t i = 0; i < n; ++i)
    x[i] = of_x * x[i] + of_y * y[i];
}

/// x (rows, columns) becomes nearly orthogonal, with singular values around 1.
template <class T>
void newton_schulz(const MatrixShape& s, int iterations, bool in_floats, T* x) {
  const std::size_t count = s.count(), n = std::min(s.rows, s.columns);
  const std::size_t k = std::max(s.rows, s.columns);
  const bool wide = s.rows <= s.columns;
  const T scale = T(1 / (norm(count, x) + 1e-7));
  for (std::size_t i = 0; i < count; ++i)
    x[i] *= scale;
  if constexpr (std::is_same_v<T, float>)
    if (!in_floats && is_large(n, n, k) && multiplies_bf16())
      return newton_schulz_bf16(s, iterations, x);
  T* a = scratch<T>(2, n * n);
  T* b = scratch<T>(3, n * n);
  T* bx = scratch<T>(4, count);
  for (int i = 0; i < iterations; ++i) {
    multiply_by_transpose(n, k, x, wide ? Stored::plain : Stored::transposed, a);
    multiply_by_transpose(n, n, a, Stored::plain, b);
    combine(n * n, T(2.0315), b, T(-4.7750), a);
    if (wide)
      multiply(n, k, n, b, Stored::plain, x, Stored::plain, bx);
    else
      multiply(k, n, n, x, Stored::plain, b, Stored::plain, bx);
    combine(count, T(3.4445), x, T(1), bx);
  }
}

struct MuonHyper {
  explicit MuonHyper(const Options& o)
      : momentum(o.real("momentum")),
        nesterov(o.flag("nesterov")),
        match_rms(o.text("scale") == "match_rms_adamw"),
        iterations(static_cast<int>(o.integer("iterations"))),
        in_floats(o.text("newton_schulz") == "float"),
        decay(o.real("weight_decay")),
        adam{o.real("adamw_beta1"), o.real("adamw_beta2"), o.real("adamw_epsilon")},
        adam_factor(o.real("adamw_lr_factor")) {}
  template <class T>
  AdamFormula<T> adamw(const StepContext& c, bool decays) const {
    const double lr = c.lr * adam_factor;
    return adam.formula<T>(lr, c.step + 1, 0, decays ? 1 - lr * decay : 1);
  }
  template <class T>
  MuonDirection<T> direction(const StepContext& c) const {
    const T m = T(c.momentum.value_or(momentum)),
            one_minus_m = T(1 - c.momentum.value_or(momentum));
    return nesterov ? MuonDirection<T>{m, one_minus_m, one_minus_m, m}
                    : MuonDirection<T>{m, one_minus_m, T(0), T(1)};
  }
  /// Of a step, next to lr.
  double size(const MatrixShape& s) const {
    const auto rows = static_cast<double>(s.rows), columns = static_cast<double>(s.columns);
    return match_rms ? 0.2 * std::sqrt(std::max(rows, columns))
                     : std::sqrt(std::max(1.0, rows / columns));
  }

  double momentum;
  bool nesterov, match_rms;
  int iterations;
  bool in_floats;
  double decay;
  AdamHyper adam;
  double adam_factor;
};

struct GradientSquares {
  static constexpr int sums = 1;
  THALWEG_HOST_DEVICE void operator()(float, float g, double* sum) const {
    sum[0] += static_cast<double>(g) * static_cast<double>(g);
  }
};
struct MuonKeepFactor {
  float* factors;
  THALWEG_HOST_DEVICE void operator()(int parameter, int, const double* squares) const {
    factors[parameter] = static_cast<float>(1 / (std::sqrt(squares[0]) + 1e-7));
  }
};

/// Those parameters of `place` for which `chosen` says so.
GpuPlace only(GpuPlace place, const std::vector<bool>& all, bool chosen) {
  for (std::size_t p = 0; p < all.size(); ++p)
    if (all[p] != chosen) place.infos[p].count = 0;
  return place;
}

struct MuonFactors {
  ByDecay<AdamFormula<float>> adamw;
  MuonDirection<float> direction;
  double lr;
};

class MuonOnGpu final : public ByFactors<MuonFactors> {
 public:
  MuonOnGpu(const MuonHyper& hyper, const std::vector<bool>& adamw, const std::vector<int>& decays,
            const Layout<float>* layout, const GpuPlace& place)
      : hyper_(hyper),
        rest_(place.gpu, only(place, adamw, true).infos, decays),
        matrices_(place.gpu, only(place, adamw, false).infos),
        ratios_(place.gpu, matrices_) {
    std::map<std::array<std::size_t, 2>, std::vector<GpuMatrix>> by_shape;
    for (std::size_t p = 0; p < adamw.size(); ++p) {
      const ParameterInfo& info = place.infos[p];
      if (adamw[p] || info.count == 0) continue;
      const MatrixShape s = matrix_shape(info.shape);
      by_shape[{s.rows, s.columns}].push_back({static_cast<std::int64_t>(info.offset), nullptr,
                                               static_cast<std::int32_t>(p), decays[p] != 0,
                                               hyper.size(s)});
    }
    std::size_t scratch = 0;
    for (const auto& [sides, all] : by_shape) {
      const MatrixShape shape{sides[0], sides[1]};
      const std::size_t at_once = std::max<std::size_t>(1, kFloatsAtOnce / shape.count());
      for (std::size_t first = 0; first < all.size(); first += at_once) {
        const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
        const auto count = std::min(at_once, all.size() - first);
        orthogonal_.emplace_back(
            place, layout, shape, hyper.iterations,
            std::vector<GpuMatrix>(begin, begin + static_cast<std::ptrdiff_t>(count)));
        scratch = std::max(scratch, orthogonal_.back().scratch_bytes());
      }
    }
    scratch_ = gpu::Memory(place.gpu, scratch, "muon's matrices");
  }

 private:
  MuonFactors factors(const StepContext& c, const OptimizerMemory<float>&) const override {
    return {{hyper_.adamw<float>(c, false), hyper_.adamw<float>(c, true)},
            hyper_.direction<float>(c),
            c.lr};
  }
  void put(gpu::Stream& stream, const StepFactors<MuonFactors>& f, const OptimizerMemory<float>& x,
           const GradientNotes& notes, gpu::Bf16*) override {
    run_pass<2>(stream, rest_, by_decay(f.part(&MuonFactors::adamw)), notes, x);
    const StepFactors<MuonDirection<float>> direction = f.part(&MuonFactors::direction);
    run_pass<1, GradientSquares>(stream, matrices_,
                                 Always<MuonDirection<float>>{direction.here, direction.there},
                                 notes, x, ratios_.partial());
    join_sums<1>(stream, matrices_, ratios_.partial(), MuonKeepFactor{ratios_.of_parameters()});
    for (const NewtonSchulz& group : orthogonal_)
      group.step(stream, f.part(&MuonFactors::lr), hyper_.decay, x.g, ratios_.of_parameters(),
                 notes, x.w, scratch_.data());
  }

  static constexpr std::size_t kFloatsAtOnce = std::size_t{1} << 26;

  MuonHyper hyper_;
  Chunks rest_, matrices_;
  Ratios ratios_;
  std::vector<NewtonSchulz> orthogonal_;
  gpu::Memory scratch_;
};

template <class T>
class Muon final : public Optimizer<T> {
 public:
  Muon(const Options& o, const Parameters<T>& p) : infos_(p.infos), layout_(p.layout), hyper_(o) {
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
    if (adamw_[p]) return run(hyper_.adamw<T>(c, infos_[p].decay), flat_range(s, x, 2));
    run(hyper_.direction<T>(c), flat_range(s, x, 1));
    orthogonalize(s, x.g + s.offset);
    const double keep = infos_[p].decay ? 1 - c.lr * hyper_.decay : 1;
    run(MuonStep<T>{T(c.lr * hyper_.size(shapes_[p])), T(keep)}, flat_range(s, x, 0));
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    if constexpr (std::is_same_v<T, float>) {
      std::vector<int> decays;
      for (const ParameterInfo& info : infos_)
        decays.push_back(info.decay ? 1 : 0);
      return std::make_unique<MuonOnGpu>(hyper_, adamw_, decays, layout_.get(), place);
    } else {
      return Optimizer<T>::on_gpu(place);
    }
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
    newton_schulz(s, hyper_.iterations, hyper_.in_floats, plain);
    if (layout_) layout_->from_plain(segment.parameter, plain, u);
  }

  std::vector<ParameterInfo> infos_;
  std::shared_ptr<const Layout<T>> layout_;
  std::vector<MatrixShape> shapes_;
  std::vector<bool> adamw_;
  MuonHyper hyper_;
};

template <class T>
std::unique_ptr<Optimizer<T>> make_muon(const Options& o, const Parameters<T>& p) {
  return std::make_unique<Muon<T>>(o, p);
}

jobspec::Option rest_option() {
  return string_option(
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
                         "of a step: sqrt(max(1, rows / columns)), of a convolution out / (in kh "
                         "kw), or as large as AdamW's"),
           int_option("iterations", 5, 1, 100, "Newton-Schulz iterations"),
           choice_option("newton_schulz", {"auto", "float"},
                         "on a CPU: products in bfloat16 where the processor and the size of the "
                         "matrix are for it, as the author's, or in floats"),
           float_option("weight_decay", 0, 0, 1e6, "decoupled weight decay"), rest_option(),
           float_option("adamw_lr_factor", 0.015, 0, 1e6, "AdamW's rate as a part of lr"),
           float_option("adamw_beta1", 0.9, 0, 0.99999999,
                        "AdamW's beta1, also under one-cycle, which moves momentum only"),
           float_option("adamw_beta2", 0.95, 0, 0.99999999, "AdamW's beta2"),
           float_option("adamw_epsilon", 1e-10, 0, 1, "AdamW's epsilon")},
          make_muon<float>,
          make_muon<double>};
}

}  // namespace thalweg::engine::optim
