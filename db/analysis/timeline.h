// Where a trial's time went: its attempts, each from its launch to its end, in parts.
#pragma once

#include <string>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

/// One row of the table of parts; the parts of an attempt add up to its seconds.
struct TimelinePart {
  std::string name;  ///< "queued", "start-up", "data", "compute", ...
  double seconds = 0;
};

/// ms per step since the attempt began.
struct RankTime {
  std::int64_t rank = 0;
  std::string node;
  double data_ms = 0, compute_ms = 0, comm_exposed_ms = 0, skew_ms = 0, optimizer_ms = 0;
};

struct AttemptTimeline {
  Id id;
  AttemptState state = AttemptState::launching;
  std::int64_t nodes = 0, ranks = 0;
  double waited = 0;  ///< seconds from the sweep's submission, or the attempt before, to its launch
  double seconds = 0;               ///< from its launch to its end, or to now
  std::int64_t steps = 0;           ///< of this attempt, reported so far
  std::vector<TimelinePart> parts;  ///< in a fixed order; those of no time are left out
  std::string bottleneck;           ///< the largest part; empty where there is none yet
  std::string advice;               ///< what makes it smaller; a sentence
  std::vector<RankTime> per_rank;   ///< empty before the first validation
};

/// `now`: Unix seconds, for attempts that still run. In the order of the attempts. From the metrics
/// of rank 0 (engine/attempt/journal.md); what none of them accounts for is the part "other".
std::vector<AttemptTimeline> timeline(ReadStore& store, const Id& trial, double now);

}  // namespace thalweg::db::analysis
