// train.init_from.trial: the trial that another one begins with. The engine knows no record, so
// trial.yaml tells it the folders. And whose checkpoints
// trials that have not ended will begin with.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/id.h"
#include "jobspec/keep.h"

namespace thalweg::db {
class ReadStore;
}
namespace thalweg::jobspec {
struct Expansion;
}

namespace thalweg::daemon {

/// The trial or attempt that a `train` tree names; nothing where it names none, or what is no id.
std::optional<jobspec::Id> init_from_trial(const jobspec::Value& train);

/// Throws jobspec::InputError where a trial of the sweep names one that is not in the record or has
/// not started. `visible`: the sweeps that the submitter may see, in rising order; for him there
/// are no others. Nothing = all.
void require_sources(db::ReadStore& store, const jobspec::Sweep& sweep,
                     const jobspec::Expansion& expansion,
                     const std::optional<std::vector<std::int64_t>>& visible = {});

/// A trial that has not ended and begins with the weights of another one, or with a file.
struct WeightsNeed {
  jobspec::Id by;
  std::optional<jobspec::Id> trial;  ///< the source, perhaps an attempt
  std::filesystem::path file;        ///< or this
  bool best = false;                 ///< the checkpoint of the best validation, not the newest
};
std::vector<WeightsNeed> weights_needed(db::ReadStore& store);

/// The first that would find its weights gone where of this trial, with these attempts' folders,
/// only `keep` stays; nullptr where none would.
const WeightsNeed* need_of(const std::vector<WeightsNeed>& needs, const jobspec::Id& trial,
                           const std::vector<std::filesystem::path>& folders,
                           jobspec::KeepCheckpoints keep);

}  // namespace thalweg::daemon
