// What is the case, computed from the event log alone. Pure: no clock, no files, no database.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "daemon/state/node_health.h"
#include "daemon/state/owner.h"
#include "daemon/state/phases.h"
#include "daemon/state/quotas.h"
#include "db/store.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {

using jobspec::Id;

/// In place of a backend's name: runs of other programs, which nothing here can run.
inline constexpr const char* kImported = "imported";

struct LiveAttempt {
  Id id;
  std::string token;
  std::string push_secret;  ///< proves who pushes; empty in records of earlier versions
  std::string handle;       ///< empty while launching
  AttemptPhase phase = AttemptPhase::launching;
  int nodes = 1;       ///< that cost: what the backend takes
  int size = 1;        ///< nodes as the sweep file counts them; of an elastic one the most so far
  double started = 0;  ///< Unix seconds; 0 = not yet
  std::string fenced;  ///< why it was told to end itself; empty = it was not
  std::string node_list;             ///< where it runs; empty = not known yet
  std::vector<std::string> gpus;     ///< of one machine, that it has to itself
  std::vector<std::string> without;  ///< nodes, or GPUs, that it is not to get
  double clock_set = 0;              ///< seconds by which the clock was set on since `started`

  /// That passed between two moments of its run (Unix seconds). Where the clock was set back it is
  /// less than the truth, never more.
  double passed_s(double from, double to) const {
    return std::max(0.0, to - from - std::max(0.0, clock_set));
  }
  /// Up to `now`; 0 before it has started.
  double ran_s(double now) const { return started > 0 ? passed_s(started, now) : 0; }
};

struct TrialState {
  TrialPhase phase = TrialPhase::pending;
  std::uint32_t shape = 0;    ///< index into SweepState::shapes
  std::int32_t attempts = 0;  ///< made so far
  std::int32_t nodes = 0;     ///< of the latest attempt that ran; 0 = none has
  std::int32_t failures = 0;  ///< attempts that failed, since submission or the last retry request
  std::int32_t no_progress_exits = 0;  ///< stops and losses in a row that got no step further
  std::int64_t best_step = 0;          ///< the furthest that can be resumed from
  bool cancel = false;
  std::string early;               ///< why it is to end before its time; empty = it is not
  EndCause last = EndCause::none;  ///< of the latest attempt, until a retry request clears it
  double last_end = 0;             ///< Unix seconds
  std::string reason;              ///< of the latest end
  /// Where trials pause: the rung (from 0) that it trains to, or at which it has paused.
  std::size_t rung = 0;
  bool paused = false;  ///< it may be promoted
  /// The metric at each rung that it has come to; nothing: no finite number.
  std::vector<std::optional<double>> at_rungs{};
};

/// In which trials start: by number, or as drawn. Early ends favour whoever comes first, and a grid
/// must not say who that is.
struct StartOrder {
  std::optional<std::uint64_t> drawn_from;  ///< a seed; empty = by number

  bool operator()(std::int64_t first, std::int64_t second) const;
};

struct SweepState {
  std::int64_t id = 0;
  std::string backend;
  jobspec::Limits limits;
  jobspec::Metric metric;
  jobspec::SlurmOptions slurm;
  std::optional<jobspec::Program> program;  ///< runs instead of the engine
  std::optional<jobspec::EarlyTerminate> early_terminate;
  std::optional<jobspec::Learning> learning;
  std::vector<std::int64_t> after;  ///< sweeps that end before it starts
  std::optional<Owner> owner;       ///< its jobs are his; empty = the controller's user's
  std::vector<std::string> groups;  ///< their members may look at it, on a site
  std::int64_t configured = 0;  ///< with `learning`: trials up to this one have their configuration
  SweepPhase phase = SweepPhase::active;
  jobspec::Keep keep;            ///< of its checkpoints, once it has ended
  bool to_prune = false;         ///< it has ended, and what `keep` does not name is still there
  double pruned = 0;             ///< Unix seconds; 0 = never
  std::int64_t freed_bytes = 0;  ///< by all prunings
  bool removing = false;         ///< nothing is done with it any more
  bool cancel = false;
  std::string stopped;       ///< why nothing more is started; empty = go on
  bool end_running = false;  ///< with `stopped`: end what runs
  std::string directory;     ///< that relative paths of its file count from; empty = not known
  std::vector<jobspec::Resources> shapes;
  std::size_t first_shapes = 0;              ///< of them, those of the trials that were submitted
  std::vector<TrialState> trials;            ///< trial number - 1
  std::map<std::int64_t, LiveAttempt> live;  ///< by trial number
  /// Trials to be started, without an attempt to look back on, in the order they should start.
  std::set<std::int64_t, StartOrder> unstarted;
  /// Trials between attempts: what the last end means is to be decided.
  std::set<std::int64_t> awaiting_decision;
  std::int64_t open = 0;  ///< trials not over
  std::int64_t finished = 0, failed = 0, cancelled = 0;
  double node_seconds = 0;           ///< of ended attempts
  std::int64_t losses = 0;           ///< attempts that had run and ended without a warning
  std::int64_t last_launch = 0;      ///< number of the latest launching event: whose turn it is
  std::int64_t nodes_in_flight = 0;  ///< as the sweep file counts nodes
  NodeHealths nodes;                 ///< of ended attempts
  std::map<std::string, std::int64_t>
      failures;  ///< failed trials by cause and reason (digits as '#')
  std::optional<jobspec::Promotion> promotion{};
  std::set<std::int64_t> paused{};               ///< trials
  std::optional<jobspec::SeedPlan> seed_plan{};  ///< looks decide who gets more seeds
  std::int64_t looks_taken = 0;
  std::string looks_over{};                           ///< why no look follows; empty: one does
  std::map<std::int64_t, std::string> closed_rows{};  ///< configurations without more seeds: why

  bool imported() const { return backend == kImported; }
  std::string account() const { return slurm.option("account"); }  ///< Slurm's; empty = not named
  /// Whether it may start with the configuration that it has.
  bool has_configuration(std::int64_t trial) const { return !learning || trial <= configured; }
  /// Whether it waits for a configuration: also one that was cancelled before, and may be retried.
  bool can_be_given(std::int64_t trial) const {
    if (has_configuration(trial)) return false;
    const TrialState& state = trials[static_cast<std::size_t>(trial - 1)];
    return state.attempts == 0 && (unstarted.count(trial) > 0 || is_over(state.phase));
  }
  const jobspec::Resources& shape(std::int64_t trial) const {
    return shapes[trials[static_cast<std::size_t>(trial - 1)].shape];
  }
  /// The same with the nodes of its attempt.
  jobspec::Resources shape_of(const LiveAttempt& attempt) const {
    return shape(attempt.id.trial).at_most(attempt.size);
  }
};

struct State {
  std::map<std::int64_t, SweepState> sweeps;
  std::unordered_map<std::string, Id> tokens;    ///< of live attempts
  std::unordered_map<std::string, Id> secrets;   ///< of live attempts: who may push
  std::unordered_set<std::string> past_secrets;  ///< of ended ones: who is told to end itself
  /// Jobs (attempt, handle) that the backend was asked to end. They stay: what is left of an
  /// attempt may turn up again after its end, and is then ended by force.
  std::set<std::pair<Id, std::string>> ending;
  std::int64_t last_event = 0;
  UsageOfAll usage;  ///< of owners' attempts that have ended, also of removed sweeps

  const LiveAttempt* live(const Id& attempt) const;  ///< nullptr where it is not live
  const LiveAttempt* live_of(const Id& trial) const;
  const TrialState* trial(const Id& id) const;
};

/// One event of the log. Throws std::runtime_error naming the event where it cannot follow from
/// what was before.
void apply(State& state, const db::Event& event);

/// The same failure of different trials reads the same: digits become '#'.
std::string failure_key(EndCause cause, std::string_view reason);

}  // namespace thalweg::daemon
