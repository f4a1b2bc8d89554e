// Curves of running sweeps with early_terminate, for the rules of jobspec/early.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/state/state.h"
#include "db/store.h"
#include "jobspec/early/rule.h"

namespace thalweg::daemon {

/// For the controller's thread. Nobody else may listen to `store`'s rewritten points.
class EarlyStops {
 public:
  explicit EarlyStops(db::Store& store);
  ~EarlyStops() { store_.on_rewritten({}); }
  EarlyStops(const EarlyStops&) = delete;
  EarlyStops& operator=(const EarlyStops&) = delete;
  /// `news`: attempts of which metrics have come. The trials to end now, with the reason. A sweep's
  /// curves are read when it is first looked at, then only what is new of those with news.
  std::vector<std::pair<Id, std::string>> look(const State& state, const std::vector<Id>& news);
  /// Points that were read from the record.
  std::int64_t points_read() const { return points_read_; }

 private:
  struct Known {
    std::string metric;
    jobspec::TrialHistories histories;
    std::map<std::int64_t, std::int64_t> rewritten;  ///< by trial: from which step on
  };
  void read(const SweepState& sweep, std::int64_t trial, Known& into);
  void note_rewritten(const Id& trial, std::string_view metric, std::int64_t step);

  db::Store& store_;
  std::map<std::int64_t, Known> sweeps_;
  std::int64_t points_read_ = 0;
};

}  // namespace thalweg::daemon
