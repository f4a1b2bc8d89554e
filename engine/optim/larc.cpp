// larc: g = s (g + decay w), with s from |w| / |g|, before the base's own update.
// Modes clip and scale: NVIDIA apex (apex/parallel/LARC.py); clip_one and fallback: the CosmoFlow
// and pyprob (Etalumis) variants, with trust 0.002 and fallback 1/16000.
#include <algorithm>

#include "engine/optim/fused.h"
#include "engine/optim/norm.h"
#include "engine/optim/wrap.h"

namespace thalweg::engine::optim {
namespace {

template <class T>
struct Formula {
  using keeps_weights = void;
  using writes_gradient = void;
  T factor, decay;
  THALWEG_FORMULA void operator()(T& w, T& g) const { g = factor * (g + decay * w); }
};
THALWEG_FUSED(Formula, 0)

template <class T>
class Larc final : public Wrapped<T> {
 public:
  Larc(std::unique_ptr<Optimizer<T>> base, const Parameters<T>& parameters, const LarcOptions& o)
      : Wrapped<T>(std::move(base)), infos_(parameters.infos), o_(o) {}
  bool elementwise(int) const override { return false; }
  void update(const StepContext& c, const Segment& s, const OptimizerMemory<T>& x) const override {
    const double decay = infos_[static_cast<std::size_t>(s.parameter)].decay ? o_.decay : 0;
    const double w = norm(s.count, x.w + s.offset), g = norm(s.count, x.g + s.offset);
    double ratio = o_.trust * w / (g + decay * w + o_.epsilon);
    if (w == 0 || g == 0) ratio = o_.fallback;
    if (ratio > 0) run(Formula<T>{T(factor(ratio, c.lr)), T(decay)}, stretch(s, x, 0));
    this->base().update(c, s, x);
  }

 private:
  double factor(double ratio, double lr) const {
    if (o_.mode == "scale") return ratio;
    if (o_.mode == "clip_one") return std::min(ratio, 1.0);
    return lr > 0 ? std::min(ratio / lr, 1.0) : 1.0;
  }
  std::vector<ParameterInfo> infos_;
  LarcOptions o_;
};

}  // namespace

template <class T>
std::unique_ptr<Optimizer<T>> with_larc(std::unique_ptr<Optimizer<T>> base,
                                        const Parameters<T>& parameters,
                                        const LarcOptions& options) {
  return std::make_unique<Larc<T>>(std::move(base), parameters, options);
}
template std::unique_ptr<Optimizer<float>> with_larc(std::unique_ptr<Optimizer<float>>,
                                                     const Parameters<float>&, const LarcOptions&);
template std::unique_ptr<Optimizer<double>> with_larc(std::unique_ptr<Optimizer<double>>,
                                                      const Parameters<double>&,
                                                      const LarcOptions&);

}  // namespace thalweg::engine::optim
