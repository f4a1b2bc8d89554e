// What to do next, computed from the state and a few facts. Pure: asking twice gives the same
// answer, and doing an action twice does no harm, because each action's own event takes it off the
// list.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/state/state.h"

namespace thalweg::daemon {

/// The numbers behind the decisions.
struct Policy {
  double first_backoff_s = 2;  ///< pause after the first failure of a trial
  double backoff_factor = 4;   ///< longer after each further one ...
  double max_backoff_s = 300;  ///< ... up to this
  int no_progress_exits =
      5;  ///< stops and losses in a row without a further step, then the trial fails
  int bad_input_trials =
      5;  ///< trials that fail the same way at once (bad input, refused) stop a sweep ...
  int failing_trials = 10;      ///< ... or in any other same way, while none has finished
  Quotas quotas;                ///< of the owners of sweeps
  int launches_per_round = 64;  ///< so that the controller stays responsive between them
};

struct Facts {
  double now = 0;  ///< Unix seconds
  /// May an attempt with these resources start on the backend beside those that run there? Empty =
  /// always.
  std::function<bool(const std::string& backend, const jobspec::Resources& wanted,
                     const std::vector<jobspec::Resources>& running)>
      has_room;
};

struct Action {
  enum class Kind {
    launch,      ///< trial: commit the intent of its next attempt (id.attempt is its number)
    submit,      ///< attempt: hand it to the backend, held
    release,     ///< attempt: let it run
    cancel,      ///< attempt: ask the backend to end it
    drop,        ///< attempt: end it as cancelled; nothing of it can ever run
    end_trial,   ///< trial: record `trial` and `reason`
    stop_sweep,  ///< sweep: start nothing more (`reason`); with `end_running`, end what runs
    end_sweep,   ///< sweep: record `sweep`
    promote,     ///< trial: it goes on from where it has paused (`reason`)
    look         ///< sweep: decide which configurations get more seeds
  };
  Kind kind = Kind::launch;
  Id id;
  std::string reason{};
  TrialPhase trial = TrialPhase::pending;
  SweepPhase sweep = SweepPhase::active;
  bool end_running = false;
  int nodes = 0;  ///< launch: the most that it takes; of an elastic trial maybe not all
  std::vector<std::string> without{};  ///< launch: nodes or GPUs that it had better not get

  friend bool operator==(const Action&, const Action&) = default;
};

struct Plan {
  std::vector<Action>
      actions;  ///< ends first, launches last, launches by turn between users and their sweeps
  std::map<Id, std::string> waiting;  ///< why a sweep (trial 0) or a trial is not started now
  double next = 0;  ///< Unix seconds when a pause runs out and to ask again; 0 = none
};

Plan actions(const State& state, const Facts& facts, const Policy& policy = {});

/// What a live attempt of the sweep needs now (submit, release, cancel or drop), as in the plan;
/// nothing where it just goes on.
std::optional<Action> next_of(const SweepState& sweep, const LiveAttempt& attempt);

/// Of a sweep with a method that learns, the trial that is to be given its configuration now:
/// nothing else waits to start, and fewer trials than `parallel` are under way. Those of the same
/// configuration get it, too.
std::optional<std::int64_t> next_choice(const SweepState& sweep);

/// Why the trial's attempt should be ended now; empty where it may go on.
std::string stop_reason(const SweepState& sweep, std::int64_t trial);

/// Pause before the next attempt after `count` failures (or idle ends) in a row; 0 for none.
double backoff_s(const Policy& policy, int count);

}  // namespace thalweg::daemon
