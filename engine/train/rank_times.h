// Where each rank's time goes: rank 0's own numbers hide the rank that all others wait for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/sync/mode.h"
#include "engine/train/energy.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

/// A text of each rank, by rank, on every rank. Collective.
std::vector<std::string> gather_texts(comm::Group& group, const std::string& mine);

/// Of this rank since the attempt's first step.
class RankTimes {
 public:
  void add(const StepOutcome& outcome);
  /// Of the same step: the wait for its batch.
  void add_data(double ms) { own_.data_ms += ms; }

  /// What the ranks have told each other.
  struct All {
    jobspec::Map record;  ///< journal.md: "ranks", without its step
    Energy energy;        ///< of all nodes and GPUs; NaN where one of them does not know
  };
  /// Collective, the result on every rank. Of a machine's counters its first rank tells.
  All gather(comm::Group& group, const Energy& energy) const;

 private:
  struct Sums {
    double steps = 0, measured = 0;  ///< measured: of which communication's times are known
    double data_ms = 0, compute_ms = 0, optimizer_ms = 0, exposed_ms = 0, skew_ms = 0;
    double passes = 0;  ///< StepOutcome::passes
  } own_;
};

}  // namespace thalweg::engine
