// dropout: the mask is drawn anew in backward rather than kept, which would cost more bytes than
// its draws cost time. Drawn by the plain number of an element, wherever it lies.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/cuda/layout.h"
#include "engine/device/dropout_mask.h"
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
      of.y[at] = of.masked(of.x[at], bits[static_cast<std::size_t>(element % 4)]);
    }
  }
};

struct Layout {
  std::int64_t samples, channels, places;
};

template <class T>
void apply(gpu::Queue& queue, const Layout& at, const Masked<T>& masked) {
  const std::int64_t features = at.channels * at.places;
  if (at.channels == 1 && features % 4 == 0)
    return gpu::for_each(queue, at.samples * features / 4, MaskFours<T>{masked});
  gpu::for_each(queue, at.samples * at.channels * ((at.places + 3) / 4),
                MaskPlaces<T>{masked, at.channels, at.places});
}

}  // namespace

TensorId dropout(Builder& b, const Node& node, TensorId x) {
  const double probability = node.layer->real("probability");
  const float scale = 1.0f / (1.0f - static_cast<float>(probability));
  const Desc desc = b.desc(x);
  const std::int64_t features = elements(node.layer->in);
  const DropoutMask mask(probability, node.layer->number, features);
  const std::int64_t channels = desc.images() && places_of(desc.dims) > 1 ? desc.dims[1] : 1;
  const Layout layout{b.samples(), channels, features / channels};
  const TensorId y = b.may_overwrite(x) ? x : b.like(x);
  const auto add = [=, &b](Builder::Pass pass, TensorId from, TensorId to) {
    const Type type = b.desc(to).type;
    b.kernel(pass, {from, to}, [=](const Frame& frame) {
      gpu::with_type(type, [&](auto t) {
        using T = decltype(t);
        apply(frame.queue, layout,
              Masked<T>{mask, scale, frame.key, frame.as<T>(from), frame.as<T>(to)});
      });
    });
  };
  add(Builder::Pass::training, x, y);
  if (x != y)
    b.kernel(Builder::Pass::evaluation, {x, y}, [=](const Frame& frame) {
      frame.queue.copy(frame.as<void>(y), frame.as<void>(x), desc.bytes());
    });

  b.on_backward([=, &b](TensorId dy) {
    const TensorId dx = b.writable(dy);
    add(Builder::Pass::backward, dx, dx);
    return dx;
  });
  return y;
}

}  // namespace thalweg::engine::cuda
