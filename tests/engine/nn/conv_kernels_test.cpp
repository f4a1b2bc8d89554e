// The convolution kernels of our own against the sums that define a convolution, in float64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/layers/conv/cpu_blocked.h"
#include "engine/layers/conv/cpu_stem.h"
#include "support.h"

namespace thalweg::engine::test {
namespace {

// Of the result's norm: float32 sums of up to some thousand products.
constexpr double kernel_tolerance = 2e-6;

struct Given {
  std::string name;
  int samples, channels, outputs;
  Window::Sizes in;
  std::int64_t kernel, stride, padding;
};
void PrintTo(const Given& g, std::ostream* out) {
  *out << g.name;
}

Window window_of(const Given& g) {
  Window w;
  w.directions = g.in[0] > 1 ? 3 : 2;
  w.channels = g.channels;
  w.in = g.in;
  for (auto d = static_cast<std::size_t>(3 - w.directions); d < 3; ++d) {
    w.kernel[d] = g.kernel;
    w.stride[d] = g.stride;
    w.padding[d] = g.padding;
    w.out[d] = (g.in[d] + 2 * g.padding - g.kernel) / g.stride + 1;
  }
  return w;
}

/// Values that bf16 holds exactly.
std::vector<float> numbers(std::int64_t count, std::uint32_t what) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = to_float(to_bf16(uniform01(philox(3, Stream::noise, what, i)[0]) - 0.4f));
  return values;
}

/// Where (n, c, pixel) lies, in blocks of `block` channels.
std::size_t at(std::int64_t n, std::int64_t channels, std::int64_t c, std::int64_t pixels,
               std::int64_t pixel, std::int64_t block) {
  return static_cast<std::size_t>(((n * channels + c) / block * pixels + pixel) * block +
                                  c % block);
}

/// Calls f(output pixel, tap, input pixel) for every product of one pair of channels.
template <class F>
void for_each_product(const Window& w, F f) {
  const auto each = [](const Window::Sizes& sizes, auto visit) {
    std::int64_t number = 0;
    for (std::int64_t d = 0; d < sizes[0]; ++d)
      for (std::int64_t h = 0; h < sizes[1]; ++h)
        for (std::int64_t i = 0; i < sizes[2]; ++i)
          visit(Window::Sizes{d, h, i}, number++);
  };
  each(w.out, [&](const Window::Sizes& o, std::int64_t output) {
    each(w.kernel, [&](const Window::Sizes& k, std::int64_t tap) {
      std::int64_t input = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        const std::int64_t place = o[d] * w.stride[d] + k[d] - w.padding[d];
        if (place < 0 || place >= w.in[d]) return;
        input = input * w.in[d] + place;
      }
      f(output, tap, input);
    });
  });
}

struct Sums {
  std::vector<double> y, dw, db;
};

/// x, y and dy in blocks of so many channels; weights (out, taps, in).
Sums sums_of(const Given& g, const std::vector<float>& x, std::int64_t x_block,
             const std::vector<float>& weights, const std::vector<float>& bias,
             const std::vector<float>& dy, std::int64_t y_block) {
  const Window w = window_of(g);
  const std::int64_t inputs = Window::volume(w.in), outputs = Window::volume(w.out);
  Sums s{std::vector<double>(dy.size()), std::vector<double>(weights.size()),
         std::vector<double>(bias.size())};
  for (int n = 0; n < g.samples; ++n)
    for (int o = 0; o < g.outputs; ++o) {
      const auto output = static_cast<std::size_t>(o);
      for (std::int64_t p = 0; p < outputs; ++p) {
        const std::size_t to = at(n, g.outputs, o, outputs, p, y_block);
        s.y[to] += bias[output];
        s.db[output] += dy[to];
      }
      for (int i = 0; i < g.channels; ++i)
        for_each_product(w, [&](std::int64_t p, std::int64_t tap, std::int64_t q) {
          const std::size_t to = at(n, g.outputs, o, outputs, p, y_block);
          const float value = x[at(n, g.channels, i, inputs, q, x_block)];
          const auto by =
              static_cast<std::size_t>((o * Window::volume(w.kernel) + tap) * g.channels + i);
          s.y[to] += static_cast<double>(value) * weights[by];
          s.dw[by] += static_cast<double>(value) * dy[to];
        });
    }
  return s;
}

/// Weights (out, taps, in) as the kernels have them, (out / 16, in / block, taps, block, 16), and
/// back: calls f(place there, place here).
template <class F>
void for_each_weight(const Given& g, std::int64_t block, F f) {
  const std::int64_t taps = Window::volume(window_of(g).kernel);
  for (std::int64_t o = 0; o < g.outputs; ++o)
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t i = 0; i < g.channels; ++i) {
        const std::int64_t blocks = g.channels / block;
        const std::int64_t there =
            (((o / 16 * blocks + i / block) * taps + tap) * block + i % block) * 16 + o % 16;
        f(static_cast<std::size_t>(there),
          static_cast<std::size_t>((o * taps + tap) * g.channels + i));
      }
}

class BlockedConvSums : public testing::TestWithParam<Given> {};

TEST_P(BlockedConvSums, MatchTheDefinition) {
  const Given& g = GetParam();
  const Window w = window_of(g);
  if (!cpu::serves_blocked(w, g.outputs)) GTEST_SKIP() << "this processor has no AVX-512";
  const auto x = numbers(g.samples * g.channels * Window::volume(w.in), 0);
  const auto dy = numbers(g.samples * g.outputs * Window::volume(w.out), 1);
  const auto weights = numbers(g.outputs * g.channels * Window::volume(w.kernel), 2);
  const Sums expected = sums_of(g, x, 16, weights, numbers(g.outputs, 3), dy, 16);
  std::vector<float> got(weights.size(), 777), dw(weights.size());
  std::vector<float> db(static_cast<std::size_t>(g.outputs), 777);
  cpu::blocked_backward_weights({w, g.samples, g.outputs}, x.data(), dy.data(), got.data(),
                                db.data());
  for_each_weight(g, 16, [&](std::size_t there, std::size_t here) { dw[here] = got[there]; });
  EXPECT_LT(relative_distance(dw, expected.dw), kernel_tolerance);
  EXPECT_LT(relative_distance(db, expected.db), kernel_tolerance);
  std::vector<float> again(weights.size());
  cpu::blocked_backward_weights({w, g.samples, g.outputs}, x.data(), dy.data(), again.data(),
                                nullptr);
  EXPECT_EQ(again, got);
}

TEST(BlockedConvKernel, TakesBf16ValuesInEitherLayout) {
  if (!cpu::serves_blocked(window_of({"", 1, 16, 16, {2, 2, 2}, 3, 1, 1}), 16))
    GTEST_SKIP() << "this processor has no AVX-512";
  constexpr std::int64_t samples = 2, channels = 48, pixels = 6;
  const auto values = numbers(samples * channels * pixels, 5);
  for (const std::int64_t block : {std::int64_t{16}, channels}) {
    std::vector<Bf16> given(values.size());
    for (std::int64_t n = 0; n < samples; ++n)
      for (std::int64_t c = 0; c < channels; ++c)
        for (std::int64_t p = 0; p < pixels; ++p)
          given[at(n, channels, c, pixels, p, block)] =
              to_bf16(values[at(n, channels, c, pixels, p, 16)]);
    std::vector<float> got(values.size(), 777);
    cpu::floats_in_blocks(given.data(), samples, channels, pixels, block == channels, got.data());
    EXPECT_EQ(got, values) << block;
  }
}

TEST(BlockedConvKernel, KnowsWindowsWiderThanTheInput) {
  EXPECT_TRUE(cpu::wider_than_input(window_of({"", 1, 16, 16, {2, 2, 2}, 3, 1, 1})));
  EXPECT_TRUE(cpu::wider_than_input(window_of({"", 1, 16, 16, {1, 2, 2}, 3, 1, 1})));
  EXPECT_FALSE(cpu::wider_than_input(window_of({"", 1, 16, 16, {2, 2, 3}, 3, 1, 1})));
}

class StemConvKernels : public testing::TestWithParam<Given> {};

void match_the_sums(const Given& g, bool innermost) {
  const Window w = window_of(g);
  const cpu::StemConv shape{w, g.samples, g.outputs, innermost};
  const std::int64_t y_block = innermost ? g.outputs : 16;
  const auto x = numbers(g.samples * g.channels * Window::volume(w.in), 0);
  const auto dy = numbers(g.samples * g.outputs * Window::volume(w.out), 1);
  const auto weights = numbers(g.outputs * g.channels * 9, 2), bias = numbers(g.outputs, 3);
  const Sums expected = sums_of(g, x, 1, weights, bias, dy, y_block);
  std::vector<float> moved(weights.size()), got(weights.size(), 777), dw(weights.size());
  for_each_weight(g, g.channels,
                  [&](std::size_t there, std::size_t here) { moved[there] = weights[here]; });
  std::vector<Bf16> gradients, y(dy.size(), to_bf16(777)), rectified(dy.size());
  for (const float gradient : dy)
    gradients.push_back(to_bf16(gradient));
  const auto scratch = [&] {
    return std::vector<float>(stem_scratch_floats(shape), std::nanf(""));
  };
  std::vector<float> db(bias.size(), 777);
  stem_forward(shape, x.data(), moved.data(), bias.data(), false, y.data(), scratch().data());
  stem_forward(shape, x.data(), moved.data(), bias.data(), true, rectified.data(),
               scratch().data());
  stem_backward_weights(shape, x.data(), gradients.data(), got.data(), db.data(), scratch().data());
  for_each_weight(g, g.channels,
                  [&](std::size_t there, std::size_t here) { dw[here] = got[there]; });
  EXPECT_LT(relative_distance(dw, expected.dw), kernel_tolerance);
  EXPECT_LT(relative_distance(db, expected.db), kernel_tolerance);
  for (std::size_t k = 0; k < y.size(); ++k) {  // 2^-8: half a step of bf16
    ASSERT_NEAR(to_float(y[k]), expected.y[k], 1.0 / 256 * std::abs(expected.y[k]) + 1e-6) << k;
    ASSERT_EQ(to_float(rectified[k]), std::max(to_float(y[k]), 0.0f)) << k;
  }
}

TEST_P(StemConvKernels, MatchTheSums) {
  const Given& g = GetParam();
  if (!cpu::serves_stem(window_of(g), g.outputs)) GTEST_SKIP() << "this processor has no AVX-512";
  match_the_sums(g, false);
  match_the_sums(g, true);
}

const auto name_of = [](const auto& test) { return test.param.name; };

INSTANTIATE_TEST_SUITE_P(
    Shapes, BlockedConvSums,
    testing::Values(Given{"volumes_smaller_than_the_window", 3, 32, 48, {2, 2, 2}, 3, 1, 1},
                    Given{"strides", 2, 16, 32, {5, 4, 7}, 3, 2, 1},
                    Given{"wide_padding", 2, 16, 16, {3, 2, 3}, 3, 1, 2},
                    Given{"images", 2, 32, 16, {1, 5, 6}, 3, 1, 1}),
    name_of);

INSTANTIATE_TEST_SUITE_P(Shapes, StemConvKernels,
                         testing::Values(Given{"grey", 3, 1, 32, {1, 9, 11}, 3, 1, 1},
                                         Given{"odd_blocks", 2, 1, 48, {1, 8, 17}, 3, 1, 1},
                                         Given{"two_channels", 2, 2, 16, {1, 6, 5}, 3, 1, 0},
                                         Given{"colours", 2, 3, 64, {1, 12, 10}, 3, 1, 1},
                                         Given{"strides", 2, 3, 16, {1, 13, 12}, 3, 2, 2}),
                         name_of);

}  // namespace
}  // namespace thalweg::engine::test
