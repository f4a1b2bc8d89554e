// Names of metrics as people spell them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/trial.h"

namespace thalweg::jobspec {

/// The metric that is meant by another spelling ("val_loss", "accuracy"); empty where none is near.
std::string nearest_metric(std::string_view name, const std::vector<std::string>& metrics);

/// Which way a metric is better, by its name alone (val/accuracy, f1Score, loss_per_token); nothing
/// where the name does not tell (entropy, value). Agrees with the engine's table of metrics, which
/// tells what it has.
std::optional<Goal> goal_by_name(std::string_view name);

/// "larger" or "smaller".
std::string_view better_values(Goal goal);

}  // namespace thalweg::jobspec
