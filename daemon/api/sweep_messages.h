// What the API says about sweeps, as its two sides have it: the server fills these structs, clients
// read them. README.md describes the JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/fields.h"

namespace thalweg::daemon::api {

/// Body of POST /v1/sweeps.
struct SweepRequest {
  std::string text;  ///< of the sweep file
  std::string file_name = "sweep.yaml";
  std::string backend = "auto";
  std::string directory;                                ///< that relative paths in it count from
  std::optional<std::vector<std::string>> environment;  ///< NAME=value; empty = the controller's
  /// Where the controller serves a site: the submitter's MUNGE credential over `text`
  /// (daemon/auth/munge.h: sweep_payload), for the user that /v1/ping names.
  std::optional<std::string> credential;
  std::optional<bool> dry_run, checked;  ///< checked: the client had the engine check it

  static void each_field(auto& self, auto&& field) {
    field("text", self.text);
    field("file_name", self.file_name, Field::may_miss);
    field("backend", self.backend, Field::may_miss);
    field("directory", self.directory, Field::may_miss);
    field("environment", self.environment);
    field("credential", self.credential);
    field("dry_run", self.dry_run);
    field("checked", self.checked);
  }
};

/// When the backend would start a trial, or why that is not known.
struct ForecastMessage {
  std::string trial;        ///< ".3"
  std::int64_t trials = 0;  ///< with the same resources
  double start = 0;         ///< Unix seconds; 0 = not known
  std::string node_list, partition, message;

  static void each_field(auto& self, auto&& field) {
    field("trial", self.trial);
    field("trials", self.trials);
    field("start", self.start);
    field("node_list", self.node_list);
    field("partition", self.partition);
    field("message", self.message);
  }
};

struct PlannedTrial {
  std::string id;  ///< ".3"
  std::uint64_t seed = 0;
  nlohmann::json parameters, resources;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("seed", self.seed);
    field("parameters", self.parameters);
    field("resources", self.resources);
  }
};

/// What both answers to POST /v1/sweeps say.
struct AboutSubmission {
  std::string name, backend;
  std::int64_t configurations = 0, duplicates = 0;
  std::vector<std::string> notes;
  nlohmann::json metric;  ///< {name, goal, target or targets where there are any}

  static void each_field(auto& self, auto&& field) {
    field("name", self.name);
    field("backend", self.backend);
    field("configurations", self.configurations);
    field("duplicates", self.duplicates);
    field("notes", self.notes);
    field("metric", self.metric);
  }
};

/// Answer to POST /v1/sweeps.
struct SubmissionAnswer : AboutSubmission {
  std::string id;  ///< "12"
  std::int64_t trials = 0;

  static void each_field(auto& self, auto&& field) {
    AboutSubmission::each_field(self, field);
    field("id", self.id);
    field("trials", self.trials);
  }
};

/// Body of POST /v1/extend.
struct ExtendRequest {
  std::string id;                    ///< "12"
  std::string text;                  ///< of the sweep file, changed: what it gives more is added
  std::vector<std::string> changes;  ///< as they are told in the log: "seeds=5"
  /// What trials that are there are trained to, where they are to be trained longer.
  std::optional<std::int64_t> epochs, steps;
  std::optional<bool> dry_run;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("text", self.text);
    field("changes", self.changes, Field::may_miss);
    field("epochs", self.epochs);
    field("steps", self.steps);
    field("dry_run", self.dry_run);
  }
};

/// Answer to POST /v1/extend. `configurations` are those of the added trials.
struct ExtensionAnswer : AboutSubmission {
  std::string id;                       ///< "12"
  std::vector<std::string> new_trials;  ///< "12.9"
  std::int64_t going_on = 0;            ///< trials that had finished and are trained longer
  std::int64_t trials = 0;              ///< of the sweep, with the new ones
  bool limits_changed = false;          ///< those of the file

  static void each_field(auto& self, auto&& field) {
    AboutSubmission::each_field(self, field);
    field("id", self.id);
    field("new_trials", self.new_trials);
    field("going_on", self.going_on);
    field("trials", self.trials);
    field("limits_changed", self.limits_changed);
  }
};

/// Answer to POST /v1/sweeps with dry_run.
struct DryRunAnswer : AboutSubmission {
  std::vector<PlannedTrial> trials;
  int nodes_per_job = 0;
  double max_node_hours = 0;
  std::string cost;                   ///< the same in words
  std::optional<std::string> script;  ///< batch script of the first trial; slurm only
  std::vector<ForecastMessage> forecasts;

  static void each_field(auto& self, auto&& field) {
    AboutSubmission::each_field(self, field);
    field("trials", self.trials);
    field("nodes_per_job", self.nodes_per_job);
    field("most_node_hours", self.max_node_hours);
    field("cost", self.cost);
    field("script", self.script);
    field("forecasts", self.forecasts);
  }
};

/// Body of POST /v1/label; what is not given stays as it is.
struct LabelRequest {
  std::string id;  ///< "12"
  std::optional<std::string> name, comment;
  std::vector<std::string> add_tags, remove_tags;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("name", self.name);
    field("comment", self.comment);
    field("add_tags", self.add_tags, Field::may_miss);
    field("remove_tags", self.remove_tags, Field::may_miss);
  }
};

/// Body of POST /v1/share: groups whose members may look at the sweep from now on, or no more.
struct ShareRequest {
  std::string id;  ///< "12"
  std::vector<std::string> add_groups, remove_groups;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("add_groups", self.add_groups, Field::may_miss);
    field("remove_groups", self.remove_groups, Field::may_miss);
  }
};

/// The answer: all of them.
struct ShareAnswer {
  std::string id;
  std::vector<std::string> groups;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("groups", self.groups);
  }
};

/// Answer to GET /v1/resolve: an id, or what is wrong with the name and what to do about it.
struct ResolveAnswer {
  std::string id;  ///< "12", "12.3" or "12.3.1"
  std::string problem, hint;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("problem", self.problem);
    field("hint", self.hint);
  }
};

/// Trials by state.
struct Counts {
  std::int64_t pending = 0, running = 0, finished = 0, failed = 0, cancelled = 0;
  std::optional<std::int64_t> to_come;  ///< at most, by looks at seeds

  std::int64_t all() const { return pending + running + finished + failed + cancelled; }

  static void each_field(auto& self, auto&& field) {
    field("pending", self.pending);
    field("running", self.running);
    field("finished", self.finished);
    field("failed", self.failed);
    field("cancelled", self.cancelled);
    field("to_come", self.to_come);
  }
};

/// One of GET /v1/sweeps.
struct SweepMessage {
  std::string id, name, owner, backend, state, metric, goal;
  std::optional<double> target;  ///< the hardest one
  std::vector<double> targets;
  double submitted = 0, ended = 0;  ///< Unix seconds; 0 = not yet
  nlohmann::json notes;
  std::string file_name;
  std::vector<std::string> tags;
  std::string comment;
  double archived = 0;  ///< Unix seconds; 0 = it is not
  Counts counts;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("name", self.name);
    field("owner", self.owner);
    field("backend", self.backend);
    field("state", self.state);
    field("metric", self.metric);
    field("goal", self.goal);
    field("target", self.target, Field::null);
    field("targets", self.targets);
    field("submitted", self.submitted);
    field("ended", self.ended);
    field("notes", self.notes);
    field("file_name", self.file_name);
    field("tags", self.tags);
    field("comment", self.comment);
    field("archived", self.archived);
    field("counts", self.counts);
  }
};

/// Answer to GET /v1/sweeps, newest first.
struct SweepList {
  std::vector<SweepMessage> sweeps;
  static void each_field(auto& self, auto&& field) { field("sweeps", self.sweeps); }
};

/// How far a trial is; what is not known is missing.
struct Progress {
  std::optional<std::int64_t> step, steps;
  std::optional<double> epoch, epochs, loss;
  std::optional<double> metric, best;  ///< of the sweep's metric: the latest value, the best one
  std::optional<bool> diverged;        ///< true: the latest value is no finite number
  std::optional<double> samples_per_s, seconds_left;
  std::optional<std::int64_t> attempt;
  std::optional<std::string> attempt_state;
  std::optional<std::string> waiting_for;  ///< why it does not run
  std::optional<std::string> last_end;  ///< why the attempt before ended, of a trial that has not

  static void each_field(auto& self, auto&& field) {
    field("step", self.step);
    field("steps", self.steps);
    field("epoch", self.epoch);
    field("epochs", self.epochs);
    field("loss", self.loss);
    field("metric", self.metric);
    field("best", self.best);
    field("diverged", self.diverged);
    field("samples_per_s", self.samples_per_s);
    field("seconds_left", self.seconds_left);
    field("attempt", self.attempt);
    field("attempt_state", self.attempt_state);
    field("waiting_for", self.waiting_for);
    field("last_end", self.last_end);
  }
};

/// What every message about a trial says.
struct AboutTrial {
  std::string id;
  std::int64_t configuration = 0;
  std::uint64_t seed = 0;
  std::string state, reason;
  nlohmann::json parameters, resources;
  double ended = 0;     ///< Unix seconds; 0 = not yet
  std::string warning;  ///< in a few words, where its numbers need one (db/analysis/warnings.h)
  Progress progress;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("configuration", self.configuration);
    field("seed", self.seed);
    field("state", self.state);
    field("reason", self.reason);
    field("parameters", self.parameters);
    field("resources", self.resources);
    field("ended", self.ended);
    field("warning", self.warning, Field::may_miss);
    field("progress", self.progress);
  }
};

/// One of a sweep's.
struct TrialMessage : AboutTrial {
  std::int64_t attempts = 0;  ///< made so far

  static void each_field(auto& self, auto&& field) {
    AboutTrial::each_field(self, field);
    field("attempts", self.attempts);
  }
};

/// Answer to GET /v1/sweeps/12, and what GET /v1/watch sends.
struct SweepSnapshot : SweepMessage {
  std::vector<TrialMessage> trials;
  std::optional<std::int64_t> reporting;   ///< where the best were asked for: among how many
  std::optional<std::string> description;  ///< of the sweep file; not in what GET /v1/watch sends
  std::string keep;              ///< what stays of its checkpoints at its end; empty = everything
  double pruned = 0;             ///< Unix seconds: when checkpoints were last removed; 0 = never
  std::int64_t freed_bytes = 0;  ///< by all that
  std::vector<std::string> groups;    ///< whose members may look at it, beside its owner
  std::vector<std::string> warnings;  ///< what its numbers need beside them, in sentences
  /// Of looks at seeds: where they are, then why configurations got no more, a sentence each.
  std::optional<std::vector<std::string>> looks;

  static void each_field(auto& self, auto&& field) {
    SweepMessage::each_field(self, field);
    field("trials", self.trials);
    field("reporting", self.reporting);
    field("description", self.description);
    field("keep", self.keep, Field::may_miss);
    field("pruned", self.pruned, Field::may_miss);
    field("freed_bytes", self.freed_bytes, Field::may_miss);
    field("groups", self.groups, Field::may_miss);
    field("warnings", self.warnings, Field::may_miss);
    field("looks", self.looks);
  }
};

/// What the numbers of some sweeps need beside them.
struct WarningsMessage {
  std::string id;  ///< "12"
  std::vector<std::string> warnings;

  static void each_field(auto& self, auto&& field) {
    field("id", self.id);
    field("warnings", self.warnings);
  }
};

/// Answer to GET /v1/warnings: of sweeps that have any, as many as were read in time.
struct WarningsAnswer {
  std::vector<WarningsMessage> sweeps;
  static void each_field(auto& self, auto&& field) { field("sweeps", self.sweeps); }
};

}  // namespace thalweg::daemon::api
