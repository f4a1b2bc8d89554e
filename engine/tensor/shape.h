// Sizes of a tensor, outermost first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thalweg::engine {

using Shape = std::vector<std::int64_t>;

/// Product of the sizes; 1 for the empty shape.
std::int64_t elements(const Shape& shape);

/// "(32, 28, 28)"
std::string to_text(const Shape& shape);

}  // namespace thalweg::engine
