// One pass over flat memory for optimizers that treat every weight alone: a row writes down its
// formula for one weight, and the factors of a step.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/optim/passes.h"
#include "engine/optim/table.h"
#include "engine/tensor/simd.h"

namespace thalweg::engine::optim {

/// The range that a pass works on.
template <class T>
struct FlatRange {
  std::size_t count = 0;
  T* w = nullptr;
  T* g = nullptr;
  std::array<T*, 5> states{};
};

template <class Formula, class T, std::size_t... S>
THALWEG_INLINE void fuse(const Formula& formula, const FlatRange<T>& x, std::index_sequence<S...>) {
  const auto loop =
      [](Formula f, std::size_t n, T * w, T * g, auto*... s) __attribute__((always_inline)) {
// No two of the vectors overlap.
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) {
      [&](T wi, T gi, auto... si) __attribute__((always_inline)) {
        f(wi, gi, si...);
        w[i] = wi;
        if constexpr (requires { typename Formula::writes_gradient; }) g[i] = gi;
        ((s[i] = si), ...);
      }
      (w[i], g[i], s[i]...);
    }
  };
  loop(formula, x.count, x.w, x.g, x.states[S]...);
}

/// Before the call operator of a formula: it runs on the host and on a GPU.
#define THALWEG_FORMULA THALWEG_HOST_DEVICE THALWEG_INLINE

/// Defines run(formula, range) for both number types. `Formula<T>` has
/// `void operator()(T& w, T g, T& first_state, ...) const`; with `T& g` and a member
/// `using writes_gradient = void` the new g is kept.
#define THALWEG_FUSED(Formula, state_count)                                     \
  THALWEG_SIMD void run(const Formula<float>& f, const FlatRange<float>& x) {   \
    fuse(f, x, std::make_index_sequence<state_count>());                        \
  }                                                                             \
  THALWEG_SIMD void run(const Formula<double>& f, const FlatRange<double>& x) { \
    fuse(f, x, std::make_index_sequence<state_count>());                        \
  }

template <class T>
FlatRange<T> flat_range(const Segment& segment, const OptimizerMemory<T>& memory, int states) {
  FlatRange<T> x{segment.count, memory.w + segment.offset, memory.g + segment.offset, {}};
  for (std::size_t s = 0; s < static_cast<std::size_t>(states); ++s)
    x.states[s] = memory.states[s] + segment.offset;
  return x;
}

/// A Rule on a GPU: one pass over all parameters.
template <class Rule>
class FusedOnGpu : public OptimizerOnGpu {
 public:
  FusedOnGpu(const Rule& rule, const std::vector<bool>& decay, const GpuPlace& place)
      : rule_(rule),
        chunks_(place.gpu, place.infos, {decay.begin(), decay.end()}),
        partial_(place.gpu, static_cast<std::size_t>(chunks_.count()) * sizeof(double),
                 "sums of the gradient") {}
  void update(gpu::Stream& stream, const StepContext& context, const OptimizerMemory<float>& memory,
              const GradientNotes& notes) override {
    run_pass<Rule::states>(stream, chunks_, factors(context, memory), notes, memory);
    if constexpr (requires { Rule::scalars; }) rule_.finish(context, memory.scalars);
  }
  std::size_t factor_bytes() const override { return sizeof(Factors); }
  bool one_pass() const override { return true; }
  void write_factors(const StepContext& context, const OptimizerMemory<float>& memory,
                     void* to) override {
    const Factors now = factors(context, memory);
    std::memcpy(to, &now, sizeof now);
    if constexpr (requires { Rule::scalars; }) rule_.finish(context, memory.scalars);
  }
  void update_with(gpu::Stream& stream, const void* there, const OptimizerMemory<float>& memory,
                   const GradientNotes& notes, const BesidesUpdate& besides) override {
    Factors from{};
    from.there = static_cast<const Factors*>(there);
    auto pass = fused_pass<Rule::states>(chunks_, from, notes, memory);
    auto* const partial = static_cast<double*>(partial_.data());
    if (besides.squares != nullptr) pass.squares = partial;
    pass.narrow = besides.narrow;
    gpu::for_each_row(stream, chunks_.count(), team_threads, pass);
    if (besides.squares != nullptr)
      join_sums<1>(stream, chunks_, partial, KeepSquares{besides.squares});
  }

 protected:
  using Formula = decltype(std::declval<const Rule&>().template formula<float>(
      std::declval<const StepContext&>(), true, std::span<const double>()));
  using Factors = ByDecay<Formula>;
  Factors factors(const StepContext& context, const OptimizerMemory<float>& memory) const {
    return {rule_.template formula<float>(context, false, memory.scalars),
            rule_.template formula<float>(context, true, memory.scalars)};
  }

  Rule rule_;
  Chunks chunks_;
  gpu::Memory partial_;
};

/// A Rule has `static constexpr int states`, `explicit Rule(const Options&)` and
/// `formula<T>(context, decay, scalars)`: what one step does to weights that weight decay applies
/// to, or not. Where `scalars` is not 0, finish(context, scalars) prepares those of the next step.
template <class T, class Rule>
class Fused : public Optimizer<T> {
 public:
  Fused(const Options& options, const Parameters<T>& parameters) : rule_(options) {
    for (const ParameterInfo& info : parameters.infos)
      decay_.push_back(info.decay);
  }
  int states() const override { return Rule::states; }
  std::size_t scalars() const override {
    if constexpr (requires { Rule::scalars; }) return Rule::scalars;
    return 0;
  }
  bool elementwise(int) const override { return true; }
  void update(const StepContext& context, const Segment& segment,
              const OptimizerMemory<T>& memory) const override {
    const bool decay = decay_[static_cast<std::size_t>(segment.parameter)];
    run(rule_.template formula<T>(context, decay, memory.scalars),
        flat_range(segment, memory, Rule::states));
  }
  void finish(const StepContext& context, const OptimizerMemory<T>& memory) const override {
    if constexpr (requires { Rule::scalars; }) rule_.finish(context, memory.scalars);
  }
  std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const override {
    return on_gpu_as<FusedOnGpu<Rule>>(place);
  }

 protected:
  template <class OnGpu>
  std::unique_ptr<OptimizerOnGpu> on_gpu_as(const GpuPlace& place) const {
    if constexpr (std::is_same_v<T, float>)
      return std::make_unique<OnGpu>(rule_, decay_, place);
    else
      return Optimizer<T>::on_gpu(place);
  }

  Rule rule_;
  std::vector<bool> decay_;
};

/// Makers for the table.
template <class T, class Rule>
std::unique_ptr<Optimizer<T>> make_fused(const Options& options, const Parameters<T>& parameters) {
  return std::make_unique<Fused<T, Rule>>(options, parameters);
}

}  // namespace thalweg::engine::optim
