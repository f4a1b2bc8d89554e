// Optimizers: how gradients change the weights. Formula and source stand in each .cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/tensor/parameter.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

/// Between a device's own layout of a parameter (ParameterInfo::count numbers, padding 0) and the
/// plain one. Thread-safe.
template <class T>
class Layout {
 public:
  virtual ~Layout() = default;
  virtual void to_plain(int parameter, const T* device, T* plain) const = 0;
  virtual void from_plain(int parameter, const T* plain, T* device) const = 0;
};

/// The model as an optimizer sees it.
template <class T>
struct Parameters {
  std::vector<ParameterInfo> infos;
  std::shared_ptr<const Layout<T>> layout;  ///< null: memory is in the plain layout
};

/// One parameter, or, where the optimizer is elementwise there, any part of it.
struct Segment {
  int parameter = 0;
  std::size_t offset = 0;  ///< in the flat memory
  std::size_t count = 0;
};

/// What holds for the whole step.
struct StepContext {
  std::int64_t step = 0;                ///< 0-based number of this update
  double lr = 0;                        ///< already scheduled, for this update
  std::optional<double> momentum = {};  ///< scheduled (one-cycle): instead of momentum or beta1
  std::int64_t samples = 1;             ///< that the gradient is the mean of
};

class OptimizerOnGpu;
struct GpuPlace;

/// What an update reads and writes: one replica's. Equal on every rank before and after a step.
template <class T>
struct OptimizerMemory {
  T* w = nullptr;              ///< flat
  T* g = nullptr;              ///< flat; spent afterwards: an optimizer may write into it
  std::span<T* const> states;  ///< Optimizer::states() flat vectors, 0 before step 0
  std::span<T> own;            ///< Optimizer::own() numbers, 0 before step 0
  std::span<double> scalars;   ///< Optimizer::scalars() numbers, 0 before step 0
};

/// A step is: update() of every parameter, in any order, as gradients become complete; then
/// finish(). The result does not depend on that order, nor on where elementwise parameters are cut.
/// T is float or double. Immutable: all that changes is in the memory. Different segments may be
/// updated from different threads.
template <class T>
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  virtual int states() const = 0;
  virtual std::size_t own() const { return 0; }  ///< in the plain layout
  virtual std::size_t scalars() const { return 0; }

  /// Whether this parameter may be updated in parts.
  virtual bool elementwise(int parameter) const = 0;
  virtual void update(const StepContext& context, const Segment& segment,
                      const OptimizerMemory<T>& memory) const = 0;
  /// What needs all parameters' sums, and the scalars of the next step.
  virtual void finish(const StepContext& context, const OptimizerMemory<T>& memory) const {
    (void)context, (void)memory;
  }

  /// Whether the weights to validate are others than those to train.
  virtual bool has_eval_weights() const { return false; }
  /// Writes them to the flat vector x. Only where has_eval_weights().
  virtual void eval_weights(const OptimizerMemory<T>& memory, T* x) const { (void)memory, (void)x; }

  /// Whether curvature_due() ever is.
  virtual bool observes_curvature() const { return false; }
  /// Whether after this step (0-based) g is to be the gradient for labels drawn from the model's
  /// own predictions, and observe_curvature() called for every parameter.
  virtual bool curvature_due(std::int64_t step) const {
    (void)step;
    return false;
  }
  virtual void observe_curvature(const StepContext& context, const Segment& segment,
                                 const OptimizerMemory<T>& memory) const {
    (void)context, (void)segment, (void)memory;
  }

  /// The same on a GPU's memory (on_gpu.h). T = float only; throws gpu::OutOfMemory. Rows that have
  /// no kernels are updated by the host.
  virtual std::unique_ptr<OptimizerOnGpu> on_gpu(const GpuPlace& place) const;
};
template <>
std::unique_ptr<OptimizerOnGpu> Optimizer<float>::on_gpu(const GpuPlace& place) const;
template <>
std::unique_ptr<OptimizerOnGpu> Optimizer<double>::on_gpu(const GpuPlace& place) const;

/// `options` is the trial's `train.optimizer` tree; lr is not used here (the schedule gives it).
/// Throws std::invalid_argument on an unknown name ("did you mean ...") and on options that do not
/// fit the parameters.
template <class T>
std::unique_ptr<Optimizer<T>> make_optimizer(const jobspec::Value& options,
                                             const Parameters<T>& parameters);

/// The learning rate of the tree, or the literature default of that optimizer for that model (a row
/// of the model table) where it says `auto`. `note` gets one sentence about where an automatic
/// value came from.
double base_learning_rate(const jobspec::Value& options, const std::string& model,
                          std::string* note);

/// Where a complete `train.optimizer` tree sets `beta_batch`, beta1 and beta2 become beta^(batch /
/// beta_batch): their means span as many samples as with that batch (the rule for SGD's momentum
/// and Adam's betas in Busbridge et al., arXiv:2307.13813). So do a group's, with its own
/// beta_batch and betas, or those that it inherits. Returns a sentence for the journal, or nothing.
std::string scale_betas(jobspec::Value& optimizer, int global_batch);

std::vector<jobspec::Section> optimizer_schema();

}  // namespace thalweg::engine
