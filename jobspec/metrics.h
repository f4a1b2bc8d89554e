// Names of metrics as people spell them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg::jobspec {

/// The metric that is meant by another spelling ("val_loss", "accuracy"); empty where none is near.
std::string nearest_metric(std::string_view name, const std::vector<std::string>& metrics);

/// Which way a metric is better, by its name alone (val/accuracy, perf/samples_per_s); false
/// for what is not known. Agrees with the engine's table where that has the metric.
bool larger_is_better(std::string_view name);

}  // namespace thalweg::jobspec
