// A number over the units of a row (seeds or configurations), with how sure it is.
#pragma once

#include <limits>

namespace thalweg::db::analysis {

/// Median over the units with its 95 % interval (bootstrap.h); NaN where nothing is known.
/// Infinity: missed.
struct Estimate {
  double median = std::numeric_limits<double>::quiet_NaN();
  double low = std::numeric_limits<double>::quiet_NaN();
  double high = std::numeric_limits<double>::quiet_NaN();

  static void each_field(auto& e, auto&& field) {
    field("median", e.median);
    field("low", e.low);
    field("high", e.high);
  }
};

}  // namespace thalweg::db::analysis
