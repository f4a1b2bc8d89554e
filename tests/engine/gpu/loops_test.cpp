// Our own loops, on both machines.
#include "engine/gpu/loops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/half.h"
#include "tests/engine/gpu/machines.h"

namespace thalweg::engine::gpu {
namespace {

struct Twice {
  const float* x;
  float* y;
  THALWEG_HOST_DEVICE void operator()(std::int64_t i) const { y[i] = 2 * x[i]; }
};
/// Sum, largest and position-weighted first element of a row.
struct RowSums {
  const float* x;
  std::int64_t columns;
  float* sums;
  float* largest;
  THALWEG_HOST_DEVICE void operator()(const ThreadBlock& block, std::int64_t row) const {
    float sum = 0, most = x[row * columns];
    for (std::int64_t j = block.rank(); j < columns; j += block.size()) {
      const float value = x[row * columns + j];
      sum += value;
      most = value > most ? value : most;
    }
    sum = block.sum(sum);
    most = block.max(most);
    if (block.rank() == 0) {
      sums[row] = sum;
      largest[row] = most;
    }
  }
};
struct Fused {
  float scale;
  THALWEG_HOST_DEVICE float operator()(float a, float b, float c) const {
    return scale * a + b * c;
  }
};
struct Same {
  THALWEG_HOST_DEVICE float operator()(float a) const { return a; }
};
struct Seven {
  THALWEG_HOST_DEVICE float operator()() const { return 7; }
};

class Loops : public OnMachine {};

TEST_P(Loops, EveryElementOnce) {
  for (const std::int64_t n : {0, 1, 255, 256, 257, 100000}) {
    std::vector<float> x(static_cast<std::size_t>(n) + 1);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = static_cast<float>(i) + 1;
    const Memory from = up(x);
    const Memory to(*gpu_, x.size() * sizeof(float), "a test");
    for_each(*stream_, n, Twice{from.floats(), to.floats()});
    const auto y = down<float>(to);
    for (std::int64_t i = 0; i < n; ++i)
      ASSERT_EQ(y[static_cast<std::size_t>(i)], 2 * (static_cast<float>(i) + 1)) << n;
    EXPECT_EQ(y.back(), 0) << "beyond the last of " << n;
  }
}

TEST_P(Loops, RowsByThreadBlocks) {
  for (const std::int64_t columns : {1, 31, 33, 1000})
    for (const int threads : {32, 64, 256, 1024}) {
      constexpr std::int64_t rows = 37;
      std::vector<float> x(static_cast<std::size_t>(rows * columns));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>((i * 7919) % 1001) - 500;  // whole numbers: sums are exact
      const Memory from = up(x);
      const Memory sums(*gpu_, rows * sizeof(float), "a test");
      const Memory largest(*gpu_, rows * sizeof(float), "a test");
      for_each_row(*stream_, rows, threads,
                   RowSums{from.floats(), columns, sums.floats(), largest.floats()});
      const auto sum = down<float>(sums), most = down<float>(largest);
      for (std::int64_t row = 0; row < rows; ++row) {
        float expected = 0, top = -1000;
        for (std::int64_t j = 0; j < columns; ++j) {
          expected += x[static_cast<std::size_t>(row * columns + j)];
          top = std::max(top, x[static_cast<std::size_t>(row * columns + j)]);
        }
        ASSERT_EQ(sum[static_cast<std::size_t>(row)], expected) << columns << ' ' << threads;
        ASSERT_EQ(most[static_cast<std::size_t>(row)], top) << columns << ' ' << threads;
      }
    }
}

TEST_P(Loops, MapsWithTailsAndMixedTypes) {
  for (const std::int64_t n : {1, 3, 4, 7, 8, 9, 1000, 4099}) {
    const auto size = static_cast<std::size_t>(n);
    std::vector<float> a(size), c(size);
    std::vector<Bf16> b(size);
    for (std::size_t i = 0; i < size; ++i) {
      a[i] = static_cast<float>(i % 97);
      b[i] = store<Bf16>(static_cast<float>(i % 13) - 6);
      c[i] = static_cast<float>(i % 5) - 2;
    }
    const Memory at_a = up(a), at_b = up(b), at_c = up(c);
    const Memory floats(*gpu_, (size + 1) * 4, "a test"), halves(*gpu_, (size + 1) * 2, "a test");
    const auto* const bs = static_cast<const Bf16*>(at_b.data());
    map(*stream_, n, Fused{0.5f}, floats.floats(), at_a.floats(), bs, at_c.floats());
    map(*stream_, n, Fused{0.5f}, static_cast<Bf16*>(halves.data()), at_a.floats(), bs,
        at_c.floats());
    const auto y = down<float>(floats);
    const auto z = down<Bf16>(halves);
    for (std::size_t i = 0; i < size; ++i) {
      const float expected = 0.5f * a[i] + load(b[i]) * c[i];
      ASSERT_EQ(y[i], expected) << i << " of " << n;
      ASSERT_EQ(load(z[i]), load(store<Bf16>(expected))) << i << " of " << n;
    }
    EXPECT_EQ(y[size], 0);
    EXPECT_EQ(z[size].bits, 0);
  }
}

TEST_P(Loops, MapInPlaceAndFromNothing) {
  const std::vector<float> x{1, 2, 3, 4, 5};
  const Memory memory = up(x);
  map(*stream_, 5, Fused{3}, memory.floats(), memory.floats(), memory.floats(), memory.floats());
  EXPECT_EQ(down<float>(memory), (std::vector<float>{4, 10, 18, 28, 40}));
  map(*stream_, 4, Seven{}, memory.floats());
  EXPECT_EQ(down<float>(memory), (std::vector<float>{7, 7, 7, 7, 40}));
}

/// As the engine's own bfloat16 on the host, of every upper half and lower halves around the ties.
TEST_P(Loops, RoundsAsTheHost) {
  std::vector<float> x;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      x.push_back(std::bit_cast<float>(upper << 16 | lower));
  const Memory from = up(x);
  const Memory to(*gpu_, x.size() * 2, "a test");
  map(*stream_, static_cast<std::int64_t>(x.size()), Same{}, static_cast<Bf16*>(to.data()),
      from.floats());
  const auto y = down<Bf16>(to);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const engine::Bf16 expected = engine::to_bf16(x[i]);
    if (std::isnan(x[i])) {
      ASSERT_TRUE(std::isnan(load(y[i]))) << i;
    } else {
      ASSERT_EQ(y[i].bits, expected.bits) << i;
    }
  }
}

THALWEG_ON_MACHINES(Loops);

}  // namespace
}  // namespace thalweg::engine::gpu
