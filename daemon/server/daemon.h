// thalwegd itself: one per home, in the background, until it is told to stop.
#pragma once

#include "daemon/api/client.h"

namespace thalweg::daemon {

struct DaemonOptions {
  api::Home home;
  bool site = false;  ///< answers all users of this machine
  bool foreground = false;
};

/// Exit codes of thalwegd.
constexpr int exit_ok = 0, exit_failed = 1, exit_bad_use = 2, exit_already_running = 3;

/// Runs the controller. In the background, the first process returns when the controller answers
/// (or says on standard error why it does not). Signals: TERM and INT stop it (attempts go on), HUP
/// reads config.yaml again.
int run_daemon(const DaemonOptions& options);

/// Prints jobspec::SiteLimits as JSON: what config.yaml (the site's and the user's) says about
/// every sweep. Touches nothing in the home.
int print_limits(const api::Home& home);

}  // namespace thalweg::daemon
