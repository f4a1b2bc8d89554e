// A thread takes 16 bytes of neighbouring channels of a window. Backward it takes those of an
// input, which gathers from the windows over it; or where windows are known when this is compiled,
// as the common ones are, a cell of inputs that the same windows cover: a window is read once for
// all of them. Known windows have their loops unrolled, and no load waits for a comparison. max
// keeps which element of its window won, so that nothing is compared again. Threads need no other
// here: a kernel written for CUDA itself would be the same text.
#include "engine/layers/pool/cuda_kernels.h"

#include <algorithm>
#include <stdexcept>
#include <type_traits>

#include "engine/gpu/loops.h"
#include "engine/layers/pool/cuda_windows.h"

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

/// What backward takes from the windows of y: read(pack of y), ready(what that gave, the window),
/// and of an element of the window add(what that gave, number of the element, sums).
template <class T, int width, class Place>
struct MaxTake {
  const Pack<T, width>* dy;
  const Pack<Place, width>* places;
  struct Got {
    Pack<Place, width> winner;
    Pack<T, width> gradient;
  };
  THALWEG_HOST_DEVICE Got read(std::uint32_t p) const { return {places[p], dy[p]}; }
  template <class Win>
  THALWEG_HOST_DEVICE const Got& ready(const Geometry<Win>&, const Position&,
                                       const Got& got) const {
    return got;
  }
  THALWEG_HOST_DEVICE void add(const Got& got, int place, float* sum) const {
    for (int k = 0; k < width; ++k)
      if (got.winner.at[k] == static_cast<Place>(place)) sum[k] += gpu::load(got.gradient.at[k]);
  }
};
template <class T, int width>
struct AvgTake {
  const Pack<T, width>* dy;
  using Got = Pack<T, width>;
  THALWEG_HOST_DEVICE Got read(std::uint32_t p) const { return dy[p]; }
  template <class Win>
  THALWEG_HOST_DEVICE Pack<float, width> ready(const Geometry<Win>& g, const Position& o,
                                               const Got& gradient) const {
    const auto count = static_cast<float>(g.count(o));
    Pack<float, width> share;
    for (int k = 0; k < width; ++k)
      share.at[k] = gpu::load(gradient.at[k]) / count;
    return share;
  }
  THALWEG_HOST_DEVICE void add(const Pack<float, width>& share, int, float* sum) const {
    for (int k = 0; k < width; ++k)
      sum[k] += share.at[k];
  }
};

/// An input's gradient, from windows of any size.
template <class T, int width, class Win, class Take>
struct Gather {
  Geometry<Win> g;
  Places at;
  Take take;
  Pack<T, width>* dx;

  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    float sum[width] = {};
    g.over(at.of(static_cast<std::uint32_t>(i)),
           [&](int place, bool inside, std::uint32_t p, const Position& o) {
             if (inside) take.add(take.ready(g, o, take.read(p)), place, sum);
           });
    dx[i] = rounded<T>(sum);
  }
};

/// Those of a cell: the inputs from where a window begins to where the next one does.
template <class T, int width, class Win, class Take>
struct GatherCell {
  static constexpr int windows = Win::over(0) * Win::over(1) * Win::over(2);
  static constexpr int inputs = Win::stride(0) * Win::stride(1) * Win::stride(2);
  Geometry<Win> g;
  Places at;  ///< of all cells
  Take take;
  Pack<T, width>* dx;

  /// Window number n over the cell.
  THALWEG_HOST_DEVICE static Position window(const Position& cell, int n) {
    Position o = cell;
    o.at[2] += n % Win::over(2) - Win::over(2) + 1;
    o.at[1] += n / Win::over(2) % Win::over(1) - Win::over(1) + 1;
    o.at[0] += n / (Win::over(2) * Win::over(1)) - Win::over(0) + 1;
    return o;
  }
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const {
    const Position cell = at.of(static_cast<std::uint32_t>(i));
    typename Take::Got got[windows];
    bool lies[windows];
    for (int n = 0; n < windows; ++n) {
      const Position o = window(cell, n);
      lies[n] =
          g.inside(o.at[0], g.out[0]) && g.inside(o.at[1], g.out[1]) && g.inside(o.at[2], g.out[2]);
      got[n] = take.read(lies[n] ? g.pack(o, g.out, o.at[0], o.at[1], o.at[2]) : 0);
    }
    float sum[inputs][width] = {};
    for (int n = 0; n < windows; ++n) {
      if (!lies[n]) continue;
      const auto& ready = take.ready(g, window(cell, n), got[n]);
      const Position before = window({}, n);  // of the cell, in windows, up to 0
      for (int j = 0; j < inputs; ++j) {
        const int at_j[3] = {j / (Win::stride(2) * Win::stride(1)),
                             j / Win::stride(2) % Win::stride(1), j % Win::stride(2)};
        bool covers = true;
        int place = 0;
        for (int d = 0; d < 3; ++d) {
          const int there = at_j[d] - before.at[d] * Win::stride(d);
          covers = covers && there < Win::kernel(d);
          place = place * Win::kernel(d) + there;
        }
        if (covers) take.add(ready, place, sum[j]);
      }
    }
    int first[3];
    for (int d = 0; d < 3; ++d)
      first[d] = cell.at[d] * Win::stride(d) - g.padding[d];
    for (int j = 0; j < inputs; ++j) {
      const int d = first[0] + j / (Win::stride(2) * Win::stride(1)),
                h = first[1] + j / Win::stride(2) % Win::stride(1),
                w = first[2] + j % Win::stride(2);
      if (g.inside(d, g.in[0]) && g.inside(h, g.in[1]) && g.inside(w, g.in[2]))
        dx[g.pack(cell, g.in, d, h, w)] = rounded<T>(sum[j]);
    }
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
  gpu::with_packs(type, shape.window.channels, [&](auto t, auto width) {
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

template <class T, int width, class Win, class Take>
void gather(gpu::Stream& stream, const Geometry<Win>& g, std::int64_t samples, const Take& take,
            Pack<T, width>* dx) {
  if constexpr (Win::known) {
    int cells[3];
    for (int d = 0; d < 3; ++d)
      cells[d] = (g.in[d] + g.padding[d] + Win::stride(d) - 1) / Win::stride(d);
    gpu::for_each(stream, count(g, cells, samples),
                  GatherCell<T, width, Win, Take>{g, Places(g.packs, cells), take, dx});
  } else {
    gpu::for_each(stream, count(g, g.in, samples),
                  Gather<T, width, Win, Take>{g, Places(g.packs, g.in), take, dx});
  }
}

}  // namespace

void max_pool_forward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* x,
                      void* y, void* places) {
  run(type, shape, [&](auto t, auto w, const auto& g, std::int64_t first, std::int64_t samples) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    using Win = std::remove_cvref_t<decltype(g.window)>;
    with_place<Win>(shape, [&](auto place) {
      using Place = decltype(place);
      gpu::for_each(stream, count(g, g.out, samples),
                    MaxForward<T, width, Place, Win>{
                        g, Places(g.packs, g.out),
                        packs_of<const T, width>(static_cast<const T*>(x), g, g.in, first),
                        packs_of<T, width>(static_cast<T*>(y), g, g.out, first),
                        packs_of<Place, width>(static_cast<Place*>(places), g, g.out, first)});
    });
  });
}

void max_pool_backward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* dy,
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
      gather(stream, g, samples, MaxTake<T, width, Place>{from, winners}, to);
    });
  });
}

void avg_pool_forward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* x,
                      void* y) {
  run(type, shape, [&](auto t, auto w, const auto& g, std::int64_t first, std::int64_t samples) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    using Win = std::remove_cvref_t<decltype(g.window)>;
    gpu::for_each(stream, count(g, g.out, samples),
                  AvgForward<T, width, Win>{
                      g, Places(g.packs, g.out),
                      packs_of<const T, width>(static_cast<const T*>(x), g, g.in, first),
                      packs_of<T, width>(static_cast<T*>(y), g, g.out, first)});
  });
}

void avg_pool_backward(gpu::Stream& stream, gpu::Type type, const PoolShape& shape, const void* dy,
                       void* dx) {
  run(type, shape, [&](auto t, auto w, const auto& g, std::int64_t first, std::int64_t samples) {
    using T = decltype(t);
    constexpr int width = decltype(w)::value;
    const auto* const from = packs_of<const T, width>(static_cast<const T*>(dy), g, g.out, first);
    gather(stream, g, samples, AvgTake<T, width>{from},
           packs_of<T, width>(static_cast<T*>(dx), g, g.in, first));
  });
}

}  // namespace thalweg::engine::cuda
