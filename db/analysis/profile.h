// AlgoPerf's benchmark score over times to target: performance profiles (Dolan & More, Mathematical
// Programming 91, 2002; Dahl et al., Benchmarking Neural Network Training Algorithms,
// arXiv:2306.07179, section 4.4).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "db/store.h"

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

/// The same as AlgoPerf's own code computes it: the trapezoid over 100 points from 1 to `most`.
std::vector<double> profile_scores_trapezoid(const Times& times, double most = 4);

/// A workload's variant that only confirms a result.
struct HeldOut {
  std::size_t variant = 0, base = 0;  ///< places of workloads
};
/// The competition's rules: a held-out time counts only with its base's, times of more than `most`
/// times the best are misses, and a base counts only where its held-out variants do. Without the
/// held-out workloads, in the order of the others.
Times competition_times(Times times, const std::vector<HeldOut>& held_out, double most = 4);

struct ProfileRow {
  std::string group;  ///< "adamw", or values of several parameters: "adamw, cosine"
  double score = 0;
  std::vector<double> times;   ///< to each sweep's target; infinity: missed
  std::vector<double> ratios;  ///< to the best of each sweep
};

struct ProfileStudy {
  std::vector<std::int64_t> sweeps;  ///< a workload each, without those held out
  std::vector<std::string> by;
  std::string unit;              ///< "seconds" or "steps"
  std::vector<ProfileRow> rows;  ///< best first
  std::vector<std::string> notes;
};

struct ProfileOptions {
  std::vector<std::string> by;         ///< what is compared: parameters that every sweep varies
  std::vector<std::string> best_over;  ///< each group at its best values of these
  std::optional<double> target;        ///< instead of each sweep's own
  bool steps = false;                  ///< instead of seconds
  bool trapezoid = false;
  /// A sweep that only confirms (AlgoPerf's held-out workload), and the one that it is a variant
  /// of; both among the sweeps. With any, competition_times() counts.
  std::vector<std::pair<std::int64_t, std::int64_t>> held_out{};
};

/// Each sweep is a workload; groups that a sweep does not have missed it. Throws
/// std::invalid_argument where a sweep is not there or has no target or no such parameter, and
/// where one is held out and not among them, or has no base that is scored.
ProfileStudy study_profiles(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                            const ProfileOptions& options);

}  // namespace thalweg::db::analysis
