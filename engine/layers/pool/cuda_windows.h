// Where the windows of a pool lie, for kernels: windows of sizes that the compiler knows, which
// unrolls their loops, and any others. Indices have 32 bits, divisions are multiplications
// (gpu/divisor.h).
#pragma once

#include <cstdint>

#include "engine/gpu/divisor.h"
#include "engine/gpu/host_device.h"

namespace thalweg::engine::cuda::pool {

using gpu::Divisor;

/// A window of a size that the compiler knows.
template <int kd, int kh, int kw, int sd, int sh, int sw>
struct Fixed {
  static constexpr bool known = true;
  static constexpr int volume = kd * kh * kw;
  /// How many windows may lie over an input, in each direction.
  THALWEG_HOST_DEVICE static constexpr int over(int d) {
    return (kernel(d) + stride(d) - 1) / stride(d);
  }
  THALWEG_HOST_DEVICE static constexpr int kernel(int d) { return d == 0 ? kd : d == 1 ? kh : kw; }
  THALWEG_HOST_DEVICE static constexpr int stride(int d) { return d == 0 ? sd : d == 1 ? sh : sw; }
};
struct AnyWindow {
  static constexpr bool known = false;
  int kernels[3], strides[3];
  THALWEG_HOST_DEVICE int kernel(int d) const { return kernels[d]; }
  THALWEG_HOST_DEVICE int stride(int d) const { return strides[d]; }
  THALWEG_HOST_DEVICE int over(int d) const { return (kernels[d] + strides[d] - 1) / strides[d]; }
};

/// Where a thread stands: a pack of channels of a place of a sample.
struct Position {
  std::uint32_t sample, column;
  int at[3];
};
/// Takes a number of a tensor (samples, sizes..., packs) apart.
struct Places {
  Divisor packs, sizes[3];
  Places(std::uint32_t of_row, const int (&counts)[3]) : packs(of_row) {
    for (int d = 0; d < 3; ++d)
      sizes[d] = Divisor(static_cast<std::uint32_t>(counts[d]));
  }
  THALWEG_HOST_DEVICE Position of(std::uint32_t i) const {
    Position p;
    std::uint32_t rest = packs.split(i);
    p.column = i;
    for (int d = 2; d >= 0; --d) {
      const std::uint32_t next = sizes[d].split(rest);
      p.at[d] = static_cast<int>(rest);
      rest = next;
    }
    p.sample = rest;
    return p;
  }
};

template <class Win>
struct Geometry {
  Win window;
  int in[3], out[3], padding[3];
  std::uint32_t packs;

  /// Number of a pack of a tensor (samples, sizes..., packs); anything where it lies outside.
  THALWEG_HOST_DEVICE std::uint32_t pack(const Position& p, const int (&sizes)[3], int d, int h,
                                         int w) const {
    const auto of = [](int n) { return static_cast<std::uint32_t>(n); };
    const std::uint32_t row = (p.sample * of(sizes[0]) + of(d)) * of(sizes[1]) + of(h);
    return (row * of(sizes[2]) + of(w)) * packs + p.column;
  }
  THALWEG_HOST_DEVICE static bool inside(int at, int size) {
    return static_cast<unsigned>(at) < static_cast<unsigned>(size);
  }
  /// visit(number in the window, inside, pack of x) for all of the window at output `o`.
  template <class Visit>
  THALWEG_HOST_DEVICE void under(const Position& o, const Visit& visit) const {
    int first[3];
    for (int d = 0; d < 3; ++d)
      first[d] = o.at[d] * window.stride(d) - padding[d];
    int place = 0;
    for (int a = 0; a < window.kernel(0); ++a)
      for (int b = 0; b < window.kernel(1); ++b)
        for (int c = 0; c < window.kernel(2); ++c, ++place) {
          const int d = first[0] + a, h = first[1] + b, w = first[2] + c;
          visit(place, inside(d, in[0]) && inside(h, in[1]) && inside(w, in[2]),
                pack(o, in, d, h, w));
        }
  }
  /// visit(number of input `i` in the window, inside, pack of y, the window) for all windows over
  /// it, in their order, and for some that are not: then `inside` is false.
  template <class Visit>
  THALWEG_HOST_DEVICE void over(const Position& i, const Visit& visit) const {
    int first[3];
    for (int d = 0; d < 3; ++d)  // the last of those that may lie over it stands before it
      first[d] = (i.at[d] + padding[d]) / window.stride(d) - window.over(d) + 1;
    for (int a = 0; a < window.over(0); ++a)
      for (int b = 0; b < window.over(1); ++b)
        for (int c = 0; c < window.over(2); ++c) {
          Position o = i;
          bool lies = true;
          int place = 0;
          const int offset[3] = {a, b, c};
          for (int d = 0; d < 3; ++d) {
            o.at[d] = first[d] + offset[d];
            const int there = i.at[d] + padding[d] - o.at[d] * window.stride(d);
            lies = lies && inside(o.at[d], out[d]) && there < window.kernel(d);
            place = place * window.kernel(d) + there;
          }
          visit(place, lies, pack(o, out, o.at[0], o.at[1], o.at[2]), o);
        }
  }
  /// How many inputs the window at output `o` has.
  THALWEG_HOST_DEVICE int count(const Position& o) const {
    int all = 1;
    for (int d = 0; d < 3; ++d) {
      const int start = o.at[d] * window.stride(d) - padding[d], end = start + window.kernel(d);
      all *= (end < in[d] ? end : in[d]) - (start < 0 ? 0 : start);
    }
    return all;
  }
};

}  // namespace thalweg::engine::cuda::pool
