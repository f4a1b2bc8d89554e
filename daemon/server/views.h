// Rows as the JSON of daemon/api/README.md.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "daemon/controller/controller.h"
#include "db/store.h"

namespace thalweg::daemon {

struct Counts {
  std::int64_t pending = 0, running = 0, finished = 0, failed = 0, cancelled = 0;
};
Counts counts_of(const SweepState& sweep);

nlohmann::json sweep_json(const db::SweepRow& row, const Counts& counts);
nlohmann::json attempt_json(const db::AttemptRow& row);
nlohmann::json event_json(const db::Event& event);
/// A trial without progress.
nlohmann::json trial_json(const db::TrialRow& row);

/// Latest metrics of one trial.
using TrialMetrics = std::vector<const db::ReadStore::Latest*>;
nlohmann::json progress_json(const db::SweepRow& sweep, const db::TrialRow& row,
                             const TrialMetrics& metrics, const SweepView& view);

/// A sweep with its trials and their progress; null where there is none. For a reader's thread.
nlohmann::json sweep_snapshot(db::ReadStore& store, std::int64_t id, const Counts& counts,
                              const SweepView& view);

}  // namespace thalweg::daemon
