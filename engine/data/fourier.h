// A small discrete Fourier transform, for generated fields.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

namespace thalweg::engine {

/// In place over every axis of a row-major array; sizes are powers of two. Forward has
/// exp(-2 pi i ...), backward exp(+...); neither is scaled.
void fourier(std::vector<std::complex<double>>& values, const std::vector<std::int64_t>& shape,
             bool backward);

}  // namespace thalweg::engine
