// train.init_from.trial: the trial that another one begins with. The engine knows no record, so
// trial.yaml tells it the folders.
#pragma once

#include <optional>

#include "jobspec/fwd.h"
#include "jobspec/id.h"

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
/// not started.
void require_sources(db::ReadStore& store, const jobspec::Sweep& sweep,
                     const jobspec::Expansion& expansion);

}  // namespace thalweg::daemon
