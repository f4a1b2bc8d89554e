#include "engine/sync/clip.h"

#include <cmath>
#include <limits>

#include "engine/optim/norm.h"

namespace thalweg::engine {

void clip(float* gradient, std::size_t count, double longest) {
  const double norm = optim::norm(count, gradient);
  if (!(norm > longest) || !std::isfinite(norm)) return;
  const double factor = longest / norm;
  for (std::size_t i = 0; i < count; ++i)
    gradient[i] = static_cast<float>(static_cast<double>(gradient[i]) * factor);
}

void clip_values(float* gradient, std::size_t count, double largest) {
  const auto limit = static_cast<float>(largest);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < count; ++i) {
    const float size = std::abs(gradient[i]);
    // Not true of NaN either.
    if (size > limit && size < infinity) gradient[i] = std::copysign(limit, gradient[i]);
  }
}

}  // namespace thalweg::engine
