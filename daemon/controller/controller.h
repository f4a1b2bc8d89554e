// The controller: the only writer of the database. It replays the event log, then goes round: look
// at the backends, note what changed as events, do what the state asks for. Every intent is
// committed before the deed, so that kill -9 at any point loses nothing and runs nothing twice.
//
// One thread: everything here runs on the executor. A database that fails ends the controller (the
// exception leaves io_context::run); running attempts go on, and a restart takes them up again.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "daemon/api/client.h"
#include "daemon/backend/disk.h"
#include "daemon/backend/timer.h"
#include "daemon/controller/backends.h"
#include "daemon/controller/early_stops.h"
#include "daemon/controller/imported.h"
#include "daemon/controller/ingest.h"
#include "daemon/controller/removal.h"
#include "daemon/controller/rows.h"
#include "daemon/controller/worker.h"
#include "daemon/state/actions.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {

struct ControllerOptions {
  std::filesystem::path runs;  ///< attempt folders are made below it
  Policy policy;
  double ingest_s = 0.5;
  double settle_s =
      15;  ///< an end record that the backend does not confirm for so long: it is asked to end it
  double fence_s = 10;    ///< within so long an engine that is told to end itself has done so
  double calls_s = 5;     ///< a round waits so long for the backend's answers to each user's calls
  double linger_s = 120;  ///< ... and after so long more the end record counts alone
  double held_again_s = 30;  ///< a released attempt found held is released again after this
  double orphan_watch_s =
      60;  ///< a backend without live attempts is looked at for so long, for late orphans
  IngestLimits journals;
  double disk_s = 2;  ///< how long an answer of the run folders' filesystem is waited for
  std::int64_t min_free_bytes =
      0;                     ///< of the run folders' filesystem: with less, nothing is launched
  double write_again_s = 2;  ///< between two tries to write a record whose disk is full
  double checkpoint_s = 60;  ///< the record's write-ahead log is emptied so often
  std::string push_local;    ///< address for engines on this machine ("unix:/path"); empty = none
  std::string push_remote;   ///< address for the others ("http://host:port"); empty = none
  std::function<double()> now;         ///< Unix seconds; empty = the system's clock
  std::function<std::string()> token;  ///< unique texts that nobody can guess; empty = new_token
  /// `none`: a simulation, in which everything is done on the executor.
  Disk::Threads threads = Disk::Threads::own;
  /// Seconds that only grow and are never 0, for intervals: a clock set back a day must not make
  /// them a day long. Empty = `now` where that is given, else the system's.
  std::function<double()> steady;
};

/// The database and the state do not fit each other any more, or the database failed for good. Ends
/// the controller. (Where the disk is only full, db::CannotWrite, it waits.)
class BrokenRecord : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Of a trial that is live or between attempts.
struct TrialView {
  std::int64_t attempt = 0;  ///< 0 = none is live
  db::AttemptState attempt_state = db::AttemptState::launching;
  std::string waiting_for;                      ///< why it does not run; empty where it runs
  std::string last_end;                         ///< why the attempt before ended; empty = none did
  std::int64_t steps = 0, steps_per_epoch = 0;  ///< 0 = not known (yet)
  double epochs = 0;
  double steps_per_s = 0;  ///< 0 = not known (yet)
};

struct SweepView {
  std::string waiting_for;  ///< of every other pending trial
  std::string keep;         ///< what stays of its checkpoints at its end; empty = everything
  double pruned = 0;        ///< Unix seconds; 0 = never
  std::int64_t freed_bytes = 0;
  std::vector<std::string> groups;  ///< whose members may look at it
  std::vector<std::string> looks;   ///< at seeds: where they are, why configurations were closed
  std::map<std::int64_t, TrialView> trials;
};

struct Submitted {
  std::int64_t id = 0;
  std::int64_t trials = 0, configurations = 0, duplicates = 0;
};

namespace event {
struct Pruned;
}

/// Of a sweep (trial 0: of all of it), those that have ended in one of these ways and can run.
std::vector<Id> to_retry(const SweepState& sweep, std::int64_t trial,
                         const std::set<TrialPhase>& phases);

class Controller {
 public:
  Controller(boost::asio::any_io_executor executor, db::Store& store, ControllerOptions options,
             std::vector<BackendSetup> backends);
  ~Controller();

  /// Rebuilds the state from the event log. Once, before start().
  void restart();
  /// Begins to go round.
  void start();
  /// Ends the rounds; attempts go on.
  void stop();
  /// From now on.
  void set_policy(const Policy& policy);
  /// Empties the record's write-ahead log into the record.
  void checkpoint();

  // Commands. They commit before they return. Where the record cannot be written now they throw
  // db::CannotWrite and nothing has changed.
  /// `environment`: NAME=value of every attempt; empty = the controller's own. `runs_as`: the user
  /// whose jobs they are; empty = the controller's own.
  Submitted submit(const jobspec::Sweep& sweep, const jobspec::Expansion& expansion,
                   const std::string& text, const std::string& file_name,
                   const std::string& backend, const std::string& owner,
                   const std::vector<std::string>& environment = {},
                   const std::optional<Owner>& runs_as = {});
  /// Runs of other programs (at least one) as a sweep that has finished: all of it or nothing.
  Submitted import_runs(Import import);
  /// Trials as missing_trials() (extension.h) gives them, and the changed file; `changes` are told
  /// in the log.
  struct Extension {
    std::int64_t sweep = 0;
    std::vector<jobspec::ExpandedTrial> missing;
    std::vector<db::TrialRow> lengthened;  ///< trials that are there, of a sweep that has ended
    jobspec::Limits limits;
    jobspec::Keep keep;
    std::string text;
    std::vector<std::string> changes;
    std::string by;
  };
  void extend(const Extension& extension);
  /// The configuration of a trial that waits for one (next_choice(), state/actions.h).
  struct Choice {
    Id trial;
    std::string parameters, train, hash, reason;
  };
  /// All of them or, where one does not wait for it any more, none: false.
  bool choose(const std::vector<Choice>& choices);
  /// What is not given stays as it is.
  struct Labels {
    std::optional<std::string> name, comment;
    std::vector<std::string> add_tags, remove_tags;
  };
  /// The sweep as it is then; nothing where there is no such sweep.
  std::optional<db::SweepRow> label(std::int64_t sweep, const Labels& labels,
                                    const std::string& by);
  /// From now on members of these groups, and of no others, may look at it. False where there is
  /// no such sweep.
  bool share(std::int64_t sweep, std::vector<std::string> groups, const std::string& by);
  /// False where there is no such sweep.
  bool archive(std::int64_t sweep, bool on, const std::string& by);
  /// Tells the log that checkpoints will be removed.
  void note_pruning(const Id& id, const std::string& keep, const std::string& by);
  /// Tells the log that they are.
  void note_pruned(const Id& id, const event::Pruned& what);
  /// Of each curve of the sweep's attempts, or of a trial's, about `points` stay. Returns how many
  /// went. Others have their turn between attempts.
  Awaitable<std::int64_t> thin(Id id, std::int64_t points);
  /// Run folders below `from` are below `to` now. Gives of how many attempts. Throws
  /// std::invalid_argument where one of them has not ended.
  std::int64_t relocate(const std::string& from, const std::string& to, const std::string& by);
  /// The sweep, which must have ended, with its folders: later, in the background, and after a
  /// restart again until all is gone.
  void remove(std::int64_t sweep, const std::string& by);
  /// A sweep or a trial. Gives how many trials will be cancelled; nothing where there is no such
  /// thing.
  std::optional<std::int64_t> cancel(const Id& id, const std::string& by);
  /// Ended trials in one of these phases are run again. Gives how many; nothing where there is no
  /// such thing.
  std::optional<std::int64_t> retry(const Id& id, const std::set<TrialPhase>& phases,
                                    const std::string& by);
  /// Whether a live attempt has this push secret.
  bool may_push(const std::string& secret) const;
  /// Whether it is of an attempt that has ended for the controller, or that was told to end itself:
  /// who still pushes is told (again).
  bool is_given_up(const std::string& secret) const;
  /// Lines pushed by an engine; nothing where the secret is of no live attempt.
  std::optional<std::int64_t> push(const std::string& secret, std::string_view lines);

  // Views.
  const State& state() const { return state_; }
  const JournalReader* reader(const Id& attempt) { return ingest_.find(attempt); }
  /// What only the controller's memory knows of a sweep.
  SweepView view(std::int64_t sweep) const;
  /// Changes whenever something about the sweep does.
  std::uint64_t version(std::int64_t sweep) const;
  std::vector<std::string> backends() const;
  /// The backend's latest sentence about itself; nothing until it has said one.
  std::optional<std::string> description(const std::string& backend) const;
  /// Where all work on run folders is done.
  Disk& disk() { return disk_; }
  /// What keeps it from working, for people; empty = nothing.
  std::vector<std::string> troubles() const;
  /// The same of one sweep each, which is for those alone who may see it.
  std::map<std::int64_t, std::string> troubles_of_sweeps() const;
  /// Backend::authorize, revoke and credential_reader of the backend of that name.
  Awaitable<Authorization> authorize(const std::string& backend, const std::string& credential,
                                     const std::string& digest);
  Awaitable<bool> revoke(const std::string& backend, const std::string& grant);
  std::optional<CredentialReader> credential_reader(const std::string& backend) const;
  /// Asks it now, which may take long.
  Awaitable<std::string> describe(const std::string& backend);
  /// Backend::script; empty also where there is no such backend.
  std::string script(const std::string& backend, const LaunchRequest& request) const;
  /// Backend::forecast; nothing also where there is no such backend.
  Awaitable<std::optional<Forecast>> forecast(const std::string& backend,
                                              const LaunchRequest& request);

 private:
  /// A backend with what this controller knows of it; nothing in it needs to survive.
  struct BackendContext;
  struct Observation;

  bool is_at_rest(const BackendContext& context, const SweepState& sweep,
                  const LiveAttempt& attempt);
  bool may_rest(const BackendContext& context);
  /// nullptr where no such backend is set up (any more).
  BackendContext* context_of(const std::string& backend) const;
  std::int64_t replay();
  void look_for_lost_sweeps(std::int64_t last_known);
  bool is_seen_again(const db::Event& event) const;
  void record(std::vector<db::Event> events);
  void cannot_write(const db::CannotWrite& error);
  void write_again();
  void note_disk();
  void fill_old_records();
  void note_clock();
  void end_early(const std::vector<Id>& news);
  Plan plan();
  Plan settle();
  void add_look(const Id& sweep, std::vector<db::Event>& events);
  void wake();
  void touch(std::int64_t sweep);
  void insert(const db::SweepRow& row, const jobspec::Expansion& expansion,
              const std::vector<std::string>& environment, db::Event& submitted);
  /// In a catch clause: what one attempt's files or a backend's answer broke is logged and the
  /// rounds go on; a database that failed goes on its way.
  void contain(const std::string& where);

  void run(Awaitable<void> loop);
  Awaitable<void> ingest_loop();
  Awaitable<void> backend_loop(BackendContext& context);
  Awaitable<void> description_loop(BackendContext& context);
  // upkeep.cpp
  Awaitable<void> upkeep_loop();
  Awaitable<void> try_upkeep(std::int64_t sweep);
  bool is_postponed(std::int64_t sweep) const;
  double until_next_upkeep() const;
  Awaitable<void> revoke_grant(std::int64_t sweep);
  Awaitable<void> prune_now(std::int64_t sweep);
  Awaitable<std::string> prune_checkpoints_now(std::int64_t sweep, event::Pruned& done);
  /// It has not been run again meanwhile, nor is it to be removed.
  bool still_to_prune(std::int64_t sweep) const;
  std::string cannot_be(std::int64_t sweep) const;
  // removal.cpp
  RemovalWork& removal_of(std::int64_t sweep);
  Awaitable<bool> remove_some(std::int64_t sweep);
  bool jobs_are_gone(std::int64_t sweep, RemovalWork& work);
  Awaitable<bool> remove_next(RemovalWork& work);
  Awaitable<Emptying> empty(std::int64_t sweep, Identity identity,
                            std::vector<std::filesystem::path> folders);
  Awaitable<void> empty_as_owner(std::int64_t sweep, RemovalWork& work);
  bool is_passed_over(std::int64_t sweep) const;
  Awaitable<void> pause(Timer& timer, double seconds);

  // rounds.cpp: one backend's round.
  Awaitable<void> round(BackendContext& context);
  Awaitable<void> look(BackendContext& context);
  Awaitable<void> observe(BackendContext& context, const JobStatus& status);
  const LiveAttempt* live_of(const JobStatus& status) const;
  std::optional<Id> past_of(const JobStatus& status);
  Awaitable<void> observe_own(BackendContext& context, const LiveAttempt& attempt,
                              const JobStatus& status);
  void lose_by_number(BackendContext& context, const std::string& handle);
  void note_running(const LiveAttempt& attempt, const JobStatus& status);
  template <class E>
  void note_size(const LiveAttempt& attempt, const JobStatus& status, E& event) const;
  Awaitable<void> end_lingering(BackendContext& context, const LiveAttempt& attempt,
                                const JobStatus& status);
  void end_forgotten(BackendContext& context, const Id& attempt);
  static bool knows_start(const JobStatus& status, const LiveAttempt& attempt,
                          const JournalReader& known);
  bool is_silent(BackendContext& context, const Id& attempt, const JobStatus& status);
  void end_unstarted(BackendContext& context, const Id& attempt);
  void fence_past(const Id& attempt);
  bool write_fence(const std::filesystem::path& folder, const std::string& reason);
  void fence(BackendContext& context, const Id& attempt, const std::string& reason);
  void try_end(BackendContext& context, const Id& attempt, const JobStatus& status);
  void end(const Id& attempt, const JobStatus& status, const std::optional<BackendWord>& word);
  std::optional<double> value_at(const Id& attempt, std::int64_t step);
  void end_by_record(const BackendContext& context);
  void launch_intents(BackendContext& context, const Plan& plan);
  bool has_space();
  Awaitable<void> submit_all(BackendContext& context, std::optional<std::uint32_t> user);
  Awaitable<void> submit_one(BackendContext& context, const Id& attempt);
  Awaitable<void> release_all(BackendContext& context, std::optional<std::uint32_t> user);
  Awaitable<void> cancel_all(BackendContext& context, std::optional<std::uint32_t> user);
  // user_calls.cpp
  Awaitable<void> call_for_users(BackendContext& context);
  Awaitable<void> calls_of(BackendContext& context, std::uint32_t user);
  using Call = std::function<Awaitable<void>()>;
  bool waits_its_turn(BackendContext& context, const std::optional<Identity>& identity,
                      const Call& call);
  static bool is_calling(const BackendContext& context, const std::optional<Identity>& identity);
  Awaitable<void> cancel_in_turn(BackendContext& context, const Id& attempt,
                                 const Backend::TrackedJob& job);
  /// `job` is the attempt's, or carries its token.
  Awaitable<void> cancel(BackendContext& context, const Id& attempt,
                         const Backend::TrackedJob& job);
  bool asked_to_end(const Id& attempt, const std::string& handle) const {
    return state_.ending.count({attempt, handle}) > 0;
  }
  std::vector<Id> wanted(Action::Kind kind, const std::string& backend,
                         std::optional<std::uint32_t> user) const;
  std::vector<Backend::TrackedJob> watched(const std::string& backend) const;
  std::optional<Identity> identity_of(std::int64_t sweep) const;
  Backend::TrackedJob job_of(const LiveAttempt& attempt) const;
  Awaitable<Submission> prepare(BackendContext& context, const LaunchRequest& request);
  bool forged(const BackendContext& context, const Id& attempt, const JobStatus& status);
  LaunchRequest request_of(const Id& attempt);
  jobspec::Trial trial_of(const Id& attempt, const std::string& push);
  void refuse(const Id& attempt, const std::string& reason);

  boost::asio::any_io_executor executor_;
  db::Store& store_;
  ControllerOptions options_;
  State state_;
  LiveRows live_rows_;
  Disk disk_;
  Disk upkeep_disk_;  ///< used by upkeep_worker_ only
  Worker upkeep_worker_;
  Timer upkeep_timer_;
  struct Postponed {
    std::string why;
    double pause_s = 0, not_before = 0;  ///< steady
  };
  std::map<std::int64_t, Postponed> postponed_upkeep_;  ///< by sweep
  std::map<std::int64_t, RemovalWork> removals_;
  std::map<std::uint32_t, double>
      passed_over_;          ///< users whose calls take long, until then (steady)
  std::string lost_sweeps_;  ///< which have run folders and are not in the record; empty = none
  std::string no_space_;     ///< why nothing is launched; empty = there is space
  bool disk_hung_ = false;   ///< and the log says so
  Ingest ingest_;
  EarlyStops early_stops_;
  std::vector<std::unique_ptr<BackendContext>> contexts_;
  Timer ingest_timer_;
  std::map<Id, std::string> waiting_;  ///< of the latest plan
  double next_pause_end_ = 0;
  std::set<std::string> contained_;  ///< what was logged already
  std::map<std::int64_t, std::uint64_t> versions_;
  Timer push_timer_;
  bool push_batching_ = false;
  std::string unwritable_;             ///< why the record cannot be written; empty = it can
  double unwritable_since_ = 0;        ///< steady
  std::optional<double> clock_ahead_;  ///< of `steady`, at the last look
  double checkpointed_ = 0;            ///< steady: last time
  bool stopping_ = false;
  bool filling_ = true;  ///< there may be attempts that Ingest::fill_one has not looked at
};

/// 32 hex digits from the kernel's generator.
std::string new_token();

}  // namespace thalweg::daemon
