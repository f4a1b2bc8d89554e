// The max pool kernels against obvious loops: the same bits.
#include "engine/layers/pool/cpu_max.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support.h"

namespace thalweg::engine::test {
namespace {

using cpu::MaxPool;

struct Given {
  std::string name;
  std::int64_t images, pixel;
  Window::Sizes in, kernel;
  bool masks_relu = false;
};
void PrintTo(const Given& g, std::ostream* out) {
  *out << g.name;
}

MaxPool pool_of(const Given& g) {
  MaxPool p{g.images, g.pixel, {}, g.masks_relu};
  p.window.in = g.in;
  p.window.kernel = p.window.stride = g.kernel;
  for (std::size_t d = 0; d < 3; ++d)
    p.window.out[d] = g.in[d] / g.kernel[d];
  return p;
}

/// Few different values, so that windows have equal largest ones; none below 0 after a relu.
template <class T>
std::vector<T> numbers(std::int64_t count, std::uint32_t what, bool positive) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto n = static_cast<float>(philox(3, Stream::noise, what, i)[0] % 9) - 4;
    values[i] = store<T>(positive ? std::max(n, 0.0f) : n / 8);
  }
  return values;
}

template <class T>
void match_the_loops(const Given& g) {
  const MaxPool p = pool_of(g);
  const Window& w = p.window;
  auto x = numbers<T>(p.inputs(), 0, g.masks_relu);
  const auto dy = numbers<T>(p.outputs(), 1, false);
  if (!g.masks_relu) x[x.size() / 2] = store<T>(std::nanf(""));
  std::vector<float> y(dy.size()), dx(x.size());
  const auto at = [&](std::int64_t image, auto d, auto h, auto i, std::int64_t c) {
    return static_cast<std::size_t>(
        (((image * w.in[0] + d) * w.in[1] + h) * w.in[2] + i) * p.pixel + c);
  };
  std::size_t output = 0;
  for (std::int64_t image = 0; image < p.images; ++image)
    for (std::int64_t d = 0; d < w.out[0]; ++d)
      for (std::int64_t h = 0; h < w.out[1]; ++h)
        for (std::int64_t i = 0; i < w.out[2]; ++i)
          for (std::int64_t c = 0; c < p.pixel; ++c, ++output) {
            std::size_t best = x.size();
            for (std::int64_t k = 0; k < Window::volume(w.kernel); ++k) {
              const std::size_t from = at(image, d * w.kernel[0] + k / (w.kernel[1] * w.kernel[2]),
                                          h * w.kernel[1] + k / w.kernel[2] % w.kernel[1],
                                          i * w.kernel[2] + k % w.kernel[2], c);
              const float value = load(x[from]);
              if (best == x.size() || value > load(x[best]) || std::isnan(value)) best = from;
            }
            y[output] = load(x[best]);
            if (!g.masks_relu || y[output] > 0) dx[best] = load(dy[output]);
          }

  std::vector<T> y_got(y.size(), store<T>(777)), dx_got(dx.size(), store<T>(777));
  std::vector<std::uint8_t> places(y.size(), 99);
  max_pool_forward(p, x.data(), y_got.data(), places.data());
  max_pool_backward(p, dy.data(), places.data(), dx_got.data());
  for (std::size_t k = 0; k < y.size(); ++k)
    ASSERT_TRUE(load(y_got[k]) == y[k] || (std::isnan(y[k]) && std::isnan(load(y_got[k])))) << k;
  for (std::size_t k = 0; k < dx.size(); ++k)
    ASSERT_EQ(load(dx_got[k]), dx[k]) << k;
}

class MaxPoolKernels : public testing::TestWithParam<Given> {};

TEST_P(MaxPoolKernels, MatchTheLoops) {
  if (!cpu::serves_max_pool(pool_of(GetParam()).window))
    GTEST_SKIP() << "this processor has no AVX-512";
  match_the_loops<float>(GetParam());
  match_the_loops<Bf16>(GetParam());
}

TEST(MaxPoolKernel, ServesWindowsThatDoNotOverlap) {
  Window w;
  w.in = {1, 8, 8};
  w.out = {1, 4, 4};
  w.kernel = w.stride = {1, 2, 2};
  const bool serves = cpu::serves_max_pool(w);
  w.kernel = {1, 3, 3};
  EXPECT_FALSE(cpu::serves_max_pool(w));
  w.kernel = {1, 2, 2};
  w.padding = {0, 1, 1};
  EXPECT_FALSE(cpu::serves_max_pool(w));
  w.padding = {0, 0, 0};
  EXPECT_EQ(cpu::serves_max_pool(w), serves);
  w.kernel = w.stride = {1, 16, 16};
  EXPECT_FALSE(cpu::serves_max_pool(w)) << "more places than a byte tells";
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, MaxPoolKernels,
    testing::Values(Given{"images", 6, 16, {1, 8, 6}, {1, 2, 2}},
                    Given{"after_a_relu", 6, 16, {1, 8, 6}, {1, 2, 2}, true},
                    Given{"channels_innermost", 3, 48, {1, 6, 6}, {1, 2, 2}},
                    Given{"more_than_windows_cover", 2, 32, {1, 9, 7}, {1, 2, 2}},
                    Given{"volumes", 3, 16, {4, 6, 8}, {2, 2, 2}},
                    Given{"volumes_after_a_relu", 2, 32, {5, 4, 6}, {2, 2, 2}, true},
                    Given{"other_windows", 2, 16, {1, 9, 10}, {1, 3, 3}}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace thalweg::engine::test
