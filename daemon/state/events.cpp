#include "daemon/state/events.h"

namespace thalweg::daemon {

const std::vector<EventKind>& event_kinds() {
  static const std::vector<EventKind> kinds = {
      {kind::submitted, "sweep",
       "a sweep file was accepted and expanded; its trials are in the database",
       "backend; metric {name, goal, target}; slurm (options); limits {max_nodes_in_flight, "
       "node_hours, max_retries}; shapes: list of {first, "
       "count, nodes, "
       "ranks_per_node, threads_per_rank, time_limit_s, memory_mib, gpus_per_node} over the trial "
       "numbers"},
      {kind::launching, "attempt",
       "the intent: this attempt will be launched, nothing has been asked of the backend yet",
       "token, push_secret, folder, backend, nodes, ranks"},
      {kind::recorded, "attempt", "the backend holds it under this handle; it must not run yet",
       "handle"},
      {kind::released, "attempt", "the backend was told to let it run", ""},
      {kind::running, "attempt", "the backend or the journal says that it runs",
       "started, node_list"},
      {kind::fenced, "attempt",
       "the backend does not vouch for it any more, and its ranks may go on: it was told to end "
       "itself, and the next attempt waits until it has",
       "reason"},
      {kind::ended, "attempt", "it is over and everything in its journal has been read",
       "cause (finished, stopped, cancelled, lost, failed, bad_input, refused, diverged); reason; "
       "step (the furthest "
       "that can be resumed from); ended; node_seconds; exit_code, rank, node where known"},
      {kind::trial_ended, "trial", "no further attempt of this trial will be made",
       "state (finished, failed, cancelled), reason"},
      {kind::stopped, "sweep", "the controller starts nothing more of this sweep",
       "reason, end_running (running attempts are ended too)"},
      {kind::sweep_ended, "sweep", "every trial has ended", "state (finished, failed, cancelled)"},
      {kind::cancel_requested, "sweep or trial", "somebody asked to end it", "by"},
      {kind::retry_requested, "trial",
       "somebody asked to run an ended trial again; attempts are counted on", "by"},
      {kind::note, "any", "something worth knowing, no change of state", "level, text"},
  };
  return kinds;
}

}  // namespace thalweg::daemon
