#include "engine/optim/norm.h"

namespace thalweg::engine::optim {

THALWEG_SUM(sum_of_squares, (std::size_t n, const float* x),
            static_cast<double>(x[i]) * static_cast<double>(x[i]))
THALWEG_SUM(sum_of_squares, (std::size_t n, const double* x), x[i] * x[i])
THALWEG_SUM(sum_of_sizes, (std::size_t n, const float* x), std::fabs(static_cast<double>(x[i])))
THALWEG_SUM(sum_of_sizes, (std::size_t n, const double* x), std::fabs(x[i]))

}  // namespace thalweg::engine::optim
