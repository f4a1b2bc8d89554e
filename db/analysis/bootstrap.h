// Median and its bootstrap interval, computed exactly instead of by resampling: the same on every
// machine, no seed.
#pragma once

#include <vector>

#include "db/analysis/estimate.h"

namespace thalweg::db::analysis {

/// Infinities allowed (a missed target); NaN values are left out. Empty: NaN. An even count takes
/// the middle of the two middle values.
double median(std::vector<double> values);

/// The percentile bootstrap interval (Efron & Tibshirani, An Introduction to the Bootstrap, 1993,
/// ch. 13) of the median at `confidence`, in the limit of infinitely many resamples: the
/// distribution of a resample's middle order statistics is known in closed form (Efron, The
/// Jackknife, the Bootstrap and Other Resampling Plans, 1982, §10.3). Percentile, not BCa: BCa's
/// acceleration comes from the jackknife, which fails for medians. With fewer than 3 values, the
/// range of the values. The price of few seeds: below about 6 values the interval is the whole
/// range and covers less than it claims.
Estimate bootstrap_median(std::vector<double> values, double confidence = 0.95);

}  // namespace thalweg::db::analysis
