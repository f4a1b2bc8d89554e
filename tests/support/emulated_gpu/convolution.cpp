// Convolutions as products: the values under each place of the kernel are gathered into the rows
// of a matrix ("im2col"), a sample at a time.
#include <algorithm>
#include <array>
#include <cstring>

#include "engine/gpu/names.h"
#include "tests/support/emulated_gpu/library.h"

namespace thalweg::engine::gpu {
namespace {

using Sizes = std::array<std::int64_t, 3>;

std::int64_t volume(const Sizes& s) {
  return s[0] * s[1] * s[2];
}

/// Images have a depth of 1, which the kernel leaves alone.
struct Geometry {
  explicit Geometry(const Convolution& c) : shape(c) {
    const std::size_t first = 3 - c.in.size();
    for (std::size_t d = first; d < 3; ++d) {
      in[d] = c.in[d - first];
      out[d] = c.out[d - first];
      kernel[d] = c.kernel[d - first];
      stride[d] = c.stride;
      padding[d] = c.padding;
    }
  }
  std::int64_t positions() const { return volume(out); }
  std::int64_t taps() const { return volume(kernel) * shape.c; }
  std::int64_t x_of_sample() const { return volume(in) * shape.c; }
  std::int64_t y_of_sample() const { return positions() * shape.k; }

  /// work(tap, place): the elements of a sample of x, c neighbours each, that the kernel covers at
  /// output `o`, and where they stand in its row; place -1 is padding.
  template <class Work>
  void under_kernel(std::int64_t o, const Work& work) const {
    const Sizes at{o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]};
    std::int64_t tap = 0;
    for (std::int64_t r0 = 0; r0 < kernel[0]; ++r0)
      for (std::int64_t r1 = 0; r1 < kernel[1]; ++r1)
        for (std::int64_t r2 = 0; r2 < kernel[2]; ++r2, tap += shape.c) {
          const std::int64_t i0 = at[0] * stride[0] + r0 - padding[0];
          const std::int64_t i1 = at[1] * stride[1] + r1 - padding[1];
          const std::int64_t i2 = at[2] * stride[2] + r2 - padding[2];
          const bool inside =
              i0 >= 0 && i0 < in[0] && i1 >= 0 && i1 < in[1] && i2 >= 0 && i2 < in[2];
          work(tap, inside ? ((i0 * in[1] + i1) * in[2] + i2) * shape.c : -1);
        }
  }

  Convolution shape;
  Sizes in{1, 1, 1}, out{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0};
};

/// Parts of the workspace, in floats. Positions of a sample are done in `turns` parts.
struct Scratch {
  Scratch(const Geometry& g, int turns, void* workspace)
      : at_once(positions_of_turn(g, turns)),
        columns(static_cast<float*>(workspace)),
        weights(columns + at_once * g.taps()),
        values(weights + g.shape.k * g.taps()) {}
  static std::int64_t positions_of_turn(const Geometry& g, int turns) {
    return (g.positions() + turns - 1) / turns;
  }
  static std::size_t bytes(const Geometry& g, int turns) {
    return sizeof(float) * static_cast<std::size_t>(positions_of_turn(g, turns) * g.taps() +
                                                    g.shape.k * g.taps() + g.y_of_sample());
  }
  /// work(first position, how many) for each part.
  template <class Work>
  void for_each_turn(const Geometry& g, const Work& work) const {
    for (std::int64_t first = 0; first < g.positions(); first += at_once)
      work(first, std::min(at_once, g.positions() - first));
  }
  std::int64_t at_once;
  float* columns;  ///< (at_once, taps)
  float* weights;  ///< (k, taps)
  float* values;   ///< y or dy of a sample
};

void read(const Convolution& shape, const void* from, std::int64_t offset, std::int64_t count,
          float* to) {
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = rounded_for(shape.products, load_at(shape.type, from, offset + i));
}

void gather(const Geometry& g, const void* x, std::int64_t sample, std::int64_t first,
            std::int64_t count, float* columns) {
  for (std::int64_t o = 0; o < count; ++o)
    g.under_kernel(first + o, [&](std::int64_t tap, std::int64_t place) {
      float* const to = columns + o * g.taps() + tap;
      if (place < 0) {
        std::fill_n(to, g.shape.c, 0.0f);
      } else {
        read(g.shape, x, sample * g.x_of_sample() + place, g.shape.c, to);
      }
    });
}

void forward(const Geometry& g, const void* x, const void* w, void* y, const void* bias,
             const Scratch& s) {
  const std::int64_t k = g.shape.k;
  read(g.shape, w, 0, k * g.taps(), s.weights);
  for (std::int64_t n = 0; n < g.shape.n; ++n) {
    s.for_each_turn(g, [&](std::int64_t first, std::int64_t count) {
      gather(g, x, n, first, count, s.columns);
      emulated_multiply(count, k, g.taps(), {s.columns, g.taps()}, {s.weights, g.taps(), true},
                        {s.values + first * k, k}, false);
    });
    for (std::int64_t i = 0; i < g.y_of_sample(); ++i) {
      float value = s.values[i];
      if (bias != nullptr) value += load_at(g.shape.type, bias, i % k);
      if (g.shape.relu && value < 0) value = 0;
      store_at(g.shape.type, y, n * g.y_of_sample() + i, value);
    }
  }
}

void backward_data(const Geometry& g, const void* dy, const void* w, void* dx, const Scratch& s) {
  const std::int64_t k = g.shape.k;
  std::vector<float> sums(static_cast<std::size_t>(g.x_of_sample()));
  read(g.shape, w, 0, k * g.taps(), s.weights);
  for (std::int64_t n = 0; n < g.shape.n; ++n) {
    read(g.shape, dy, n * g.y_of_sample(), g.y_of_sample(), s.values);
    std::fill(sums.begin(), sums.end(), 0.0f);
    s.for_each_turn(g, [&](std::int64_t first, std::int64_t count) {
      emulated_multiply(count, g.taps(), k, {s.values + first * k, k}, {s.weights, g.taps()},
                        {s.columns, g.taps()}, false);
      for (std::int64_t o = 0; o < count; ++o)
        g.under_kernel(first + o, [&](std::int64_t tap, std::int64_t place) {
          for (std::int64_t c = 0; place >= 0 && c < g.shape.c; ++c)
            sums[static_cast<std::size_t>(place + c)] += s.columns[o * g.taps() + tap + c];
        });
    });
    for (std::int64_t i = 0; i < g.x_of_sample(); ++i)
      store_at(g.shape.type, dx, n * g.x_of_sample() + i, sums[static_cast<std::size_t>(i)]);
  }
}

void backward_weights(const Geometry& g, const void* x, const void* dy, float* dw,
                      const Scratch& s) {
  const std::int64_t k = g.shape.k;
  for (std::int64_t n = 0; n < g.shape.n; ++n) {
    read(g.shape, dy, n * g.y_of_sample(), g.y_of_sample(), s.values);
    s.for_each_turn(g, [&](std::int64_t first, std::int64_t count) {
      gather(g, x, n, first, count, s.columns);
      emulated_multiply(k, g.taps(), count, {s.values + first * k, k, true}, {s.columns, g.taps()},
                        {dw, g.taps()}, n > 0 || first > 0);
    });
  }
}

class EmulatedConvolution final : public Call {
 public:
  explicit EmulatedConvolution(const Convolution& shape) : g_(shape) {}
  std::string name() const override { return name_of(g_.shape); }
  std::string key() const override { return key_of(g_.shape); }
  int algorithms() const override { return g_.positions() > 1 ? 2 : 1; }
  std::string algorithm_name(int algorithm) const override {
    return algorithm == 0 ? "whole" : algorithm < algorithms() ? "in halves" : "";
  }
  std::size_t workspace(int algorithm) const override { return Scratch::bytes(g_, algorithm + 1); }
  void run(Stream& stream, std::span<void* const> tensors, void* workspace) const override {
    if (workspace == nullptr) throw GpuError(name() + " runs without its workspace");
    const void* const bias = g_.shape.bias ? tensors[3] : nullptr;
    const Scratch scratch(g_, chosen() + 1, workspace);
    stream.on_host([g = g_, a = tensors[0], b = tensors[1], c = tensors[2], bias, scratch] {
      switch (g.shape.pass) {
        case Convolution::Pass::forward:
          return forward(g, a, b, c, bias, scratch);
        case Convolution::Pass::backward_data:
          return backward_data(g, a, b, c, scratch);
        case Convolution::Pass::backward_weights:
          return backward_weights(g, a, b, static_cast<float*>(c), scratch);
      }
    });
  }

 private:
  Geometry g_;
};

}  // namespace

std::unique_ptr<Call> emulated_convolution(const Convolution& shape) {
  return std::make_unique<EmulatedConvolution>(shape);
}

}  // namespace thalweg::engine::gpu
