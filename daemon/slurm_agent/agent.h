// The agent's loop: lines of JSON in, lines of JSON out (protocol.md). Worker threads do the calls,
// since each may block for ten seconds; answers come in any order.
#pragma once

namespace thalweg::slurm_agent {

/// Serves until the input ends. Returns the exit status of the program. `in` and `out` may be the
/// same descriptor.
int serve(int in, int out);

/// One question, which is all of the input. For the child that asks Slurm as another user.
int serve_once(int in, int out);

}  // namespace thalweg::slurm_agent
