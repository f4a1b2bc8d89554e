// Initial weights beside the formula that defines them, bit by bit.
#include "engine/nn/initialize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "engine/tensor/random.h"

namespace thalweg::engine {
namespace {

std::vector<float> drawn(const ParameterPlan& plan, std::uint64_t seed, std::uint32_t number) {
  std::vector<float> values(static_cast<std::size_t>(elements(plan.shape)));
  initialize_parameter(plan, seed, number, values.data());
  return values;
}

/// Box and Muller, A note on the generation of random normal deviates (1958), in double precision.
float by_formula(std::uint64_t seed, std::uint32_t number, std::uint64_t element,
                 double deviation) {
  const auto bits = philox(seed, Stream::init, number, element);
  const double u = (static_cast<double>(bits[0]) + 0.5) * 0x1p-32;
  const double v = static_cast<double>(bits[1]) * 0x1p-32;
  return static_cast<float>(deviation *
                            (std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v)));
}

ParameterPlan square_root_of(double gain_squared, std::int64_t fan_in, Shape shape) {
  ParameterPlan plan;
  plan.shape = std::move(shape);
  plan.init = Init::scaled_normal;
  plan.gain_squared = gain_squared;
  plan.fan_in = fan_in;
  return plan;
}

TEST(Initialize, DrawsWhatTheFormulaGives) {
  // Values of which one in 1,700 needs more than the vectors' precision.
  struct Case {
    std::uint64_t seed;
    std::uint32_t number;
    std::int64_t rows;
    double gain_squared;
  };
  for (const Case& c :
       {Case{1, 0, 1500, 2}, Case{0xFFFFFFFFFFFF, 4000000000u, 501, 1}, Case{7, 3, 1, 1e-60}}) {
    constexpr std::int64_t kColumns = 701;
    const ParameterPlan plan = square_root_of(c.gain_squared, kColumns, {c.rows, kColumns});
    const double deviation = std::sqrt(c.gain_squared / static_cast<double>(kColumns));
    const std::vector<float> values = drawn(plan, c.seed, c.number);
    std::size_t different = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float expected = by_formula(c.seed, c.number, i, deviation);
      different += std::memcmp(&values[i], &expected, sizeof expected) != 0 ? 1 : 0;
    }
    EXPECT_EQ(different, 0u) << "seed " << c.seed;
  }
}

TEST(Initialize, WritesNoMoreThanItsElements) {
  for (const std::int64_t count : {1, 3, 255, 256, 257, 511}) {
    std::vector<float> values(static_cast<std::size_t>(count) + 1, 42.0f);
    initialize_parameter(square_root_of(2, 8, {count}), 1, 0, values.data());
    EXPECT_EQ(values.back(), 42.0f) << count;
    EXPECT_NE(values[values.size() - 2], 42.0f) << count;
  }
}

}  // namespace
}  // namespace thalweg::engine
