// AlgoPerf's benchmark score over times to target: performance profiles (Dolan & More, Mathematical
// Programming 91, 2002; Dahl et al., Benchmarking Neural Network Training Algorithms,
// arXiv:2306.07179, section 4.4).
#pragma once

#include <vector>

namespace thalweg::db::analysis {

/// times[s][w]: submission s on workload w, in any unit; infinity where the target was missed.
/// Ratios are taken to the fastest submission of each workload; a workload that nobody finished
/// gives everyone infinity.
using Times = std::vector<std::vector<double>>;

/// r[s][w] = t[s][w] / min over s of t[s][w].
Times ratios_to_best(const Times& times);

/// rho(tau): the share of workloads on which the ratio is at most tau.
double profile_at(const std::vector<double>& ratios, double tau);

/// The area under the profile from 1 to `most` divided by (most - 1), in closed form:
/// sum over w of max(0, most - r[w]) / ((most - 1) n). 1: fastest everywhere; 0: never within
/// `most` times the best. AlgoPerf's own code takes the trapezoid over 100 points, which differs by
/// up to 0.002.
std::vector<double> profile_scores(const Times& times, double most = 4);

}  // namespace thalweg::db::analysis
