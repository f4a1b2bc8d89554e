// Trials that are ended early because others do better: `early_terminate` of a sweep file, as W&B's
// sweep files have it. The rules are in early/, one file and one row each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::jobspec {

struct Parsing;
struct Sweep;

/// How the reason of a trial that was ended early begins.
inline constexpr std::string_view early_end_reason = "ended early: ";

/// A trial's progress is how many values of the sweep's metric it has reported.
struct EarlyTerminate {
  std::int64_t min_iter = 0;  ///< the first band; 0 = max_iter and s say where bands are
  std::int64_t max_iter = 0;
  double s = 0;         ///< how many bands at most, from max_iter down
  double eta = 3;       ///< above 1: the best 1/eta go on
  bool strict = false;  ///< the value at the band counts, not the best one up to now
  /// The row of early_rules(); nothing: the first, which records of earlier versions do not name.
  std::optional<std::string> type{};
  std::optional<std::int64_t> min_trials{};  ///< so many others have to be compared with

  bool operator==(const EarlyTerminate&) const = default;
  static void each_field(auto& e, auto&& field) {
    field("min_iter", e.min_iter);
    field("max_iter", e.max_iter);
    field("s", e.s);
    field("eta", e.eta);
    field("strict", e.strict);
    field("type", e.type);
    field("min_trials", e.min_trials);
  }
  /// Of hyperband. Growing. From max_iter: max_iter/eta^i, i = 1..s, cut to whole numbers, from 1
  /// on. From min_iter: min_iter*eta^i, up to `most`.
  std::vector<std::int64_t> bands(std::int64_t most) const;
};

/// The top-level key; nullptr: none. What is wrong is a diagnostic.
std::optional<EarlyTerminate> parse_early_terminate(const Value* value, Parsing& parsing);
/// Of a sweep whose trials may be ended early the seed that the order of their starts is drawn
/// from: who comes first has nobody to be far behind, so the order must say nothing about
/// configurations. Nothing of other sweeps, and of methods that learn, whose configurations are
/// known in their order alone.
std::optional<std::uint64_t> start_order(const Sweep& sweep);
/// "after 3, 9, 27, ... values of val/error the best 1/3 go on"
std::string describe(const EarlyTerminate& rule, const std::string& metric);

}  // namespace thalweg::jobspec
