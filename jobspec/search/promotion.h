// Methods that train every trial a little and only the best of them on: what a sweep file says of
// the steps or epochs after which a trial pauses, its rungs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

struct Parsing;

/// A trial pauses at the first validation at or after each rung; of those that got there the best
/// 1/reduction_factor go on from their checkpoints.
struct Promotion {
  std::string method;  ///< its row's name
  std::string unit;    ///< "epochs" or "steps": what rungs count, as train's length does
  std::vector<std::int64_t> rungs;  ///< growing; each below the trial's length, which is the top
  double reduction_factor = 3;      ///< above 1
  bool waits = false;               ///< promotes where nothing is on its way to the rung any more

  static void each_field(auto& e, auto&& field) {
    field("method", e.method);
    field("unit", e.unit);
    field("rungs", e.rungs);
    field("reduction_factor", e.reduction_factor);
    field("waits", e.waits);
  }
};

/// "epochs" or "steps", as `train` says the length of a trial; empty where it does not.
std::string length_unit(const Sweep& sweep);
/// What a method cannot do whose trials go on from checkpoints: diagnostics.
void require_checkpoints(const std::string& method, Parsing& parsing);
/// "1 epoch", "300 steps".
std::string rung_text(const Promotion& promotion, std::size_t rung);
/// Of every method that promotes.
std::vector<Option> promotion_options();
/// The block of sweep.method (may be nullptr), which promotes, after everything that it depends on.
/// What is wrong is a diagnostic.
Promotion parse_promotion(const Value* value, Parsing& parsing);
/// "trials pause after 1, 3 epochs; ..."
std::string describe(const Promotion& promotion);

}  // namespace thalweg::jobspec
