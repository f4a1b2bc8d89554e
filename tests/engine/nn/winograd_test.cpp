// The Winograd kernels against the sums that define a convolution, in float64.
#include "engine/layers/conv/cpu_winograd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "engine/device/executor.h"
#include "support.h"

namespace thalweg::engine::test {
namespace {

using cpu::Winograd;

// Of the result's norm: F(4x4, 3x3) in float32 loses a digit to direct sums, which are near 3e-7.
constexpr double tolerance = 5e-6;

struct Image {
  std::int64_t channels, height, width;

  std::int64_t size() const { return channels * height * width; }
  /// Place of a pixel, in blocks of 16 channels.
  std::int64_t blocked(std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) const {
    return (((n * channels + c) / 16 * height + y) * width + x) * 16 + c % 16;
  }
};

std::int64_t weight_blocked(const Winograd& w, std::int64_t o, std::int64_t i, std::int64_t tap) {
  return (((o / 16 * (w.in / 16) + i / 16) * 9 + tap) * 16 + i % 16) * 16 + o % 16;
}

std::vector<float> numbers(std::int64_t count, std::uint32_t what) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = uniform01(philox(3, Stream::noise, what, i)[0]) - 0.4f;
  return values;
}

/// Calls f(n, o, i, y, x, sy, sx, tap) for every product of a convolution: output (y, x) of channel
/// o takes input (sy, sx) of channel i.
template <class F>
void for_each_product(const Winograd& w, F f) {
  for (std::int64_t n = 0; n < w.samples; ++n)
    for (std::int64_t o = 0; o < w.out; ++o)
      for (std::int64_t i = 0; i < w.in; ++i)
        for (std::int64_t y = 0; y < w.out_height(); ++y)
          for (std::int64_t x = 0; x < w.out_width(); ++x)
            for (std::int64_t tap = 0; tap < 9; ++tap) {
              const std::int64_t sy = y + tap / 3 - w.padding, sx = x + tap % 3 - w.padding;
              if (sy < 0 || sy >= w.height || sx < 0 || sx >= w.width) continue;
              f(n, o, i, y, x, sy, sx, tap);
            }
}

struct Given {
  std::string name;
  Winograd shape;
};
void PrintTo(const Given& g, std::ostream* out) {
  *out << g.name;
}

class WinogradKernels : public testing::TestWithParam<Given> {};

TEST_P(WinogradKernels, MatchTheSums) {
  const Winograd w = GetParam().shape;
  if (!cpu::serves_winograd(w)) GTEST_SKIP() << "this processor has no AVX-512";
  const Image in{w.in, w.height, w.width}, out{w.out, w.out_height(), w.out_width()};
  const auto x = numbers(w.samples * in.size(), 0), dy = numbers(w.samples * out.size(), 1);
  const auto weights = numbers(w.in * w.out * 9, 2), bias = numbers(w.out, 3);
  std::vector<double> y(dy.size()), dx(x.size()), dw(weights.size()), db(bias.size());
  for (std::size_t k = 0; k < y.size(); ++k) {
    const auto block = static_cast<std::int64_t>(k) / (16 * out.height * out.width);
    const auto o = static_cast<std::size_t>(block % (w.out / 16) * 16 + static_cast<int>(k % 16));
    y[k] = bias[o];
    db[o] += dy[k];
  }
  for_each_product(w, [&](auto n, auto o, auto i, auto yy, auto xx, auto sy, auto sx, auto tap) {
    const auto from = static_cast<std::size_t>(in.blocked(n, i, sy, sx));
    const auto to = static_cast<std::size_t>(out.blocked(n, o, yy, xx));
    const auto by = static_cast<std::size_t>(weight_blocked(w, o, i, tap));
    y[to] += static_cast<double>(x[from]) * weights[by];
    dx[from] += static_cast<double>(dy[to]) * weights[by];
    dw[by] += static_cast<double>(dy[to]) * x[from];
  });

  // What is not overwritten, and what is read of the scratch memory before it is written, shows.
  const std::size_t scratch_floats = cpu::winograd_scratch_floats(w);
  const auto scratch = [&] { return std::vector<float>(scratch_floats, std::nanf("")); };
  std::vector<float> y_got(y.size(), 777), dx_got(dx.size(), 777), dw_got(dw.size(), 777),
      db_got(db.size(), 777);
  winograd_forward(w, x.data(), weights.data(), bias.data(), false, y_got.data(), scratch().data());
  winograd_backward_data(w, dy.data(), weights.data(), dx_got.data(), scratch().data());
  winograd_backward_weights(w, x.data(), dy.data(), dw_got.data(), db_got.data(), scratch().data());
  EXPECT_LT(relative_distance(y_got, y), tolerance);
  EXPECT_LT(relative_distance(dx_got, dx), tolerance);
  EXPECT_LT(relative_distance(dw_got, dw), tolerance);
  EXPECT_LT(relative_distance(db_got, db), tolerance);

  std::vector<float> rectified(y.size()), without_bias(y.size());
  winograd_forward(w, x.data(), weights.data(), bias.data(), true, rectified.data(),
                   scratch().data());
  winograd_forward(w, x.data(), weights.data(), nullptr, false, without_bias.data(),
                   scratch().data());
  for (std::size_t k = 0; k < y.size(); ++k)
    ASSERT_EQ(rectified[k], std::max(y_got[k], 0.0f)) << k;
  EXPECT_GT(relative_distance(without_bias, y), tolerance);
  std::vector<float> dw_again(dw.size());
  winograd_backward_weights(w, x.data(), dy.data(), dw_again.data(), nullptr, scratch().data());
  EXPECT_EQ(dw_again, dw_got);
}

std::vector<std::vector<float>> gradients_by(const char* algorithm, int channels) {
  const auto conv = [&](const char* name) {
    return LayerSpec{
        "conv2d",
        name,
        {{"channels", channels}, {"kernel", 3}, {"padding", 1}, {"algorithm", algorithm}}};
  };
  const Graph graph =
      build_graph({conv("a"), conv("b"), {"flatten", "f", {}}}, {{3, 6, 5}, channels * 30});
  const Data data(graph.loss.data, 4);
  const auto program = cpu::compile(graph, 4);
  const auto executor = program->executor();
  return train<float>(*program, graph, data.batch, *executor, start_values(graph), 1.0f).gradients;
}

TEST(ConvAlgorithm, IsTheOneAskedFor) {
  if (!cpu::serves_winograd({1, 16, 16, 4, 4, 1})) GTEST_SKIP() << "this processor has no AVX-512";
  const auto direct = gradients_by("direct", 32), fast = gradients_by("winograd", 32);
  EXPECT_NE(fast, direct);
  EXPECT_EQ(gradients_by("auto", 32), fast);
  EXPECT_NE(gradients_by("winograd", 16), gradients_by("direct", 16));
  for (std::size_t p = 0; p < direct.size(); ++p)
    EXPECT_LT(relative_distance(fast[p], direct[p]), 2 * tolerance) << p;
}

INSTANTIATE_TEST_SUITE_P(Shapes, WinogradKernels,
                         testing::Values(Given{"one_tile", {1, 16, 16, 4, 4, 1}},
                                         Given{"less_than_a_tile", {2, 16, 32, 1, 2, 1}},
                                         Given{"odd_sizes", {3, 48, 80, 7, 5, 1}},
                                         Given{"no_padding", {2, 32, 16, 9, 6, 0}},
                                         Given{"more_padding", {2, 16, 48, 5, 6, 2}},
                                         Given{"many_tiles", {5, 32, 64, 15, 14, 1}},
                                         Given{"many_tiles_and_channels", {7, 80, 80, 16, 15, 1}},
                                         Given{"many_channels_few_pixels", {2, 208, 144, 4, 3, 1}}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
