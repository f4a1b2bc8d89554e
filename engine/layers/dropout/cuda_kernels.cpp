// A thread draws four numbers at a time.
#include "engine/layers/dropout/cuda_kernels.h"

#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// What all masks share. In place where x and y are one.
template <class T>
struct Masked {
  DropoutMask mask;
  float scale;
  const ShardKey* key;
  const T* x;
  T* y;

  using Bits = std::array<std::uint32_t, 4>;
  /// `group`: number of the draw among those of a shard.
  THALWEG_HOST_DEVICE Bits draw(std::uint64_t group) const {
    return philox(key->seed, Stream::dropout, key->step, mask.counter(key->first_sample) + group);
  }
  THALWEG_HOST_DEVICE T masked(T value, std::uint32_t bits) const {
    return bits >= mask.threshold() ? gpu::store<T>(gpu::load(value) * scale) : T{};
  }
};

/// Elements that lie as written, a multiple of 4 a sample: a thread takes those of one draw.
template <class T>
struct MaskFours {
  Masked<T> of;
  THALWEG_HOST_DEVICE void operator()(std::int64_t group) const {
    using Four = gpu::Pack<T, 4>;
    const auto bits = of.draw(static_cast<std::uint64_t>(group));
    Four values = reinterpret_cast<const Four*>(of.x)[group];
    for (std::size_t k = 0; k < 4; ++k)
      values.at[k] = of.masked(values.at[k], bits[k]);
    reinterpret_cast<Four*>(of.y)[group] = values;
  }
};

/// (n, places, channels): a thread takes 4 places of a channel, which one or two draws serve;
/// neighbouring threads take neighbouring channels.
template <class T>
struct MaskPlaces {
  Masked<T> of;
  std::int64_t channels, places;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const std::int64_t fours = (places + 3) / 4;
    const std::int64_t channel = i % channels, four = i / channels % fours,
                       n = i / channels / fours;
    const std::int64_t draws = (channels * places + 3) / 4;  // of a sample
    std::int64_t drawn = -1;
    typename Masked<T>::Bits bits{};
    for (std::int64_t p = four * 4; p < four * 4 + 4 && p < places; ++p) {
      const std::int64_t element = channel * places + p;
      if (element / 4 != drawn) {
        drawn = element / 4;
        bits = of.draw(static_cast<std::uint64_t>(n * draws + drawn));
      }
      const std::int64_t at = (n * places + p) * channels + channel;
      // Chosen, not indexed: registers have no numbers at run time.
      const std::int64_t k = element % 4;
      const std::uint32_t low = k == 0 ? bits[0] : bits[1], high = k == 2 ? bits[2] : bits[3];
      of.y[at] = of.masked(of.x[at], k < 2 ? low : high);
    }
  }
};

template <class T>
void apply(gpu::Stream& stream, const DropoutShape& at, const Masked<T>& masked) {
  const std::int64_t features = at.channels * at.places;
  if (at.channels == 1 && features % 4 == 0)
    return gpu::for_each(stream, at.samples * features / 4, MaskFours<T>{masked});
  gpu::for_each(stream, at.samples * at.channels * ((at.places + 3) / 4),
                MaskPlaces<T>{masked, at.channels, at.places});
}

}  // namespace

void dropout(gpu::Stream& stream, gpu::Type type, const DropoutShape& shape,
             const DropoutMask& mask, float scale, const ShardKey* key, const void* x, void* y) {
  gpu::with_type(type, [&](auto t) {
    using T = decltype(t);
    apply(stream, shape, Masked<T>{mask, scale, key, static_cast<const T*>(x), static_cast<T*>(y)});
  });
}

}  // namespace thalweg::engine::cuda
