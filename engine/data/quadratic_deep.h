// DeepOBS' problem quadratic_deep (Schneider et al., ICLR 2019; deepobs/tensorflow/testproblems):
// loss 1/2 (theta - x)' Q (theta - x) with 100 parameters, Q with 90 eigenvalues in (0, 1) and 10
// in (30, 60), x normal with deviation 0.6.
#pragma once

#include <vector>

namespace thalweg::engine {

constexpr int kQuadraticDeepSize = 100;

/// Q, row-major, symmetric.
std::vector<double> quadratic_deep_hessian();

}  // namespace thalweg::engine
