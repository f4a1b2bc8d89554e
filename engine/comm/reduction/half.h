// 16-bit floats; they stand one level up, where tensors may include them too.
#pragma once

#include "engine/half.h"

namespace thalweg::engine::comm {

using engine::Bf16;
using engine::F16;
using engine::load;
using engine::store;
using engine::to_bf16;
using engine::to_f16;
using engine::to_float;

}  // namespace thalweg::engine::comm
