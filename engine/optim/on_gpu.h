// Updates on the memory of a GPU: w, g and states of OptimizerMemory lie there, `own` and `scalars`
// on the host. Everything is put into a stream and nothing is waited for, but for what
// OptimizerOnGpu::note() tells. Every sum has a fixed order: the same bits in every run. update()
// has a step's factors as arguments of its launches and is not for capture; update_with() reads
// them from the GPU's memory.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/gpu/gpu.h"
#include "engine/gpu/types.h"
#include "engine/optim/chunks.h"
#include "engine/optim/optimizer.h"

namespace thalweg::engine {

/// Where updates will run.
struct GpuPlace {
  gpu::Gpu& gpu;
  std::vector<ParameterInfo> infos;              ///< a parameter whose count is 0 is left alone
  gpu::Products products = gpu::Products::fp32;  ///< what matrices are multiplied in
};

/// What the GPU knows about a gradient, one number for each parameter, in its memory. Null:
/// nothing.
struct GradientNotes {
  /// A parameter whose sum of squares is not finite stays as it is, its states too.
  const double* squares = nullptr;
  /// So does one that nobody used: those that are not above 0.
  const float* uses = nullptr;
};

/// What update_with() does beside the update. Null: nothing.
struct BesidesUpdate {
  /// Only of updates of one_pass(). Gets what GradientSums::sums_of_squares() says of the gradient.
  /// A range of a parameter (Chunks::size) whose own sum is not finite stays as it is.
  double* squares = nullptr;
  /// Only of updates that writes_narrow() tells. Gets the parameters, rounded, as flat as they are;
  /// but for those that GradientNotes leave as they are.
  gpu::Bf16* narrow = nullptr;
};

/// An optimizer's work on a GPU: Optimizer::on_gpu(). For one replica and one thread; every call
/// with the same stream, or with streams that wait for each other. The optimizer must outlive it.
class OptimizerOnGpu {
 public:
  virtual ~OptimizerOnGpu() = default;
  /// Optimizer::update() of every parameter, then finish().
  virtual void update(gpu::Stream& stream, const StepContext& context,
                      const OptimizerMemory<float>& memory, const GradientNotes& notes) = 0;
  /// Above 0 where all that changes from step to step are some numbers: that many bytes hold these
  /// factors, and write_factors() and update_with() may take the place of update(), to its bits.
  virtual std::size_t factor_bytes() const { return 0; }
  /// Whether update_with() is one pass over the parameters.
  virtual bool one_pass() const { return false; }
  /// Whether its last pass writes BesidesUpdate::narrow.
  virtual bool writes_narrow() const { return one_pass(); }
  /// Writes them to the host's memory, and does what finish() does there; before each step.
  virtual void write_factors(const StepContext& context, const OptimizerMemory<float>& memory,
                             void* to);
  /// `factors`: in the GPU's memory when the stream comes to it. For capture too.
  virtual void update_with(gpu::Stream& stream, const void* factors,
                           const OptimizerMemory<float>& memory, const GradientNotes& notes,
                           const BesidesUpdate& besides);
  /// Only where the optimizer has_eval_weights(); x in the GPU's memory.
  virtual void eval_weights(gpu::Stream& stream, const OptimizerMemory<float>& memory, float* x);
  /// Of every parameter; only where the optimizer says curvature_due().
  virtual void observe_curvature(gpu::Stream& stream, const StepContext& context,
                                 const OptimizerMemory<float>& memory, const GradientNotes& notes);
  /// A sentence for the journal where the host does the work and the device waits; else empty.
  virtual std::string note() const { return {}; }
};

namespace optim {

/// Sums over each parameter of a flat vector, and what clips by them. For one thread and stream at
/// a time.
class GradientSums {
 public:
  GradientSums(gpu::Gpu& gpu, std::span<const ParameterInfo> infos);
  /// out[p] = sum of squares over parameter p, for every p; not finite exactly where one of the
  /// elements is not. `out` in the GPU's memory.
  void sums_of_squares(gpu::Stream& stream, const float* x, double* out);
  /// The same in steps, for gradients that do not all stay until the last one is complete: add
  /// parameters [first, end) of x, and when each has been added once take the sums. To the same
  /// bits.
  void add_squares(gpu::Stream& stream, const float* x, int first, int end);
  void take_squares(gpu::Stream& stream, double* out);
  /// Scales all of g so that its norm, told by its `squares`, is at most `longest`; leaves one that
  /// is not finite.
  void clip_norm(gpu::Stream& stream, float* g, const double* squares, double longest);

 private:
  Chunks chunks_;
  gpu::Memory partial_, factor_;
};

/// Cuts every element to a size of at most `largest`, but for infinity and NaN.
void clip_values(gpu::Stream& stream, float* g, std::size_t n, double largest);

/// The way of rows that have no other: copies there and back, around the host's own update.
std::unique_ptr<OptimizerOnGpu> update_on_host(const Optimizer<float>& optimizer,
                                               const GpuPlace& place);

}  // namespace optim
}  // namespace thalweg::engine
