// Newton and Schulz's iteration of muon.cpp on a GPU, for all matrices of one shape at once.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/gpu/library.h"
#include "engine/optim/matrix.h"
#include "engine/optim/step_factors.h"

namespace thalweg::engine::optim {

/// One of the matrices, and its step.
struct GpuMatrix {
  std::int64_t offset = 0;  ///< of the parameter in the flat memory
  /// Element i of the plain matrix is number places[i] of the parameter; null: i, or columns that
  /// are in another order, which the result then has too.
  const std::int32_t* places = nullptr;
  std::int32_t parameter = 0;
  bool decays = false;
  double size = 1;  ///< of a step, next to lr
};

class NewtonSchulz {
 public:
  /// `members`: parameters of this shape.
  NewtonSchulz(const GpuPlace& place, const Layout<float>* layout, const MatrixShape& shape,
               int iterations, const std::vector<GpuMatrix>& members);
  /// Bytes of passing memory, which others may use in between.
  std::size_t scratch_bytes() const;
  /// w = (1 - lr decay) w - lr size X of every member, X nearly orthogonal, from the directions u
  /// and their factors 1 / |u|, one for each parameter.
  void step(gpu::Stream& stream, const StepFactors<double>& lr, double decay, const float* u,
            const float* factors, const GradientNotes& notes, float* w, void* scratch) const;

 private:
  std::size_t floats() const { return members_ * shape_.count(); }
  std::size_t squares() const { return members_ * n_ * n_; }

  MatrixShape shape_;
  std::size_t members_, n_;  ///< n: the shorter side
  int iterations_;
  std::vector<gpu::Memory> places_;
  gpu::Memory table_;
  std::unique_ptr<gpu::Call> square_, quartic_, apply_;
  std::size_t workspace_ = 0;
};

/// Where the plain elements of a parameter lie in the device's own order; empty: in the plain
/// order, but for columns that change places in every row alike.
std::vector<std::int32_t> places_of(const Layout<float>& layout, int parameter, std::size_t count,
                                    const MatrixShape& shape);

}  // namespace thalweg::engine::optim
