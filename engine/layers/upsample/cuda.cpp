// upsample: every place of the output reads its input; backward every input adds its copies up.
#include <cstdint>
#include <type_traits>

#include "engine/device/cuda/builder.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// Images have a depth of 1.
struct UpsampleSizes {
  std::int64_t in[3], factor[3];
  std::int64_t packs;  ///< of a place's channels

  /// The input whose copy pack i of the output is.
  THALWEG_HOST_DEVICE std::int64_t source(std::int64_t i) const {
    std::int64_t rest = i / packs, place = 0, step = 1;
    for (int d = 2; d >= 0; --d) {
      const std::int64_t size = in[d] * factor[d];
      place += rest % size / factor[d] * step;
      rest /= size;
      step *= in[d];
    }
    return (rest * step + place) * packs + i % packs;
  }
};

template <class T, int width>
struct Forward {
  UpsampleSizes sizes;
  const gpu::Pack<T, width>* x;
  gpu::Pack<T, width>* y;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = x[sizes.source(i)]; }
};

template <class T, int width>
struct Backward {
  UpsampleSizes sizes;
  const gpu::Pack<T, width>* dy;
  gpu::Pack<T, width>* dx;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    std::int64_t at[3], rest = i / sizes.packs;
    for (int d = 2; d >= 0; --d) {
      at[d] = rest % sizes.in[d] * sizes.factor[d];
      rest /= sizes.in[d];
    }
    float sum[width] = {};
    for (std::int64_t a = at[0]; a < at[0] + sizes.factor[0]; ++a)
      for (std::int64_t b = at[1]; b < at[1] + sizes.factor[1]; ++b)
        for (std::int64_t c = at[2]; c < at[2] + sizes.factor[2]; ++c) {
          const auto here = dy[index(rest, a, b, c) * sizes.packs + i % sizes.packs];
          for (int k = 0; k < width; ++k)
            sum[k] += gpu::load(here.at[k]);
        }
    gpu::Pack<T, width> all;
    for (int k = 0; k < width; ++k)
      all.at[k] = gpu::store<T>(sum[k]);
    dx[i] = all;
  }
  THALWEG_HOST_DEVICE std::int64_t index(std::int64_t sample, std::int64_t a, std::int64_t b,
                                         std::int64_t c) const {
    return ((sample * sizes.in[0] * sizes.factor[0] + a) * sizes.in[1] * sizes.factor[1] + b) *
               sizes.in[2] * sizes.factor[2] +
           c;
  }
};

template <template <class, int> class Pass>
void add_pass(Builder& b, Builder::Pass pass, UpsampleSizes sizes, std::int64_t channels,
              TensorId from, TensorId to) {
  const Desc desc = b.desc(to);
  b.kernel(pass, {from, to}, [=](const Frame& frame) {
    gpu::with_packs(desc.type, channels, [&](auto t, auto w) {
      using T = decltype(t);
      constexpr int width = decltype(w)::value;
      using Pack = gpu::Pack<T, width>;
      UpsampleSizes packed = sizes;
      packed.packs = channels / width;
      gpu::for_each(frame.stream, desc.count() / width,
                    Pass<T, width>{packed, frame.as<Pack>(from), frame.as<Pack>(to)});
    });
  });
}

}  // namespace

TensorId upsample(Builder& b, const Node& node, TensorId input) {
  const LayerPlan& layer = *node.layer;
  UpsampleSizes sizes{{1, 1, 1}, {1, 1, 1}, 0};
  const std::size_t missing = 4 - layer.in.size();
  for (std::size_t d = missing; d < 3; ++d) {
    sizes.in[d] = layer.in[d - missing + 1];
    sizes.factor[d] = layer.out.back() / layer.in.back();
  }
  const std::int64_t channels = layer.in[0];
  const TensorId x = b.in_type(Builder::Pass::both, input, b.type());
  Shape dims = layer.out;
  dims.insert(dims.begin(), b.samples());
  const TensorId y = b.activation(dims, b.type());
  add_pass<Forward>(b, Builder::Pass::both, sizes, channels, x, y);
  b.on_backward([=, &b](TensorId given) {
    if (!b.wants_input_gradient()) return given;
    const TensorId dy = b.in_type(Builder::Pass::backward, given, b.type()), dx = b.like(x);
    add_pass<Backward>(b, Builder::Pass::backward, sizes, channels, dy, dx);
    return dx;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

}  // namespace thalweg::engine::cuda
