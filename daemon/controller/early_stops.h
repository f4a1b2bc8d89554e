// Curves of running sweeps with early_terminate, for the rule of state/hyperband.h.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/state/hyperband.h"
#include "daemon/state/state.h"
#include "db/store.h"

namespace thalweg::daemon {

/// For the controller's thread.
class EarlyStops {
 public:
  explicit EarlyStops(db::Store& store) : store_(store) {}
  /// `news`: attempts of which metrics have come. The trials to end now, with the reason. A sweep's
  /// curves are read when it is first looked at, then only those with news.
  std::vector<std::pair<Id, std::string>> look(const State& state, const std::vector<Id>& news);

 private:
  using Histories = std::map<std::int64_t, TrialHistory>;
  void read(const SweepState& sweep, std::int64_t trial, Histories& into);

  db::Store& store_;
  std::map<std::int64_t, Histories> sweeps_;
};

}  // namespace thalweg::daemon
