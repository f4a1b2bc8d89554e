// What the reference.cpp of a loss has for its row: metrics that several losses have.
#pragma once

#include "engine/device/reference/layer.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine::losses {

/// The sums stand in engine/device/labels.h, bce/reference.cpp and reference_elementwise.h.
inline constexpr Metric error{"error", 0, 1};
inline constexpr Metric accuracy{"accuracy", one_minus + 0, 1};
inline constexpr Metric mae{"mae", 0, 1};

}  // namespace thalweg::engine::losses
