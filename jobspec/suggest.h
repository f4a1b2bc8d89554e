// Which configuration of a sweep to try next, by the results that there are.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobspec/search/search.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec {

struct Suggestion {
  ExpandedTrial trial;  ///< without number and seed
  std::string reason;   ///< for people
};

/// The best proposal of the sweep's method, which learns. What failed counts as the metric's
/// `impute` says; what runs is told to the method, but for `impute_while_running`. `taken`: hashes
/// of configurations that are there already; one of them comes again only where nothing else was
/// found, of listed values where nothing else is left (of at most 10,000 combinations). The same
/// `configuration` (from 1) and results give the same choice. Nothing where no trial has a result,
/// or where no proposal fits the schema. `id`: the sweep's, where trials go on from others.
std::optional<Suggestion> suggest(const Sweep& sweep, const Schema& schema,
                                  std::vector<Observed> observed,
                                  const std::set<std::string>& taken, std::int64_t configuration,
                                  std::int64_t id = 0);

}  // namespace thalweg::jobspec
