// `seeds: auto` and `seeds: {start: 6, add: 5, cap: 16}`: a group sequential design. Every
// configuration runs with the first seeds; at each look those that are worse than the best one get
// no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::jobspec {

class Fields;
struct Parsing;

/// What the file says: numbers of seeds; 0: as fits the number of configurations.
struct SeedLooks {
  std::int64_t start = 0, add = 0, cap = 0;
};

/// Seeds of each configuration at the first look, before the number of configurations is known.
std::int64_t first_look(const SeedLooks& asked);

/// The looks of a sweep, which are fixed before it starts.
struct SeedPlan {
  std::vector<std::int64_t> looks;  ///< seeds 1 to N of each that is open; growing, not empty
  std::int64_t rows = 0;            ///< configurations, 2 or more

  /// At which a configuration is called worse: 0.05 over looks and pairs of configurations
  /// (Bonferroni), so that in at most 5 % of sweeps without any difference one is claimed.
  double level() const { return 0.05 / tests(); }
  /// Looks times pairs: what a p-value is multiplied by.
  double tests() const;
  std::int64_t min_trials() const { return rows * looks.front(); }
  std::int64_t max_trials() const { return rows * looks.back(); }

  static void each_field(auto& e, auto&& field) {
    field("looks", e.looks);
    field("rows", e.rows);
  }
};

/// The default: three looks, of which the first is after 6 seeds, or as many as the exact rank-sum
/// test needs at level(), and each of the others after 5 more. `rows` is at least 2.
SeedPlan seed_plan(const SeedLooks& asked, std::int64_t rows);
/// What `seeds` says: auto, or {start, add, cap}.
bool is_seed_looks(const Value& seeds);
/// Whether a sweep file (as read_yaml() has it) has looks.
bool has_seed_looks(const Value& file);
/// The value of `seeds`, "auto" or a map. What is wrong is a diagnostic.
SeedLooks parse_seed_looks(const Value& value, Parsing& parsing);
/// After all that the file says: what cannot be with looks is a diagnostic that names its key.
void check_seed_looks(Fields& top, Parsing& parsing);
/// "looks after 6, 11 and 16 seeds of each of 4 configurations: ..."
std::string describe(const SeedPlan& plan);

}  // namespace thalweg::jobspec
