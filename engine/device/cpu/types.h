// Loops of our own over values of either type.
#pragma once

#include "engine/device/cpu/onednn.h"
#include "engine/tensor/half.h"

namespace thalweg::engine::cpu {

/// Calls f(0.0f) or f(Bf16{}): a value of the type that elements have.
template <class F>
auto with_type(Type type, F f) {
  return type == bf16 ? f(Bf16{}) : f(0.0f);
}

}  // namespace thalweg::engine::cpu
