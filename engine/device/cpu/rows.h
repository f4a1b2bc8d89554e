// Sequences as matrices: a row for each position of each sample.
#pragma once

#include "engine/device/cpu/builder.h"

namespace thalweg::engine::cpu {

/// (samples, positions, features) seen as (samples * positions, features), plain.
inline TensorId as_rows(Builder& b, Builder::Pass pass, TensorId x) {
  const Dims dims = dims_of(b.desc(x));
  x = b.in_layout(pass, x, plain_desc(dims));
  return b.view(x, Desc({dims[0] * dims[1], dims[2]}, f32, Tag::ab), nullptr);
}

}  // namespace thalweg::engine::cpu
