// Backward of relu, which the layers that relu is joined to share.
#pragma once

#include "engine/device/cpu/builder.h"

namespace thalweg::engine::cpu {

/// dy where the relu's output y is above 0, else 0; in place. Returns the tensor that holds it, in
/// y's layout.
TensorId add_relu_backward(Builder& builder, TensorId y, TensorId dy);

}  // namespace thalweg::engine::cpu
