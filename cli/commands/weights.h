// thalweg export of a trial's weights, the part of it that the engine does.
#pragma once

#include <string>

#include "cli/command.h"

namespace thalweg::cli {

struct WeightsOptions {
  std::string id, out, checkpoint;
  bool best = false, json = false;
};

/// --checkpoint and --best.
void add_checkpoint_options(Arguments& arguments, WeightsOptions& options);

/// This process becomes the engine. Throws CommandError where it cannot.
int export_weights(Context& context, const WeightsOptions& options);

}  // namespace thalweg::cli
