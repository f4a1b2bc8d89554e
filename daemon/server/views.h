// Rows as the messages of the API.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "daemon/api/trial_messages.h"
#include "daemon/controller/controller.h"
#include "db/store.h"

namespace thalweg::daemon {

using api::Counts;
Counts counts_of(const SweepState& sweep);

api::SweepMessage sweep_message(const db::SweepRow& row, const Counts& counts);
api::AttemptMessage attempt_message(const db::AttemptRow& row);
api::EventMessage event_message(const db::Event& event);
/// Without progress.
api::AboutTrial about_trial(const db::TrialRow& row);

/// Latest metrics of one trial; `step`: the last of any metric.
using TrialMetrics = std::vector<const db::ReadStore::Latest*>;
api::Progress progress_of(const db::SweepRow& sweep, const db::TrialRow& row,
                          const TrialMetrics& metrics, std::optional<std::int64_t> step,
                          const SweepView& view);

/// Which trials of a sweep are wanted.
struct TrialChoice {
  bool any = true;
  /// Not 0: so many of those that have the best values of the sweep's metric, the best first; where
  /// none has any, the first that have reported something.
  std::size_t best = 0;
};

/// A sweep, with the wanted trials and their progress; nothing where there is none. For a reader's
/// thread.
std::optional<api::SweepSnapshot> sweep_snapshot(db::ReadStore& store, std::int64_t id,
                                                 const Counts& counts, const SweepView& view,
                                                 const TrialChoice& trials = {});

}  // namespace thalweg::daemon
