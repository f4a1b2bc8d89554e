// The record of what happened: the only door to the database for the controller, the only writer.
// Every function throws db::Error (sqlite text and the statement's name) when the database fails.
// One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

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
  std::string metric, goal;          ///< goal: "minimize" | "maximize"
  std::optional<double> target;
  std::string state;                ///< active, finished, failed, cancelled
  double submitted = 0, ended = 0;  ///< Unix seconds; 0 = not yet
  std::string notes;                ///< JSON list
};

struct TrialRow {
  Id id;  ///< sweep and trial
  std::int64_t configuration = 0;
  std::uint64_t seed = 0;
  std::string hash;
  std::string state;                         ///< pending, running, finished, failed, cancelled
  std::string train, parameters, resources;  ///< JSON; parameters: {"optimizer.name":"adamw",...}
  std::int64_t attempts = 0;
  double ended = 0;
  std::string reason;  ///< why it failed; empty otherwise
};

struct AttemptRow {
  Id id;
  std::string token;
  std::string state;  ///< launching, queued, running, finished, failed, stopped, cancelled, lost
  std::string backend, handle;  ///< handle: Slurm job id, or "pid:<pid>:<start time>"
  std::string folder;
  double launched = 0, started = 0, ended = 0;
  std::int64_t nodes = 0, ranks = 0;
  std::string node_list, reason;
  std::optional<int> exit_code;
  std::optional<int> failed_rank;
  std::string failed_node;
  std::int64_t journal_lines = 0;  ///< lines ingested so far: the next line expected is this + 1
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

class Store {
 public:
  /// Opens or creates, migrates, WAL, foreign keys on. Refuses a file on a network filesystem (NFS,
  /// Lustre, GPFS, CIFS, FUSE ...), naming the filesystem and the remedy, and a schema newer than
  /// this program.
  static std::unique_ptr<Store> open(const std::filesystem::path& file);
  virtual ~Store() = default;

  /// Everything inside `work` is one transaction (durable on return); an exception rolls it back
  /// and passes on.
  virtual void transaction(const std::function<void()>& work) = 0;

  // Writing. Each may be called inside transaction(); alone it is a transaction of its own.
  virtual std::int64_t insert_sweep(const SweepRow& row) = 0;
  virtual void insert_trials(
      const std::vector<TrialRow>& rows) = 0;  ///< also fills hyperparameters
  virtual void insert_attempt(const AttemptRow& row) = 0;
  /// A JSON list of NAME=value; no view shows it.
  virtual void insert_environment(std::int64_t sweep, const std::string& entries) = 0;
  virtual void update_sweep(const SweepRow& row) = 0;      ///< state, ended
  virtual void update_trial(const TrialRow& row) = 0;      ///< state, attempts, ended, reason
  virtual void update_attempt(const AttemptRow& row) = 0;  ///< all but id, token, journal_lines
  virtual std::int64_t append_event(const Event& event) = 0;
  /// Adds the points of journal lines (first_line..last_line) of an attempt, exactly once: lines at
  /// or below the attempt's journal_lines must have been left out by the caller; first_line must be
  /// journal_lines + 1. Returns false, changing nothing, where it is not.
  virtual bool add_points(const Id& attempt, std::int64_t first_line, std::int64_t last_line,
                          const std::vector<Point>& points) = 0;

  /// Moves what the write-ahead log holds into the file itself, as far as no reader needs it there;
  /// never waits. A copy of the file alone then has it. Throws CannotWrite where the disk is full.
  virtual void checkpoint() = 0;

  // Reading.
  virtual std::vector<SweepRow> sweeps() = 0;  ///< newest first, text left out
  virtual std::optional<SweepRow> sweep(std::int64_t id) = 0;
  virtual std::optional<std::string> environment(std::int64_t sweep) = 0;
  virtual std::vector<TrialRow> trials(std::int64_t sweep) = 0;
  virtual std::optional<TrialRow> trial(const Id& id) = 0;
  virtual std::vector<AttemptRow> attempts(std::int64_t sweep) = 0;
  virtual std::optional<AttemptRow> attempt(const Id& id) = 0;
  virtual std::optional<AttemptRow> attempt_by_token(const std::string& token) = 0;
  virtual void events(std::int64_t after, const std::function<void(const Event&)>& each) = 0;
  /// Of the sweep, trial or attempt and everything below it, oldest first.
  virtual std::vector<Event> events_of(const Id& id, std::int64_t after = 0) = 0;
  /// The trial's curve: where several attempts reported a step, the latest attempt counts. At most
  /// max_points (0 = all) by even thinning.
  virtual std::vector<CurvePoint> curve(const Id& trial, const std::string& metric,
                                        std::int64_t max_points = 0) = 0;
  virtual std::vector<std::string> metric_names(std::int64_t sweep) = 0;
  /// metric -> last point, for every trial of the sweep that has any.
  struct Latest {
    Id trial;
    std::string metric;
    std::int64_t step;
    double value;
    double time;
    double min;
    double max;
  };
  virtual std::vector<Latest> latest(std::int64_t sweep) = 0;

  /// SQL on the documented views (a person's own, or the analysis's), on a read-only connection
  /// with a time limit and a row limit. `parameters` are bound to the `?` in order: null, a bool
  /// (as 0 or 1), a number or text each. Throws Error with SQLite's message, or where there are
  /// more or fewer parameters than `?`.
  virtual QueryResult query(const std::string& sql, std::int64_t max_rows, double max_seconds,
                            const std::vector<jobspec::Value>& parameters = {}) = 0;
};

}  // namespace thalweg::db
