// Two sums over every parameter on a GPU, read by the host: of rows whose rate follows from sums
// over the whole model. For files that nvcc compiles where there is one.
#pragma once

#include <array>
#include <span>

#include "engine/optim/passes.h"

namespace thalweg::engine::optim {

/// Sum of term(x0, x1, ...) over the elements of a chunk; 0 of parameters that take no part.
template <class Term, int vectors>
struct TermPass {
  Term term;
  GradientNotes notes;
  ChunkTable table;
  const float* x[vectors];
  double* partial;

  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t row) const {
    const Chunk chunk = table.chunks[row];
    double sum = 0;
    if (takes_part(notes, chunk.parameter))
      for (int i = block.rank(); i < chunk.count / pack_width; i += block.size())
        sum += pack(chunk.first / pack_width + i, std::make_index_sequence<vectors>());
    keep_sums<1>(block, &sum, partial, table.count, row);
  }

 private:
  template <std::size_t... V>
  THALWEG_HOST_DEVICE double pack(std::int64_t at, std::index_sequence<V...>) const {
    const Floats4 here[vectors] = {reinterpret_cast<const Floats4*>(x[V])[at]...};
    double sum = 0;
    for (int k = 0; k < pack_width; ++k)
      sum += term(static_cast<double>(here[V].at[k])...);
    return sum;
  }
};

struct SizeTerm {
  THALWEG_HOST_DEVICE double operator()(double x) const { return x < 0 ? -x : x; }
};

struct KeepPair {
  double* sums;
  float* nonzero;
  THALWEG_HOST_DEVICE void operator()(int parameter, int, const double* all) const {
    sums[2 * parameter] = all[0];
    sums[2 * parameter + 1] = all[1];
    nonzero[parameter] = all[1] != 0 ? 1.0f : 0.0f;
  }
};

class PairSums {
 public:
  PairSums(gpu::Gpu& gpu, const Chunks& chunks)
      : partial_(gpu, static_cast<std::size_t>(chunks.count()) * 2 * sizeof(double),
                 "sums of the optimizer"),
        sums_(gpu, static_cast<std::size_t>(chunks.parameters()) * 2 * sizeof(double),
              "sums of the optimizer"),
        nonzero_(gpu, static_cast<std::size_t>(chunks.parameters()) * sizeof(float),
                 "sums of the optimizer"),
        here_(gpu, sums_.bytes(), "sums of the optimizer", true) {}

  /// The first (0) or the second (1) sum of every parameter.
  template <class Term, class... X>
  void add(gpu::Stream& stream, const Chunks& chunks, int which, const Term& term,
           const GradientNotes& notes, const X*... x) {
    constexpr int vectors = static_cast<int>(sizeof...(X));
    gpu::for_each_row(stream, chunks.count(), team_threads,
                      TermPass<Term, vectors>{
                          term, notes, chunks.table(), {x...}, partial() + which * chunks.count()});
  }
  /// Both of parameter p as numbers 2 p and 2 p + 1. Waits for the GPU.
  std::span<const double> fetch(gpu::Stream& stream, const Chunks& chunks) {
    join_sums<2>(stream, chunks, partial(),
                 KeepPair{static_cast<double*>(sums_.data()), nonzero_.floats()});
    stream.copy(here_.data(), sums_.data(), sums_.bytes());
    stream.wait();
    return {static_cast<const double*>(here_.data()), here_.bytes() / sizeof(double)};
  }
  /// Parameters whose second sum is 0 are left alone.
  GradientNotes where_second() const { return {nullptr, nonzero_.floats()}; }

 private:
  double* partial() const { return static_cast<double*>(partial_.data()); }

  gpu::Memory partial_, sums_, nonzero_, here_;
};

/// What note() says.
constexpr const char* kHostWaitsForSums =
    "the host waits for the GPU in every step: the optimizer's rate follows from sums over all "
    "parameters";

}  // namespace thalweg::engine::optim
