// What the functions of conv need of its options.
#pragma once

#include "engine/device/window.h"

namespace thalweg::engine {

/// Of 3x3 windows in fp32 on the cpu device.
enum class ConvAlgorithm { automatic, direct, winograd };

struct ConvOptions {
  Window window;  ///< conv_transpose: of the convolution that it turns round
  ConvAlgorithm algorithm = ConvAlgorithm::automatic;
};

}  // namespace thalweg::engine
