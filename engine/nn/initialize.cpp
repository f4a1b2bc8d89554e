#include "engine/nn/initialize.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "engine/tensor/random.h"

namespace thalweg::engine {
namespace {

/// Standard normal by Box and Muller (1958), from 64 of the 128 bits.
double normal(std::uint64_t seed, std::uint32_t number, std::uint64_t element) {
  const auto bits = philox(seed, Stream::init, number, element);
  const double u = (static_cast<double>(bits[0]) + 0.5) * 0x1p-32;  // never 0
  const double v = static_cast<double>(bits[1]) * 0x1p-32;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

}  // namespace

void initialize_parameter(const ParameterPlan& plan, std::uint64_t seed, std::uint32_t number,
                          float* plain) {
  const std::int64_t count = elements(plan.shape);
  switch (plan.init) {
    case Init::zeros:
      std::fill_n(plain, count, 0.0f);
      return;
    case Init::ones:
      std::fill_n(plain, count, 1.0f);
      return;
    case Init::scaled_normal:
    case Init::small_normal:
      break;
  }
  constexpr double kSmall = 0.02;
  const double deviation = plan.init == Init::small_normal
                               ? kSmall
                               : std::sqrt(plan.gain_squared / static_cast<double>(plan.fan_in));
  for (std::int64_t i = 0; i < count; ++i)
    plain[i] = static_cast<float>(deviation * normal(seed, number, static_cast<std::uint64_t>(i)));
}

}  // namespace thalweg::engine
