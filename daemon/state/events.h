// The events: the log that everything else can be rebuilt from. One struct per kind, which names
// its fields once (`each_field`): the same list writes, reads and documents an event's data, a JSON
// object.
// A kind never changes its meaning; a new meaning is a new kind. Kinds and fields that a program
// does not know are passed over. A field that is new is one that may be missing.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/api/fields.h"
#include "daemon/state/owner.h"
#include "daemon/state/phases.h"
#include "daemon/state/resources.h"
#include "db/store.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {

using jobspec::Id;

using api::Field;

namespace event {

/// A sweep file was accepted and expanded; its trials are in the database.
struct Submitted {
  static constexpr std::string_view kind = "submitted", about = "sweep";
  std::string backend;
  jobspec::Metric metric;
  jobspec::SlurmOptions slurm;
  jobspec::Limits limits;  ///< max_nodes_in_flight, node_hours, max_retries, deadline
  struct Shape {           ///< `count` trials, on from those of the shapes before
    jobspec::Resources resources;
    std::size_t count = 0;
  };
  std::vector<Shape> shapes;
  jobspec::Keep keep;     ///< everything in records of earlier versions
  std::string directory;  ///< that relative paths of the file count from; empty = not known
  std::optional<jobspec::Program> program{};  ///< runs instead of the engine
  std::optional<jobspec::EarlyTerminate> early_terminate{};
  /// Later configurations are chosen by results. `bayes` of the method of that name, the only one
  /// that there was in earlier versions; of others `search`.
  std::optional<jobspec::Learning> bayes{};
  std::optional<Owner> owner{};  ///< its jobs are his; empty = the controller's user's
  /// A seed that the order in which trials start is drawn from; empty = by number.
  std::optional<std::uint64_t> start_order{};
  struct Search {
    std::string method;
    jobspec::Learning learning;
    static void each_field(auto& e, auto&& field) {
      field("method", e.method);
      jobspec::Learning::each_field(e.learning, field);
    }
  };
  std::optional<Search> search{};
  std::optional<jobspec::Promotion> promotion{};     ///< trials pause at rungs
  std::optional<jobspec::SeedPlan> seed_plan{};      ///< looks decide who gets more seeds
  std::optional<std::vector<std::int64_t>> after{};  ///< sweeps that end first

  void set_learning(const std::optional<jobspec::Learning>& learning);
  std::optional<jobspec::Learning> learning() const;

  static void each_field(auto& e, auto&& field) {
    field("backend", e.backend);
    field("metric", e.metric, Field::may_miss);
    field("slurm", e.slurm, Field::may_miss);
    field("limits", e.limits);
    field("shapes", e.shapes);
    field("keep", e.keep, Field::may_miss);
    field("directory", e.directory, Field::may_miss);
    field("program", e.program);
    field("early_terminate", e.early_terminate);
    field("bayes", e.bayes);
    field("owner", e.owner);
    field("start_order", e.start_order);
    field("search", e.search);
    field("promotion", e.promotion);
    field("seed_plan", e.seed_plan);
    field("after", e.after);
  }
};

/// The sweep file was changed so that it gives more trials: those that were missing are in the
/// database, numbered on from the last. A sweep that had ended is open again, where there are any.
struct TrialsAdded {
  static constexpr std::string_view kind = "trials_added", about = "sweep";
  std::vector<std::string> changes;  ///< of the file, as "seeds=5"
  jobspec::Limits limits;            ///< now
  std::vector<Submitted::Shape> shapes;
  std::optional<jobspec::Keep> keep{};  ///< now; as before where it is missing
  std::string by;

  static void each_field(auto& e, auto&& field) {
    field("changes", e.changes, Field::may_miss);
    field("limits", e.limits);
    field("shapes", e.shapes);
    field("keep", e.keep);
    field("by", e.by, Field::may_miss);
  }
};

/// All trials up to a look at seeds have ended: which configurations get no more. The next seeds of
/// the others are in the database, numbered on from the last trial.
struct SeedLook {
  static constexpr std::string_view kind = "seed_look", about = "sweep";
  struct Closed {
    std::int64_t configuration = 0;
    std::int64_t best = 0;  ///< than which it is worse; 0: none of its seeds has a value
    double p = 1;           ///< of that test, not corrected
    std::string reason;
    static void each_field(auto& e, auto&& field) {
      field("configuration", e.configuration);
      field("best", e.best);
      field("p", e.p);
      field("reason", e.reason);
    }
  };
  std::int64_t look = 0;  ///< from 1
  std::vector<Closed> closed;
  std::string over;                            ///< why no look follows; empty: one does
  std::int64_t first_seed = 0, last_seed = 0;  ///< that are added; 0: none
  std::vector<Submitted::Shape> shapes;        ///< of the added trials

  static void each_field(auto& e, auto&& field) {
    field("look", e.look);
    field("closed", e.closed);
    field("over", e.over, Field::may_miss);
    field("first_seed", e.first_seed, Field::may_miss);
    field("last_seed", e.last_seed, Field::may_miss);
    field("shapes", e.shapes, Field::may_miss);
  }
};

/// Runs of other programs were taken in: each is a trial that has finished, with one attempt, and
/// all is in the database. Nothing of the sweep ever runs.
struct Imported {
  static constexpr std::string_view kind = "imported", about = "sweep";
  jobspec::Metric metric;
  std::int64_t trials = 0;
  std::string source;            ///< what they were read from, for people
  std::optional<Owner> owner{};  ///< on a site; without a grant, since it has no jobs

  static void each_field(auto& e, auto&& field) {
    field("metric", e.metric);
    field("trials", e.trials);
    field("source", e.source, Field::may_miss);
    field("owner", e.owner);
  }
};

/// The intent: this attempt will be launched, nothing has been asked of the backend yet.
struct Launching {
  static constexpr std::string_view kind = "launching", about = "attempt";
  std::string token;
  std::string push_secret;  ///< empty in records of earlier versions
  std::string folder, backend;
  int nodes = 1;  ///< that cost: what the backend takes
  int ranks = 1;
  /// Of an elastic trial: the most nodes that it takes, as the sweep file counts them, and why
  /// these.
  std::optional<int> size{};
  std::optional<std::string> size_reason{};
  /// Nodes ("GPU 2": GPUs) that the backend is asked not to give it, where trials failed in a row.
  std::optional<std::vector<std::string>> without{};

  static void each_field(auto& e, auto&& field) {
    field("token", e.token);
    field("push_secret", e.push_secret, Field::may_miss);
    field("folder", e.folder);
    field("backend", e.backend);
    field("nodes", e.nodes);
    field("ranks", e.ranks);
    field("size", e.size);
    field("size_reason", e.size_reason);
    field("without", e.without);
  }
};

/// The backend holds it under this handle; it must not run yet.
struct Recorded {
  static constexpr std::string_view kind = "recorded", about = "attempt";
  std::string handle;
  static void each_field(auto& e, auto&& field) { field("handle", e.handle); }
};

/// The backend was told to let it run.
struct Released {
  static constexpr std::string_view kind = "released", about = "attempt";
  static void each_field(auto&, auto&&) {}
};

/// The backend or the journal says that it runs.
struct Running {
  static constexpr std::string_view kind = "running", about = "attempt";
  double started = 0;  ///< Unix seconds
  std::string node_list;
  std::optional<double> eligible{};  ///< Unix seconds: when Slurm might have started it
  std::optional<int> size{};         ///< of an elastic trial: the nodes that the backend gave it
  std::optional<std::string>
      size_reason{};  ///< why other ones than the attempt before, or than all
  std::optional<std::vector<std::string>> gpus{};  ///< of one machine, that it has to itself
  std::optional<std::string> job_step{};           ///< "4711.3", where it shares a job of Slurm

  static void each_field(auto& e, auto&& field) {
    field("started", e.started);
    field("node_list", e.node_list, Field::may_miss);
    field("eligible", e.eligible);
    field("size", e.size);
    field("size_reason", e.size_reason);
    field("gpus", e.gpus);
    field("job_step", e.job_step);
  }
};

/// The backend does not vouch for it any more, and its ranks may go on: it was told to end itself,
/// and the next attempt waits until it has.
struct Fenced {
  static constexpr std::string_view kind = "fenced", about = "attempt";
  std::string reason;
  static void each_field(auto& e, auto&& field) { field("reason", e.reason); }
};

/// The clock of the machine that it runs on was set while it ran: of the seconds that have gone by
/// that clock since its start so many did not pass. Less than 0 where it was set back.
struct ClockSet {
  static constexpr std::string_view kind = "clock_set", about = "attempt";
  double seconds = 0;
  static void each_field(auto& e, auto&& field) { field("seconds", e.seconds); }
};

/// The backend was asked to end it, or another job of its name (a double, or what is left of it).
struct Ending {
  static constexpr std::string_view kind = "ending", about = "attempt";
  std::string handle;
  static void each_field(auto& e, auto&& field) { field("handle", e.handle); }
};

/// It is over and everything in its journal has been read.
struct Ended {
  static constexpr std::string_view kind = "ended", about = "attempt";
  EndCause cause = EndCause::none;
  std::string reason;
  std::optional<std::int64_t> step{};    ///< the furthest that can be resumed from; 0 if missing
  std::optional<double> ended{};         ///< Unix seconds; the event's time if missing
  std::optional<double> node_seconds{};  ///< 0 if missing
  std::optional<double> started{};       ///< where no Running said it
  std::optional<std::string> node_list{};
  std::optional<int> exit_code{}, rank{};
  std::optional<std::string> node{};  ///< that failed
  std::optional<double> eligible{};   ///< as in Running, where that did not say it
  std::optional<int> size{};          ///< as in Running, where that did not say it
  std::optional<std::string> size_reason{};
  std::optional<std::vector<std::string>> gpus{};  ///< the same
  /// Of one that paused: the sweep's metric there; missing where it is no finite number.
  std::optional<double> value{};
  std::optional<std::string> job_step{};  ///< as in Running, where that did not say it

  static void each_field(auto& e, auto&& field) {
    field("cause", e.cause);
    field("reason", e.reason, Field::may_miss);
    field("step", e.step);
    field("ended", e.ended);
    field("node_seconds", e.node_seconds);
    field("started", e.started);
    field("eligible", e.eligible);
    field("node_list", e.node_list);
    field("exit_code", e.exit_code);
    field("rank", e.rank);
    field("node", e.node);
    field("size", e.size);
    field("size_reason", e.size_reason);
    field("gpus", e.gpus);
    field("value", e.value);
    field("job_step", e.job_step);
  }
};

/// No further attempt of this trial will be made.
struct TrialEnded {
  static constexpr std::string_view kind = "trial_ended", about = "trial";
  TrialPhase state = TrialPhase::finished;  ///< finished, failed, cancelled
  std::string reason;

  static void each_field(auto& e, auto&& field) {
    field("state", e.state);
    field("reason", e.reason, Field::may_miss);
  }
};

/// The controller starts nothing more of this sweep.
struct Stopped {
  static constexpr std::string_view kind = "stopped", about = "sweep";
  std::string reason;
  bool end_running = false;  ///< running attempts are ended too

  static void each_field(auto& e, auto&& field) {
    field("reason", e.reason);
    field("end_running", e.end_running, Field::may_miss);
  }
};

/// Every trial has ended.
struct SweepEnded {
  static constexpr std::string_view kind = "sweep_ended", about = "sweep";
  SweepPhase state = SweepPhase::finished;  ///< finished, failed, cancelled
  static void each_field(auto& e, auto&& field) { field("state", e.state); }
};

/// Somebody asked to end it.
struct CancelRequested {
  static constexpr std::string_view kind = "cancel_requested", about = "sweep or trial";
  std::string by;
  static void each_field(auto& e, auto&& field) { field("by", e.by, Field::may_miss); }
};

/// It is far behind other trials of its sweep (early_terminate): it is to end, and counts as
/// finished.
struct TerminatedEarly {
  static constexpr std::string_view kind = "terminated_early", about = "trial";
  std::string reason;
  static void each_field(auto& e, auto&& field) { field("reason", e.reason); }
};

/// A trial that had paused at a rung goes on from its checkpoint.
struct Promoted {
  static constexpr std::string_view kind = "promoted", about = "trial";
  std::int64_t rung = 0;  ///< that it trains to now, from 1; one more than there are: to its end
  std::string reason;

  static void each_field(auto& e, auto&& field) {
    field("rung", e.rung);
    field("reason", e.reason, Field::may_miss);
  }
};

/// The configuration of a trial that has not started, by the results of others; its
/// row has it.
struct Chosen {
  static constexpr std::string_view kind = "chosen", about = "trial";
  std::string parameters, train, hash;  ///< of the trial's row
  std::string reason;

  static void each_field(auto& e, auto&& field) {
    field("parameters", e.parameters);
    field("train", e.train);
    field("hash", e.hash);
    field("reason", e.reason);
  }
};

/// Somebody asked to run an ended trial again; attempts are counted on.
struct RetryRequested {
  static constexpr std::string_view kind = "retry_requested", about = "trial";
  std::string by;
  static void each_field(auto& e, auto&& field) { field("by", e.by, Field::may_miss); }
};

/// The trial is to be trained longer than it was; its row has the new `train` tree. One that had
/// finished is open again and goes on from its last checkpoint.
struct Lengthened {
  static constexpr std::string_view kind = "lengthened", about = "trial";
  std::string train, hash;  ///< of the trial's row
  std::string by;

  static void each_field(auto& e, auto&& field) {
    field("train", e.train);
    field("hash", e.hash);
    field("by", e.by, Field::may_miss);
  }
};

/// What people call the sweep and say of it, as it is now.
struct Labelled {
  static constexpr std::string_view kind = "labelled", about = "sweep";
  std::string name, comment;
  std::vector<std::string> tags;
  std::string by;

  static void each_field(auto& e, auto&& field) {
    field("name", e.name);
    field("comment", e.comment, Field::may_miss);
    field("tags", e.tags, Field::may_miss);
    field("by", e.by, Field::may_miss);
  }
};

/// The groups whose members may look at the sweep, as it is now.
struct Shared {
  static constexpr std::string_view kind = "shared", about = "sweep";
  std::vector<std::string> groups;
  std::string by;

  static void each_field(auto& e, auto&& field) {
    field("groups", e.groups);
    field("by", e.by, Field::may_miss);
  }
};

/// Put away, or taken out again: lists leave it out.
struct Archived {
  static constexpr std::string_view kind = "archived", about = "sweep";
  bool on = true;
  std::string by;

  static void each_field(auto& e, auto&& field) {
    field("on", e.on);
    field("by", e.by, Field::may_miss);
  }
};

/// Checkpoints of ended trials will be removed.
struct Pruning {
  static constexpr std::string_view kind = "pruning", about = "sweep or trial";
  std::string keep, by;

  static void each_field(auto& e, auto&& field) {
    field("keep", e.keep);
    field("by", e.by, Field::may_miss);
  }
};

/// Checkpoints of ended trials were removed.
struct Pruned {
  static constexpr std::string_view kind = "pruned", about = "sweep or trial";
  std::string keep, by;
  bool policy = false;  ///< as `keep` of the sweep says, not as somebody asked
  std::int64_t freed_bytes = 0;
  std::vector<std::string> spared;  ///< trials whose checkpoints others will begin with
  std::int64_t removed_points = 0;  ///< of curves

  static void each_field(auto& e, auto&& field) {
    field("keep", e.keep);
    field("by", e.by, Field::may_miss);
    field("policy", e.policy, Field::may_miss);
    field("freed_bytes", e.freed_bytes);
    field("spared", e.spared, Field::may_miss);
    field("removed_points", e.removed_points, Field::may_miss);
  }
};

/// Run folders were moved: those below `from` are below `to` now.
struct Relocated {
  static constexpr std::string_view kind = "relocated", about = "any";
  std::string from, to, by;

  static void each_field(auto& e, auto&& field) {
    field("from", e.from);
    field("to", e.to);
    field("by", e.by, Field::may_miss);
  }
};

/// The intent: folders and rows of the sweep will be removed, however often that takes.
struct Removing {
  static constexpr std::string_view kind = "removing", about = "sweep";
  std::string by;
  static void each_field(auto& e, auto&& field) { field("by", e.by, Field::may_miss); }
};

/// Nothing of it is left but its events.
struct Removed {
  static constexpr std::string_view kind = "removed", about = "sweep";
  static void each_field(auto&, auto&&) {}
};

/// Something worth knowing, no change of state.
struct Note {
  static constexpr std::string_view kind = "note", about = "any";
  std::string level, text;
  /// Of numbers that are not in the record: the reason (engine/attempt/journal.md), and how many of
  /// the attempt's are lost up to now.
  std::optional<std::string> lost{};
  std::optional<std::int64_t> count{};

  static void each_field(auto& e, auto&& field) {
    field("level", e.level, Field::may_miss);
    field("text", e.text, Field::may_miss);
    field("lost", e.lost);
    field("count", e.count);
  }
};

}  // namespace event

/// Throws std::invalid_argument where a field is missing that must be there, or is of another type.
template <class E>
E from_json(const nlohmann::json& data) {
  return api::from_json<E>(data, api::Reading::strict);
}

/// `data` in one line, to be appended to the log.
db::Event new_event(std::string_view kind, double time, const Id& id, const nlohmann::json& data);
template <class E>
db::Event new_event(double time, const Id& id, const E& e) {
  return new_event(E::kind, time, id, api::to_json(e));
}

template <class E>
bool is(const db::Event& e) {
  return e.kind == E::kind;
}

struct EventKind {
  std::string_view name;
  std::string_view about;  ///< "sweep", "trial", "attempt": what the event's id names
  std::vector<std::string> fields;
};

/// Every kind there is, in the order of an attempt's life.
const std::vector<EventKind>& event_kinds();

}  // namespace thalweg::daemon

namespace thalweg::daemon::api {

template <>
struct JsonOf<jobspec::Metric> {
  static nlohmann::json write(const jobspec::Metric& value) { return metric_json(value); }
  static void read(const nlohmann::json& from, jobspec::Metric& value) {
    value = metric_from(from);
  }
};

template <>
struct JsonOf<jobspec::SlurmOptions> {
  static nlohmann::json write(const jobspec::SlurmOptions& value) { return slurm_json(value); }
  static void read(const nlohmann::json& from, jobspec::SlurmOptions& value) {
    value = slurm_from(from);
  }
};

template <>
struct JsonOf<jobspec::Program> {
  static nlohmann::json write(const jobspec::Program& value) { return program_json(value); }
  static void read(const nlohmann::json& from, jobspec::Program& value) {
    value = program_from(from);
  }
};

template <>
struct JsonOf<jobspec::Keep> {
  static nlohmann::json write(const jobspec::Keep& value);
  static void read(const nlohmann::json& from, jobspec::Keep& value);
};

/// Those that the controller keeps to; the others were checked when the sweep file was read.
template <>
struct JsonOf<jobspec::Limits> {
  static nlohmann::json write(const jobspec::Limits& value);
  static void read(const nlohmann::json& from, jobspec::Limits& value);
};

/// The resources with the count beside them.
template <>
struct JsonOf<event::Submitted::Shape> {
  static nlohmann::json write(const event::Submitted::Shape& value);
  static void read(const nlohmann::json& from, event::Submitted::Shape& value);
};

}  // namespace thalweg::daemon::api
