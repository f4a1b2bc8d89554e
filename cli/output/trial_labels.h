// What tells the trials of a sweep apart, short enough for one cell of a table.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {

/// Parameters with one value in all of several trials tell none apart: they are left out of labels.
class TrialLabels {
 public:
  explicit TrialLabels(const std::vector<daemon::api::TrialMessage>& trials);
  /// "adamw, lr=0.1"; empty where nothing but the seed differs.
  std::string of(const daemon::api::TrialMessage& trial) const;
  /// "epochs=5, gru": what all have; empty where there is nothing of the kind.
  const std::string& common() const { return common_; }

 private:
  std::set<std::string> same_;
  std::string common_;
};

}  // namespace thalweg::cli
