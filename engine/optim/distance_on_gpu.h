// What optimizers do on a GPU that find their rate by a distance: from two sums of every parameter,
// joined on the host, to the next distance.
#pragma once

#include <algorithm>
#include <vector>

#include "engine/optim/fused.h"
#include "engine/optim/pair_sums.h"

namespace thalweg::engine::optim {

/// Rule (of floats): gather_on_gpu() updates moments and adds both sums; weight() is what the first
/// ones are multiplied by; advance() goes from the sums, in the scalars from kGlobals on, to what
/// step() takes, or to nothing where there was no gradient so far.
template <class Rule>
class DistanceOnGpu final : public OptimizerOnGpu {
 public:
  DistanceOnGpu(const Rule& rule, const GpuPlace& place)
      : rule_(rule),
        chunks_(place.gpu, place.infos, decays(rule, place)),
        sums_(place.gpu, chunks_) {}
  void update(gpu::Stream& stream, const StepContext& c, const OptimizerMemory<float>& x,
              const GradientNotes& notes) override {
    if (c.lr == 0) return;
    rule_.gather_on_gpu(stream, chunks_, sums_, c, x, notes);
    const std::span<const double> found = sums_.fetch(stream, chunks_);
    const std::span<double> sums = x.scalars.subspan(Rule::kGlobals);
    for (std::size_t i = 0; i < found.size(); ++i)
      sums[i] = found[i] * (i % 2 == 0 ? rule_.weight(c, x) : 1);
    if (const auto next = rule_.advance(c, x)) {
      using Step = decltype(rule_.step(*next, true));
      std::fill(sums.begin(), sums.end(), 0.0);
      run_pass<2>(stream, chunks_, ByDecay<Step>{rule_.step(*next, false), rule_.step(*next, true)},
                  sums_.where_second(), x);
    }
  }
  std::string note() const override { return kHostWaitsForSums; }

 private:
  static std::vector<int> decays(const Rule& rule, const GpuPlace& place) {
    std::vector<int> all;
    for (std::size_t p = 0; p < place.infos.size(); ++p)
      all.push_back(rule.decays(static_cast<int>(p)) ? 1 : 0);
    return all;
  }

  const Rule& rule_;
  Chunks chunks_;
  PairSums sums_;
};

}  // namespace thalweg::engine::optim
