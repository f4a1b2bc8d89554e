// What `train:` may hold, for people: `thalweg-train --options`, and the manual page made from the
// same tables.
#pragma once

#include <string>
#include <string_view>

#include "jobspec/fwd.h"

namespace thalweg::engine {

/// "a whole number from 1 to 8; default 4": what fits, and the default or that it is needed.
std::string range_and_default(const jobspec::Option& option);

/// One line an option: name: meaning (what fits; its default). `prefix`: empty for an overview, a
/// section
/// ("data"), one of its alternatives ("data.arrays", "optimizer.adamw") or an option
/// ("batch.global"); a leading "train." is let through. Throws std::invalid_argument, with the
/// nearest name, where there is no such.
std::string describe_options(const jobspec::Schema& schema, std::string_view prefix);

/// thalweg-sweep-train(5) in troff: every section, alternative and option, and the layers of model
/// graph.
std::string options_manual(const jobspec::Schema& schema);

}  // namespace thalweg::engine
