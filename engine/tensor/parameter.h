// A model's parameter: what devices place and optimizers update.
#pragma once

#include <cstddef>
#include <string>

#include "engine/tensor/shape.h"

namespace thalweg::engine {

/// A parameter's place in the flat parameter memory. The gradient memory has the same plan.
/// Parameters follow one another without gaps: offset[i + 1] = offset[i] + count[i].
struct ParameterInfo {
  std::string name;        ///< "conv1.weight"
  Shape shape;             ///< plain (out, in, kh, kw)
  std::size_t offset = 0;  ///< in floats; a multiple of 16 (64 bytes)
  std::size_t count = 0;  ///< floats in the device's own layout, padding included (padding stays 0)
  bool decay = true;      ///< false for biases and normalisation: weight decay may leave them out
  bool norm_or_bias = false;
};

}  // namespace thalweg::engine
