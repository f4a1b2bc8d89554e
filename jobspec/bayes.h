// Search that learns from results: `method: bayes`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobspec/fwd.h"

namespace thalweg::jobspec {

struct Parsing;

/// The first configurations are drawn as in random search; each other one is chosen when one of its
/// trials could start, by the results that there are then.
struct Bayes {
  std::int64_t initial = 10;  ///< configurations that are drawn
  std::int64_t parallel = 4;  ///< nothing is chosen while so many trials run or wait in the queue
  std::int64_t seeds = 1;     ///< trials of each configuration

  bool operator==(const Bayes&) const = default;
  static void each_field(auto& e, auto&& field) {
    field("initial", e.initial);
    field("parallel", e.parallel);
    field("seeds", e.seeds);
  }
  /// Trials 1 to this one are drawn.
  std::int64_t drawn_trials() const { return initial * seeds; }
};

/// The top-level key `bayes` (may be nullptr) of a sweep of that method, after everything that it
/// depends on. What is wrong is a diagnostic.
Bayes parse_bayes(const Value* value, Parsing& parsing);
/// Whether a sweep file (as read_yaml() has it) asks for that method.
bool is_bayes(const Value& file);
/// "the first 10 of 50 configurations are drawn, the others chosen by results ..."
std::string describe(const Bayes& bayes, std::int64_t run_cap);

}  // namespace thalweg::jobspec
