// Whether numbers are numbers.
#pragma once

#include <cstddef>

namespace thalweg::engine {

/// No NaN and no infinity among them. Exact, whatever the size of the numbers; as fast as memory.
bool all_finite(const float* values, std::size_t count);

}  // namespace thalweg::engine
