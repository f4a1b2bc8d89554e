// What a comparison comes to, in a sentence or two.
#pragma once

#include <string>

#include "daemon/api/comparison_messages.h"

namespace thalweg::cli {

/// Which row is first, by what, and how sure that is: "muon reaches val/error 0.14 in the fewest
/// steps: 192, the median of 6 seeds. All 4 other rows are proven worse (p <= 0.022)."
std::string conclusion(const daemon::api::ComparisonMessage& comparison);

}  // namespace thalweg::cli
