// What goes around any row of the table.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/optim/on_gpu.h"
#include "engine/optim/optimizer.h"
#include "engine/optim/step_factors.h"

namespace thalweg::engine::optim {

/// Passes everything on to the optimizer inside.
template <class T>
class Wrapped : public Optimizer<T> {
 public:
  explicit Wrapped(std::unique_ptr<Optimizer<T>> base) : base_(std::move(base)) {}
  int states() const override { return base_->states(); }
  std::size_t own() const override { return base_->own(); }
  std::size_t scalars() const override { return base_->scalars(); }
  bool elementwise(int parameter) const override { return base_->elementwise(parameter); }
  void finish(const StepContext& c, const OptimizerMemory<T>& x) const override {
    base_->finish(c, x);
  }
  bool has_eval_weights() const override { return base_->has_eval_weights(); }
  void eval_weights(const OptimizerMemory<T>& x, T* to) const override {
    base_->eval_weights(x, to);
  }
  bool observes_curvature() const override { return base_->observes_curvature(); }
  bool curvature_due(std::int64_t step) const override { return base_->curvature_due(step); }
  void observe_curvature(const StepContext& c, const Segment& s,
                         const OptimizerMemory<T>& x) const override {
    base_->observe_curvature(c, s, x);
  }

 protected:
  const Optimizer<T>& base() const { return *base_; }

 private:
  std::unique_ptr<Optimizer<T>> base_;
};

/// Work of its own before and after the base's update; Own: its factors of a step.
template <class Own>
class WrappedOnGpu : public OptimizerOnGpu {
 public:
  explicit WrappedOnGpu(std::unique_ptr<OptimizerOnGpu> base) : base_(std::move(base)) {}
  void update(gpu::Stream& stream, const StepContext& c, const OptimizerMemory<float>& x,
              const GradientNotes& notes) override {
    const StepFactors<Own> own{factors(c)};
    before(stream, own, x, notes);
    base_->update(stream, c, x, notes);
    after(stream, own, x);
  }
  std::size_t factor_bytes() const override {
    return base_->factor_bytes() > 0 ? kOwn + base_->factor_bytes() : 0;
  }
  void write_factors(const StepContext& c, const OptimizerMemory<float>& x, void* to) override {
    base_->write_factors(c, x, static_cast<std::byte*>(to) + kOwn);
    const Own own = factors(c);
    std::memcpy(to, &own, sizeof own);
  }
  bool writes_narrow() const override { return base_->writes_narrow(); }
  void update_with(gpu::Stream& stream, const void* there, const OptimizerMemory<float>& x,
                   const GradientNotes& notes, const BesidesUpdate& besides) override {
    const StepFactors<Own> own{{}, static_cast<const Own*>(there)};
    before(stream, own, x, notes);
    base_->update_with(stream, static_cast<const std::byte*>(there) + kOwn, x, notes,
                       {nullptr, besides.narrow});
    after(stream, own, x);
  }
  void eval_weights(gpu::Stream& stream, const OptimizerMemory<float>& x, float* to) override {
    base_->eval_weights(stream, x, to);
  }
  void observe_curvature(gpu::Stream& stream, const StepContext& c, const OptimizerMemory<float>& x,
                         const GradientNotes& notes) override {
    base_->observe_curvature(stream, c, x, notes);
  }
  std::string note() const override { return base_->note(); }

 protected:
  virtual Own factors(const StepContext& c) const = 0;
  virtual void before(gpu::Stream&, const StepFactors<Own>&, const OptimizerMemory<float>&,
                      const GradientNotes&) = 0;
  virtual void after(gpu::Stream&, const StepFactors<Own>&, const OptimizerMemory<float>&) = 0;

 private:
  static constexpr std::size_t kOwn = (sizeof(Own) + 15) / 16 * 16;

  std::unique_ptr<OptimizerOnGpu> base_;
};

/// How larc turns the ratio r = trust |w| / (|g| + decay |w| + epsilon) into the gradient's factor.
struct LarcOptions {
  std::string mode = "none";  ///< none, clip: min(r / lr, 1), scale: r, clip_one: min(r, 1)
  double trust = 0.02;
  double epsilon = 1e-8;
  double fallback = 0;  ///< r where a norm is 0; 0: the gradient is left as it is
  double decay = 0;     ///< the base's, which has none itself then
};
/// Scales each tensor's gradient before `base` sees it (You et al. 2017, as in NVIDIA apex's LARC).
template <class T>
std::unique_ptr<Optimizer<T>> with_larc(std::unique_ptr<Optimizer<T>> base,
                                        const Parameters<T>& parameters,
                                        const LarcOptions& options);

/// Some of the parameters, with an optimizer and a learning rate of their own.
template <class T>
struct ParameterGroup {
  std::unique_ptr<Optimizer<T>> optimizer;  ///< knows only the group's parameters
  double lr_factor = 1;
};
/// `group_of`: for each parameter, its group's number.
template <class T>
std::unique_ptr<Optimizer<T>> in_groups(std::vector<ParameterGroup<T>> groups,
                                        std::vector<int> group_of,
                                        const std::vector<ParameterInfo>& infos);

/// Validates at a running mean of the weights: e = d e + (1 - d) w after step t (from 1), with
/// d = min(decay, (1 + t) / (10 + t)), so that the first weights are soon forgotten (as in
/// TensorFlow's ExponentialMovingAverage).
template <class T>
std::unique_ptr<Optimizer<T>> with_average(std::unique_ptr<Optimizer<T>> base,
                                           const Parameters<T>& parameters, double decay);

}  // namespace thalweg::engine::optim
