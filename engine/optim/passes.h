// Passes over flat memory on a GPU, a block of threads for each chunk of a parameter. For files
// that nvcc compiles where there is one (thalweg_gpu_sources).
#pragma once

#include <cstdint>
#include <utility>

#include "engine/gpu/loops.h"
#include "engine/optim/step_factors.h"

namespace thalweg::engine::optim {

constexpr int team_threads = 256;
constexpr int pack_width = 4;
using Floats4 = gpu::Pack<float, pack_width>;

/// Whether the parameter's gradient may be used.
THALWEG_HOST_DEVICE inline bool takes_part(const GradientNotes& notes, int parameter) {
  // Of infinity and NaN the difference is NaN.
  if (notes.squares != nullptr && !(notes.squares[parameter] - notes.squares[parameter] == 0))
    return false;
  return notes.uses == nullptr || notes.uses[parameter] > 0;
}

/// What a pass adds up: nothing, or w^2 and g^2 as the formula leaves them.
struct NoSums {
  static constexpr int sums = 0;
  THALWEG_HOST_DEVICE void operator()(float, float, double*) const {}
};
struct BothSquares {
  static constexpr int sums = 2;
  THALWEG_HOST_DEVICE void operator()(float w, float g, double* sum) const {
    sum[0] += static_cast<double>(w) * static_cast<double>(w);
    sum[1] += static_cast<double>(g) * static_cast<double>(g);
  }
};

/// A thread's share of the sum of squares of x over a chunk.
THALWEG_HOST_DEVICE inline double chunk_squares(const gpu::ThreadBlock& block, const Chunk& chunk,
                                                const float* x) {
  double sum = 0;
  for (int i = block.rank(); i < chunk.count / pack_width; i += block.size()) {
    const Floats4 xi = reinterpret_cast<const Floats4*>(x)[chunk.first / pack_width + i];
    for (int k = 0; k < pack_width; ++k)
      sum += static_cast<double>(xi.at[k]) * static_cast<double>(xi.at[k]);
  }
  return sum;
}

/// A thread block's own sums of a chunk go to partial[k * chunks + row].
template <int sums>
THALWEG_HOST_DEVICE void keep_sums(const gpu::ThreadBlock& block, const double* mine,
                                   double* partial, std::int64_t chunks, std::int64_t row) {
  for (int k = 0; k < sums; ++k) {
    const double all = block.sum(mine[k]);
    if (block.rank() == 0) partial[k * chunks + row] = all;
  }
}

/// A formula of fused.h over every chunk. `choose(chunk)` gives the formula with its factors. One
/// that has a member `keeps_weights` does not change w.
template <class Choose, int state_count, class Watch>
struct FusedPass {
  Choose choose;
  GradientNotes notes;
  ChunkTable table;
  double* partial;
  float* w;
  float* g;
  float* states[state_count > 0 ? state_count : 1];
  double* squares = nullptr;    ///< by chunk: of the gradient, before it is used
  gpu::Bf16* narrow = nullptr;  ///< BesidesUpdate::narrow

  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t row) const {
    const Chunk chunk = table.chunks[row];
    if (squares != nullptr) {
      // What this brings from memory the update finds in a cache.
      const double all = block.sum(chunk_squares(block, chunk, g));
      if (block.rank() == 0) squares[row] = all;
      if (!(all - all == 0)) return;
    }
    if (!takes_part(notes, chunk.parameter)) return;
    const auto formula = choose(chunk);
    double sums[Watch::sums > 0 ? Watch::sums : 1] = {};
    for (int i = block.rank(); i < chunk.count / pack_width; i += block.size())
      one(formula, chunk.first / pack_width + i, sums, std::make_index_sequence<state_count>());
    keep_sums<Watch::sums>(block, sums, partial, table.count, row);
  }

 private:
  template <class Formula, std::size_t... S>
  THALWEG_HOST_DEVICE void one(const Formula& formula, std::int64_t at, double* sums,
                               std::index_sequence<S...>) const {
    Floats4 wi = reinterpret_cast<const Floats4*>(w)[at];
    Floats4 gi = reinterpret_cast<const Floats4*>(g)[at];
    Floats4 si[sizeof...(S) + 1] = {reinterpret_cast<const Floats4*>(states[S])[at]...};
    for (int k = 0; k < pack_width; ++k) {
      formula(wi.at[k], gi.at[k], si[S].at[k]...);
      Watch()(wi.at[k], gi.at[k], sums);
    }
    if constexpr (!requires { typename Formula::keeps_weights; })
      reinterpret_cast<Floats4*>(w)[at] = wi;
    if (narrow != nullptr) {
      gpu::Pack<gpu::Bf16, pack_width> rounded;
      for (int k = 0; k < pack_width; ++k)
        rounded.at[k] = gpu::store<gpu::Bf16>(wi.at[k]);
      reinterpret_cast<gpu::Pack<gpu::Bf16, pack_width>*>(narrow)[at] = rounded;
    }
    if constexpr (requires { typename Formula::writes_gradient; })
      reinterpret_cast<Floats4*>(g)[at] = gi;
    ((reinterpret_cast<Floats4*>(states[S])[at] = si[S]), ...);
  }
};
template <int state_count, class Watch = NoSums, class Choose>
FusedPass<Choose, state_count, Watch> fused_pass(const Chunks& chunks, const Choose& choose,
                                                 const GradientNotes& notes,
                                                 const OptimizerMemory<float>& x,
                                                 double* partial = nullptr) {
  FusedPass<Choose, state_count, Watch> pass{choose, notes, chunks.table(), partial, x.w, x.g, {}};
  for (int s = 0; s < state_count; ++s)
    pass.states[s] = x.states[static_cast<std::size_t>(s)];
  return pass;
}
template <int state_count, class Watch = NoSums, class Choose>
void run_pass(gpu::Stream& stream, const Chunks& chunks, const Choose& choose,
              const GradientNotes& notes, const OptimizerMemory<float>& x,
              double* partial = nullptr, gpu::Bf16* narrow = nullptr) {
  auto pass = fused_pass<state_count, Watch>(chunks, choose, notes, x, partial);
  pass.narrow = narrow;
  gpu::for_each_row(stream, chunks.count(), team_threads, pass);
}

/// The formula of weights that weight decay applies to (odd choices), or not.
template <class Formula>
struct ByDecay {
  Formula without, with;
  const ByDecay* there = nullptr;  ///< in the GPU's memory: what is to be taken instead
  THALWEG_HOST_DEVICE Formula operator()(const Chunk& chunk) const {
    const bool decays = chunk.choice % 2 != 0;
    // Arguments of a launch have no address: a reference to either would copy them to the stack.
    if (there != nullptr) return decays ? there->with : there->without;
    return decays ? with : without;
  }
};
template <class Formula>
struct Always {
  Formula formula;
  const Formula* there = nullptr;  ///< as in ByDecay
  THALWEG_HOST_DEVICE Formula operator()(const Chunk&) const {
    if (there != nullptr) return *there;
    return formula;
  }
};

template <class Formula>
ByDecay<Formula> by_decay(const StepFactors<ByDecay<Formula>>& of) {
  return {of.here.without, of.here.with, of.there};
}

/// Sums of squares of w and g, the chunks' parts.
struct SquaresPass {
  ChunkTable table;
  const float* w;
  const float* g;
  double* partial;
  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t row) const {
    const Chunk chunk = table.chunks[row];
    double sums[2] = {};
    for (int i = block.rank(); i < chunk.count / pack_width; i += block.size()) {
      const Floats4 wi = reinterpret_cast<const Floats4*>(w)[chunk.first / pack_width + i];
      const Floats4 gi = reinterpret_cast<const Floats4*>(g)[chunk.first / pack_width + i];
      for (int k = 0; k < pack_width; ++k)
        BothSquares()(wi.at[k], gi.at[k], sums);
    }
    keep_sums<2>(block, sums, partial, table.count, row);
  }
};

struct KeepSquares {
  double* out;
  THALWEG_HOST_DEVICE void operator()(int parameter, int, const double* sums) const {
    out[parameter] = sums[0];
  }
};

/// use(parameter, choice, sums): once for each parameter, with the whole sums of its chunks.
template <int sums, class Use>
struct JoinPass {
  Use use;
  ChunkTable table;
  const double* partial;
  THALWEG_HOST_DEVICE void operator()(const gpu::ThreadBlock& block, std::int64_t parameter) const {
    const std::int32_t first = table.first[parameter], end = table.first[parameter + 1];
    double all[sums];
    for (int k = 0; k < sums; ++k) {
      double mine = 0;
      for (std::int32_t i = first + block.rank(); i < end; i += block.size())
        mine += partial[static_cast<std::int64_t>(k) * table.count + i];
      all[k] = block.sum(mine);
    }
    if (block.rank() == 0)
      use(static_cast<int>(parameter), first < end ? table.chunks[first].choice : 0, all);
  }
};
template <int sums, class Use>
void join_sums(gpu::Stream& stream, const Chunks& chunks, const double* partial, const Use& use) {
  gpu::for_each_row(stream, chunks.parameters(), team_threads,
                    JoinPass<sums, Use>{use, chunks.table(), partial});
}

}  // namespace thalweg::engine::optim
