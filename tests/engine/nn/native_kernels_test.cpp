// The kernels that are written for CUDA itself, run thread by thread on the host: the same bits as
// what the emulated GPU does in their place.
#include "tests/support/cuda_on_host.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/device/cuda/column_sums_native.h"
#include "engine/device/cuda/columns.h"
#include "engine/device/cuda/columns_native.h"
#include "engine/device/cuda/transpose_native.h"
#include "engine/gpu/divisor.h"
#include "engine/layers/layer_norm/cuda_kernels.h"
#include "engine/layers/layer_norm/cuda_native.h"
#include "engine/losses/cross_entropy/cuda_native.h"
#include "tests/support/emulated_gpu/emulated_gpu.h"

namespace thalweg::engine::cuda {
namespace {

using gpu::Bf16;
using thalweg::test::run_kernel;

float number(std::size_t i) {
  return static_cast<float>((i * 2654435761u >> 7) % 1009) / 64 - 7;
}
template <class T>
std::vector<T> numbers(std::int64_t count, std::size_t from = 0) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = gpu::store<T>(number(from + i));
  return values;
}

template <bool waits>
__global__ void neighbours(int* to) {
  __shared__ int shared[64];
  shared[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (waits) __syncthreads();
  to[threadIdx.x] = shared[(threadIdx.x + 1) % 64];
  if (waits) __syncthreads();
  shared[threadIdx.x] = -1;
}

TEST(CudaOnHost, ShowsAMissingBarrier) {
  std::vector<int> expected, with(64), without(64);
  for (int i = 0; i < 64; ++i)
    expected.push_back((i + 1) % 64);
  run_kernel(neighbours<true>, {}, {64}, with.data());
  run_kernel(neighbours<false>, {}, {64}, without.data());
  EXPECT_EQ(with, expected);
  EXPECT_NE(without, expected);
}

/// A mean, which minds how many rows there are, and a sum of products, which minds their order.
struct MeanAndProduct {
  static constexpr int sums = 2;
  template <int width>
  using Constants = gpu::Pack<float, width>;
  template <int width>
  Constants<width> at(std::int64_t outer, std::int64_t row, std::int64_t column) const {
    Constants<width> shift;
    for (int k = 0; k < width; ++k)
      shift.at[k] = static_cast<float>(outer - row % 7 + (column + k) % 5);
    return shift;
  }
  template <int width>
  float add(const Constants<width>& shift, int k, float* into, float x, float y) const {
    into[0] += x - shift.at[k];
    into[1] += x * y;
    return x + y;
  }
  template <int width>
  void end(const Constants<width>& shift, int k, float* into, std::int64_t count) const {
    into[0] = into[0] / static_cast<float>(count) + shift.at[k];
  }
  static void merge(float* into, float n, const float* from, float m) {
    into[0] += (from[0] - into[0]) * (m / (n + m));
    into[1] += from[1];
  }
};
struct Put {
  float* to;
  std::int64_t columns;
  void operator()(std::int64_t outer, std::int64_t column, const float* sums) const {
    float* const at = to + 2 * (outer * columns + column);
    at[0] = sums[0];
    at[1] = sums[1];
  }
};

struct Reduced {
  std::vector<float> sums;
  std::vector<std::uint16_t> kept;
  bool operator==(const Reduced&) const = default;
};

template <int width>
Reduced reduce(const Columns& shape, bool by_threads) {
  const std::int64_t count = shape.outer * shape.rows * shape.columns;
  const gpu::Memory x(gpu::emulated_gpu(), static_cast<std::size_t>(count) * 2, "a test"),
      y(gpu::emulated_gpu(), static_cast<std::size_t>(count) * 2, "a test"),
      parts(gpu::emulated_gpu(), static_cast<std::size_t>(column_parts(shape, 2)) * 4, "a test");
  const auto a = numbers<Bf16>(count), b = numbers<Bf16>(count, 31);
  auto *const at_x = static_cast<Bf16*>(x.data()), *const at_y = static_cast<Bf16*>(y.data());
  std::copy(a.begin(), a.end(), at_x);
  std::copy(b.begin(), b.end(), at_y);
  Reduced result;
  result.sums.resize(static_cast<std::size_t>(2 * shape.outer * shape.columns), -99);
  using From = gpu::Sources<Bf16, Bf16>;
  using To = columns::Kept<Bf16>;
  const RowCut cut = cut_rows(shape, width);
  const Put end{result.sums.data(), shape.columns};
  const columns::SliceSums<width, MeanAndProduct, From, To> sums{
      {}, From::of(at_x, at_y), {at_y}, parts.floats(), shape.columns / width, shape, cut};
  const columns::JoinSlices<MeanAndProduct, Put> join{parts.floats(), shape.outer, shape.rows,
                                                      shape.columns,  cut,         end};
  if (by_threads) {
    const auto size = [](auto n) { return static_cast<unsigned>(n); };
    run_kernel(columns::add_slices<width, MeanAndProduct, Put, From, To>,
               {size(sums.tiles()), size(cut.slices), size(shape.outer)},
               {size(cut.tile), size(cut.strands)}, sums, end);
    if (cut.slices > 1)
      run_kernel(columns::join_slices<MeanAndProduct, Put>, {size((shape.columns + 31) / 32), 1},
                 {32, 32}, join);
  } else {
    columns::reduce_packs(*gpu::emulated_gpu().stream(), sums, join);
  }
  for (std::int64_t i = 0; i < count; ++i)
    result.kept.push_back(at_y[i].bits);
  return result;
}

TEST(NativeKernels, ReductionsHaveTheBitsOfTheHost) {
  for (const Columns& shape :
       {Columns{1, 1, 8}, Columns{1, 5, 16}, Columns{2, 700, 24}, Columns{1, 4500, 8},
        Columns{3, 40, 264}, Columns{1, 137, 512}, Columns{1, 2300, 248}}) {
    const std::string name = std::to_string(shape.outer) + " " + std::to_string(shape.rows) + " " +
                             std::to_string(shape.columns);
    EXPECT_EQ(reduce<8>(shape, true), reduce<8>(shape, false)) << name;
    EXPECT_EQ(reduce<1>(shape, true), reduce<1>(shape, false)) << name;
  }
  EXPECT_EQ(reduce<1>({2, 301, 37}, true), reduce<1>({2, 301, 37}, false));
}

TEST(NativeKernels, RowsAreCutWithoutALeftover) {
  for (const std::int64_t rows : {1, 16, 17, 511, 4096, 1000003})
    for (const std::int64_t columns : {1, 3, 8, 64, 200, 2048})
      for (const int width : {1, 4, 8}) {
        if (columns % width != 0) continue;
        const Columns shape{1, rows, columns};
        const RowCut cut = cut_rows(shape, width);
        EXPECT_GE(cut.slices * cut.chunk, rows);
        EXPECT_LT((cut.slices - 1) * cut.chunk, rows);  // none is empty
        EXPECT_LE(cut.tile * cut.strands, 256);
        EXPECT_LE(cut.chunk, 512 * cut.strands);
        EXPECT_LE(cut.slices * columns * 2, column_parts(shape, 2));
      }
}

/// Minds which column it is at, and which of the tensors it was given first.
struct TimesAndPlus {
  template <int width>
  using Constants = gpu::Pack<float, width>;
  std::int64_t columns;
  template <int width>
  Constants<width> at(std::int64_t outer, std::int64_t column) const {
    Constants<width> times;
    for (int k = 0; k < width; ++k)
      times.at[k] = number(static_cast<std::size_t>(outer * columns + column + k));
    return times;
  }
  template <int width>
  float value(const Constants<width>& times, int k, float x, float y) const {
    return times.at[k] * x + 2 * y;
  }
};

template <int width>
void expect_the_functors_map(const Columns& shape) {
  const std::int64_t count = shape.outer * shape.rows * shape.columns;
  const auto from = [&](std::size_t first) {
    gpu::Memory memory(gpu::emulated_gpu(), static_cast<std::size_t>(count) * 2, "a test");
    const auto values = numbers<Bf16>(count, first);
    std::copy(values.begin(), values.end(), static_cast<Bf16*>(memory.data()));
    return memory;
  };
  const gpu::Memory x = from(0), z = from(31), in_place = from(31);
  auto* const at = static_cast<Bf16*>(z.data());
  columns::map_packs<width>(*gpu::emulated_gpu().stream(), shape, TimesAndPlus{shape.columns}, at,
                            static_cast<const Bf16*>(x.data()), static_cast<const Bf16*>(at));
  using From = gpu::Sources<Bf16, Bf16>;
  using Map = columns::Map<width, Bf16, TimesAndPlus, From>;
  const columns::MapCut cut = columns::cut_map(shape, width);
  const auto size = [](auto n) { return static_cast<unsigned>(n); };
  EXPECT_LE(cut.tile * cut.strands, 256);
  auto* const native = static_cast<Bf16*>(in_place.data());
  run_kernel(columns::map_rows<Map>, {size(cut.tiles), size(cut.blocks), 1},  // fewer than outer
             {size(cut.tile), size(cut.strands)},
             Map{{shape.columns},
                 native,
                 From::of(static_cast<const Bf16*>(x.data()), static_cast<const Bf16*>(native)),
                 shape.outer,
                 shape.rows,
                 size(shape.columns / width),
                 0});
  for (std::int64_t i = 0; i < count; ++i)
    ASSERT_EQ(native[i].bits, at[i].bits) << shape.rows << " of " << shape.columns << " at " << i;
}

TEST(NativeKernels, MapsHaveTheBitsOfTheHost) {
  for (const Columns& shape :
       {Columns{1, 1, 8}, Columns{1, 6, 16}, Columns{2, 700, 24}, Columns{1, 4500, 8},
        Columns{3, 40, 264}, Columns{1, 9, 2064}, Columns{1, 33, 4096}}) {
    expect_the_functors_map<8>(shape);
    expect_the_functors_map<1>(shape);
  }
  expect_the_functors_map<1>({2, 301, 37});
}

TEST(NativeKernels, DivisorsDivide) {
  for (std::uint32_t by = 1; by < 3000; ++by) {
    const gpu::Divisor divisor(by);
    for (const std::uint32_t n : {0u, 1u, by - 1, by, by + 1, 7 * by - 1, 7 * by, 123456789u,
                                  (1u << 31) - 1, (1u << 31) / by * by - 1}) {
      std::uint32_t rest = n;
      ASSERT_EQ(divisor.split(rest), n / by) << n << " / " << by;
      ASSERT_EQ(rest, n % by) << n << " / " << by;
    }
  }
  for (const std::uint32_t by : {1u << 16, (1u << 16) + 1, 0x7fffffffu, 1u << 31}) {
    std::uint32_t rest = 0x7ffffffeu;
    EXPECT_EQ(gpu::Divisor(by).split(rest), 0x7ffffffeu / by);
  }
}

template <class T>
T* values_in(const gpu::Memory& memory) {
  return static_cast<T*>(memory.data());
}

/// Rows' sums are added in another order than on the host.
template <int own>
void expect_the_functors_gradients(const RowShape& shape, int threads, bool input, bool before) {
  constexpr int width = 8;
  gpu::Gpu& machine = gpu::emulated_gpu();
  const std::int64_t count = shape.rows * shape.features, packs = shape.features / width;
  const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const gpu::Memory x(machine, bytes(2 * count), "a test"), dy(machine, bytes(2 * count), "a test"),
      others(machine, bytes(2 * count), "a test"), ours(machine, bytes(2 * count), "a test"),
      weight(machine, bytes(4 * shape.features), "a test"),
      moments(machine, bytes(8 * shape.rows), "a test"),
      parts(machine, bytes(4 * layer_norm_parts(shape)), "a test"),
      d_weight(machine, bytes(4 * shape.features), "a test"),
      d_bias(machine, bytes(4 * shape.features), "a test");
  const auto fill = [&](const gpu::Memory& to, std::size_t from) {
    const auto values = numbers<Bf16>(count, from);
    std::copy(values.begin(), values.end(), values_in<Bf16>(to));
  };
  fill(x, 0);
  fill(dy, 5);
  fill(ours, 5);
  fill(others, 9);
  const auto weights = numbers<float>(shape.features, 77);
  std::copy(weights.begin(), weights.end(), weight.floats());
  for (std::int64_t r = 0; r < shape.rows; ++r)
    values_in<RowMoments>(moments)[r] = {0.1f * static_cast<float>(r % 9), 0.25f};
  const auto* const more = before ? values_in<Bf16>(others) : nullptr;

  const unsigned blocks = 3;
  std::vector<float> native(static_cast<std::size_t>(blocks * 2 * shape.features), -1);
  // 16 bytes at a time: where the parts of a GPU begin.
  const gpu::Memory native_parts(machine, native.size() * 4, "a test");
  run_kernel(layer_norm_backward_rows<width, own, Bf16>, {blocks}, {static_cast<unsigned>(threads)},
             RowsBackward<Bf16>{values_in<Bf16>(x), values_in<Bf16>(ours), more, weight.floats(),
                                values_in<RowMoments>(moments), shape.rows, packs, input,
                                native_parts.floats()});
  const auto stream = machine.stream();
  layer_norm_backward(
      *stream, gpu::Type::bf16, shape,
      {x.data(), dy.data(), more, weight.floats(), values_in<RowMoments>(moments), input},
      parts.floats(), d_weight.floats(), d_bias.floats());
  stream->wait();
  for (std::int64_t i = 0; i < count; ++i) {
    const float expected = gpu::load(values_in<Bf16>(dy)[i]);
    ASSERT_NEAR(gpu::load(values_in<Bf16>(ours)[i]), expected, 0.01f * (1 + std::abs(expected)))
        << i;
  }
  for (std::int64_t c = 0; c < shape.features; ++c) {
    float sums[2] = {};
    for (unsigned block = 0; block < blocks; ++block)
      for (int which = 0; which < 2; ++which)
        sums[which] += native_parts.floats()[(2 * block + which) * shape.features + c];
    const float expected = d_weight.floats()[c];
    ASSERT_NEAR(sums[0], expected, 1e-4f * (10 + std::abs(expected))) << c;
    ASSERT_NEAR(sums[1], d_bias.floats()[c], 1e-3f) << c;
  }
}

TEST(NativeKernels, LayerNormBackwardIsThatOfTheFunctors) {
  expect_the_functors_gradients<1>({7, 8}, 32, true, false);
  expect_the_functors_gradients<1>({50, 768}, 96, true, true);
  expect_the_functors_gradients<1>({2, 264}, 64, true, true);
  expect_the_functors_gradients<1>({9, 512}, 64, false, false);
  expect_the_functors_gradients<2>({20, 776}, 64, true, true);
  expect_the_functors_gradients<2>({5, 4112}, 288, true, false);
}

/// Powers are added in another order than on the host.
template <int width, class T>
void expect_the_functors_loss(int classes, unsigned threads, bool soft) {
  gpu::Gpu& machine = gpu::emulated_gpu();
  const gpu::Type type = sizeof(T) == 2 ? gpu::Type::bf16 : gpu::Type::f32;
  constexpr std::int64_t samples = 5, positions = 3, rows = samples * positions, slice = 4;
  CrossEntropyShape shape{samples, positions, classes, 0, 1, 0, true};
  const auto bytes = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  const gpu::Memory logits(machine, bytes(rows * classes) * sizeof(T), "a test"),
      ours(machine, logits.bytes(), "a test"), gradient(machine, logits.bytes(), "a test"),
      parts(machine, bytes(cross_entropy_parts(shape)) * sizeof(LossSums), "a test");
  const auto values = numbers<T>(rows * classes);
  for (const gpu::Memory* to : {&logits, &ours})
    std::copy(values.begin(), values.end(), values_in<T>(*to));
  std::vector<std::int32_t> labels, labels_b;
  std::vector<float> other, shares, weights;
  for (std::int32_t i = 0; i < rows; ++i) {
    labels.push_back(i == 7 ? no_label : i * 7919 % classes);
    labels_b.push_back(i * 31 % classes);
  }
  for (std::int64_t i = 0; i < samples; ++i) {
    other.push_back(0.1f * static_cast<float>(i));
    shares.push_back(1 / static_cast<float>(1 + i));
  }
  for (int c = 0; c < classes; ++c)
    weights.push_back(0.5f + static_cast<float>(c % 3));
  if (soft) {
    shape.spread = 0.1f / static_cast<float>(classes);
    shape.kept = 0.9f;
    shape.weight_sum = 1.5f * static_cast<float>(classes);
  }
  const ShardKey key{1, 0, 0, samples - 1, 0.5f};  // the last sample is none
  const CrossEntropyInputs inputs{type,
                                  logits.data(),
                                  labels.data(),
                                  soft ? labels_b.data() : nullptr,
                                  soft ? other.data() : nullptr,
                                  soft ? shares.data() : nullptr,
                                  soft ? weights.data() : nullptr,
                                  &key};
  double expected[1 + max_sums];
  const auto stream = machine.stream();
  cross_entropy(*stream, shape, inputs, type, gradient.data(), values_in<LossSums>(parts),
                expected);
  stream->wait();

  constexpr unsigned blocks = (rows + slice - 1) / slice;
  std::vector<LossSums> sums(blocks);
  auto* const in_place = values_in<T>(ours);
  run_kernel(cross_entropy_rows<width, T, T>, {blocks}, {threads},
             Positions<width, T, T>{in_place, inputs.labels, inputs.labels_b, inputs.shares_b,
                                    inputs.shares, inputs.weights, inputs.key, positions, classes,
                                    shape, in_place},
             rows, slice, sums.data());
  const std::string name = std::to_string(classes) + " by " + std::to_string(threads);
  double found[1 + max_sums] = {};
  for (const LossSums& part : sums)
    for (std::size_t k = 0; k < 1 + max_sums; ++k)
      found[k] += part.of[k];
  EXPECT_NEAR(found[0], expected[0], 1e-6 * std::abs(expected[0])) << name;
  EXPECT_GT(expected[1 + counted_labels], 0);
  for (std::size_t k = 1; k < 1 + max_sums; ++k)  // but for position_loss these are counts
    EXPECT_NEAR(found[k], expected[k], k == 1 + position_loss ? 1e-6 * expected[k] : 0)
        << k << " of " << name;
  const float tolerance = sizeof(T) == 2 ? 1.0f / 128 : 1e-5f;
  const float least = soft ? 1e-4f : 1e-6f;  // smoothed labels leave a difference of two numbers
  for (std::int64_t i = 0; i < rows * classes; ++i) {
    const float wanted = gpu::load(values_in<T>(gradient)[i]);
    ASSERT_NEAR(gpu::load(in_place[i]), wanted, tolerance * (least + std::abs(wanted)))
        << i << " of " << name;
  }
}

TEST(NativeKernels, CrossEntropyIsThatOfTheFunctor) {
  for (const bool soft : {false, true}) {
    expect_the_functors_loss<8, Bf16>(40, 32, soft);
    expect_the_functors_loss<1, Bf16>(1001, 128, soft);
    expect_the_functors_loss<8, Bf16>(5000, 512, soft);
    expect_the_functors_loss<8, Bf16>(4104, 96, soft);  // two rounds of packs
    expect_the_functors_loss<4, float>(1000, 128, soft);
    expect_the_functors_loss<1, float>(33, 32, soft);
    expect_the_functors_loss<4, float>(5000, 512, soft);
  }
}

TEST(NativeKernels, CrossEntropyOfNoNumberIsNone) {
  constexpr int classes = 48;
  auto logits = numbers<float>(2 * classes);
  logits[5] = std::nanf("");
  logits[classes + 6] = -HUGE_VALF;
  std::vector<float> gradient(logits.size());
  const std::int32_t labels[] = {1, 2};
  const ShardKey key{1, 0, 0, 2, 1};
  std::vector<LossSums> sums(2);
  const CrossEntropyShape shape{2, 1, classes};
  run_kernel(cross_entropy_rows<1, float, float>, {2}, {32},
             Positions<1, float, float>{logits.data(), labels, nullptr, nullptr, nullptr, nullptr,
                                        &key, 1, classes, shape, gradient.data()},
             std::int64_t{2}, std::int64_t{1}, sums.data());
  EXPECT_TRUE(std::isnan(sums[0].of[0]));
  EXPECT_EQ(sums[0].of[1 + wrong_labels], 1);
  EXPECT_TRUE(std::isfinite(sums[1].of[0]));
  for (int c = 0; c < classes; ++c) {
    EXPECT_TRUE(std::isnan(gradient[static_cast<std::size_t>(c)]));
    EXPECT_TRUE(std::isfinite(gradient[static_cast<std::size_t>(classes + c)]));
  }
}

TEST(NativeKernels, TilesAreTransposed) {
  struct Size {
    std::int64_t n, rows, columns;
  };
  for (const Size& size : {Size{2, 40, 70}, Size{1, 9, 1}, Size{3, 1, 33}, Size{1, 64, 32}}) {
    const auto [n, rows, columns] = size;
    const auto x = numbers<float>(n * rows * columns);
    std::vector<Bf16> y(x.size());
    // Fewer blocks than tiles downwards and images.
    run_kernel(transpose_tiles<float, Bf16>, {static_cast<unsigned>((columns + 31) / 32), 1, 1},
               {32, 8}, x.data(), y.data(), n, rows, columns);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto of = [&](std::int64_t count) { return static_cast<std::size_t>(count); };
      const std::size_t column = i % of(columns), row = i / of(columns) % of(rows);
      const std::size_t image = i / of(rows * columns) * of(rows * columns);
      ASSERT_EQ(y[image + column * of(rows) + row].bits, gpu::store<Bf16>(x[i]).bits) << i;
    }
  }
}

}  // namespace
}  // namespace thalweg::engine::cuda
