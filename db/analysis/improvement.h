// How often one sample is better than another: what a rank test's p-value does not say.
#pragma once

#include <vector>

#include "db/analysis/estimate.h"
#include "db/analysis/rank_test.h"

namespace thalweg::db::analysis {

/// The probability of improvement (Agarwal et al., Deep Reinforcement Learning at the Edge of the
/// Statistical Precipice, arXiv:2108.13264): the share of pairs (one value of a, one of b, of the
/// same block) in which b's is the smaller one, ties counted by half. 0.5: no difference; NaN where
/// there is no pair. The 95 % interval is approximate: Newcombe's method 5 (Statistics in Medicine
/// 25, 2006, p. 559) with the variance added up over blocks, each weighted by its pairs; of blocks
/// of one value each it is Wilson's interval. Of two samples of 3 values without a difference it
/// holds the truth in 90 % of cases only; from 5 values on in 94 % and more.
Estimate probability_of_improvement(const std::vector<Block>& blocks);

}  // namespace thalweg::db::analysis
