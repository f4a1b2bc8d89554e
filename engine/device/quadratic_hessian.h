// The matrix of the loss quadratic_deep.
#pragma once

#include <cstdint>
#include <vector>

namespace thalweg::engine {

inline constexpr std::int64_t quadratic_size = 100;

/// Q of DeepOBS' problem (Schneider et al., ICLR 2019;
/// deepobs/tensorflow/testproblems/quadratic_deep.py), row by row, symmetric: 90 eigenvalues in (0,
/// 1), 10 in (30, 60), randomly rotated, all from NumPy's generator with seed 42. Thread-safe.
const std::vector<double>& quadratic_hessian();

}  // namespace thalweg::engine
