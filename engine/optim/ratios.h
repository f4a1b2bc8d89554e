// A number for each parameter that comes from sums over it, on a GPU: of rows that scale a tensor's
// step by norms. For files that nvcc compiles where there is one.
#pragma once

#include "engine/optim/passes.h"

namespace thalweg::engine::optim {

/// What a row treats differently by parameter: the choice of its chunks.
enum RatioChoice { kDecays = 1, kPlain = 2 };
/// `plain`: the ratio does not apply.
inline int ratio_choice(const ParameterInfo& info, bool plain) {
  return (info.decay ? kDecays : 0) + (plain ? kPlain : 0);
}

class Ratios {
 public:
  Ratios(gpu::Gpu& gpu, const Chunks& chunks)
      : partial_(gpu, static_cast<std::size_t>(chunks.count()) * 2 * sizeof(double),
                 "norms of the optimizer"),
        of_parameters_(gpu, static_cast<std::size_t>(chunks.parameters()) * sizeof(float),
                       "ratios of the optimizer") {}
  /// For two sums of every chunk.
  double* partial() const { return static_cast<double*>(partial_.data()); }
  float* of_parameters() const { return of_parameters_.floats(); }
  /// Of w and g, into partial().
  void add_squares(gpu::Stream& stream, const Chunks& chunks,
                   const OptimizerMemory<float>& x) const {
    gpu::for_each_row(stream, chunks.count(), team_threads,
                      SquaresPass{chunks.table(), x.w, x.g, partial()});
  }

 private:
  gpu::Memory partial_, of_parameters_;
};

}  // namespace thalweg::engine::optim
