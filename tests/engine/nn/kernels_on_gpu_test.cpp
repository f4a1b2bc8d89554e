// The cuda device's own kernels by themselves, called with memory and sizes: against plain loops in
// double. On a GPU where there is one, else on the emulated one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/cuda/layout.h"
#include "engine/device/cuda/padded_channels.h"
#include "engine/device/cuda/reductions.h"
#include "engine/layers/batch_norm/cuda_kernels.h"
#include "engine/layers/layer_norm/cuda_kernels.h"
#include "engine/layers/pool/cuda_kernels.h"
#include "engine/losses/cross_entropy/cuda_kernels.h"
#include "engine/losses/cuda.h"
#include "on_gpu.h"

namespace thalweg::engine::cuda {
namespace {

double number(std::size_t i) {
  return static_cast<double>((i * 2654435761u >> 7) % 1009) / 250 - 2;
}

/// Numbers in a GPU's memory.
struct OnGpu {
  gpu::Type type;
  std::vector<double> values;  ///< as they were rounded
  gpu::Memory memory;

  OnGpu(std::int64_t count, gpu::Type of, std::size_t from = 0, double shift = 0)
      : type(of), memory(test::some_gpu(), bytes(count, of), "a test") {
    std::vector<float> floats;
    std::vector<Bf16> halves;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      const auto x = static_cast<float>(number(from + i) + shift);
      floats.push_back(x);
      halves.push_back(gpu::store<Bf16>(x));
      values.push_back(static_cast<double>(of == gpu::Type::f32 ? x : gpu::load(halves.back())));
    }
    if (count == 0) return;
    test::some_gpu().copy(memory.data(),
                          of == gpu::Type::f32 ? static_cast<const void*>(floats.data())
                                               : static_cast<const void*>(halves.data()),
                          bytes(count, of));
  }
  static std::size_t bytes(std::int64_t count, gpu::Type of) {
    return static_cast<std::size_t>(count) * gpu::size_of(of);
  }
  void* data() const { return memory.data(); }
  float* floats() const { return memory.floats(); }
  double operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  /// What stands there now.
  std::vector<double> now() const {
    std::vector<double> found;
    const auto read = [&](auto t) {
      std::vector<decltype(t)> there(values.size());
      test::some_gpu().copy(there.data(), memory.data(), there.size() * sizeof t);
      for (const auto x : there)
        found.push_back(static_cast<double>(gpu::load(x)));
    };
    gpu::with_type(type, read);
    return found;
  }
};

void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  double distance = 0, norm = 1e-12;
  for (std::size_t i = 0; i < found.size(); ++i) {
    distance += (found[i] - expected[i]) * (found[i] - expected[i]);
    norm += expected[i] * expected[i];
  }
  EXPECT_LT(std::sqrt(distance / norm), tolerance) << what;
}

/// Rounding to bf16 moves a number by 2^-9 of it at most; sums of floats by much less.
double tolerance_of(gpu::Type type) {
  return type == gpu::Type::bf16 ? 4e-3 : 2e-6;
}

struct Norm {
  Columns tensor;
  std::int64_t group = 1;
  bool relu = false, sum = false, other = false;
};
void PrintTo(const Norm& n, std::ostream* out) {
  *out << n.tensor.outer << 'x' << n.tensor.rows << 'x' << n.tensor.columns << " by " << n.group
       << (n.relu ? " relu" : "") << (n.sum ? " sum" : "") << (n.other ? " other" : "");
}

/// Batch and group norm in double.
struct Expected {
  std::vector<double> mean, variance, y, dx, d_weight, d_bias, gradient;
};
Expected expected_of(const Norm& n, const OnGpu& x, const OnGpu& weight, const OnGpu& bias,
                     const OnGpu& added, const OnGpu& dy, const OnGpu& other, double epsilon) {
  const auto [outer, rows, columns] = n.tensor;
  const std::int64_t groups = outer * columns / n.group;
  const double count = static_cast<double>(rows * n.group);
  Expected e;
  e.mean.resize(static_cast<std::size_t>(groups));
  e.variance = e.mean;
  std::vector<double> mean_dy(e.mean), along(e.mean);
  e.d_weight.resize(static_cast<std::size_t>(columns));
  e.d_bias = e.d_weight;
  e.y.resize(x.values.size());
  e.dx = e.gradient = e.y;
  const auto each = [&](const auto& visit) {
    for (std::int64_t i = 0; i < outer * rows * columns; ++i) {
      const std::int64_t o = i / (rows * columns), c = i % columns;
      visit(i, static_cast<std::size_t>((o * columns + c) / n.group), c);
    }
  };
  each([&](std::int64_t i, std::size_t g, std::int64_t) { e.mean[g] += x[i] / count; });
  each([&](std::int64_t i, std::size_t g, std::int64_t) {
    e.variance[g] += (x[i] - e.mean[g]) * (x[i] - e.mean[g]) / count;
  });
  const auto normal = [&](std::int64_t i, std::size_t g) {
    return (x[i] - e.mean[g]) / std::sqrt(e.variance[g] + epsilon);
  };
  each([&](std::int64_t i, std::size_t g, std::int64_t c) {
    const auto at = static_cast<std::size_t>(i), column = static_cast<std::size_t>(c);
    const double y = normal(i, g) * weight[c] + bias[c] + (n.sum ? added[i] : 0);
    e.y[at] = n.relu && y < 0 ? 0 : y;
    e.gradient[at] = n.relu && y <= 0 ? 0 : dy[i] + (n.other ? other[i] : 0);
    e.d_bias[column] += e.gradient[at];
    e.d_weight[column] += e.gradient[at] * normal(i, g);
    mean_dy[g] += e.gradient[at] * weight[c] / count;
    along[g] += e.gradient[at] * weight[c] * normal(i, g) / count;
  });
  each([&](std::int64_t i, std::size_t g, std::int64_t c) {
    e.dx[static_cast<std::size_t>(i)] = (e.gradient[static_cast<std::size_t>(i)] * weight[c] -
                                         mean_dy[g] - normal(i, g) * along[g]) /
                                        std::sqrt(e.variance[g] + epsilon);
  });
  return e;
}

class NormKernelsOnGpu : public testing::TestWithParam<Norm> {};

TEST_P(NormKernelsOnGpu, MatchDouble) {
  const Norm& n = GetParam();
  for (const gpu::Type type : {gpu::Type::f32, gpu::Type::bf16}) {
    const double tolerance = tolerance_of(type);
    const NormShape shape{n.tensor, n.group, 1e-3f, n.relu};
    const std::int64_t count = n.tensor.outer * n.tensor.rows * n.tensor.columns;
    const OnGpu x(count, type, 0, 5), added(count, type, 7), dy(count, type, 99),
        other(count, type, 1234), weight(n.tensor.columns, gpu::Type::f32, 3),
        bias(n.tensor.columns, gpu::Type::f32, 11), mean(shape.groups(), gpu::Type::f32),
        variance(shape.groups(), gpu::Type::f32), y(count, type), dx(count, type),
        coefficients(norm_coefficients(shape), gpu::Type::f32),
        again(norm_coefficients(shape), gpu::Type::f32, 1),
        parts(norm_parts(shape), gpu::Type::f32), inputs(2 * shape.columns(), gpu::Type::f32),
        d_weight(n.tensor.columns, gpu::Type::f32), d_bias(n.tensor.columns, gpu::Type::f32);
    const Expected e = expected_of(n, x, weight, bias, added, dy, other, 1e-3);
    const auto stream = test::some_gpu().stream();
    const NormVectors vectors{weight.floats(), bias.floats(), mean.floats(), variance.floats()};
    channel_moments(*stream, type, shape, x.data(), vectors, parts.floats(), coefficients.floats());
    channel_coefficients(*stream, shape, vectors, again.floats());
    channel_normalize(*stream, type, shape, x.data(), n.sum ? added.data() : nullptr,
                      coefficients.floats(), y.data());
    stream->wait();
    expect_near(mean.now(), e.mean, 2e-6, "mean");
    expect_near(variance.now(), e.variance, 1e-5, "variance");
    EXPECT_EQ(again.now(), coefficients.now());
    expect_near(y.now(), e.y, tolerance, "y");

    NormShape back = shape;
    NormGradients tensors{x.data(), nullptr, nullptr, dy.data()};
    if (n.sum) {
      back.relu = false;
      if (n.relu) tensors.y = y.data();
      if (n.other) tensors.other = other.data();
    }
    channel_gradients(*stream, type, back, tensors, vectors, coefficients.floats(), parts.floats(),
                      inputs.floats(), d_weight.floats(), d_bias.floats());
    channel_input_gradient(*stream, type, back, x.data(), dy.data(), coefficients.floats(),
                           inputs.floats(), dx.data());
    stream->wait();
    expect_near(d_weight.now(), e.d_weight, 3 * tolerance, "weight's gradient");
    expect_near(d_bias.now(), e.d_bias, 3 * tolerance, "bias's gradient");
    expect_near(dx.now(), e.dx, 3 * tolerance, "gradient of x");
    if (n.sum && n.relu) {
      expect_near(dy.now(), e.gradient, tolerance, "gradient of the sum");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, NormKernelsOnGpu,
    testing::Values(Norm{{1, 100, 8}}, Norm{{1, 3000, 64}, 1, true}, Norm{{1, 6, 3}, 1, true},
                    Norm{{1, 777, 20}}, Norm{{1, 500, 264}, 1, true},
                    Norm{{1, 5000, 16}, 1, true, true}, Norm{{1, 90, 1}, 1, true, true, true},
                    Norm{{1, 2100, 40}, 1, true, true, true}, Norm{{3, 50, 8}, 4},
                    Norm{{5, 37, 12}, 3, true}, Norm{{2, 2500, 32}, 8}, Norm{{4, 9, 6}, 6}));

TEST(ColumnSumsOnGpu, MatchDouble) {
  for (const Columns& shape : {Columns{1, 1, 1}, Columns{1, 128, 10}, Columns{3, 49, 2048},
                               Columns{1, 20000, 8}, Columns{2, 1000, 5}})
    for (const gpu::Type type : {gpu::Type::f32, gpu::Type::bf16}) {
      const OnGpu x(shape.outer * shape.rows * shape.columns, type),
          parts(column_parts(shape, 1), gpu::Type::f32),
          out(shape.outer * shape.columns, gpu::Type::f32);
      std::vector<double> expected(out.values.size());
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.values.size()); ++i)
        expected[static_cast<std::size_t>(i / (shape.rows * shape.columns) * shape.columns +
                                          i % shape.columns)] += 0.5 * x[i];
      const auto stream = test::some_gpu().stream();
      sum_columns(*stream, shape, type, x.data(), 0.5f, parts.floats(), gpu::Type::f32, out.data());
      stream->wait();
      expect_near(out.now(), expected, 1e-5, std::to_string(shape.rows));
    }
}

TEST(LayerNormKernelsOnGpu, MatchDouble) {
  for (const RowShape& shape : {RowShape{1, 5}, RowShape{40, 8}, RowShape{700, 96},
                                RowShape{33, 1030}, RowShape{20, 768}, RowShape{17, 5000}})
    for (const gpu::Type type : {gpu::Type::f32, gpu::Type::bf16})
      for (const bool input : {true, false}) {
        const double tolerance = tolerance_of(type), epsilon = 1e-3;
        const auto [rows, features] = shape;
        const std::int64_t count = rows * features;
        const OnGpu x(count, type, 0, 1), dy(count, type, 99), before(count, type, 1234),
            weight(features, gpu::Type::f32, 3), bias(features, gpu::Type::f32, 11), y(count, type),
            moments(2 * rows, gpu::Type::f32), parts(layer_norm_parts(shape), gpu::Type::f32),
            d_weight(features, gpu::Type::f32), d_bias(features, gpu::Type::f32);
        std::vector<double> expected(y.values.size()), dx(expected),
            weights(static_cast<std::size_t>(features)), biases(weights);
        for (std::int64_t r = 0; r < rows; ++r) {
          const auto over = [&](const auto& f) {
            double sum = 0;
            for (std::int64_t c = 0; c < features; ++c)
              sum += f(r * features + c, c);
            return sum / static_cast<double>(features);
          };
          const double mean = over([&](auto i, auto) { return x[i]; });
          const double inverse =
              1 / std::sqrt(over([&](auto i, auto) { return (x[i] - mean) * (x[i] - mean); }) +
                            epsilon);
          const auto normal = [&](auto i) { return (x[i] - mean) * inverse; };
          const double sum = over([&](auto i, auto c) { return dy[i] * weight[c]; });
          const double along = over([&](auto i, auto c) { return dy[i] * weight[c] * normal(i); });
          for (std::int64_t c = 0; c < features; ++c) {
            const std::int64_t i = r * features + c;
            const auto at = static_cast<std::size_t>(i), column = static_cast<std::size_t>(c);
            expected[at] = normal(i) * weight[c] + bias[c];
            dx[at] = inverse * (dy[i] * weight[c] - sum - normal(i) * along) + before[i];
            weights[column] += dy[i] * normal(i);
            biases[column] += dy[i];
          }
        }
        const std::string name = std::to_string(rows) + " rows of " + std::to_string(features);
        const auto stream = test::some_gpu().stream();
        auto* const kept = static_cast<RowMoments*>(moments.data());
        layer_norm_forward(*stream, type, shape, static_cast<float>(epsilon), x.data(),
                           weight.floats(), bias.floats(), y.data(), kept);
        layer_norm_backward(*stream, type, shape,
                            {x.data(), dy.data(), before.data(), weight.floats(), kept, input},
                            parts.floats(), d_weight.floats(), d_bias.floats());
        stream->wait();
        expect_near(y.now(), expected, tolerance, "y of " + name);
        expect_near(d_weight.now(), weights, 3 * tolerance, "weight's gradient of " + name);
        expect_near(d_bias.now(), biases, 3 * tolerance, "bias's gradient of " + name);
        if (input)
          expect_near(dy.now(), dx, 3 * tolerance, "gradient of x of " + name);
        else
          EXPECT_EQ(dy.now(), dy.values) << name;
      }
}

TEST(TransposeOnGpu, MovesEveryNumber) {
  struct Size {
    std::int64_t n, rows, columns;
  };
  for (const Size& size :
       {Size{1, 1, 1}, Size{2, 3, 1000}, Size{3, 1000, 4}, Size{2, 8, 37}, Size{2, 9, 70},
        Size{3, 65, 31}, Size{1, 32, 64}, Size{2, 100, 9}, Size{4, 7, 5}, Size{0, 5, 5}})
    for (const gpu::Type from : {gpu::Type::f32, gpu::Type::bf16})
      for (const gpu::Type to : {gpu::Type::f32, gpu::Type::bf16}) {
        const auto [n, rows, columns] = size;
        const OnGpu x(n * rows * columns, from, 5), y(n * rows * columns, to);
        std::vector<double> expected(y.values.size());
        for (std::int64_t i = 0; i < n * rows * columns; ++i) {
          const std::int64_t row = i / columns % rows, at = i / columns / rows * rows * columns;
          const auto value = static_cast<float>(x[i]);
          expected[static_cast<std::size_t>(at + i % columns * rows + row)] = static_cast<double>(
              to == gpu::Type::f32 ? value : gpu::load(gpu::store<Bf16>(value)));
        }
        const auto stream = test::some_gpu().stream();
        transpose(*stream, n, rows, columns, from, x.data(), to, y.data());
        stream->wait();
        EXPECT_EQ(y.now(), expected) << rows << ' ' << columns;
      }
}

TEST(PaddedChannelsOnGpu, AreZeroAndAreLeftOutAgain) {
  constexpr std::int64_t n = 3, places = 35;
  for (const std::int64_t channels : {1, 3, 7}) {
    const std::int64_t rows = n * places;
    const OnGpu images(n * channels * places, gpu::Type::f32),
        weights(rows * channels, gpu::Type::bf16, 9),
        wide(rows * padded_channels, gpu::Type::f32, 5),
        padded_images(rows * padded_channels, gpu::Type::bf16),
        padded_weights(rows * padded_channels, gpu::Type::bf16),
        narrow(rows * channels, gpu::Type::f32);
    std::vector<double> from_images(wide.values.size()), from_weights(from_images),
        stripped(narrow.values.size());
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t c = 0; c < channels; ++c) {
        const auto at = static_cast<std::size_t>(row * padded_channels + c);
        const auto value =
            static_cast<float>(images[(row / places * channels + c) * places + row % places]);
        from_images[at] = static_cast<double>(gpu::load(gpu::store<Bf16>(value)));
        from_weights[at] = weights[row * channels + c];
        stripped[static_cast<std::size_t>(row * channels + c)] = wide.values[at];
      }
    const auto stream = test::some_gpu().stream();
    pad_images(*stream, n, channels, places, images.floats(),
               static_cast<Bf16*>(padded_images.data()));
    pad_rows(*stream, rows, channels, static_cast<const Bf16*>(weights.data()),
             static_cast<Bf16*>(padded_weights.data()));
    strip_rows(*stream, rows, channels, wide.floats(), narrow.floats());
    stream->wait();
    EXPECT_EQ(padded_images.now(), from_images) << channels;
    EXPECT_EQ(padded_weights.now(), from_weights) << channels;
    EXPECT_EQ(narrow.now(), stripped) << channels;
  }
}

struct PoolCase {
  Window::Sizes in, kernel, stride, padding;
  std::int64_t channels;
};
void PrintTo(const PoolCase& c, std::ostream* out) {
  *out << c.in[0] << 'x' << c.in[1] << 'x' << c.in[2] << " by " << c.kernel[0] << 'x' << c.kernel[2]
       << '/' << c.stride[2] << '+' << c.padding[2] << " of " << c.channels;
}
PoolShape shape_of(const PoolCase& c) {
  PoolShape shape;
  shape.samples = 3;
  Window& w = shape.window;
  w.channels = c.channels;
  w.in = c.in, w.kernel = c.kernel, w.stride = c.stride, w.padding = c.padding;
  for (std::size_t d = 0; d < 3; ++d)
    w.out[d] = (w.in[d] + 2 * w.padding[d] - w.kernel[d]) / w.stride[d] + 1;
  return shape;
}

/// visit(output, number in the window, input) for all pairs, in order.
template <class Visit>
void for_each_pair(const PoolShape& shape, const Visit& visit) {
  const Window& w = shape.window;
  for (std::int64_t output = 0; output < shape.outputs(); ++output) {
    std::int64_t rest = output / w.channels, o[3], place = 0;
    for (int d = 2; d >= 0; --d) {
      o[d] = rest % w.out[static_cast<std::size_t>(d)];
      rest /= w.out[static_cast<std::size_t>(d)];
    }
    for (std::int64_t a = 0; a < w.kernel[0]; ++a)
      for (std::int64_t b = 0; b < w.kernel[1]; ++b)
        for (std::int64_t c = 0; c < w.kernel[2]; ++c, ++place) {
          const std::int64_t at[3] = {o[0] * w.stride[0] - w.padding[0] + a,
                                      o[1] * w.stride[1] - w.padding[1] + b,
                                      o[2] * w.stride[2] - w.padding[2] + c};
          bool inside = true;
          for (std::size_t d = 0; d < 3; ++d)
            inside = inside && at[d] >= 0 && at[d] < w.in[d];
          if (!inside) continue;
          visit(output, place,
                (((rest * w.in[0] + at[0]) * w.in[1] + at[1]) * w.in[2] + at[2]) * w.channels +
                    output % w.channels);
        }
  }
}

class PoolsOnGpu : public testing::TestWithParam<PoolCase> {};

TEST_P(PoolsOnGpu, MatchDouble) {
  const PoolShape shape = shape_of(GetParam());
  for (const gpu::Type type : {gpu::Type::f32, gpu::Type::bf16}) {
    const OnGpu x(shape.inputs(), type), y(shape.outputs(), type), mean(shape.outputs(), type),
        dy(shape.outputs(), type, 77), dx(shape.inputs(), type), d_mean(shape.inputs(), type),
        places(shape.outputs(), gpu::Type::f32);
    std::vector<double> best(y.values.size(), -1e9), sums(y.values.size()), counts(sums),
        gradient(x.values.size()), shares(gradient);
    std::vector<std::int64_t> winner(y.values.size());
    const auto n = [](std::int64_t i) { return static_cast<std::size_t>(i); };
    for_each_pair(shape, [&](std::int64_t output, std::int64_t, std::int64_t input) {
      sums[n(output)] += x[input];
      counts[n(output)] += 1;
      if (x[input] <= best[n(output)]) return;
      best[n(output)] = x[input];
      winner[n(output)] = input;
    });
    for_each_pair(shape, [&](std::int64_t output, std::int64_t, std::int64_t input) {
      if (winner[n(output)] == input) gradient[n(input)] += dy[output];
      shares[n(input)] += dy[output] / counts[n(output)];
    });
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] /= counts[i];
    const auto stream = test::some_gpu().stream();
    max_pool_forward(*stream, type, shape, x.data(), y.data(), places.data());
    max_pool_backward(*stream, type, shape, dy.data(), places.data(), dx.data());
    avg_pool_forward(*stream, type, shape, x.data(), mean.data());
    avg_pool_backward(*stream, type, shape, dy.data(), d_mean.data());
    stream->wait();
    EXPECT_EQ(y.now(), best);
    expect_near(dx.now(), gradient, tolerance_of(type), "gradient of max_pool");
    expect_near(mean.now(), sums, tolerance_of(type), "avg_pool");
    expect_near(d_mean.now(), shares, tolerance_of(type), "gradient of avg_pool");
    max_pool_forward(*stream, type, shape, x.data(), mean.data(), nullptr);
    stream->wait();
    EXPECT_EQ(mean.now(), best) << "without places";
  }
}

INSTANTIATE_TEST_SUITE_P(
    Windows, PoolsOnGpu,
    testing::Values(PoolCase{{1, 8, 6}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, 16},
                    PoolCase{{1, 7, 9}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, 8},  // rows are left over
                    PoolCase{{1, 7, 9}, {1, 2, 2}, {1, 2, 2}, {0, 1, 1}, 8},
                    PoolCase{{1, 5, 5}, {1, 2, 2}, {1, 2, 2}, {0, 0, 0}, 3},
                    PoolCase{{1, 9, 8}, {1, 3, 3}, {1, 2, 2}, {0, 1, 1}, 24},
                    PoolCase{{1, 11, 7}, {1, 3, 3}, {1, 2, 2}, {0, 0, 0}, 8},
                    PoolCase{{4, 6, 5}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, 8},
                    PoolCase{{5, 5, 5}, {2, 2, 2}, {2, 2, 2}, {1, 1, 1}, 16},
                    PoolCase{{3, 5, 4}, {2, 2, 2}, {2, 2, 2}, {0, 0, 0}, 1},
                    PoolCase{{1, 9, 9}, {1, 3, 3}, {1, 1, 1}, {0, 1, 1}, 8},
                    PoolCase{{1, 9, 9}, {1, 2, 2}, {1, 3, 3}, {0, 0, 0}, 8},
                    PoolCase{{1, 20, 21}, {1, 17, 17}, {1, 4, 4}, {0, 3, 3}, 8},
                    PoolCase{{3, 3, 3}, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, 5}));

TEST(CrossEntropyOnGpu, MatchesDouble) {
  for (const int classes : {3, 7, 32, 40, 1000, 5000})
    for (const gpu::Type logits : {gpu::Type::f32, gpu::Type::bf16})
      for (const gpu::Type type : {gpu::Type::f32, gpu::Type::bf16})
        for (const bool in_place : {false, true}) {
          if (in_place && logits != type) continue;
          const std::int64_t samples = 9, rows = samples;
          CrossEntropyShape shape;
          shape.samples = samples;
          shape.classes = classes;
          const OnGpu x(rows * classes, logits, 3), separate(rows * classes, type),
              parts(cross_entropy_parts(shape) * static_cast<std::int64_t>(sizeof(LossSums) / 4),
                    gpu::Type::f32),
              result(2 * (1 + max_sums), gpu::Type::f32);
          std::vector<std::int32_t> labels;
          for (std::int64_t r = 0; r < rows; ++r)
            labels.push_back(static_cast<std::int32_t>((r * 7919) % classes));
          const ShardKey key{1, 0, 0, static_cast<std::int32_t>(samples - 1), 0.5f};
          const gpu::Memory at_labels(test::some_gpu(), labels.size() * 4, "labels"),
              at_key(test::some_gpu(), sizeof key, "a key");
          test::some_gpu().copy(at_labels.data(), labels.data(), at_labels.bytes());
          test::some_gpu().copy(at_key.data(), &key, sizeof key);
          const OnGpu& gradient = in_place ? x : separate;
          std::vector<double> expected(gradient.values.size());
          double loss = 0;
          for (std::int64_t r = 0; r < rows - 1; ++r) {  // the last one does not count
            double sum = 0;
            for (int c = 0; c < classes; ++c)
              sum += std::exp(x[r * classes + c]);
            const int label = labels[static_cast<std::size_t>(r)];
            loss += std::log(sum) - x[r * classes + label];
            for (int c = 0; c < classes; ++c)
              expected[static_cast<std::size_t>(r * classes + c)] =
                  0.5 * (std::exp(x[r * classes + c]) / sum - (c == label ? 1 : 0));
          }
          const CrossEntropyInputs inputs{logits,
                                          x.data(),
                                          static_cast<const std::int32_t*>(at_labels.data()),
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          nullptr,
                                          static_cast<const ShardKey*>(at_key.data())};
          const auto stream = test::some_gpu().stream();
          cross_entropy(*stream, shape, inputs, type, gradient.data(),
                        static_cast<LossSums*>(parts.data()), static_cast<double*>(result.data()));
          stream->wait();
          double found = 0;
          test::some_gpu().copy(&found, result.data(), sizeof found);
          EXPECT_NEAR(found, loss, 1e-5 * loss) << classes;
          expect_near(gradient.now(), expected, tolerance_of(type), std::to_string(classes));
        }
}

}  // namespace
}  // namespace thalweg::engine::cuda
