// Sequences as matrices: a row for each position of each sample.
#pragma once

#include "engine/device/cpu/builder.h"

namespace thalweg::engine::cpu {

/// (samples, positions, features) seen as (samples * positions, features), plain, of this type.
inline TensorId as_rows(Builder& b, Builder::Pass pass, TensorId x, Type type) {
  const Dims dims = dims_of(b.desc(x));
  x = b.in_layout(pass, x, plain_desc(dims, type));
  return b.view(x, Desc({dims[0] * dims[1], dims[2]}, type, Tag::ab), nullptr);
}

}  // namespace thalweg::engine::cpu
