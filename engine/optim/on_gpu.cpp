#include "engine/optim/on_gpu.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/optim/passes.h"

namespace thalweg::engine {

void OptimizerOnGpu::write_factors(const StepContext&, const OptimizerMemory<float>&, void*) {
  throw std::logic_error("this optimizer's update cannot be captured");
}
void OptimizerOnGpu::update_with(gpu::Stream&, const void*, const OptimizerMemory<float>&,
                                 const GradientNotes&, const BesidesUpdate&) {
  throw std::logic_error("this optimizer's update cannot be captured");
}
void OptimizerOnGpu::eval_weights(gpu::Stream&, const OptimizerMemory<float>&, float*) {
  throw std::logic_error("this optimizer validates at the weights themselves");
}
void OptimizerOnGpu::observe_curvature(gpu::Stream&, const StepContext&,
                                       const OptimizerMemory<float>&, const GradientNotes&) {
  throw std::logic_error("this optimizer asks for no curvature");
}

namespace optim {
namespace {

struct OneSquaresPass {
  ChunkTable table;
  const float* x;
  double* partial;
  std::int64_t first;
  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t row) const {
    const double sum = chunk_squares(block, table.chunks[first + row], x);
    keep_sums<1>(block, &sum, partial, table.count, first + row);
  }
};

/// One row: the factor that clips the whole vector.
struct ClipFactor {
  const double* squares;
  int parameters;
  double longest;
  double* factor;
  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t) const {
    double mine = 0;
    for (int p = block.rank(); p < parameters; p += block.size())
      mine += squares[p];
    const double norm = std::sqrt(block.sum(mine));
    const bool clips = norm > longest && norm - norm == 0;
    if (block.rank() == 0) *factor = clips ? longest / norm : 1.0;
  }
};

struct ScalePass {
  ChunkTable table;
  const double* factor;
  float* x;
  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t row) const {
    const double by = *factor;
    if (by == 1) return;  // the usual case moves nothing
    const Chunk chunk = table.chunks[row];
    for (int i = block.rank(); i < chunk.count / pack_width; i += block.size()) {
      Floats4& xi = reinterpret_cast<Floats4*>(x)[chunk.first / pack_width + i];
      Floats4 now = xi;
      for (int k = 0; k < pack_width; ++k)
        now.at[k] = static_cast<float>(static_cast<double>(now.at[k]) * by);
      xi = now;
    }
  }
};

struct ClipValue {
  float limit;
  THALWEG_HOST_DEVICE float operator()(float x) const {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    if (x > limit && x < infinity) return limit;
    return x < -limit && x > -infinity ? -limit : x;
  }
};

}  // namespace

GradientSums::GradientSums(gpu::Gpu& gpu, std::span<const ParameterInfo> infos)
    : chunks_(gpu, infos),
      partial_(gpu, static_cast<std::size_t>(chunks_.count()) * sizeof(double),
               "sums of the gradient"),
      factor_(gpu, sizeof(double), "the factor that clips the gradient") {}

void GradientSums::sums_of_squares(gpu::Stream& stream, const float* x, double* out) {
  add_squares(stream, x, 0, static_cast<int>(chunks_.parameters()));
  take_squares(stream, out);
}

void GradientSums::add_squares(gpu::Stream& stream, const float* x, int first, int end) {
  const std::int64_t row = chunks_.first(first);
  gpu::for_each_row(stream, chunks_.first(end) - row, team_threads,
                    OneSquaresPass{chunks_.table(), x, static_cast<double*>(partial_.data()), row});
}

void GradientSums::take_squares(gpu::Stream& stream, double* out) {
  join_sums<1>(stream, chunks_, static_cast<const double*>(partial_.data()), KeepSquares{out});
}

void GradientSums::clip_norm(gpu::Stream& stream, float* g, const double* squares, double longest) {
  auto* const factor = static_cast<double*>(factor_.data());
  gpu::for_each_row(stream, 1, team_threads,
                    ClipFactor{squares, static_cast<int>(chunks_.parameters()), longest, factor});
  gpu::for_each_row(stream, chunks_.count(), team_threads, ScalePass{chunks_.table(), factor, g});
}

void clip_values(gpu::Stream& stream, float* g, std::size_t n, double largest) {
  gpu::map(stream, static_cast<std::int64_t>(n), ClipValue{static_cast<float>(largest)}, g,
           static_cast<const float*>(g));
}

}  // namespace optim
}  // namespace thalweg::engine
