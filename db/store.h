// The record of what happened: the only door to the database. The controller, the only writer, has
// a Store; everybody else a ReadStore.
// Every function throws db::Error (sqlite text and the statement's name) when the database fails.
// One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <typeindex>
#include <typeinfo>
#include <utility>
#include <vector>

#include "db/states.h"
#include "jobspec/trial.h"

namespace thalweg::db {

using jobspec::Id;

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The record could not be written, for a reason that passes: the disk is full, a limit on file
/// sizes, another program's lock. The transaction was rolled back; what it held can be tried again.
class CannotWrite : public Error {
 public:
  using Error::Error;
};

struct SweepRow {
  std::int64_t id = 0;               ///< 0 on insert
  std::string name, owner, backend;  ///< owner: user name; backend: "local" or "slurm"
  std::string file_name, text;       ///< the file as submitted
  std::string metric;
  jobspec::Goal goal = jobspec::Goal::minimize;
  std::optional<double> target;  ///< the hardest of the targets
  std::vector<double> targets;
  SweepPhase state = SweepPhase::active;
  double submitted = 0, ended = 0;  ///< Unix seconds; 0 = not yet
  std::string notes;                ///< JSON list
  // Not on insert: what update_labels() and update_archived() wrote.
  std::vector<std::string> tags{};
  std::string comment{};
  double archived = 0;  ///< Unix seconds; 0 = it is not
};

struct TrialRow {
  Id id;  ///< sweep and trial
  std::int64_t configuration = 0;
  std::uint64_t seed = 0;
  std::string hash;
  TrialPhase state = TrialPhase::pending;
  std::string train, parameters, resources;  ///< JSON; parameters: {"optimizer.name":"adamw",...}
  std::int64_t attempts = 0;
  double ended = 0;
  std::string reason;  ///< why it failed; empty otherwise
};

struct AttemptRow {
  Id id;
  std::string token;
  AttemptState state = AttemptState::launching;
  /// handle: Slurm's job ("4711"), its step where attempts share a job ("4711.3"; before it runs
  /// "pack:<hash>:<name>"), or "local:<token>".
  std::string backend, handle;
  std::string folder;
  double launched = 0, eligible = 0, started = 0, ended = 0;
  std::int64_t nodes = 0, ranks = 0;
  std::string node_list, reason;
  std::optional<int> exit_code;
  std::optional<int> failed_rank;
  std::string failed_node;
  std::string size_reason{};       ///< of an elastic trial: why it has other nodes than before
  std::int64_t journal_lines = 0;  ///< lines ingested so far: the next line expected is this + 1
};

/// When an attempt ran, and on how many nodes; times as in AttemptRow.
struct AttemptTimes {
  Id id;
  double launched = 0, started = 0, ended = 0;
  std::int64_t nodes = 0;
};

/// One line of the log that everything else can be rebuilt from. `data` is a JSON object.
struct Event {
  std::int64_t number = 0;  ///< 0 on append
  double time = 0;
  std::string kind;
  Id id;  ///< what it is about; trial/attempt 0 where it is the whole sweep
  std::string data = "{}";
};

struct Point {
  std::string metric;
  std::int64_t step = 0;
  double value = 0;
  double time = 0;  ///< Unix seconds
};

struct CurvePoint {
  std::int64_t step = 0;
  double value = 0;
  double time = 0;
  std::int64_t attempt = 0;
};

struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<jobspec::Value>> rows;
  bool truncated = false;
};

namespace sqlite {
class Connection;
class Reader;
}  // namespace sqlite

/// How long an analysis's own query may take.
inline constexpr double kQuerySeconds = 10;

/// The record, to be looked at: on a connection that cannot change it. Sees what is committed at
/// the start of each function.
class ReadStore {
 public:
  /// Throws Error where there is no database, where it is another program's, or where its schema is
  /// not this program's (a Store brings it up to date).
  static std::unique_ptr<ReadStore> open(const std::filesystem::path& file);
  virtual ~ReadStore();
  /// While it lives, all reads but those of query() see the record as it was at the first of them:
  /// one transaction, which is also quicker than one for each read. One at a time.
  class Snapshot {
   public:
    explicit Snapshot(ReadStore& store);
    ~Snapshot();
    Snapshot(const Snapshot&) = delete;
    Snapshot& operator=(const Snapshot&) = delete;

   private:
    ReadStore& store_;
  };
  ReadStore(const ReadStore&) = delete;
  ReadStore& operator=(const ReadStore&) = delete;

  std::vector<SweepRow> sweeps();  ///< newest first, text left out
  std::optional<SweepRow> sweep(std::int64_t id);
  std::optional<std::string> environment(std::int64_t sweep);
  std::vector<TrialRow> trials(std::int64_t sweep);
  std::optional<TrialRow> trial(const Id& id);
  /// TrialRow::parameters of every trial, by number; the text is valid during the call.
  void parameters(std::int64_t sweep,
                  const std::function<void(std::int64_t trial, std::string_view text)>& each);
  /// Trials that have not ended and begin with the weights of another one, or with a file
  /// (train.init_from), as they name it.
  struct Beginning {
    Id trial;
    std::string from_trial, from_file;  ///< one of them is empty
    bool best = false;                  ///< init_from.checkpoint is best
  };
  std::vector<Beginning> beginnings();
  std::vector<AttemptRow> attempts(std::int64_t sweep);
  /// Of all attempts of a sweep, by trial and attempt: quicker than attempts().
  std::vector<AttemptTimes> attempt_times(std::int64_t sweep);
  std::optional<AttemptRow> attempt(const Id& id);
  std::optional<std::string> start(const Id& attempt);  ///< as put_start() was given it
  /// Those with a folder whose journals were read, oldest first: by a version that kept no start
  /// records, or they had none.
  std::vector<Id> attempts_without_start();
  std::optional<AttemptRow> attempt_by_token(const std::string& token);
  void events(std::int64_t after, const std::function<void(const Event&)>& each);
  /// Of the sweep, trial or attempt and everything below it, oldest first.
  std::vector<Event> events_of(const Id& id, std::int64_t after = 0);
  /// Numbers that an attempt's program gave and the record has not, as the attempt's notes tell.
  struct LostNumbers {
    Id attempt;
    std::string reason;      ///< `lost` of the note (engine/attempt/journal.md)
    std::int64_t count = 0;  ///< the last that was told
    std::string text;
  };
  std::vector<LostNumbers> lost_numbers(std::int64_t sweep);  ///< by trial and attempt
  /// Finished trials without any value of the metric, and what metrics they have instead.
  struct WithoutMetric {
    std::int64_t trial = 0;
    std::vector<std::string> reported;  ///< by name, without perf/
  };
  std::vector<WithoutMetric> without_metric(std::int64_t sweep, const std::string& metric);
  /// Whose file each attempt ran (start record: `program`), in the order of their launches.
  struct ProgramRun {
    Id attempt;
    std::string file, hash, sources;  ///< hashes of the file, and of what it may import
  };
  std::vector<ProgramRun> program_runs(std::int64_t sweep);
  /// The trial's curve: of the points that count (points.cpp), sorted by step, one a step. At most
  /// max_points (0 = all) by even thinning.
  std::vector<CurvePoint> curve(const Id& trial, const std::string& metric,
                                std::int64_t max_points = 0);
  /// The curve's end: what is stored with its point at `step`, and all behind it. So the first ones
  /// may be before `step`; what is further back is not read.
  std::vector<CurvePoint> curve_end(const Id& trial, const std::string& metric, std::int64_t step);
  /// The curves of all trials that have points of the metric, by trial number: quicker than one
  /// after the other.
  void curves(
      std::int64_t sweep, const std::string& metric,
      const std::function<void(std::int64_t trial, const std::vector<CurvePoint>& curve)>& each);
  /// All that the attempts reported, also what does not count: in order of attempts and steps. For
  /// sums over time spent; a trial's results are its curve.
  std::vector<CurvePoint> reported(const Id& trial, const std::string& metric);
  std::vector<std::string> metric_names(std::int64_t sweep);
  std::vector<std::string> metric_names(const Id& attempt);
  /// The last point of a trial's curve, and what is over all of it.
  struct Latest {
    Id trial;
    std::string metric;
    std::int64_t step;
    double value;
    double time;
    double min;  ///< of what is finite, as max; NaN where nothing is
    double max;

    bool diverged() const { return jobspec::has_diverged(value); }
    /// The best value that it has had, also where it diverged later.
    double best(bool maximize) const { return maximize ? max : min; }
    /// Best first: by best values, those that have diverged last; equal ones by trial.
    bool is_before(const Latest& other, bool maximize) const;
  };
  std::vector<Latest> latest(std::int64_t sweep);
  /// Of one metric, by trial number: quick also where trials report hundreds of others.
  std::vector<Latest> latest(std::int64_t sweep, const std::string& metric);
  /// Of one trial, by name.
  std::vector<Latest> latest(const Id& trial);
  /// The last step of any metric, by trial number.
  std::map<std::int64_t, std::int64_t> last_steps(std::int64_t sweep);
  /// The trials that have a finite value, by Latest::is_before; and the first of them.
  std::vector<std::int64_t> best_trials(std::int64_t sweep, const std::string& metric,
                                        bool maximize);
  std::optional<Id> best_trial(std::int64_t sweep, const std::string& metric, bool maximize);

  /// Damaged pages, as SQLite's quick_check tells them, at most ten; reads the whole file.
  std::vector<std::string> problems();
  /// A copy of the whole record in one file, as it is now; the writer goes on meanwhile. `file`
  /// must not be there.
  void backup(const std::filesystem::path& file);

  /// SQL on the documented views (a person's own, or the analysis's), on a read-only connection
  /// with a time limit and a row limit. `parameters` are bound to the `?` in order: null, a bool
  /// (as 0 or 1), a number or text each. Throws Error with SQLite's message, or where there are
  /// more or fewer parameters than `?`. `stop` is asked meanwhile, on this thread: true ends it as
  /// the time limit does.
  QueryResult query(const std::string& sql, std::int64_t max_rows, double max_seconds,
                    const std::vector<jobspec::Value>& parameters = {},
                    const std::function<bool()>& stop = {});
  /// From now on the views show the rows of these sweeps alone to query(), as if there were no
  /// others; without a list, all of them again.
  void confine_queries(std::optional<std::vector<std::int64_t>> sweeps);

  /// What an analysis has read and the next one may need again: made by T() where it is not there,
  /// or where the record has been written or confine_queries() called since; without a Snapshot at
  /// each call. Valid until the next call.
  template <class T>
  T& kept() {
    forget_what_is_old();
    std::shared_ptr<void>& kept = kept_[std::type_index(typeid(T))];
    if (!kept) kept = std::make_shared<T>();
    return *static_cast<T*>(kept.get());
  }
  /// The same of what was read from the configurations of a sweep's trials (their parameters and
  /// train trees) alone: it stays until trials are added or get another configuration, whatever
  /// else is written, and for the few sweeps that were asked for last.
  template <class T>
  T& kept_of_configurations(std::int64_t sweep) {
    std::shared_ptr<void>& kept = kept_by_configurations(sweep)[std::type_index(typeid(T))];
    if (!kept) kept = std::make_shared<T>();
    return *static_cast<T*>(kept.get());
  }

 protected:
  explicit ReadStore(std::unique_ptr<sqlite::Connection> connection);

  std::unique_ptr<sqlite::Connection> connection_;

 private:
  using Kept = std::map<std::type_index, std::shared_ptr<void>>;

  void forget_what_is_old();
  Kept& kept_by_configurations(std::int64_t sweep);

  bool in_snapshot_ = false;
  Kept kept_;
  /// The record's version that kept_ was read from, and what this connection had changed.
  std::pair<std::int64_t, std::int64_t> kept_of_{0, 0};
  struct OfSweep {
    std::int64_t sweep = 0, version = -1;  ///< of its configurations
    Kept kept;
  };
  std::vector<OfSweep> kept_of_sweeps_;  ///< the one asked for last stands last
  /// query()'s own connections, each opened when it is first needed.
  std::unique_ptr<sqlite::Reader> reader_, confined_reader_;
  std::optional<std::vector<std::int64_t>> only_;
};

struct OpenOptions {
  /// Asked for the folder of the file; tests put their own here.
  std::function<long(const std::filesystem::path&)> filesystem_type;
};

enum class Sync { now, later };

/// The record with the right to change it: the controller's.
class Store final : public ReadStore {
 public:
  /// Opens or creates, migrates, WAL, foreign keys on. Refuses a file on a network filesystem (NFS,
  /// Lustre, GPFS, CIFS, FUSE ...), naming the filesystem and the remedy, and a schema newer than
  /// this program.
  explicit Store(const std::filesystem::path& file, const OpenOptions& options = {});
  static std::unique_ptr<Store> open(const std::filesystem::path& file);

  /// Everything inside `work` is one transaction; an exception rolls it back and passes on.
  /// Sync::now: on the disk on return. Sync::later: with the next one that is; until then a loss of
  /// power (no kill) may take it back, whole and with all that followed.
  void transaction(const std::function<void()>& work, Sync sync = Sync::now);

  // Each may be called inside transaction(); alone it is a transaction of its own.
  std::int64_t insert_sweep(const SweepRow& row);
  void insert_trials(const std::vector<TrialRow>& rows);  ///< also fills hyperparameters
  void insert_attempt(const AttemptRow& row);
  /// The engine's start record as a JSON object; takes the place of an earlier one. Points of
  /// earlier attempts behind its resumed_step do not count from then on.
  void put_start(const Id& attempt, const std::string& record);
  /// Where each rank's time went, as a JSON object (engine/attempt/journal.md: "ranks"); takes the
  /// place of an earlier one. Nothing happens where there is no start record.
  void put_ranks(const Id& attempt, const std::string& record);
  /// A JSON list of NAME=value; no view shows it.
  void insert_environment(std::int64_t sweep, const std::string& entries);
  void update_sweep(const SweepRow& row);   ///< state, ended
  void update_labels(const SweepRow& row);  ///< name, tags, comment
  /// The points of one attempt, of which there may be many; and then all else of a sweep but its
  /// events.
  void remove_points(const Id& attempt);
  /// Of each curve of an attempt that has ended about `wanted` points stay (thin.h); `own`: the
  /// sweep's metric. Returns how many went.
  std::int64_t thin_points(const Id& attempt, std::int64_t wanted, const std::string& own);
  void remove_sweep(std::int64_t sweep);
  void update_archived(std::int64_t sweep, double archived);
  void update_sweep_text(std::int64_t sweep, const std::string& text);
  void update_trial(const TrialRow& row);  ///< state, attempts, ended, reason
  void update_trial_configuration(const Id& id, const std::string& parameters,
                                  const std::string& train, const std::string& hash);
  void update_trial_train(const Id& id, const std::string& train, const std::string& hash);
  void update_attempt(const AttemptRow& row);  ///< all but id, token, journal_lines
  /// Attempts' folders below `from` (absolute, without a slash at the end) are below `to` from now
  /// on.
  void relocate(const std::string& from, const std::string& to);
  std::int64_t append_event(const Event& event);
  /// Adds the points of journal lines (first_line..last_line) of an attempt, exactly once: lines at
  /// or below the attempt's journal_lines must have been left out by the caller; first_line must be
  /// journal_lines + 1. Returns false, changing nothing, where it is not. What they replace does
  /// not count from then on.
  bool add_points(const Id& attempt, std::int64_t first_line, std::int64_t last_line,
                  const std::vector<Point>& points);

  /// Called, inside of the transaction, whenever points of a trial's curve are changed otherwise
  /// than by new ones behind all others: from `step` on they may differ. `metric`: empty = any.
  /// Removed sweeps are not told.
  using Rewritten =
      std::function<void(const Id& trial, std::string_view metric, std::int64_t step)>;
  void on_rewritten(Rewritten call) { rewritten_ = std::move(call); }

  /// Moves what the write-ahead log holds into the file itself, as far as no reader needs it there;
  /// never waits. A copy of the file alone then has it. Throws CannotWrite where the disk is full.
  void checkpoint();

  /// For tests that limit or inspect the file.
  sqlite::Connection& connection() { return *connection_; }

 private:
  std::int64_t metric_id(const std::string& name);
  /// By the attempt's start record.
  void replace_points(const Id& attempt);
  void remove_points_of_sweep(std::int64_t sweep);
  /// Sorts out which points count of those that an earlier version wrote.
  void settle_points();
  void settle_points_of(std::int64_t sweep);
  void tell_rewritten(const Id& attempt, std::string_view metric, std::int64_t step);

  Rewritten rewritten_;
};

}  // namespace thalweg::db
