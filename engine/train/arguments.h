// The command line of thalweg-train.
#pragma once

#include <string>
#include <vector>

#include "engine/train/check_sweep.h"
#include "engine/train/flood_filling.h"

namespace thalweg::engine {

struct Arguments {
  enum class Action {
    train,
    check,
    describe,
    noise,
    evaluate,
    export_weights,
    flood_fill,
    metrics,
    arrays,
    options,
    schema,
    layers,
    manual,
    help,
    version
  } action = Action::train;
  bool json = false;
  bool best = false;               ///< checkpoint
  std::string file;                ///< as given; with Action::options a prefix
  std::vector<std::string> files;  ///< with Action::describe, which takes several
  std::string exported, checkpoint;
  SweepCheckOptions check;
  FloodFiles flood;
};

/// `words` without the program's name. Throws UsageError (base/command_line.h).
Arguments parse(const std::vector<std::string>& words);

/// What --help prints.
const char* help_text();

}  // namespace thalweg::engine
