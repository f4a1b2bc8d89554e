// Which configuration of a sweep to try next, by the results that there are.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobspec/sweep.h"

namespace thalweg::jobspec {

struct Observed {
  enum class State { running, ended, failed };
  Value parameters;  ///< as ExpandedTrial::parameters
  State state = State::ended;
  std::optional<double> value;  ///< the best one of the metric
  std::optional<double> latest{};
};

struct Suggestion {
  ExpandedTrial trial;  ///< without number and seed
  std::string reason;   ///< for people
};

/// The best of a thousand candidates, half of them drawn and half near the best results and each
/// other, by expected improvement over a Gaussian process of the results (half_rank.h: explosions
/// count by rank). What failed counts as the metric's `impute` says, and what runs with the value
/// that the process expects of it, but for `impute_while_running`. `taken`: hashes of
/// configurations that are there already, which come last. The same `configuration` (from 1) and
/// results give the same choice. Nothing where no trial has a result, or where no draw fits the
/// schema.
std::optional<Suggestion> suggest(const Sweep& sweep, const Schema& schema,
                                  std::vector<Observed> observed,
                                  const std::set<std::string>& taken, std::int64_t configuration);

}  // namespace thalweg::jobspec
