// Windows and shapes as oneDNN takes them.
#pragma once

#include "engine/device/cpu/onednn.h"
#include "engine/device/window.h"

namespace thalweg::engine::cpu {

inline WindowDims dims_of(const Window& w) {
  return {w.shape(w.kernel), w.shape(w.stride), w.shape(w.padding)};
}

inline Dims batch_of(const Shape& sample, std::int64_t samples) {
  Dims dims{samples};
  dims.insert(dims.end(), sample.begin(), sample.end());
  return dims;
}

}  // namespace thalweg::engine::cpu
