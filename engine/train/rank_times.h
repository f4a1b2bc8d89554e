// Where each rank's time goes: rank 0's own numbers hide the rank that all others wait for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/sync/mode.h"
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
    jobspec::Map record;           ///< journal.md: "ranks", without its step
    std::optional<double> joules;  ///< of all nodes; nothing where one of them does not know
  };
  /// Collective, the result on every rank. `joules` of this rank's machine, that of a machine's
  /// first rank counts.
  All gather(comm::Group& group, std::optional<double> joules) const;

 private:
  struct Sums {
    double steps = 0, measured = 0;  ///< measured: of which communication's times are known
    double data_ms = 0, compute_ms = 0, optimizer_ms = 0, exposed_ms = 0, skew_ms = 0;
  } own_;
};

}  // namespace thalweg::engine
