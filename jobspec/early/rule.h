// The rules by which trials are ended early: one row of a table per `type`, one file per row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "jobspec/early/history.h"
#include "jobspec/early_terminate.h"
#include "jobspec/reader.h"
#include "jobspec/table.h"
#include "jobspec/trial.h"

namespace thalweg::jobspec {

using TrialHistories = std::map<std::int64_t, TrialHistory>;  ///< by the trial's number
using EndedEarly =
    std::map<std::int64_t, std::string>;  ///< trials to end, each with a sentence why

inline constexpr std::int64_t max_iterations = 1'000'000'000;

struct EarlyRule {
  std::string_view name;   ///< what `type:` says
  std::string_view about;  ///< one line
  /// Its keys beside `type`, as JSON Schema's properties, and what else must hold of the block.
  std::string_view properties, also;
  /// What is wrong is a diagnostic.
  void (*read)(Fields& fields, const Value& block, Parsing& parsing, EarlyTerminate& rule);
  std::string (*describe)(const EarlyTerminate& rule, const std::string& metric);
  /// Pure. Looks at running trials alone, and compares them with all.
  EndedEarly (*ended)(const EarlyTerminate& rule, const Metric& metric,
                      const TrialHistories& trials);
};

/// The first is hyperband, the default of records.
const Table<EarlyRule>& early_rules();
const EarlyRule& rule_of(const EarlyTerminate& rule);
EndedEarly ended_early(const EarlyTerminate& rule, const Metric& metric,
                       const TrialHistories& trials);

/// For rules: values times this sign are better where they are less.
double sign_of(const Metric& metric);
/// What is no finite number is the worst.
double oriented(double value, double sign);

}  // namespace thalweg::jobspec
