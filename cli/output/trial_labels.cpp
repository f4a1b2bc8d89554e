#include "cli/output/trial_labels.h"

#include <algorithm>

#include "cli/output/json.h"

namespace thalweg::cli {

using daemon::api::TrialMessage;

TrialLabels::TrialLabels(const std::vector<TrialMessage>& trials) {
  if (trials.size() < 2 || !trials.front().parameters.is_object()) return;
  Json common = Json::object();
  for (const auto& [name, value] : trials.front().parameters.items()) {
    const bool same = std::all_of(trials.begin(), trials.end(), [&](const TrialMessage& trial) {
      return trial.parameters.is_object() && trial.parameters.contains(name) &&
             trial.parameters.at(name) == value;
    });
    if (!same) continue;
    same_.insert(name);
    common[name] = value;
  }
  common_ = parameter_label(common);
}

std::string TrialLabels::of(const TrialMessage& trial) const {
  Json varied = Json::object();
  if (trial.parameters.is_object())
    for (const auto& [name, value] : trial.parameters.items())
      if (!same_.contains(name)) varied[name] = value;
  return parameter_label(varied);
}

}  // namespace thalweg::cli
