#include "engine/gpu/vectors.h"

#include "engine/gpu/loops.h"
#include "engine/gpu/types.h"

namespace thalweg::engine::gpu {
namespace {

struct Sum {
  THALWEG_HOST_DEVICE float operator()(float a, float b) const { return a + b; }
};

struct Scale {
  float factor;
  THALWEG_HOST_DEVICE float operator()(float a) const { return a * factor; }
};

/// Elements i * width and its neighbours. No more than `depth` sums are open at once: each in its
/// own registers, which cannot be indexed, so that all are looked at.
template <int width, int depth>
struct SumInTree {
  using Few = Pack<float, width>;
  float* into;
  const float* const* places;
  const int* joins;
  int number;
  std::int64_t offset;  ///< in packs
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto at = [&](int p) { return reinterpret_cast<const Few*>(places[p])[offset + i]; };
    Few open[depth];
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
    for (int d = 0; d < depth; ++d)
      open[d] = {};
    int top = 0;
    Few last = at(0);
    for (int p = 1; p < number; ++p) {
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
      for (int d = 0; d < depth; ++d)
        if (d == top) open[d] = last;
      ++top;
      last = at(p);
      for (int join = 0; join < joins[p]; ++join) {
        --top;
        Few left{};
#if defined(__CUDA_ARCH__)
#pragma unroll
#endif
        for (int d = 0; d < depth; ++d)
          if (d == top) left = open[d];
        for (int k = 0; k < width; ++k)
          last.at[k] = left.at[k] + last.at[k];
      }
    }
    reinterpret_cast<Few*>(into)[offset + i] = last;
  }
};

template <int depth>
void sum_in_tree_of(Stream& stream, float* into, const float* const* places, const int* joins,
                    int number, std::int64_t n) {
  for_each(stream, n / 4, SumInTree<4, depth>{into, places, joins, number, 0});
  for_each(stream, n % 4, SumInTree<1, depth>{into, places, joins, number, n / 4 * 4});
}

struct Narrow {
  float* to;
  const double* from;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const { to[i] = static_cast<float>(from[i]); }
};

struct Total {
  float* to;
  const double* from;
  std::int64_t count;
  THALWEG_HOST_DEVICE void operator()(ThreadBlock block, std::int64_t) const {
    double mine = 0;
    for (std::int64_t i = block.rank(); i < count; i += block.size())
      mine += from[i];
    const double all = block.sum(mine);
    if (block.rank() == 0) *to = static_cast<float>(all);
  }
};

/// Two bf16 in a row; as a float it is almost the second one.
struct Numbers {
  std::uint32_t* to;
  THALWEG_HOST_DEVICE static std::uint32_t small(std::uint32_t bits) {
    return store<Bf16>(static_cast<float>(bits & 0xffffu) / 65536.0f - 0.5f).bits;
  }
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    auto bits = static_cast<std::uint32_t>(i) * 0x9e3779b9u;  // a mix of the bits of i
    bits = (bits ^ (bits >> 16)) * 0x85ebca6bu;
    bits = (bits ^ (bits >> 13)) * 0xc2b2ae35u;
    bits ^= bits >> 16;
    to[i] = small(bits) | small(bits >> 16) << 16;
  }
};

struct Blend {
  float parts;
  THALWEG_HOST_DEVICE float operator()(float running, float share, float sum) const {
    return (1 - share) * running + share * (sum / parts);
  }
};

}  // namespace

void add(Stream& stream, float* into, const float* from, std::size_t count) {
  const float* const before = into;
  map(stream, static_cast<std::int64_t>(count), Sum{}, into, before, from);
}

void scale(Stream& stream, float* at, float factor, std::size_t count) {
  const float* const before = at;
  map(stream, static_cast<std::int64_t>(count), Scale{factor}, at, before);
}

void sum_in_tree(Stream& stream, float* into, const float* const* places, const int* joins,
                 int number, std::size_t count) {
  const auto n = static_cast<std::int64_t>(count);
  // All but the last place may be open at once.
  if (number <= 5) return sum_in_tree_of<4>(stream, into, places, joins, number, n);
  sum_in_tree_of<sum_in_tree_depth>(stream, into, places, joins, number, n);
}

void narrow(Stream& stream, float* to, const double* from, std::size_t count) {
  for_each(stream, static_cast<std::int64_t>(count), Narrow{to, from});
}

void sum(Stream& stream, float* to, const double* from, std::size_t count) {
  for_each_row(stream, 1, 256, Total{to, from, static_cast<std::int64_t>(count)});
}

void fill_with_numbers(Stream& stream, void* at, std::size_t bytes) {
  for_each(stream, static_cast<std::int64_t>(bytes / sizeof(std::uint32_t)),
           Numbers{static_cast<std::uint32_t*>(at)});
}

void blend(Stream& stream, float* running, const float* share, const float* sum, int parts,
           std::size_t count) {
  const float* const before = running;
  map(stream, static_cast<std::int64_t>(count), Blend{static_cast<float>(parts)}, running, before,
      share, sum);
}

}  // namespace thalweg::engine::gpu
