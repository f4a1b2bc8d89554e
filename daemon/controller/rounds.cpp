// One backend's round: look at everything of ours there, note what changed, then intents,
// submissions, releases, cancels.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "daemon/controller/backend_context.h"
#include "daemon/controller/controller.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/folder.h"
#include "daemon/controller/init_from.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"
#include "daemon/state/resources.h"
#include "daemon/state/sizes.h"
#include "jobspec/record_text.h"

namespace thalweg::daemon {

using nlohmann::json;
using Kind = Action::Kind;

namespace {

constexpr double cancel_again_s = 5;  ///< where a backend could not be asked
constexpr double cancel_memory_s = 3600;
constexpr double clock_resolution_s = 1;  ///< of Slurm's times
constexpr double first_postponement_s = 2, max_postponement_s = 60;

double longer(int times) {
  double pause = first_postponement_s;
  for (int i = 1; i < times && pause < max_postponement_s; ++i)
    pause *= 2;
  return std::min(pause, max_postponement_s);
}

/// Ranks that outlived the backend's knowledge of them cost as long as they wrote. Where the clocks
/// of the backend and of the controller do not agree, no attempt ends before it started.
double ended_at(const JournalReader& known, double started, const JobStatus& status, double now) {
  const bool plausible = known.newest > 0 && known.newest >= started && known.newest <= now;
  double ended = status.ended > 0 ? status.ended : now;
  if (plausible && status.ended > 0) ended = std::max(ended, known.newest);
  if (plausible && status.ended <= 0 && status.may_go_on) ended = known.newest;
  return std::max(ended, started);
}

bool is_there(JobPhase phase) {
  return phase == JobPhase::held || phase == JobPhase::queued || phase == JobPhase::running;
}

}  // namespace

std::vector<Backend::TrackedJob> Controller::watched(const std::string& backend) const {
  std::vector<Backend::TrackedJob> result;
  for (const auto& [id, sweep] : state_.sweeps) {
    if (sweep.backend != backend) continue;
    for (const auto& [trial, attempt] : sweep.live)
      if (attempt.phase != AttemptPhase::launching)
        result.push_back({attempt.handle, attempt.token, live_rows_.at(attempt.id).folder,
                          sweep.shape_of(attempt), sweep.slurm.signal_before_end_s,
                          identity_of(id)});
  }
  return result;
}

/// Live attempts of this user (nothing: the controller's own) that need this now: a look at these
/// alone, without a plan of what to launch.
std::vector<Id> Controller::wanted(Kind kind, const std::string& backend,
                                   std::optional<std::uint32_t> user) const {
  std::vector<Id> ids;
  for (const auto& [id, sweep] : state_.sweeps) {
    const auto owner = sweep.owner ? std::optional(sweep.owner->uid) : std::nullopt;
    if (sweep.backend != backend || owner != user) continue;
    for (const auto& [trial, attempt] : sweep.live)
      if (const auto action = next_of(sweep, attempt); action && action->kind == kind)
        ids.push_back(attempt.id);
  }
  return ids;
}

bool Controller::is_at_rest(const BackendContext& context, const SweepState& sweep,
                            const LiveAttempt& attempt) {
  const auto seen = context.observations.find(attempt.id);
  const JournalReader* known = reader(attempt.id);
  if (seen == context.observations.end() || known == nullptr || known->end ||
      !attempt.fenced.empty() || next_of(sweep, attempt))
    return false;
  const Observation& observation = seen->second;
  if (observation.in_doubt || observation.gone != 0 || observation.waits != 0) return false;
  const auto lately = [&](double when) {
    return when > 0 && options_.steady() - when < context.setup.rest_s;
  };
  if (attempt.phase == AttemptPhase::running) return lately(known->grown);
  return attempt.phase == AttemptPhase::released && known->next == 1 && observation.queued > 0 &&
         !lately(observation.queued);
}

/// Whether the backend need not be asked yet. Jobs of packs are known by looks alone.
bool Controller::may_rest(const BackendContext& context) {
  const double now = options_.steady(), rest_s = context.setup.rest_s;
  if (now - context.looked >= rest_s || context.unreachable != 0 || !removals_.empty())
    return false;
  for (const auto& [sweep, seen] : context.left_over)
    if (now - seen < rest_s) return false;
  bool any = false;
  for (const auto& [id, sweep] : state_.sweeps) {
    if (sweep.backend != context.name) continue;
    for (const auto& [trial, attempt] : sweep.live) {
      if (sweep.slurm.pack.trials > 0 || !is_at_rest(context, sweep, attempt)) return false;
      any = true;
    }
  }
  return any;
}

Awaitable<void> Controller::round(BackendContext& context) {
  if (!may_rest(context)) co_await look(context);
  launch_intents(context, settle());
  co_await submit_all(context, {});
  co_await release_all(context, {});
  co_await cancel_all(context, {});
  co_await call_for_users(context);
}

Awaitable<void> Controller::look(BackendContext& context) {
  note_clock();  // before an end is paid for
  for (const auto& [id, sweep] : state_.sweeps)
    if (sweep.backend == context.name && (!sweep.live.empty() || sweep.removing))
      context.active = options_.steady();
  if (options_.steady() - context.active > options_.orphan_watch_s) co_return;
  // Only what was in doubt before the look is settled by it.
  std::vector<Id> doubtful;
  for (const auto& [id, observation] : context.observations)
    if (observation.in_doubt) doubtful.push_back(id);
  const auto watching = watched(context.name);
  const double begun = options_.steady();
  const auto statuses = co_await context.setup.backend->poll(watching);
  if (!statuses) {
    if (context.unreachable == 0) {
      context.unreachable = options_.steady();
      log::warning("backend " + context.name + " cannot be looked at");
    }
    end_by_record(context);
    co_return;
  }
  if (std::exchange(context.unreachable, 0) != 0) log::info("backend " + context.name + " is back");
  context.looked = begun - context.setup.backend->age_s();
  for (const JobStatus& status : *statuses) {
    try {
      co_await observe(context, status);
    } catch (const std::exception&) {
      contain(context.name + " " + status.handle);
    }
  }
  for (const auto& [sweep, work] : removals_)
    if (work.asked && postponed_upkeep_.erase(sweep) > 0) upkeep_timer_.cancel();
  for (const Id& id : doubtful)
    if (const auto it = context.observations.find(id); it != context.observations.end())
      it->second.in_doubt = false;
}

/// The attempt that has ended whose token the job carries; where somebody has changed its comment,
/// the one in whose folder it works.
std::optional<Id> Controller::past_of(const JobStatus& status) {
  if (!status.token.empty()) {
    const auto row = store_.attempt_by_token(status.token);
    return row ? std::optional(row->id) : std::nullopt;
  }
  const auto named = attempt_of_folder(status.folder);
  if (!named) return {};
  const auto row = store_.attempt(*named);
  return row && row->folder == status.folder ? named : std::nullopt;
}

/// The live attempt that the job carries the token of; where somebody has changed its comment, the
/// one in whose folder it works.
const LiveAttempt* Controller::live_of(const JobStatus& status) const {
  if (const auto it = state_.tokens.find(status.token); it != state_.tokens.end())
    return state_.live(it->second);
  if (!status.token.empty() || status.folder.empty()) return nullptr;
  for (const auto& [id, row] : live_rows_)
    if (row.folder == status.folder) return state_.live(id);
  return nullptr;
}

Awaitable<void> Controller::observe(BackendContext& context, const JobStatus& status) {
  const LiveAttempt* const attempt = live_of(status);
  if (attempt != nullptr && status.phase != JobPhase::missing &&
      forged(context, attempt->id, status))
    co_return;
  // What is there of it is known when its submission has been answered.
  if (attempt != nullptr && context.submitting.contains(attempt->id)) co_return;
  if (attempt != nullptr && attempt->handle == status.handle) {
    const LiveAttempt own = *attempt;
    co_await observe_own(context, own, status);
  } else if (attempt != nullptr && attempt->handle.empty() && is_there(status.phase)) {
    // Submitted by a controller that ended before it could note the handle.
    record({new_event(options_.now(), attempt->id, event::Recorded{status.handle})});
  } else if (const auto owner = attempt != nullptr ? std::optional(attempt->id) : past_of(status)) {
    // A double of a live attempt, or what is left of an ended one.
    const auto identity = identity_of(owner->sweep);
    if (!is_there(status.phase) || forged(context, *owner, status)) co_return;
    context.left_over[owner->sweep] = options_.steady();
    if (is_calling(context, identity)) co_return;
    if (!asked_to_end(*owner, status.handle)) {
      log::warning(fmt::format("{} {} {} is {}: cancelled", context.name, status.handle,
                               status.token.empty() ? "in folder " + status.folder
                                                    : "with token " + status.token,
                               attempt == nullptr ? "left over from an attempt that has ended"
                                                  : "a double of attempt " + owner->to_string()),
                   {.id = *owner});
      if (attempt == nullptr) fence_past(*owner);
    }
    Backend::TrackedJob orphan{status.handle, status.token, status.folder};
    orphan.identity = identity;
    const Id id = *owner;
    co_await cancel_in_turn(context, id, orphan);
  } else {
    lose_by_number(context, status.handle);
  }
}

/// A job that is to be cancelled may start before it is: it ends itself then.
void Controller::fence_past(const Id& attempt) {
  const auto row = store_.attempt(attempt);
  if (!row || row->folder.empty()) return;
  write_fence(row->folder, "the attempt has ended");
}

bool Controller::write_fence(const std::filesystem::path& folder, const std::string& reason) {
  return disk_.run([folder, reason] { return fence_folder(folder, reason); });
}

/// A job that does not carry a token of ours (another controller's is not ours to touch): where its
/// number is one that we recorded, the backend has given it to another job, and ours is gone.
void Controller::lose_by_number(BackendContext& context, const std::string& handle) {
  for (const auto& [id, row] : LiveRows(live_rows_)) {
    if (row.backend != context.name || row.handle.empty() || row.handle != handle) continue;
    JobStatus gone;
    gone.handle = handle;
    gone.reason = "its number was given to another job";
    gone.may_go_on = true;
    try_end(context, id, gone);
  }
}

Awaitable<void> Controller::observe_own(BackendContext& context, const LiveAttempt& attempt,
                                        const JobStatus& status) {
  const double now = options_.steady();
  Observation& observation = context.observations[attempt.id];
  if (status.changed && !std::exchange(observation.changed, true))
    record({new_event(
        options_.now(), attempt.id,
        event::Note{"warning", "its comment in " + context.name +
                                   " was changed; it is still known by number and folder"})});
  if (status.phase == JobPhase::ended || status.phase == JobPhase::missing) {
    try_end(context, attempt.id, status);
    co_return;
  }
  observation.gone = 0;
  observation.reason = status.reason;
  if (status.phase == JobPhase::running) observation.waits = 0;
  if (status.phase == JobPhase::queued && observation.queued == 0) observation.queued = now;
  const JournalReader* known = reader(attempt.id);
  if (status.phase == JobPhase::running) {
    note_running(attempt, status);
    if (attempt.fenced.empty() && (known == nullptr || known->next == 1))
      end_unstarted(context, attempt.id);
  }
  if (known != nullptr && known->end && now - known->end_heard > options_.settle_s) {
    co_await end_lingering(context, attempt, status);
  } else if (!attempt.fenced.empty()) {
    // The backend knows it again: too late, it was told to end itself.
    const Backend::TrackedJob job = job_of(attempt);
    co_await cancel_in_turn(context, attempt.id, job);
  } else if (status.phase != JobPhase::running && !status.held_by_hand &&
             attempt.phase == AttemptPhase::running) {
    end_forgotten(context, attempt.id);
  } else if (status.phase == JobPhase::queued && attempt.phase == AttemptPhase::recorded) {
    record({new_event(options_.now(), attempt.id, event::Released{})});
  } else if (status.phase == JobPhase::held && !status.held_by_hand &&
             attempt.phase == AttemptPhase::released &&
             now - observation.released > options_.held_again_s &&
             !is_calling(context, identity_of(attempt.id.sweep)) &&
             stop_reason(state_.sweeps.at(attempt.id.sweep), attempt.id.trial).empty()) {
    // Our word did not survive: a controller or scheduler that ended in between.
    observation.released = now;
    const Call release = [&context, request = request_of(attempt.id),
                          handle = attempt.handle]() -> Awaitable<void> {
      co_await context.setup.backend->release(request, handle);
    };
    if (!waits_its_turn(context, identity_of(attempt.id.sweep), release)) co_await release();
  }
}

/// Whether its ranks were ever started: where a slurmstepd dies at the wrong moment they are not,
/// and srun waits for them until the job's time limit.
void Controller::end_unstarted(BackendContext& context, const Id& attempt) {
  const double limit = context.setup.start_timeout_s, now = options_.steady();
  double& since = context.observations[attempt].running;
  if (since == 0) since = now;
  if (limit == 0 || now - since < limit) return;
  fence(context, attempt,
        fmt::format("its ranks gave no sign within {:g} s of its start (start_timeout)", limit));
}

/// It ran, and the backend takes it for one that waits: slurmctld has come back without its last
/// seconds. Where the ranks live on their journal grows; else they went when it came back.
void Controller::end_forgotten(BackendContext& context, const Id& attempt) {
  const double now = options_.steady();
  double& since = context.observations[attempt].waits;
  if (since == 0) since = now;
  const JournalReader* known = reader(attempt);
  const double heard = std::max(since, known == nullptr ? 0 : known->grown);
  if (now - heard < context.setup.file_lag_s) return;
  fence(context, attempt, "the backend forgot that it ran");
}

/// The engine has ended and the backend has not heard (slurmctld forgets what happened just before
/// it was killed, and may take the job for a running, a waiting or a held one), or a rank does not
/// come to its end. What is left is ended first, so that nothing is left; the engine's word counts.
Awaitable<void> Controller::end_lingering(BackendContext& context, const LiveAttempt& attempt,
                                          const JobStatus& status) {
  const JournalReader& known = *reader(attempt.id);
  if (options_.steady() - known.end_heard < options_.settle_s + options_.linger_s) {
    const Backend::TrackedJob job = job_of(attempt);
    co_await cancel_in_turn(context, attempt.id, job);
    co_return;
  }
  if (known.behind) co_return;
  JobStatus over = status;
  over.ended = known.end_seen;
  end(attempt.id, over, {});
}

/// Whether the backend knows the start that the ranks come from. slurmctld that comes back without
/// its last seconds may take the job for one that waits and start it once more; its nodes still
/// have it and refuse, and the job is called cancelled in the second of that start.
bool Controller::knows_start(const JobStatus& status, const LiveAttempt& attempt,
                             const JournalReader& known) {
  if (status.started <= 0) return false;
  if (attempt.started > 0) return status.started < attempt.started + clock_resolution_s;
  return known.next == 1 || status.ended <= 0 || status.ended > status.started;
}

void Controller::note_running(const LiveAttempt& attempt, const JobStatus& status) {
  if (attempt.phase == AttemptPhase::running) return;
  const double started = status.started > 0 ? status.started : options_.now();
  event::Running running{started, status.node_list};
  if (status.eligible > 0) running.eligible = status.eligible;
  if (!status.gpus.empty()) running.gpus = status.gpus;
  if (!status.job_step.empty()) running.job_step = status.job_step;
  note_size(attempt, status, running);
  record({new_event(options_.now(), attempt.id, running)});
}

/// An elastic attempt's nodes are known when the backend has chosen them.
template <class E>
void Controller::note_size(const LiveAttempt& attempt, const JobStatus& status, E& event) const {
  const SweepState& sweep = state_.sweeps.at(attempt.id.sweep);
  const jobspec::Resources& shape = sweep.shape(attempt.id.trial);
  if (!shape.elastic() || status.nodes == 0) return;
  event.size = status.nodes;
  const bool limited = status.nodes == attempt.size && attempt.size < shape.nodes;
  const std::string reason = size_reason(shape, *state_.trial(attempt.id), status.nodes,
                                         limited ? "it was to take at most" : "the backend gave");
  if (!reason.empty()) event.size_reason = reason;
}

/// Without an end record of the engine's own, an attempt has ended when nothing more comes from it:
/// its files may still be on their way to us, and its ranks may live on, whatever the backend says
/// (slurmctld comes back from a crash with an older state; a node is only out of its reach; a
/// slurmstepd was killed). So it is told to end itself, and what it wrote until then is read: the
/// next attempt stands on it. A rank that cannot see that file cannot write its journal either.
bool Controller::is_silent(BackendContext& context, const Id& attempt, const JobStatus& status) {
  const JournalReader& known = *reader(attempt);
  Observation& observation = context.observations[attempt];
  const double now = options_.steady();
  const LiveAttempt& live = *state_.live(attempt);
  const bool wrote_on = known.grown > observation.gone;
  const bool ran = live.started > 0 || known.next > 1;
  const bool forgot_start = status.cancelled && ran && !knows_start(status, live, known);
  std::string reason = live.fenced;
  if (!reason.empty()) {
  } else if (status.exit_code == exit_superseded) {
    reason = "it was started a second time";
  } else if (forgot_start) {
    reason = "the backend forgot that it ran";
  } else if (status.may_go_on || wrote_on) {
    reason = status.reason.empty() ? "the backend no longer knows it" : status.reason;
  }
  // A scheduler that has just come back may know it again at the next look.
  if (!reason.empty() && live.fenced.empty() && now - observation.gone < context.setup.file_lag_s)
    return false;
  fence(context, attempt, reason);
  const double wait = context.setup.file_lag_s + (reason.empty() ? 0 : options_.fence_s);
  return now - std::max(observation.gone, known.grown) >= wait;
}

void Controller::fence(BackendContext& context, const Id& attempt, const std::string& reason) {
  Observation& observation = context.observations[attempt];
  if (!observation.fenced)
    observation.fenced =
        write_fence(live_rows_.at(attempt).folder,
                    reason.empty() ? "the backend says that it has ended" : reason);
  if (!reason.empty() && state_.live(attempt)->fenced.empty())
    record({new_event(options_.now(), attempt, event::Fenced{reason})});
}

void Controller::try_end(BackendContext& context, const Id& attempt, const JobStatus& status) {
  const bool read = ingest_.drain(attempt);
  Observation& observation = context.observations[attempt];
  if (observation.gone == 0) observation.gone = options_.steady();
  if (!read) return;  // its end counts when all that it wrote is known
  if (!reader(attempt)->end && !is_silent(context, attempt, status)) return;
  std::optional<BackendWord> word;
  const bool asked = asked_to_end(attempt, status.handle);
  if (status.phase == JobPhase::ended)
    word = BackendWord{status.reason,
                       status.exit_code,
                       status.signal,
                       status.cancelled && !asked,
                       status.timed_out,
                       status.node_failed,
                       status.cancelled && asked,
                       knows_start(status, *state_.live(attempt), *reader(attempt)),
                       status.warned,
                       status.ended};
  end(attempt, status, word);
}

/// The sweep's metric of the attempt's trial; nothing where it is no finite number. Everything that
/// the attempt has written is in the record.
std::optional<double> Controller::value_at(const Id& attempt, std::int64_t step) {
  const Id trial{attempt.sweep, attempt.trial, 0};
  std::optional<double> found;
  for (const db::CurvePoint& point :
       store_.curve_end(trial, state_.sweeps.at(attempt.sweep).metric.name, step))
    if (point.step == step && std::isfinite(point.value)) found = point.value;
  return found;
}

void Controller::end(const Id& id, const JobStatus& status,
                     const std::optional<BackendWord>& word) {
  const SweepState& sweep = state_.sweeps.at(id.sweep);
  const LiveAttempt& attempt = *state_.live(id);
  const JournalReader* known = reader(id);
  Evidence evidence;
  if (known != nullptr) {
    evidence.record = known->end;
    evidence.checkpoint_step = known->checkpoint_step;
  }
  if (evidence.record) fault::pass("end_record_seen");
  const auto look = [folder = std::filesystem::path(live_rows_.at(id).folder)] {
    return std::tuple(read_failures(folder), stderr_words(folder), has_output(folder));
  };
  bool output = false;
  StderrWords words;
  std::tie(evidence.failures, words, output) = disk_.run(look);
  evidence.stderr_tail = words.last;
  evidence.stderr_node = words.node;
  evidence.killed_rank = words.killed_rank;
  evidence.killed_node = words.killed_node;
  evidence.backend = word;
  // What a job that was cancelled in the second of its start has left is of an earlier start.
  if (output && word && word->cancelled && attempt.started == 0 && status.ended <= status.started)
    evidence.backend->started = false;
  evidence.fenced = attempt.fenced;
  evidence.stop_reason = stop_reason(sweep, id.trial);
  // Backends make it when the launcher starts; a look may have missed the time in between.
  evidence.began = attempt.started > 0 || output;
  evidence.engine = output || (known != nullptr && known->next > 1);
  const bool waits = status.phase == JobPhase::held || status.phase == JobPhase::queued;
  evidence.requeued =
      attempt.started > 0 && (waits || status.started > attempt.started + clock_resolution_s);
  const Verdict verdict = judge(evidence);

  const double started = attempt.started > 0  ? attempt.started
                         : status.started > 0 ? status.started
                                              : known->started;
  const double ended = ended_at(*known, started, status, options_.now());
  event::Ended over{verdict.cause, verdict.reason, verdict.step, ended};
  if (attempt.started == 0 && started > 0) {
    over.started = started;
    note_size(attempt, status, over);
    if (status.eligible > 0) over.eligible = status.eligible;
    if (!status.job_step.empty()) over.job_step = status.job_step;
  }
  const int nodes = over.size.value_or(attempt.nodes);
  over.node_seconds = started > 0 ? nodes * attempt.passed_s(started, ended) : 0.0;
  if (!status.node_list.empty()) over.node_list = status.node_list;
  if (!status.gpus.empty()) over.gpus = status.gpus;
  over.exit_code = verdict.exit_code;
  over.rank = verdict.failed_rank;
  if (!verdict.failed_node.empty()) over.node = verdict.failed_node;
  if (verdict.cause == EndCause::paused) over.value = value_at(id, evidence.record->step);
  record({new_event(options_.now(), id, over)});
}

/// The backend is out of reach; what the engine has written down itself counts all the same.
void Controller::end_by_record(const BackendContext& context) {
  if (options_.steady() - context.unreachable < options_.settle_s) return;
  std::vector<Id> over;
  for (const auto& [id, known] : ingest_.readers())
    if (live_rows_.at(id).backend == context.name && !known.behind && known.end &&
        known.end->status != "failed" && options_.steady() - known.end_heard > options_.settle_s)
      over.push_back(id);
  for (const Id& id : over)
    end(id, {}, {});
}

/// A checkpoint that finds the disk full ends its attempt: rather none is begun.
bool Controller::has_space() {
  if (options_.min_free_bytes <= 0) return true;
  const auto look = [runs = options_.runs] {
    std::error_code error;
    const auto space = std::filesystem::space(runs, error);
    return error ? std::int64_t{-1} : static_cast<std::int64_t>(space.available);
  };
  const std::int64_t available = disk_.run(look);
  const bool enough = available < 0 || available >= options_.min_free_bytes;
  constexpr double gigabyte = 1e9;
  const std::string before = std::exchange(
      no_space_,
      enough ? ""
             : fmt::format("only {1:.1f} GB free in {0} (min_free: {2:.1f} GB); free space with "
                           "`thalweg ls --size`, `prune` and `rm`",
                           options_.runs.string(), static_cast<double>(available) / gigabyte,
                           static_cast<double>(options_.min_free_bytes) / gigabyte));
  if (!enough && before.empty()) log::warning("nothing new is started: " + no_space_);
  if (enough && !before.empty()) log::info("there is space for run folders again");
  return enough;
}

void Controller::launch_intents(BackendContext& context, const Plan& plan) {
  const auto launches = [&](const Action& action) {
    return action.kind == Kind::launch && state_.sweeps.at(action.id.sweep).backend == context.name;
  };
  const bool any = std::any_of(plan.actions.begin(), plan.actions.end(), launches);
  if (!any && no_space_.empty()) return;
  if (!has_space() || !any) return;
  std::vector<db::Event> events;
  for (const Action& action : plan.actions) {
    const Id& id = action.id;
    if (!launches(action)) continue;
    fault::pass("before_intent");
    const jobspec::Resources& shape = state_.sweeps.at(id.sweep).shape(id.trial);
    const jobspec::Resources wants = shape.at_most(action.nodes);
    // On one machine the nodes asked for are only a number of ranks.
    const bool here = context.setup.backend->on_this_machine();
    const int nodes = here ? 1 : wants.nodes;
    const std::string token = options_.token();
    const auto make = [runs = options_.runs, id, token,
                       owned = state_.sweeps.at(id.sweep).owner.has_value()] {
      return owned ? owned_attempt_folder(runs, id, token) : new_attempt_folder(runs, id, token);
    };
    const std::filesystem::path folder = disk_.run(make);
    event::Launching intent{token, options_.token(), folder.string(), context.name,
                            nodes, wants.ranks()};
    if (shape.elastic()) {
      intent.size = wants.nodes;
      // Elsewhere the backend may still give fewer; why these is known when it runs.
      const std::string reason = size_reason(shape, *state_.trial(id), wants.nodes, action.reason);
      if (!reason.empty() && (here || !action.reason.empty())) intent.size_reason = reason;
    }
    if (!action.without.empty()) {
      intent.without = action.without;
      const std::string why = why_avoided(state_.sweeps.at(id.sweep).nodes, action.without);
      intent.size_reason = intent.size_reason ? *intent.size_reason + "; " + why : why;
    }
    events.push_back(new_event(options_.now(), id, intent));
  }
  record(std::move(events));
}

LaunchRequest Controller::request_of(const Id& attempt) {
  const SweepState& sweep = state_.sweeps.at(attempt.sweep);
  const db::AttemptRow& row = live_rows_.at(attempt);
  LaunchRequest request{attempt, row.token, row.folder, sweep.shape_of(*state_.live(attempt)),
                        sweep.slurm};
  for (const std::string& node : state_.live(attempt)->without) {
    if (const auto gpu = gpu_of(node)) {
      request.without_gpus.push_back(*gpu);
      continue;
    }
    std::string& exclude = request.slurm.options["exclude"];
    exclude += (exclude.empty() ? "" : ",") + node;
  }
  request.own_program = sweep.program.has_value();
  if (sweep.program) request.launch = sweep.program->launch;
  request.identity = identity_of(attempt.sweep);
  if (const auto entries = store_.environment(attempt.sweep))
    request.environment = json::parse(*entries).get<std::vector<std::string>>();
  return request;
}

jobspec::Trial Controller::trial_of(const Id& attempt, const std::string& push) {
  const Id id{attempt.sweep, attempt.trial, 0};
  const auto row = store_.trial(id);
  if (!row) throw std::runtime_error("the database has no trial " + id.to_string());
  const SweepState& sweep = state_.sweeps.at(attempt.sweep);
  jobspec::Trial trial;
  trial.seed = row->seed;
  trial.train = jobspec::read_record(row->train, "trial " + attempt.to_string());
  trial.program = sweep.program;
  trial.resources = sweep.shape(attempt.trial);
  trial.metric = sweep.metric;
  // Trials added later change nothing for those that are there.
  for (std::size_t i = 0; i < sweep.first_shapes; ++i)
    trial.sweep_ranks = std::max(trial.sweep_ranks, sweep.shapes[i].ranks());
  trial.sweep_ranks = std::max(trial.sweep_ranks, trial.resources.ranks());
  trial.id = attempt;
  trial.token = live_rows_.at(attempt).token;
  trial.push = push;
  trial.push_secret = state_.live(attempt)->push_secret;
  trial.node_failure_s = node_failure_s(state_, sweep.backend);
  const auto checkpoints_of = [this](const Id& of, std::int64_t newest) {
    std::vector<std::filesystem::path> folders;  // newest first
    for (std::int64_t number = newest; number >= 1; --number)
      if (const auto found = store_.attempt({of.sweep, of.trial, number}))
        folders.emplace_back(found->folder);
    return disk_.run([folders] { return resume_list(folders); });
  };
  trial.resume = checkpoints_of(attempt, attempt.attempt - 1);
  const std::size_t rung = state_.trial(id)->rung;
  if (sweep.promotion && rung < sweep.promotion->rungs.size())
    (sweep.promotion->unit == "epochs" ? trial.pause_epochs : trial.pause_steps) =
        sweep.promotion->rungs[rung];
  if (trial.program) return trial;
  if (const auto from = init_from_trial(trial.train)) {
    const auto source = store_.trial({from->sweep, from->trial, 0});
    const std::int64_t newest = from->attempt > 0 ? from->attempt : source ? source->attempts : 0;
    trial.init_from = checkpoints_of(*from, newest);
  }
  return trial;
}

void Controller::refuse(const Id& attempt, const std::string& reason) {
  record({new_event(options_.now(), attempt, event::Ended{EndCause::refused, reason})});
}

Awaitable<void> Controller::submit_all(BackendContext& context, std::optional<std::uint32_t> user) {
  for (const Id& id : wanted(Kind::submit, context.name, user)) {
    const Observation& observation = context.observations[id];
    if (observation.in_doubt || observation.not_before > options_.steady()) continue;
    try {
      if (state_.live(id) != nullptr) co_await submit_one(context, id);
    } catch (const std::exception&) {
      contain(id.to_string());
    }
  }
}

Awaitable<void> Controller::submit_one(BackendContext& context, const Id& id) {
  const LaunchRequest request = request_of(id);
  Submission submission;
  context.submitting.insert(id);
  try {
    submission = co_await prepare(context, request);
    fault::pass("before_submit");
    if (submission.outcome == SubmitOutcome::accepted)
      submission = co_await context.setup.backend->submit(request);
  } catch (const db::CannotWrite&) {
    context.submitting.erase(id);
    throw;
  } catch (const std::exception& error) {
    submission = {SubmitOutcome::retry_later, "", error.what()};
  }
  context.submitting.erase(id);
  fault::pass("after_submit");
  const LiveAttempt* attempt = state_.live(id);
  if (attempt == nullptr || attempt->phase != AttemptPhase::launching) {
    // Dropped while the backend was asked: what it holds now is nobody's.
    Backend::TrackedJob unwanted{submission.handle, request.token, request.folder};
    unwanted.identity = request.identity;
    if (submission.outcome != SubmitOutcome::accepted) co_return;
    if (attempt == nullptr) fence_past(id);
    co_await cancel(context, id, unwanted);
    co_return;
  }
  Observation& observation = context.observations[id];
  observation.reason = submission.message;
  switch (submission.outcome) {
    case SubmitOutcome::accepted:
      record({new_event(options_.now(), id, event::Recorded{submission.handle})});
      break;
    case SubmitOutcome::refused:
      refuse(id, submission.message);
      break;
    case SubmitOutcome::retry_later:
      if (observation.postponed == 0)
        log::warning(id.to_string() + " cannot be submitted now: " + submission.message,
                     {.id = id});
      observation.postponed += 1;
      observation.not_before = options_.steady() + longer(observation.postponed);
      break;
    case SubmitOutcome::unknown:
      observation.in_doubt = true;
      log::warning(id.to_string() + " may or may not be submitted: " + submission.message,
                   {.id = id});
      break;
  }
}

Awaitable<void> Controller::release_all(BackendContext& context,
                                        std::optional<std::uint32_t> user) {
  for (const Id& id : wanted(Kind::release, context.name, user)) {
    const LiveAttempt* attempt = state_.live(id);
    if (attempt == nullptr || attempt->phase != AttemptPhase::recorded) continue;
    const LaunchRequest request = request_of(id);
    const std::string handle = attempt->handle;
    const bool released = co_await context.setup.backend->release(request, handle);
    fault::pass("after_release");
    attempt = state_.live(id);
    if (attempt == nullptr) continue;
    Observation& observation = context.observations[id];
    const std::string awaited = context.setup.backend->awaited();
    observation.reason = released          ? ""
                         : awaited.empty() ? "the backend cannot release it now"
                                           : awaited;
    if (!released || attempt->phase != AttemptPhase::recorded) continue;
    observation.released = options_.steady();
    record({new_event(options_.now(), id, event::Released{})});
  }
}

Awaitable<void> Controller::cancel_all(BackendContext& context, std::optional<std::uint32_t> user) {
  for (const Id& id : wanted(Kind::cancel, context.name, user)) {
    const LiveAttempt* attempt = state_.live(id);
    if (attempt == nullptr) continue;
    const Backend::TrackedJob job = job_of(*attempt);
    co_await cancel(context, id, job);
  }
}

/// The one way in which a job is asked to end, however often that is found necessary: gently, and
/// after the backend's grace time by force, again and again. What was asked survives the
/// controller; the time since is counted anew by the next one.
Awaitable<void> Controller::cancel(BackendContext& context, const Id& attempt,
                                   const Backend::TrackedJob& job) {
  const double now = options_.steady();
  const std::pair key{attempt, job.handle};
  const bool again = asked_to_end(attempt, job.handle);
  const double pause_s = again ? context.setup.backend->grace_s() : cancel_again_s;
  std::erase_if(context.asked, [&](const auto& a) { return now - a.second > cancel_memory_s; });
  const auto [asked, is_new] = context.asked.try_emplace(key, now);
  if (is_new ? again : now - asked->second < pause_s) co_return;
  asked->second = now;
  fault::pass("before_cancel");
  const bool done =
      co_await context.setup.backend->cancel(job, again ? Ending::by_force : Ending::gently);
  fault::pass("after_cancel");
  if (done && !asked_to_end(attempt, job.handle))
    record({new_event(options_.now(), attempt, event::Ending{job.handle})});
}

}  // namespace thalweg::daemon
