// Names of metrics as people spell them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg::jobspec {

/// The metric that is meant by another spelling ("val_loss", "accuracy"); empty where none is near.
std::string nearest_metric(std::string_view name, const std::vector<std::string>& metrics);

}  // namespace thalweg::jobspec
