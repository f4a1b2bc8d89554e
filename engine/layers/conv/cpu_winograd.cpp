#include "engine/layers/conv/cpu_winograd.h"

#include <algorithm>
#include <stdexcept>

#include "engine/layers/conv/cpu_winograd_transform.h"

namespace thalweg::engine::cpu {
namespace {

constexpr std::int64_t block = 16;  // channels of a vector
// Channels of a part of the transformed weights, in each direction: 36 x 64 x 64 floats fit a
// core's cache.
constexpr std::int64_t part = 64;
// Rows that lie a power of two apart would share few lines of the cache.
constexpr std::int64_t stagger = 16;

/// A convolution that either pass makes of `Winograd`.
struct Geometry {
  std::int64_t samples, in, out, height, width, padding, out_height, out_width;

  explicit Geometry(const Winograd& w)
      : samples(w.samples),
        in(w.in),
        out(w.out),
        height(w.height),
        width(w.width),
        padding(w.padding),
        out_height(w.out_height()),
        out_width(w.out_width()) {}

  Geometry turned() const {
    Geometry g = *this;
    std::swap(g.in, g.out);
    std::swap(g.height, g.out_height);
    std::swap(g.width, g.out_width);
    g.padding = 2 - padding;
    return g;
  }
  std::int64_t down() const { return (out_height + 3) / 4; }
  std::int64_t across() const { return (out_width + 3) / 4; }
  std::int64_t tiles() const { return samples * down() * across(); }
  /// How many are under way at once: few enough for the cache, many enough to make the transformed
  /// weights for.
  std::int64_t tiles_at_once() const {
    const std::int64_t channels = std::max(in, out);
    return std::min<std::int64_t>(tiles(), channels <= part ? 48 : channels <= 2 * part ? 96 : 192);
  }
};

/// Distances between the 36 points of each kind in the scratch memory.
struct Places {
  std::int64_t input, output, weights;
  explicit Places(const Geometry& g)
      : input(g.tiles_at_once() * g.in + stagger),
        output(g.tiles_at_once() * std::max(g.out, part) + stagger),
        weights(part * part + stagger) {}
};

std::int64_t parts(std::int64_t channels) {
  return (channels + part - 1) / part;
}

}  // namespace

bool serves_winograd(const Winograd& w) {
  return has_avx512() && w.in % block == 0 && w.out % block == 0 && w.padding >= 0 &&
         w.padding <= 2 && w.out_height() > 0 && w.out_width() > 0;
}

bool winograd_pays(const Winograd& w) {
  constexpr std::int64_t fewest = 32;
  return w.in >= fewest && w.out >= fewest;
}

std::size_t winograd_scratch_floats(const Winograd& w) {
  std::int64_t most = 0;
  for (const Geometry& g : {Geometry(w), Geometry(w).turned()}) {
    const Places at(g);
    const bool once = g.tiles() <= g.tiles_at_once();
    const std::int64_t gradients = once ? 1 : parts(g.in) * parts(g.out);
    most = std::max(most, 36 * (at.input + at.output + gradients * at.weights));
  }
  return static_cast<std::size_t>(most);
}

#if THALWEG_HAS_AVX512_CODE
namespace {

using namespace winograd;

constexpr __mmask8 whole_pd = 0xff;

/// One tile of an image: `top` and `left` may be outside.
struct Spot {
  std::int64_t sample, top, left;
};

Spot spot_of(const Geometry& g, std::int64_t number, std::int64_t padding) {
  const std::int64_t across = g.across(), of_sample = g.down() * across;
  const std::int64_t place = number % of_sample;
  return {number / of_sample, place / across * tile - padding, place % across * tile - padding};
}

/// Size x Size pixels of an image, 0 outside.
template <int Size>
struct Pixels {
  std::int64_t at[Size][Size];
  __mmask16 inside[Size][Size];

  Pixels(const Spot& spot, std::int64_t height, std::int64_t width) {
    for (int i = 0; i < Size; ++i)
      for (int j = 0; j < Size; ++j) {
        const std::int64_t y = spot.top + i, x = spot.left + j;
        const bool in = y >= 0 && y < height && x >= 0 && x < width;
        at[i][j] = in ? (y * width + x) * block : 0;
        inside[i][j] = in ? 0xffff : 0;
      }
  }
  THALWEG_AVX512_INLINE void read(const float* image, Vector (&to)[Size][Size]) const {
    for (int i = 0; i < Size; ++i)
      for (int j = 0; j < Size; ++j)
        to[i][j] = _mm512_maskz_loadu_ps(inside[i][j], image + at[i][j]);
  }
};

template <int Size>
THALWEG_AVX512_INLINE void read_points(const float* from, std::int64_t distance,
                                       Vector (&to)[Size][Size]) {
  for (int i = 0; i < Size; ++i)
    for (int j = 0; j < Size; ++j)
      to[i][j] = load(from + (i * Size + j) * distance);
}

THALWEG_AVX512_INLINE void write_points(const Vector (&from)[side][side], float* to,
                                        std::int64_t distance) {
  for (int i = 0; i < side; ++i)
    for (int j = 0; j < side; ++j)
      store(to + (i * side + j) * distance, from[i][j]);
}

/// points: (36; tiles, in)
THALWEG_AVX512 void transform_input(const Geometry& g, const float* x, std::int64_t first,
                                    std::int64_t tiles, float* points, std::int64_t distance) {
  for (std::int64_t t = 0; t < tiles; ++t, points += g.in) {
    const Spot spot = spot_of(g, first + t, g.padding);
    const Pixels<side> pixels(spot, g.height, g.width);
    const float* image = x + spot.sample * g.in * g.height * g.width;
    for (std::int64_t c = 0; c < g.in; c += block, image += g.height * g.width * block) {
      Vector d[side][side], p[side][side];
      pixels.read(image, d);
      both_ways<side, side, from_input>(d, p);
      write_points(p, points + c, distance);
    }
  }
}

/// points: (36; tiles, out). Adds the gradients of the bias.
THALWEG_AVX512 void transform_output_gradient(const Geometry& g, const float* dy,
                                              std::int64_t first, std::int64_t tiles, float* points,
                                              std::int64_t distance, float* db) {
  for (std::int64_t t = 0; t < tiles; ++t, points += g.out) {
    const Spot spot = spot_of(g, first + t, 0);
    const Pixels<tile> pixels(spot, g.out_height, g.out_width);
    const float* image = dy + spot.sample * g.out * g.out_height * g.out_width;
    for (std::int64_t c = 0; c < g.out; c += block, image += g.out_height * g.out_width * block) {
      Vector y[tile][tile], p[side][side];
      pixels.read(image, y);
      if (db != nullptr) {
        Vector sum = zeros();
        for (int i = 0; i < tile; ++i)
          sum = plus(sum, plus(plus(y[i][0], y[i][1]), plus(y[i][2], y[i][3])));
        store(db + c, plus(load(db + c), sum));
      }
      Vector half[tile][side];  // by column
      for (int column = 0; column < tile; ++column) {
        const Vector line[tile] = {y[0][column], y[1][column], y[2][column], y[3][column]};
        from_output_gradient(line, half[column]);
      }
      for (int row = 0; row < side; ++row) {
        const Vector line[tile] = {half[0][row], half[1][row], half[2][row], half[3][row]};
        from_output_gradient(line, p[row]);
      }
      write_points(p, points + c, distance);
    }
  }
}

/// points: (36; tiles, part), of `channels` channels from `from` on.
THALWEG_AVX512 void transform_output(const Geometry& g, const float* points, std::int64_t distance,
                                     std::int64_t first, std::int64_t tiles, std::int64_t from,
                                     std::int64_t channels, const float* bias, bool relu,
                                     float* y) {
  for (std::int64_t t = 0; t < tiles; ++t, points += part) {
    const Spot spot = spot_of(g, first + t, 0);
    const std::int64_t rows = std::min<std::int64_t>(tile, g.out_height - spot.top);
    const std::int64_t columns = std::min<std::int64_t>(tile, g.out_width - spot.left);
    for (std::int64_t c = 0; c < channels; c += block) {
      Vector p[side][side], result[tile][tile];
      read_points(points + c, distance, p);
      both_ways<side, tile, to_output>(p, result);
      const Vector added = bias != nullptr ? load(bias + from + c) : zeros();
      float* to = y + ((spot.sample * g.out + from + c) * g.out_height * g.out_width +
                       (spot.top * g.out_width + spot.left) * block);
      for (std::int64_t i = 0; i < rows; ++i)
        for (std::int64_t j = 0; j < columns; ++j) {
          const Vector sum = plus(result[i][j], added);
          store(to + (i * g.out_width + j) * block,
                relu ? _mm512_maskz_max_ps(whole, sum, zeros()) : sum);
        }
    }
  }
}

/// m (Tiles, part) = or += v (Tiles, count) u (count, part), of Blocks * 16 channels.
template <int Tiles, int Blocks>
THALWEG_AVX512 void multiply(const float* v, std::int64_t v_row, const float* u, std::int64_t count,
                             bool add, float* m) {
  Vector sums[Tiles][Blocks];
  for (int t = 0; t < Tiles; ++t)
    for (int c = 0; c < Blocks; ++c)
      sums[t][c] = add ? load(m + t * part + c * block) : zeros();
  for (std::int64_t k = 0; k < count; ++k, u += part, ++v) {
    Vector weights[Blocks];
    for (int c = 0; c < Blocks; ++c)
      weights[c] = load(u + c * block);
    for (int t = 0; t < Tiles; ++t) {
      const Vector value = all(v[t * v_row]);
      for (int c = 0; c < Blocks; ++c)
        sums[t][c] = times_plus(value, weights[c], sums[t][c]);
    }
  }
  for (int t = 0; t < Tiles; ++t)
    for (int c = 0; c < Blocks; ++c)
      store(m + t * part + c * block, sums[t][c]);
}

/// As multiply, for any number of tiles.
template <int Blocks>
void multiply_all(const float* v, std::int64_t v_row, std::int64_t tiles, const float* u,
                  std::int64_t count, bool add, float* m) {
  constexpr int most = 6;  // 24 sums fit the registers
  for (; tiles >= most; tiles -= most, v += most * v_row, m += most * part)
    multiply<most, Blocks>(v, v_row, u, count, add, m);
  switch (tiles) {
    case 1:
      return multiply<1, Blocks>(v, v_row, u, count, add, m);
    case 2:
      return multiply<2, Blocks>(v, v_row, u, count, add, m);
    case 3:
      return multiply<3, Blocks>(v, v_row, u, count, add, m);
    case 4:
      return multiply<4, Blocks>(v, v_row, u, count, add, m);
    case 5:
      return multiply<5, Blocks>(v, v_row, u, count, add, m);
    default:
      return;
  }
}

/// du (4, part) = or += the sum over tiles of v (tiles, 4) d (tiles, Blocks * 16).
template <int Blocks>
THALWEG_AVX512 void multiply_turned(const float* v, std::int64_t v_row, const float* d,
                                    std::int64_t d_row, std::int64_t tiles, bool add, float* du) {
  constexpr int rows = 4;
  Vector sums[rows][Blocks];
  for (int i = 0; i < rows; ++i)
    for (int c = 0; c < Blocks; ++c)
      sums[i][c] = add ? load(du + i * part + c * block) : zeros();
  for (std::int64_t t = 0; t < tiles; ++t, v += v_row, d += d_row) {
    Vector gradients[Blocks];
    for (int c = 0; c < Blocks; ++c)
      gradients[c] = load(d + c * block);
    for (int i = 0; i < rows; ++i) {
      const Vector value = all(v[i]);
      for (int c = 0; c < Blocks; ++c)
        sums[i][c] = times_plus(value, gradients[c], sums[i][c]);
    }
  }
  for (int i = 0; i < rows; ++i)
    for (int c = 0; c < Blocks; ++c)
      store(du + i * part + c * block, sums[i][c]);
}

template <int Blocks>
void multiply_turned_all(const float* v, std::int64_t v_row, const float* d, std::int64_t d_row,
                         std::int64_t tiles, std::int64_t inputs, bool add, float* du) {
  for (std::int64_t i = 0; i < inputs; i += 4)
    multiply_turned<Blocks>(v + i, v_row, d, d_row, tiles, add, du + i * part);
}

/// f with 1 to 4 as a constant.
template <class F>
void with_blocks(std::int64_t channels, F f) {
  switch (channels / block) {
    case 1:
      return f.template operator()<1>();
    case 2:
      return f.template operator()<2>();
    case 3:
      return f.template operator()<3>();
    default:
      return f.template operator()<4>();
  }
}

/// A range of channels.
struct Channels {
  std::int64_t from, count;
};

Channels channels_of(std::int64_t number, std::int64_t all_channels) {
  return {number * part, std::min(part, all_channels - number * part)};
}

/// Nine vectors, `distance` floats apart, as points.
THALWEG_AVX512_INLINE void transform_weights(const float* w, std::int64_t distance, float* points,
                                             std::int64_t points_distance) {
  Vector half[window][side], p[side][side];
  for (int column = 0; column < window; ++column) {
    const Vector line[window] = {load(w + column * distance), load(w + (3 + column) * distance),
                                 load(w + (6 + column) * distance)};
    from_weights(line, half[column]);
  }
  for (int row = 0; row < side; ++row) {
    const Vector line[window] = {half[0][row], half[1][row], half[2][row]};
    from_weights(line, p[row]);
  }
  write_points(p, points, points_distance);
}

/// points: (36; ins, part), of the convolution itself. `blocks_in`: of the whole layer.
THALWEG_AVX512 void weights_forward(const float* weights, std::int64_t blocks_in, Channels ins,
                                    Channels outs, float* points, std::int64_t distance) {
  for (std::int64_t o = 0; o < outs.count; o += block)
    for (std::int64_t i = 0; i < ins.count; ++i) {
      const std::int64_t from = ins.from + i;
      const float* w =
          weights +
          (((outs.from + o) / block * blocks_in + from / block) * 9 * block + from % block) * block;
      transform_weights(w, block * block, points + i * part + o, distance);
    }
}

THALWEG_AVX512 void turn_16_by_16(const float* from, float* to) {
  Vector r[16], s[16];
  for (int i = 0; i < 16; ++i)
    r[i] = load(from + i * 16);
  for (int i = 0; i < 16; i += 2) {
    s[i] = _mm512_maskz_unpacklo_ps(whole, r[i], r[i + 1]);
    s[i + 1] = _mm512_maskz_unpackhi_ps(whole, r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4)
    for (int k = 0; k < 2; ++k) {
      const __m512d low = _mm512_castps_pd(s[i + k]), high = _mm512_castps_pd(s[i + k + 2]);
      r[i + 2 * k] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(whole_pd, low, high));
      r[i + 2 * k + 1] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(whole_pd, low, high));
    }
  // r[4 q + k] holds, of rows 4 q .. 4 q + 3, columns k, 4 + k, 8 + k and 12 + k.
  for (int k = 0; k < 4; ++k) {
    const Vector ab_low = _mm512_maskz_shuffle_f32x4(whole, r[k], r[4 + k], 0x88);
    const Vector ab_high = _mm512_maskz_shuffle_f32x4(whole, r[k], r[4 + k], 0xdd);
    const Vector cd_low = _mm512_maskz_shuffle_f32x4(whole, r[8 + k], r[12 + k], 0x88);
    const Vector cd_high = _mm512_maskz_shuffle_f32x4(whole, r[8 + k], r[12 + k], 0xdd);
    store(to + k * 16, _mm512_maskz_shuffle_f32x4(whole, ab_low, cd_low, 0x88));
    store(to + (8 + k) * 16, _mm512_maskz_shuffle_f32x4(whole, ab_low, cd_low, 0xdd));
    store(to + (4 + k) * 16, _mm512_maskz_shuffle_f32x4(whole, ab_high, cd_high, 0x88));
    store(to + (12 + k) * 16, _mm512_maskz_shuffle_f32x4(whole, ab_high, cd_high, 0xdd));
  }
}

/// points: (36; outs, part), of the transposed convolution: the layer's outputs are what it sums
/// over, and the window is turned by 180 degrees. `blocks_in`: of the whole layer.
THALWEG_AVX512 void weights_backward(const float* weights, std::int64_t blocks_in, Channels outs,
                                     Channels ins, float* points, std::int64_t distance) {
  alignas(64) float turned[9 * block * block];
  for (std::int64_t o = 0; o < outs.count; o += block)
    for (std::int64_t i = 0; i < ins.count; i += block) {
      const float* w = weights + ((outs.from + o) / block * blocks_in + (ins.from + i) / block) *
                                     9 * block * block;
      for (int tap = 0; tap < 9; ++tap)
        turn_16_by_16(w + tap * block * block, turned + (8 - tap) * block * block);
      for (std::int64_t k = 0; k < block; ++k)
        transform_weights(turned + k * block, block * block, points + (o + k) * part + i, distance);
    }
}

using MakeWeights = void (*)(const float* weights, std::int64_t blocks_in, Channels sums,
                             Channels results, float* points, std::int64_t distance);

struct Result {
  const float* bias;
  bool relu;
  float* y;
};

void convolve(const Geometry& g, const float* x, const float* weights, std::int64_t blocks_in,
              MakeWeights make, const Result& result, float* scratch) {
  const Places at(g);
  float *v = scratch, *m = v + points * at.input, *u = m + points * at.output;
  const bool kept = parts(g.in) * parts(g.out) == 1;  // the weights' points, from tile to tile
  for (std::int64_t first = 0; first < g.tiles(); first += g.tiles_at_once()) {
    const std::int64_t tiles = std::min(g.tiles_at_once(), g.tiles() - first);
    transform_input(g, x, first, tiles, v, at.input);
    for (std::int64_t r = 0; r < parts(g.out); ++r) {
      const Channels results = channels_of(r, g.out);
      for (std::int64_t s = 0; s < parts(g.in); ++s) {
        const Channels sums = channels_of(s, g.in);
        if (!kept || first == 0) make(weights, blocks_in, sums, results, u, at.weights);
        with_blocks(results.count, [&]<int Blocks>() {
          for (int p = 0; p < points; ++p)
            multiply_all<Blocks>(v + p * at.input + sums.from, g.in, tiles, u + p * at.weights,
                                 sums.count, s > 0, m + p * at.output);
        });
      }
      transform_output(g, m, at.output, first, tiles, results.from, results.count, result.bias,
                       result.relu, result.y);
    }
  }
}

/// From points (36; ins, part) to the weights' gradient.
THALWEG_AVX512 void transform_weight_gradient(const float* points, std::int64_t distance,
                                              std::int64_t blocks_in, Channels ins, Channels outs,
                                              float* dw) {
  for (std::int64_t o = 0; o < outs.count; o += block)
    for (std::int64_t i = 0; i < ins.count; ++i) {
      Vector p[side][side], result[window][window];
      read_points(points + i * part + o, distance, p);
      both_ways<side, window, to_weight_gradient>(p, result);
      const std::int64_t from = ins.from + i;
      float* to =
          dw +
          (((outs.from + o) / block * blocks_in + from / block) * 9 * block + from % block) * block;
      for (int tap = 0; tap < 9; ++tap)
        store(to + tap * block * block, result[tap / 3][tap % 3]);
    }
}

}  // namespace

void winograd_forward(const Winograd& w, const float* x, const float* weights, const float* bias,
                      bool relu, float* y, float* scratch) {
  convolve(Geometry(w), x, weights, w.in / block, weights_forward, {bias, relu, y}, scratch);
}

void winograd_backward_data(const Winograd& w, const float* dy, const float* weights, float* dx,
                            float* scratch) {
  convolve(Geometry(w).turned(), dy, weights, w.in / block, weights_backward, {nullptr, false, dx},
           scratch);
}

void winograd_backward_weights(const Winograd& w, const float* x, const float* dy, float* dw,
                               float* db, float* scratch) {
  const Geometry g(w);
  const Places at(g);
  float *v = scratch, *d = v + points * at.input, *du = d + points * at.output;
  const bool once = g.tiles() <= g.tiles_at_once();
  if (db != nullptr) std::fill_n(db, g.out, 0.0f);
  for (std::int64_t first = 0; first < g.tiles(); first += g.tiles_at_once()) {
    const std::int64_t tiles = std::min(g.tiles_at_once(), g.tiles() - first);
    const bool last = first + tiles == g.tiles();
    transform_input(g, x, first, tiles, v, at.input);
    transform_output_gradient(g, dy, first, tiles, d, at.output, db);
    float* sums = du;
    for (std::int64_t o = 0; o < parts(g.out); ++o)
      for (std::int64_t i = 0; i < parts(g.in); ++i) {
        const Channels outs = channels_of(o, g.out), ins = channels_of(i, g.in);
        with_blocks(outs.count, [&]<int Blocks>() {
          for (int p = 0; p < points; ++p)
            multiply_turned_all<Blocks>(v + p * at.input + ins.from, g.in,
                                        d + p * at.output + outs.from, g.out, tiles, ins.count,
                                        first > 0, sums + p * at.weights);
        });
        if (last) transform_weight_gradient(sums, at.weights, w.in / block, ins, outs, dw);
        if (!once) sums += points * at.weights;
      }
  }
}

#else

void winograd_forward(const Winograd&, const float*, const float*, const float*, bool, float*,
                      float*) {
  throw std::logic_error("winograd_forward without AVX-512");
}

void winograd_backward_data(const Winograd&, const float*, const float*, float*, float*) {
  throw std::logic_error("winograd_backward_data without AVX-512");
}

void winograd_backward_weights(const Winograd&, const float*, const float*, float*, float*,
                               float*) {
  throw std::logic_error("winograd_backward_weights without AVX-512");
}

#endif

}  // namespace thalweg::engine::cpu
