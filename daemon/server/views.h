// Rows as the messages of the API.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "daemon/api/sweep_messages.h"
#include "daemon/controller/controller.h"
#include "db/store.h"

namespace thalweg::daemon {

using api::Counts;
Counts counts_of(const SweepState& sweep);

api::SweepMessage sweep_message(const db::SweepRow& row, const Counts& counts);
nlohmann::json attempt_json(const db::AttemptRow& row);
nlohmann::json event_json(const db::Event& event);
/// A trial without progress.
api::TrialMessage trial_message(const db::TrialRow& row);

/// Latest metrics of one trial.
using TrialMetrics = std::vector<const db::ReadStore::Latest*>;
api::Progress progress_of(const db::SweepRow& sweep, const db::TrialRow& row,
                          const TrialMetrics& metrics, const SweepView& view);

/// A sweep with its trials and their progress; nothing where there is none. For a reader's thread.
std::optional<api::SweepSnapshot> sweep_snapshot(db::ReadStore& store, std::int64_t id,
                                                 const Counts& counts, const SweepView& view);

}  // namespace thalweg::daemon
