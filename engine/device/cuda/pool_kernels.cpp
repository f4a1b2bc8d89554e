// A thread takes 16 bytes of neighbouring channels of a window; backward those of an input, which
// gathers from the windows over it, or where windows do not overlap those of a window, which it
// spreads. max keeps which element of its window won, so that nothing is compared again. Common
// windows are known when this is compiled: their loops are unrolled, and no load waits for a
// comparison.
#include "engine/device/cuda/pool_kernels.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "engine/device/cuda/pool_windows.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

using gpu::Pack;
using pool::AnyWindow;
using pool::Fixed;
using pool::Geometry;
using pool::Places;
using pool::Position;

/// take(number in the window, pack of x) for those inside: known windows have all their loads
/// first.
template <class T, int width, class Win, class Take>
THALWEG_HOST_DEVICE void for_each_under(const Geometry<Win>& g, const Position& o,
                                        const Pack<T, width>* x, const Take& take) {
  if constexpr (Win::known) {
    Pack<T, width> here[Win::volume];
    bool there[Win::volume];
    g.under(o, [&](int place, bool inside, std::uint32_t p) {
      there[place] = inside;
      here[place] = x[inside ? p : 0];  // a load that waits for no condition
    });
    for (int place = 0; place < Win::volume; ++place)
      if (there[place]) take(place, here[place]);
  } else {
    g.under(o, [&](int place, bool inside, std::uint32_t p) {
      if (inside) take(place, x[p]);
    });
  }
}

template <class T, int width>
THALWEG_HOST_DEVICE Pack<T, width> rounded(const float (&values)[width]) {
  Pack<T, width> all;
  for (int k = 0; k < width; ++k)
    all.at[k] = gpu::store<T>(values[k]);
  return all;
}

/// The sum of what windows over input `i` bring it: add(number of the input in the window, pack of
/// y, the window, sums).
template <class T, int width, class Win, class Add>
THALWEG_HOST_DEVICE Pack<T, width> gathered(const Geometry<Win>& g, const Position& i,
                                            const Add& add) {
  float sum[width] = {};
  g.over(i, [&](int place, bool inside, std::uint32_t p, const Position& o) {
    if (inside) add(place, p, o, sum);
  });
  return rounded<T>(sum);
}

template <class T, int width, class Place, class Win>
struct MaxForward {
  Geometry<Win> g;
  Places at;
  const Pack<T, width>* x;
  Pack<T, width>* y;
  Pack<Place, width>* places;  ///< null: nobody asks for them

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    float best[width] = {};
    Pack<Place, width> winner{};
    bool first = true;
    for_each_under(g, at.of(static_cast<std::uint32_t>(i)), x,
                   [&](int place, const Pack<T, width>& here) {
                     for (int k = 0; k < width; ++k) {
                       const float value = gpu::load(here.at[k]);
                       // A NaN wins, so that it is seen in the loss.
                       if (!first && !(value > best[k]) && value == value) continue;
                       best[k] = value;
                       winner.at[k] = static_cast<Place>(place);
                     }
                     first = false;
                   });
    y[i] = rounded<T>(best);
    if (places != nullptr) places[i] = winner;
  }
};

template <class T, int width, class Place, class Win>
struct MaxBackward {
  Geometry<Win> g;
  Places at;
  const Pack<T, width>* dy;
  const Pack<Place, width>* places;
  Pack<T, width>* dx;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto add = [&](int place, std::uint32_t p, const Position&, float* sum) {
      const Pack<Place, width> winner = places[p];
      const Pack<T, width> gradient = dy[p];
      for (int k = 0; k < width; ++k)
        if (winner.at[k] == static_cast<Place>(place)) sum[k] += gpu::load(gradient.at[k]);
    };
    dx[i] = gathered<T, width>(g, at.of(static_cast<std::uint32_t>(i)), add);
  }
};

/// Where no two windows overlap and none is padded: a thread for each window, also for those at the
/// end that are cut short and have no output; their inputs get 0.
template <class T, int width, class Place, class Win>
struct MaxSpread {
  Geometry<Win> g;
  Places at;  ///< of all windows
  const Pack<T, width>* dy;
  const Pack<Place, width>* places;
  Pack<T, width>* dx;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Position o = at.of(static_cast<std::uint32_t>(i));
    const bool whole = o.at[0] < g.out[0] && o.at[1] < g.out[1] && o.at[2] < g.out[2];
    Pack<Place, width> winner{};
    Pack<T, width> gradient{};
    if (whole) {
      const std::uint32_t p = g.pack(o, g.out, o.at[0], o.at[1], o.at[2]);
      winner = places[p];
      gradient = dy[p];
    }
    g.under(o, [&](int place, bool inside, std::uint32_t p) {
      if (!inside) return;
      Pack<T, width> all;
      for (int k = 0; k < width; ++k) {
        const bool won = whole && winner.at[k] == static_cast<Place>(place);
        all.at[k] = gpu::store<T>(0.0f + (won ? gpu::load(gradient.at[k]) : 0.0f));  // no -0
      }
      dx[p] = all;
    });
  }
};

template <class T, int width, class Win>
struct AvgForward {
  Geometry<Win> g;
  Places at;
  const Pack<T, width>* x;
  Pack<T, width>* y;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Position o = at.of(static_cast<std::uint32_t>(i));
    const auto count = static_cast<float>(g.count(o));
    float sum[width] = {};
    for_each_under(g, o, x, [&](int, const Pack<T, width>& here) {
      for (int k = 0; k < width; ++k)
        sum[k] += gpu::load(here.at[k]);
    });
    for (int k = 0; k < width; ++k)
      sum[k] /= count;
    y[i] = rounded<T>(sum);
  }
};

template <class T, int width, class Win>
struct AvgBackward {
  Geometry<Win> g;
  Places at;
  const Pack<T, width>* dy;
  Pack<T, width>* dx;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const auto add = [&](int, std::uint32_t p, const Position& o, float* sum) {
      const Pack<T, width> gradient = dy[p];
      const auto count = static_cast<float>(g.count(o));
      for (int k = 0; k < width; ++k)
        sum[k] += gpu::load(gradient.at[k]) / count;
    };
    dx[i] = gathered<T, width>(g, at.of(static_cast<std::uint32_t>(i)), add);
  }
};

/// work(a window): one of the common ones where a thread takes several channels, else any.
template <int width, class Work>
void with_window(const Window& w, const Work& work) {
  if constexpr (width > 1) {
    using Sizes = Window::Sizes;
    const auto is = [&](const Sizes& kernel, const Sizes& stride) {
      return w.kernel == kernel && w.stride == stride;
    };
    if (is({1, 2, 2}, {1, 2, 2})) return work(Fixed<1, 2, 2, 1, 2, 2>());
    if (is({1, 3, 3}, {1, 2, 2})) return work(Fixed<1, 3, 3, 1, 2, 2>());
    if (is({2, 2, 2}, {2, 2, 2})) return work(Fixed<2, 2, 2, 2, 2, 2>());
  }
  AnyWindow any;
  for (std::size_t d = 0; d < 3; ++d) {
    any.kernels[d] = static_cast<int>(w.kernel[d]);
    any.strides[d] = static_cast<int>(w.stride[d]);
  }
  work(any);
}

/// work(T{}, integral_constant of how many channels a thread takes)
template <class Work>
void with_packs(gpu::Type type, std::int64_t channels, const Work& work) {
  gpu::with_type(type, [&](auto t) {
    constexpr int wide = 16 / static_cast<int>(sizeof(t));
    if (channels % wide == 0) return work(t, std::integral_constant<int, wide>());
    work(t, std::integral_constant<int, 1>());
  });
}

template <class Win>
Geometry<Win> geometry_of(const Window& w, const Win& window, std::int64_t packs) {
  Geometry<Win> g{window, {}, {}, {}, static_cast<std::uint32_t>(packs)};
  for (std::size_t d = 0; d < 3; ++d) {
    g.in[d] = static_cast<int>(w.in[d]);
    g.out[d] = static_cast<int>(w.out[d]);
    g.padding[d] = static_cast<int>(w.padding[d]);
  }
  return g;
}

/// run(first sample, samples) so that no tensor of `of_sample` packs a sample has 2^31 of them.
template <class Run>
void by_samples(std::int64_t samples, std::int64_t of_sample, const Run& run) {
  const std::int64_t most = ((std::int64_t{1} << 31) - 1) / std::max<std::int64_t>(of_sample, 1);
  if (most < 1) throw std::length_error("a pool of 2^31 places or more in a sample");
  for (std::int64_t first = 0; first < samples; first += most)
    run(first, std::min(most, samples - first));
}

/// work(T{}, integral_constant of width, Geometry, first sample, samples) for all samples.
template <class Work>
void run(gpu::Type type, const PoolShape& shape, const Work& work) {
  with_packs(type, shape.window.channels, [&](auto t, auto width) {
    const std::int64_t packs = shape.window.channels / decltype(width)::value;
    const std::int64_t of_sample =
        packs * std::max(Window::volume(shape.window.in), Window::volume(shape.window.out));
    with_window<decltype(width)::value>(shape.window, [&](auto window) {
      const auto g = geometry_of(shape.window, window, packs);
      by_samples(shape.samples, of_sample, [&](std::int64_t first, std::int64_t samples) {
        work(t, width, g, first, samples);
      });
    });
  });
}

/// Packs of the tensor (samples, sizes..., packs), from sample `first` on.
template <class P, int width, class Win>
auto* packs_of(P* x, const Geometry<Win>& g, const int (&sizes)[3], std::int64_t first) {
  using T = std::remove_const_t<P>;
  using Packs = std::conditional_t<std::is_const_v<P>, const Pack<T, width>, Pack<T, width>>;
  const std::int64_t of_sample = std::int64_t{sizes[0]} * sizes[1] * sizes[2] * g.packs;
  return x == nullptr ? nullptr : reinterpret_cast<Packs*>(x) + first * of_sample;
}
template <class Win>
std::int64_t count(const Geometry<Win>& g, const int (&sizes)[3], std::int64_t samples) {
  return samples * sizes[0] * sizes[1] * sizes[2] * g.packs;
}

/// work(a number of the type of places)
template <class Win, class Work>
void with_place(const PoolShape& shape, const Work& work) {
  if constexpr (!Win::known)
    if (shape.bytes_of_place() > 1) return work(std::int32_t{});
  work(std::uint8_t{});
}

template <class T, int width, class Place, class Win>
void spread(gpu::Queue& queue, const Geometry<Win>& g, std::int64_t samples,
            const Pack<T, width>* dy, const Pack<Place, width>* places, Pack<T, width>* dx) {
  int windows[3];
  for (int d = 0; d < 3; ++d)
    windows[d] = (g.in[d] + g.window.kernel(d) - 1) / g.window.kernel(d);
  gpu::for_each(queue, count(g, windows, samples),
                MaxSpread<T, width, Place, Win>{g, Places(g.packs, windows), dy, places, dx});
}

}  // namespace

void max_pool_forward(gpu::Queue& queue, gpu::Type type, const PoolShape& shape, const void* x,
                      void* y, void* places) {
  run(type, shape, [&](auto t, auto w, const auto& g, std::int64_t first, std::int64_t samples) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    using Win = std::remove_cvref_t<decltype(g.window)>;
    with_place<Win>(shape, [&](auto place) {
      using Place = decltype(place);
      gpu::for_each(queue, count(g, g.out, samples),
                    MaxForward<T, width, Place, Win>{
                        g, Places(g.packs, g.out),
                        packs_of<const T, width>(static_cast<const T*>(x), g, g.in, first),
                        packs_of<T, width>(static_cast<T*>(y), g, g.out, first),
                        packs_of<Place, width>(static_cast<Place*>(places), g, g.out, first)});
    });
  });
}

void max_pool_backward(gpu::Queue& queue, gpu::Type type, const PoolShape& shape, const void* dy,
                       const void* places, void* dx) {
  run(type, shape, [&](auto t, auto w, const auto& g, std::int64_t first, std::int64_t samples) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    using Win = std::remove_cvref_t<decltype(g.window)>;
    const auto* const from = packs_of<const T, width>(static_cast<const T*>(dy), g, g.out, first);
    auto* const to = packs_of<T, width>(static_cast<T*>(dx), g, g.in, first);
    with_place<Win>(shape, [&](auto place) {
      using Place = decltype(place);
      const auto* const winners =
          packs_of<const Place, width>(static_cast<const Place*>(places), g, g.out, first);
      if constexpr (Win::apart)
        if (shape.window.padding == Window::Sizes{0, 0, 0})
          return spread(queue, g, samples, from, winners, to);
      gpu::for_each(queue, count(g, g.in, samples),
                    MaxBackward<T, width, Place, Win>{g, Places(g.packs, g.in), from, winners, to});
    });
  });
}

void avg_pool_forward(gpu::Queue& queue, gpu::Type type, const PoolShape& shape, const void* x,
                      void* y) {
  run(type, shape, [&](auto t, auto w, const auto& g, std::int64_t first, std::int64_t samples) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    using Win = std::remove_cvref_t<decltype(g.window)>;
    gpu::for_each(queue, count(g, g.out, samples),
                  AvgForward<T, width, Win>{
                      g, Places(g.packs, g.out),
                      packs_of<const T, width>(static_cast<const T*>(x), g, g.in, first),
                      packs_of<T, width>(static_cast<T*>(y), g, g.out, first)});
  });
}

void avg_pool_backward(gpu::Queue& queue, gpu::Type type, const PoolShape& shape, const void* dy,
                       void* dx) {
  run(type, shape, [&](auto t, auto w, const auto& g, std::int64_t first, std::int64_t samples) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    using Win = std::remove_cvref_t<decltype(g.window)>;
    gpu::for_each(queue, count(g, g.in, samples),
                  AvgBackward<T, width, Win>{
                      g, Places(g.packs, g.in),
                      packs_of<const T, width>(static_cast<const T*>(dy), g, g.out, first),
                      packs_of<T, width>(static_cast<T*>(dx), g, g.in, first)});
  });
}

}  // namespace thalweg::engine::cuda
