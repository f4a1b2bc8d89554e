#include "engine/comm/algorithms/shared/sums.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/comm/reduction/half.h"
#include "engine/comm/reduction/operators.h"
#include "engine/simd.h"

namespace thalweg::engine::comm {
namespace {

// Elements done at a time: what lies in between stays in the first-level cache.
constexpr std::size_t kBlock = 1024;

/// In what elements of type T are added up.
template <class T>
using Wide = decltype(load(T{}));

/// out = op(left, right) times factor; Out, Left, Right: each T or Wide<T>.
template <class F, bool kScaled, class Out, class Left, class Right, class W>
THALWEG_INLINE void step(Out* out, const Left* left, const Right* right, std::size_t count,
                         W factor) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    W value = F::of(W(load(left[i])), W(load(right[i])));
    if constexpr (kScaled) value *= factor;
    out[i] = store<Out>(value);
  }
}

/// One block: sources to `first`, by way of `between` where there are more than two.
template <class F, class T>
THALWEG_INLINE void block(T* first, const void* const* sources, std::size_t ranks, std::size_t at,
                          std::size_t count, bool average) {
  using W = Wide<T>;
  alignas(64) W between[kBlock];
  const auto source = [&](std::size_t k) { return static_cast<const T*>(sources[k]) + at; };
  const W factor = average ? static_cast<W>(1.0 / static_cast<double>(ranks)) : W(1);
  const T* last = source(ranks - 1);
  if (ranks == 2) {
    if (average) return step<F, true>(first, source(0), last, count, factor);
    return step<F, false>(first, source(0), last, count, factor);
  }
  step<F, false>(between, source(0), source(1), count, factor);
  for (std::size_t k = 2; k + 1 < ranks; ++k) {
    step<F, false>(between, between, source(k), count, factor);
  }
  if (average) return step<F, true>(first, between, last, count, factor);
  step<F, false>(first, between, last, count, factor);
}

/// All sources at once, to one place or to as many as there are sources.
template <class F, class T, std::size_t kSources, std::size_t kPlaces>
THALWEG_INLINE void fused(void* const* into, const void* const* sources, std::size_t count,
                          T factor) {
  T* out[kPlaces];
  const T* in[kSources];
  for (std::size_t k = 0; k < kSources; ++k) {
    in[k] = static_cast<const T*>(sources[k]);
  }
  for (std::size_t j = 0; j < kPlaces; ++j) {
    out[j] = static_cast<T*>(into[j]);
  }
#pragma GCC ivdep
  for (std::size_t i = 0; i < count; ++i) {
    T value = in[0][i];
    for (std::size_t k = 1; k < kSources; ++k) {
      value = F::of(value, in[k][i]);
    }
    value *= factor;  // exact where it is 1
    for (std::size_t j = 0; j < kPlaces; ++j) {
      out[j][i] = value;
    }
  }
}

template <class F, class T, std::size_t kSources>
THALWEG_INLINE bool fused_for(void* const* into, std::size_t places, const void* const* sources,
                              std::size_t count, T factor) {
  if (places == 1) {
    fused<F, T, kSources, 1>(into, sources, count, factor);
  } else if (places == kSources) {
    fused<F, T, kSources, kSources>(into, sources, count, factor);
  } else {
    return false;
  }
  return true;
}

/// False where there is no such loop: sums of gradients have it, the rest would take as long again
/// to compile.
template <class F, class T>
THALWEG_INLINE bool all_at_once(void* const* into, std::size_t places, const void* const* sources,
                                std::size_t ranks, std::size_t count, bool average) {
  if constexpr (!std::is_floating_point_v<T> || !std::is_same_v<F, Sum>) {
    return false;
  } else {
    const T factor = average ? static_cast<T>(1.0 / static_cast<double>(ranks)) : T(1);
    if (ranks == 2) return fused_for<F, T, 2>(into, places, sources, count, factor);
    if (ranks == 3) return fused_for<F, T, 3>(into, places, sources, count, factor);
    if (ranks == 4) return fused_for<F, T, 4>(into, places, sources, count, factor);
    return false;
  }
}

template <class F, class T>
THALWEG_INLINE void all_of(void* const* into, std::size_t places, const void* const* sources,
                           std::size_t ranks, std::size_t count, bool average) {
  if (all_at_once<F, T>(into, places, sources, ranks, count, average)) return;
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t n = std::min(kBlock, count - at);
    T* first = static_cast<T*>(into[0]) + at;
    block<F>(first, sources, ranks, at, n, average);
    for (std::size_t j = 1; j < places; ++j) {
      std::memcpy(static_cast<T*>(into[j]) + at, first, n * sizeof(T));
    }
  }
}

template <class T>
THALWEG_INLINE void all_blocks(void* const* into, std::size_t places, const void* const* sources,
                               std::size_t ranks, std::size_t count, Op op) {
  switch (op) {
    case Op::sum:
    case Op::average:
      return all_of<Sum, T>(into, places, sources, ranks, count, op == Op::average);
    case Op::min:
      return all_of<Min, T>(into, places, sources, ranks, count, false);
    case Op::max:
      return all_of<Max, T>(into, places, sources, ranks, count, false);
  }
}

using Kernel = void(void* const* into, std::size_t places, const void* const* sources,
                    std::size_t ranks, std::size_t count, Op op);
#define THALWEG_KERNEL(name, T)                                                             \
  THALWEG_SIMD void name(void* const* into, std::size_t places, const void* const* sources, \
                         std::size_t ranks, std::size_t count, Op op) {                     \
    all_blocks<T>(into, places, sources, ranks, count, op);                                 \
  }
THALWEG_KERNEL(reduce_f64, double)
THALWEG_KERNEL(reduce_f32, float)
THALWEG_KERNEL(reduce_f16, F16)
THALWEG_KERNEL(reduce_bf16, Bf16)
THALWEG_KERNEL(reduce_i32, std::int32_t)
THALWEG_KERNEL(reduce_i64, std::int64_t)
#undef THALWEG_KERNEL

/// out = left + right
THALWEG_SIMD void add_block(float* out, const float* left, const float* right, std::size_t count) {
  step<Sum, false>(out, left, right, count, 1.0F);
}

}  // namespace

void reduce_all(std::span<void* const> into, std::span<const void* const> sources,
                std::size_t count, Reduction reduction) {
  static constexpr Kernel* kKernels[] = {reduce_f64,  reduce_f32, reduce_f16,
                                         reduce_bf16, reduce_i32, reduce_i64};
  kKernels[static_cast<int>(reduction.type)](into.data(), into.size(), sources.data(),
                                             sources.size(), count, reduction.op);
}

void reduce_tree(std::span<float* const> into, std::span<const float* const> places,
                 std::span<const ShardTree::Add> adds, std::size_t count) {
  std::vector<float> between(places.size() * kBlock);
  std::vector<const float*> now(places.size());
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t n = std::min(kBlock, count - at);
    for (std::size_t k = 0; k < places.size(); ++k) {
      now[k] = places[k] + at;
    }
    float* first = into[0] + at;
    for (std::size_t k = 0; k < adds.size(); ++k) {
      const auto left = static_cast<std::size_t>(adds[k].into);
      float* out = k + 1 == adds.size() ? first : between.data() + left * kBlock;
      add_block(out, now[left], now[static_cast<std::size_t>(adds[k].from)], n);
      now[left] = out;
    }
    if (adds.empty() && first != now[0]) std::memcpy(first, now[0], n * sizeof(float));
    for (std::size_t j = 1; j < into.size(); ++j) {
      std::memcpy(into[j] + at, first, n * sizeof(float));
    }
  }
}

}  // namespace thalweg::engine::comm
