#include "db/rows.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/transaction.h"

namespace thalweg::db {
namespace {

const sqlite::Sql kInsertTrial{
    "insert trial",
    "INSERT INTO trial (sweep, trial, configuration, seed, hash, state, train, parameters,"
    " resources, attempts, ended, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"};
const sqlite::Sql kUpdateTrial{"update trial",
                               "UPDATE trial SET state = ?, attempts = ?, ended = ?, reason = ?"
                               " WHERE sweep = ? AND trial = ?"};
const sqlite::Sql kUpdateTrialConfiguration{
    "update trial's configuration",
    "UPDATE trial SET parameters = ?, train = ?, hash = ? WHERE sweep = ? AND trial = ?"};
const sqlite::Sql kUpdateTrialTrain{
    "update trial's train tree",
    "UPDATE trial SET train = ?, hash = ? WHERE sweep = ? AND trial = ?"};
const sqlite::Sql kOtherConfigurations{
    "count change of configurations",
    "UPDATE sweep SET configurations_version = configurations_version + 1 WHERE id = ?"};
#define THALWEG_TRIAL_COLUMNS                                                               \
  "sweep, trial, configuration, seed, hash, state, train, parameters, resources, attempts," \
  " ended, reason"
const sqlite::Sql kTrialsOfSweep{
    "list trials", "SELECT " THALWEG_TRIAL_COLUMNS " FROM trial WHERE sweep = ? ORDER BY trial"};
const sqlite::Sql kOneTrial{
    "read trial", "SELECT " THALWEG_TRIAL_COLUMNS " FROM trial WHERE sweep = ? AND trial = ?"};
#undef THALWEG_TRIAL_COLUMNS
const sqlite::Sql kParameters{"read parameters",
                              "SELECT trial, parameters FROM trial WHERE sweep = ? ORDER BY trial"};
const sqlite::Sql kBeginnings{
    "list trials that begin with weights",
    "SELECT t.sweep, t.trial, ifnull(json_extract(t.train, '$.init_from.trial'), ''),"
    " ifnull(json_extract(t.train, '$.init_from.file'), ''),"
    " ifnull(json_extract(t.train, '$.init_from.checkpoint'), '') = 'best'"
    " FROM sweep AS s JOIN trial AS t ON t.sweep = s.id"
    " WHERE s.state = 'active' AND t.state IN ('pending', 'running')"
    " AND json_extract(t.train, '$.init_from') IS NOT NULL ORDER BY t.sweep, t.trial"};

TrialRow read_trial(const sqlite::Run& run) {
  TrialRow row;
  row.id = {run.integer(0), run.integer(1), 0};
  row.configuration = run.integer(2);
  row.seed = static_cast<std::uint64_t>(run.integer(3));
  row.hash = run.text(4);
  row.state = run.word<TrialPhase>(5);
  row.train = run.text(6);
  row.parameters = run.text(7);
  row.resources = run.text(8);
  row.attempts = run.integer(9);
  row.ended = run.maybe_real(10).value_or(0);
  row.reason = run.text(11);
  return row;
}

}  // namespace

void Store::insert_trials(const std::vector<TrialRow>& rows) {
  sqlite::Transaction transaction(*connection_);
  std::optional<std::int64_t> sweep;
  for (const TrialRow& row : rows) {
    if (sweep != row.id.sweep) connection_->run(kOtherConfigurations, row.id.sweep);
    sweep = row.id.sweep;
    connection_->run(kInsertTrial, row.id.sweep, row.id.trial, row.configuration, row.seed,
                     row.hash, row.state, row.train, row.parameters, row.resources, row.attempts,
                     maybe_time(row.ended), row.reason);
  }
  transaction.commit();
}

void Store::update_trial(const TrialRow& row) {
  connection_->change_one(trial_name(row.id), kUpdateTrial, row.state, row.attempts,
                          maybe_time(row.ended), row.reason, row.id.sweep, row.id.trial);
}

void Store::update_trial_configuration(const Id& id, const std::string& parameters,
                                       const std::string& train, const std::string& hash) {
  sqlite::Transaction transaction(*connection_);
  connection_->change_one(trial_name(id), kUpdateTrialConfiguration, parameters, train, hash,
                          id.sweep, id.trial);
  connection_->run(kOtherConfigurations, id.sweep);
  transaction.commit();
}

void Store::update_trial_train(const Id& id, const std::string& train, const std::string& hash) {
  sqlite::Transaction transaction(*connection_);
  connection_->change_one(trial_name(id), kUpdateTrialTrain, train, hash, id.sweep, id.trial);
  connection_->run(kOtherConfigurations, id.sweep);
  transaction.commit();
}

std::vector<TrialRow> ReadStore::trials(std::int64_t sweep) {
  std::vector<TrialRow> rows;
  sqlite::Run run(*connection_, kTrialsOfSweep);
  run.bind(sweep);
  while (run.row())
    rows.push_back(read_trial(run));
  return rows;
}

std::optional<TrialRow> ReadStore::trial(const Id& id) {
  sqlite::Run run(*connection_, kOneTrial);
  run.bind(id.sweep).bind(id.trial);
  if (!run.row()) return std::nullopt;
  return read_trial(run);
}

void ReadStore::parameters(std::int64_t sweep,
                           const std::function<void(std::int64_t, std::string_view)>& each) {
  sqlite::Run run(*connection_, kParameters);
  run.bind(sweep);
  while (run.row())
    each(run.integer(0), run.view(1));
}

std::vector<ReadStore::Beginning> ReadStore::beginnings() {
  std::vector<Beginning> rows;
  sqlite::Run run(*connection_, kBeginnings);
  while (run.row())
    rows.push_back(
        {{run.integer(0), run.integer(1), 0}, run.text(2), run.text(3), run.integer(4) != 0});
  return rows;
}

}  // namespace thalweg::db
