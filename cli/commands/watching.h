// Following a sweep to its end: `watch` and `run`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands/common.h"

namespace thalweg::cli {

struct WatchOptions {
  jobspec::Id id;  ///< a sweep, or a trial: then only that one is shown and waited for
  bool cancel_on_interrupt =
      false;                ///< Ctrl-C cancels (a second one leaves at once) instead of detaching
  bool json_lines = false;  ///< print snapshots, one a line, instead of showing them
  bool to_errors = false;   ///< show on standard error, because standard output carries data
};

struct WatchResult {
  Json last;  ///< the last snapshot
  bool interrupted = false;
  /// 130, or 0 where all trials watched have finished and any has a value of the sweep's metric,
  /// else 1.
  int exit_code() const;
  bool all_finished() const;
  bool any_failed() const;
};

/// Returns after the end. Ctrl-C without cancel_on_interrupt ends the program here, with a message
/// and 130.
WatchResult watch_sweep(Context& context, const WatchOptions& options);

}  // namespace thalweg::cli
