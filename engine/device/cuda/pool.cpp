// max_pool and avg_pool of images (2d) and volumes (3d): a thread for 16 bytes of neighbouring
// channels of a window; backward one for those of an input, which gathers from the windows over it.
// max keeps which element of its window won, so that nothing is compared again.
#include <cstdint>
#include <limits>
#include <type_traits>

#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/window.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

/// From one number to another, in the three directions.
struct Box {
  int first[3], end[3];
};

struct Geometry {
  int in[3], out[3], kernel[3], stride[3], padding[3];

  explicit Geometry(const Window& w) {
    for (std::size_t d = 0; d < 3; ++d) {
      in[d] = static_cast<int>(w.in[d]);
      out[d] = static_cast<int>(w.out[d]);
      kernel[d] = static_cast<int>(w.kernel[d]);
      stride[d] = static_cast<int>(w.stride[d]);
      padding[d] = static_cast<int>(w.padding[d]);
    }
  }
  /// The inputs under window `o`.
  THALWEG_HOST_DEVICE Box under(const int (&o)[3]) const {
    Box box;
    for (int d = 0; d < 3; ++d) {
      const int start = o[d] * stride[d] - padding[d];
      box.first[d] = start < 0 ? 0 : start;
      box.end[d] = start + kernel[d] < in[d] ? start + kernel[d] : in[d];
    }
    return box;
  }
  /// The windows over input `i`.
  THALWEG_HOST_DEVICE Box over(const int (&i)[3]) const {
    Box box;
    for (int d = 0; d < 3; ++d) {
      const int start = i[d] + padding[d] - kernel[d] + 1;
      const int last = (i[d] + padding[d]) / stride[d] + 1;
      box.first[d] = start <= 0 ? 0 : (start + stride[d] - 1) / stride[d];
      box.end[d] = last < out[d] ? last : out[d];
    }
    return box;
  }
  /// The number of input `i` in window `o`, in row order.
  THALWEG_HOST_DEVICE int place(const int (&i)[3], const int (&o)[3]) const {
    int at = 0;
    for (int d = 0; d < 3; ++d)
      at = at * kernel[d] + i[d] - (o[d] * stride[d] - padding[d]);
    return at;
  }
};

THALWEG_HOST_DEVICE inline std::int64_t volume(const Box& box) {
  return static_cast<std::int64_t>(box.end[0] - box.first[0]) * (box.end[1] - box.first[1]) *
         (box.end[2] - box.first[2]);
}

/// Pack number i of a tensor (samples, sizes..., packs).
struct Position {
  std::int64_t column, sample;
  int at[3];
  THALWEG_HOST_DEVICE Position(std::int64_t i, std::int64_t packs, const int (&sizes)[3]) {
    column = i % packs;
    std::int64_t rest = i / packs;
    for (int d = 2; d >= 0; --d) {
      at[d] = static_cast<int>(rest % sizes[d]);
      rest /= sizes[d];
    }
    sample = rest;
  }
};

/// visit(position, number of its pack) for all in `box` of a sample, in row order.
template <class Visit>
THALWEG_HOST_DEVICE void for_each_in(const Box& box, const Position& of, const int (&sizes)[3],
                                     std::int64_t packs, const Visit& visit) {
  int at[3];
  for (at[0] = box.first[0]; at[0] < box.end[0]; ++at[0])
    for (at[1] = box.first[1]; at[1] < box.end[1]; ++at[1])
      for (at[2] = box.first[2]; at[2] < box.end[2]; ++at[2])
        visit(at, (((of.sample * sizes[0] + at[0]) * sizes[1] + at[1]) * sizes[2] + at[2]) * packs +
                      of.column);
}

template <class T, int width, class Place>
struct MaxForward {
  Geometry g;
  std::int64_t packs;
  const gpu::Pack<T, width>* x;
  gpu::Pack<T, width>* y;
  gpu::Pack<Place, width>* places;  ///< null: nobody asks for them

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Position o(i, packs, g.out);
    gpu::Pack<T, width> best{};
    gpu::Pack<Place, width> winner{};
    bool first = true;
    for_each_in(g.under(o.at), o, g.in, packs, [&](const int(&at)[3], std::int64_t p) {
      const gpu::Pack<T, width> here = x[p];
      const auto place = static_cast<Place>(g.place(at, o.at));
      for (int k = 0; k < width; ++k) {
        const float value = gpu::load(here.at[k]);
        // A NaN wins, so that it is seen in the loss.
        if (!first && !(value > gpu::load(best.at[k])) && value == value) continue;
        best.at[k] = here.at[k];
        winner.at[k] = place;
      }
      first = false;
    });
    y[i] = best;
    if (places != nullptr) places[i] = winner;
  }
};

template <class T, int width, class Place>
struct MaxBackward {
  Geometry g;
  std::int64_t packs;
  const gpu::Pack<T, width>* dy;
  const gpu::Pack<Place, width>* places;
  gpu::Pack<T, width>* dx;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Position input(i, packs, g.in);
    float sum[width] = {};
    for_each_in(g.over(input.at), input, g.out, packs, [&](const int(&o)[3], std::int64_t p) {
      const gpu::Pack<Place, width> winner = places[p];
      const gpu::Pack<T, width> slope = dy[p];
      const auto place = static_cast<Place>(g.place(input.at, o));
      for (int k = 0; k < width; ++k)
        if (winner.at[k] == place) sum[k] += gpu::load(slope.at[k]);
    });
    gpu::Pack<T, width> all;
    for (int k = 0; k < width; ++k)
      all.at[k] = gpu::store<T>(sum[k]);
    dx[i] = all;
  }
};

template <class T, int width>
struct AvgForward {
  Geometry g;
  std::int64_t packs;
  const gpu::Pack<T, width>* x;
  gpu::Pack<T, width>* y;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Position o(i, packs, g.out);
    const Box box = g.under(o.at);
    const auto count = static_cast<float>(volume(box));
    float sum[width] = {};
    for_each_in(box, o, g.in, packs, [&](const int(&)[3], std::int64_t p) {
      const gpu::Pack<T, width> here = x[p];
      for (int k = 0; k < width; ++k)
        sum[k] += gpu::load(here.at[k]);
    });
    gpu::Pack<T, width> mean;
    for (int k = 0; k < width; ++k)
      mean.at[k] = gpu::store<T>(sum[k] / count);
    y[i] = mean;
  }
};

template <class T, int width>
struct AvgBackward {
  Geometry g;
  std::int64_t packs;
  const gpu::Pack<T, width>* dy;
  gpu::Pack<T, width>* dx;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Position input(i, packs, g.in);
    float sum[width] = {};
    for_each_in(g.over(input.at), input, g.out, packs, [&](const int(&o)[3], std::int64_t p) {
      const gpu::Pack<T, width> slope = dy[p];
      const auto count = static_cast<float>(volume(g.under(o)));
      for (int k = 0; k < width; ++k)
        sum[k] += gpu::load(slope.at[k]) / count;
    });
    gpu::Pack<T, width> all;
    for (int k = 0; k < width; ++k)
      all.at[k] = gpu::store<T>(sum[k]);
    dx[i] = all;
  }
};

/// A pool in its place.
struct Pool {
  Geometry g;
  Type type;
  bool small_places;  ///< a byte tells which element of a window, which has at most 256
  std::int64_t samples, channels;

  std::int64_t outputs(std::int64_t packs) const { return samples * count(g.out) * packs; }
  std::int64_t inputs(std::int64_t packs) const { return samples * count(g.in) * packs; }
  static std::int64_t count(const int (&sizes)[3]) {
    return static_cast<std::int64_t>(sizes[0]) * sizes[1] * sizes[2];
  }

  /// work(T{}, integral_constant of how many channels a thread takes)
  template <class Work>
  void with_packs(const Work& work) const {
    gpu::with_type(type, [&](auto t) {
      constexpr int wide = 16 / static_cast<int>(sizeof(t));
      if (channels % wide == 0) return work(t, std::integral_constant<int, wide>());
      work(t, std::integral_constant<int, 1>());
    });
  }
  /// work(T{}, integral_constant, a number of the type of places)
  template <class Work>
  void with_places(const Work& work) const {
    with_packs([&](auto t, auto width) {
      if (small_places) return work(t, width, std::uint8_t{});
      work(t, width, std::int32_t{});
    });
  }
};

template <class T, int width>
auto* packs_of(const Frame& frame, TensorId x) {
  return frame.as<gpu::Pack<T, width>>(x);
}

Pool pool_of(const Builder& b, const Window& w) {
  const bool small =
      Window::volume(w.kernel) <= std::numeric_limits<std::uint8_t>::max() + std::int64_t{1};
  return {Geometry(w), b.type(), small, b.samples(), w.channels};
}

void add_max_forward(Builder& b, Builder::Pass pass, const Pool& pool, TensorId x, TensorId y,
                     TensorId places) {
  std::vector<TensorId> touched{x, y};
  if (places >= 0) touched.push_back(places);
  b.kernel(pass, touched, [=](const Frame& frame) {
    pool.with_places([&](auto t, auto width, auto place) {
      using T = decltype(t);
      constexpr int w = decltype(width)::value;
      const std::int64_t packs = pool.channels / w;
      gpu::for_each(frame.queue, pool.outputs(packs),
                    MaxForward<T, w, decltype(place)>{pool.g, packs, packs_of<T, w>(frame, x),
                                                      packs_of<T, w>(frame, y),
                                                      packs_of<decltype(place), w>(frame, places)});
    });
  });
}

TensorId max_pool(Builder& b, const Node& node, TensorId input) {
  const Pool pool = pool_of(b, window_of(*node.layer));
  const TensorId x = b.in_type(Builder::Pass::both, input, pool.type);
  Shape dims = node.layer->out;
  dims.insert(dims.begin(), b.samples());
  const TensorId y = b.activation(dims, pool.type);
  const TensorId places = b.scratch(b.desc(y).count(), pool.small_places ? 1 : 4);
  add_max_forward(b, Builder::Pass::training, pool, x, y, places);
  add_max_forward(b, Builder::Pass::evaluation, pool, x, y, -1);

  b.on_backward([=, &b](TensorId given) {
    if (!b.wants_input_gradient()) return given;
    const TensorId dy = b.in_type(Builder::Pass::backward, given, pool.type), dx = b.like(x);
    b.kernel(Builder::Pass::backward, {dy, places, dx}, [=](const Frame& frame) {
      pool.with_places([&](auto t, auto width, auto place) {
        using T = decltype(t);
        constexpr int w = decltype(width)::value;
        const std::int64_t packs = pool.channels / w;
        gpu::for_each(frame.queue, pool.inputs(packs),
                      MaxBackward<T, w, decltype(place)>{
                          pool.g, packs, packs_of<T, w>(frame, dy),
                          packs_of<decltype(place), w>(frame, places), packs_of<T, w>(frame, dx)});
      });
    });
    b.same_sums(dx, dy);  // each of dy goes to one place
    return dx;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

TensorId avg_pool(Builder& b, const Node& node, TensorId input) {
  const Pool pool = pool_of(b, window_of(*node.layer));
  const TensorId x = b.in_type(Builder::Pass::both, input, pool.type);
  Shape dims = node.layer->out;
  dims.insert(dims.begin(), b.samples());
  const TensorId y = b.activation(dims, pool.type);
  b.kernel(Builder::Pass::both, {x, y}, [=](const Frame& frame) {
    pool.with_packs([&](auto t, auto width) {
      using T = decltype(t);
      constexpr int w = decltype(width)::value;
      const std::int64_t packs = pool.channels / w;
      gpu::for_each(
          frame.queue, pool.outputs(packs),
          AvgForward<T, w>{pool.g, packs, packs_of<T, w>(frame, x), packs_of<T, w>(frame, y)});
    });
  });

  b.on_backward([=, &b](TensorId given) {
    if (!b.wants_input_gradient()) return given;
    const TensorId dy = b.in_type(Builder::Pass::backward, given, pool.type), dx = b.like(x);
    b.kernel(Builder::Pass::backward, {dy, dx}, [=](const Frame& frame) {
      pool.with_packs([&](auto t, auto width) {
        using T = decltype(t);
        constexpr int w = decltype(width)::value;
        const std::int64_t packs = pool.channels / w;
        gpu::for_each(
            frame.queue, pool.inputs(packs),
            AvgBackward<T, w>{pool.g, packs, packs_of<T, w>(frame, dy), packs_of<T, w>(frame, dx)});
      });
    });
    return dx;
  });
  return b.in_type(Builder::Pass::both, y, b.output_type());
}

}  // namespace

TensorId max_pool2d(Builder& b, const Node& node, TensorId x) {
  return max_pool(b, node, x);
}
TensorId max_pool3d(Builder& b, const Node& node, TensorId x) {
  return max_pool(b, node, x);
}
TensorId avg_pool2d(Builder& b, const Node& node, TensorId x) {
  return avg_pool(b, node, x);
}
TensorId avg_pool3d(Builder& b, const Node& node, TensorId x) {
  return avg_pool(b, node, x);
}

}  // namespace thalweg::engine::cuda
