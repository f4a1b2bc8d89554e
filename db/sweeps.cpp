#include "db/rows.h"
#include "db/sqlite/connection.h"

namespace thalweg::db {
namespace {

const sqlite::Sql kInsertSweep{
    "insert sweep",
    "INSERT INTO sweep (name, owner, backend, file_name, text, metric, goal, target, state,"
    " submitted, ended, notes, targets) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
const sqlite::Sql kUpdateSweep{"update sweep",
                               "UPDATE sweep SET state = ?, ended = ? WHERE id = ?"};
const sqlite::Sql kUpdateSweepText{"update sweep's file", "UPDATE sweep SET text = ? WHERE id = ?"};
const sqlite::Sql kUpdateSweepLabels{
    "update sweep's labels", "UPDATE sweep SET name = ?, tags = ?, comment = ? WHERE id = ?"};
const sqlite::Sql kArchiveSweep{"archive sweep", "UPDATE sweep SET archived = ? WHERE id = ?"};
const sqlite::Sql kAll{
    "list sweeps",
    "SELECT id, name, owner, backend, file_name, '', metric, goal, target, state, submitted, ended,"
    " notes, targets, tags, comment, archived FROM sweep ORDER BY id DESC"};
const sqlite::Sql kOneSweep{
    "read sweep",
    "SELECT id, name, owner, backend, file_name, text, metric, goal, target, state, submitted,"
    " ended, notes, targets, tags, comment, archived FROM sweep WHERE id = ?"};
const sqlite::Sql kInsertEnvironment{
    "insert environment", "INSERT INTO sweep_environment (sweep, entries) VALUES (?, ?)"};
const sqlite::Sql kEnvironment{"read environment",
                               "SELECT entries FROM sweep_environment WHERE sweep = ?"};

SweepRow read_sweep(const sqlite::Run& run) {
  SweepRow row;
  row.id = run.integer(0);
  row.name = run.text(1);
  row.owner = run.text(2);
  row.backend = run.text(3);
  row.file_name = run.text(4);
  row.text = run.text(5);
  row.metric = run.text(6);
  row.goal = run.word<jobspec::Goal>(7);
  row.target = run.maybe_real(8);
  row.state = run.word<SweepPhase>(9);
  row.submitted = run.maybe_real(10).value_or(0);
  row.ended = run.maybe_real(11).value_or(0);
  row.notes = run.text(12);
  const jobspec::Value targets = jobspec::read_yaml(run.text(13), "targets");
  for (const jobspec::Value& target : targets.as_list())
    row.targets.push_back(target.as_double());
  const jobspec::Value tags = jobspec::read_yaml(run.text(14), "tags");
  for (const jobspec::Value& tag : tags.as_list())
    row.tags.push_back(tag.as_string());
  row.comment = run.text(15);
  row.archived = run.maybe_real(16).value_or(0);
  return row;
}

}  // namespace

std::int64_t Store::insert_sweep(const SweepRow& row) {
  connection_->run(kInsertSweep, row.name, row.owner, row.backend, row.file_name, row.text,
                   row.metric, row.goal, row.target, row.state, maybe_time(row.submitted),
                   maybe_time(row.ended), row.notes,
                   jobspec::Value(jobspec::List(row.targets.begin(), row.targets.end())).to_json());
  return connection_->last_insert_id();
}

void Store::update_sweep(const SweepRow& row) {
  connection_->change_one("sweep " + std::to_string(row.id), kUpdateSweep, row.state,
                          maybe_time(row.ended), row.id);
}

void Store::update_labels(const SweepRow& row) {
  connection_->change_one("sweep " + std::to_string(row.id), kUpdateSweepLabels, row.name,
                          jobspec::Value(jobspec::List(row.tags.begin(), row.tags.end())).to_json(),
                          row.comment, row.id);
}

void Store::update_archived(std::int64_t sweep, double archived) {
  connection_->change_one("sweep " + std::to_string(sweep), kArchiveSweep, maybe_time(archived),
                          sweep);
}

void Store::update_sweep_text(std::int64_t sweep, const std::string& text) {
  connection_->change_one("sweep " + std::to_string(sweep), kUpdateSweepText, text, sweep);
}

std::vector<SweepRow> ReadStore::sweeps() {
  std::vector<SweepRow> rows;
  sqlite::Run run(*connection_, kAll);
  while (run.row())
    rows.push_back(read_sweep(run));
  return rows;
}

std::optional<SweepRow> ReadStore::sweep(std::int64_t id) {
  sqlite::Run run(*connection_, kOneSweep);
  run.bind(id);
  if (!run.row()) return std::nullopt;
  return read_sweep(run);
}

void Store::insert_environment(std::int64_t sweep, const std::string& entries) {
  connection_->run(kInsertEnvironment, sweep, entries);
}

std::optional<std::string> ReadStore::environment(std::int64_t sweep) {
  sqlite::Run run(*connection_, kEnvironment);
  run.bind(sweep);
  if (!run.row()) return std::nullopt;
  return run.text(0);
}

}  // namespace thalweg::db
