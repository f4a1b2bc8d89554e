#include "db/rows.h"
#include "db/sqlite/connection.h"
#include "db/sqlite/transaction.h"

namespace thalweg::db {
namespace {

const sqlite::Sql kInsertAttempt{
    "insert attempt",
    "INSERT INTO attempt (sweep, trial, attempt, token, state, backend, handle, folder, launched,"
    " started, ended, nodes, ranks, node_list, reason, exit_code, failed_rank, failed_node,"
    " journal_lines, eligible, size_reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
    " ?, ?, ?, ?, ?, ?)"};
const sqlite::Sql kUpdateAttempt{
    "update attempt",
    "UPDATE attempt SET state = ?, backend = ?, handle = ?, folder = ?, launched = ?, started = ?,"
    " ended = ?, nodes = ?, ranks = ?, node_list = ?, reason = ?, exit_code = ?, failed_rank = ?,"
    " failed_node = ?, eligible = ?, size_reason = ? WHERE sweep = ? AND trial = ? AND attempt = "
    "?"};

#define THALWEG_ATTEMPT_COLUMNS                                                                   \
  "sweep, trial, attempt, token, state, backend, handle, folder, launched, started,"              \
  " ended, nodes, ranks, node_list, reason, exit_code, failed_rank, failed_node, journal_lines, " \
  "eligible, size_reason"
const sqlite::Sql kAttemptsOfSweep{"list attempts", "SELECT " THALWEG_ATTEMPT_COLUMNS
                                                    " FROM attempt WHERE sweep = ?"
                                                    " ORDER BY trial, attempt"};
const sqlite::Sql kTimesOfSweep{"list attempts' times",
                                "SELECT trial, attempt, launched, started, ended, nodes"
                                " FROM attempt WHERE sweep = ? ORDER BY trial, attempt"};
const sqlite::Sql kOneAttempt{"read attempt",
                              "SELECT " THALWEG_ATTEMPT_COLUMNS
                              " FROM attempt WHERE sweep = ? AND trial = ? AND attempt = ?"};
const sqlite::Sql kByToken{"find attempt by token",
                           "SELECT " THALWEG_ATTEMPT_COLUMNS " FROM attempt WHERE token = ?"};
#undef THALWEG_ATTEMPT_COLUMNS
const sqlite::Sql kPutStart{
    "put start record",
    "INSERT INTO attempt_start (attempt, record)"
    " SELECT id, ? FROM attempt WHERE sweep = ? AND trial = ? AND attempt = ?"
    " ON CONFLICT (attempt) DO UPDATE SET record = excluded.record"};
const sqlite::Sql kWithoutStart{
    "list attempts without a start record",
    "SELECT a.sweep, a.trial, a.attempt FROM attempt AS a WHERE a.journal_lines > 0 AND a.folder "
    "<> ''"
    " AND NOT EXISTS (SELECT 1 FROM attempt_start AS s WHERE s.attempt = a.id)"
    " ORDER BY a.id"};
const sqlite::Sql kPutRanks{
    "put times of ranks",
    "UPDATE attempt_start SET ranks = ? WHERE attempt ="
    " (SELECT id FROM attempt WHERE sweep = ? AND trial = ? AND attempt = ?)"};
const sqlite::Sql kStart{
    "read start record",
    "SELECT s.record FROM attempt_start AS s JOIN attempt AS a"
    " ON a.id = s.attempt WHERE a.sweep = ? AND a.trial = ? AND a.attempt = ?"};

const sqlite::Sql kRelocate{"relocate attempts",
                            "UPDATE attempt SET folder = ?2 || substr(folder, length(?1) + 1)"
                            " WHERE folder = ?1 OR substr(folder, 1, length(?1) + 1) = ?1 || '/'"};

AttemptRow read_attempt(const sqlite::Run& run) {
  AttemptRow row;
  row.id = {run.integer(0), run.integer(1), run.integer(2)};
  row.token = run.text(3);
  row.state = run.word<AttemptState>(4);
  row.backend = run.text(5);
  row.handle = run.text(6);
  row.folder = run.text(7);
  row.launched = run.maybe_real(8).value_or(0);
  row.started = run.maybe_real(9).value_or(0);
  row.ended = run.maybe_real(10).value_or(0);
  row.nodes = run.integer(11);
  row.ranks = run.integer(12);
  row.node_list = run.text(13);
  row.reason = run.text(14);
  row.exit_code = run.maybe_int(15);
  row.failed_rank = run.maybe_int(16);
  row.failed_node = run.text(17);
  row.journal_lines = run.integer(18);
  row.eligible = run.maybe_real(19).value_or(0);
  row.size_reason = run.text(20);
  return row;
}

std::optional<AttemptRow> read_one(sqlite::Run& run) {
  if (!run.row()) return std::nullopt;
  return read_attempt(run);
}

}  // namespace

void Store::insert_attempt(const AttemptRow& row) {
  connection_->run(kInsertAttempt, row.id.sweep, row.id.trial, row.id.attempt, row.token, row.state,
                   row.backend, row.handle, row.folder, maybe_time(row.launched),
                   maybe_time(row.started), maybe_time(row.ended), row.nodes, row.ranks,
                   row.node_list, row.reason, row.exit_code, row.failed_rank, row.failed_node,
                   row.journal_lines, maybe_time(row.eligible), row.size_reason);
}

void Store::relocate(const std::string& from, const std::string& to) {
  connection_->run(kRelocate, from, to);
}

void Store::update_attempt(const AttemptRow& row) {
  connection_->change_one(attempt_name(row.id), kUpdateAttempt, row.state, row.backend, row.handle,
                          row.folder, maybe_time(row.launched), maybe_time(row.started),
                          maybe_time(row.ended), row.nodes, row.ranks, row.node_list, row.reason,
                          row.exit_code, row.failed_rank, row.failed_node, maybe_time(row.eligible),
                          row.size_reason, row.id.sweep, row.id.trial, row.id.attempt);
}

void Store::put_start(const Id& attempt, const std::string& record) {
  sqlite::Transaction transaction(*connection_);
  connection_->change_one(attempt_name(attempt), kPutStart, record, attempt.sweep, attempt.trial,
                          attempt.attempt);
  replace_points(attempt);
  transaction.commit();
}

void Store::put_ranks(const Id& attempt, const std::string& record) {
  connection_->run(kPutRanks, record, attempt.sweep, attempt.trial, attempt.attempt);
}

std::optional<std::string> ReadStore::start(const Id& attempt) {
  sqlite::Run run(*connection_, kStart);
  run.bind(attempt.sweep).bind(attempt.trial).bind(attempt.attempt);
  if (!run.row()) return std::nullopt;
  return run.text(0);
}

std::vector<Id> ReadStore::attempts_without_start() {
  std::vector<Id> ids;
  sqlite::Run run(*connection_, kWithoutStart);
  while (run.row())
    ids.push_back({run.integer(0), run.integer(1), run.integer(2)});
  return ids;
}

std::vector<AttemptRow> ReadStore::attempts(std::int64_t sweep) {
  std::vector<AttemptRow> rows;
  sqlite::Run run(*connection_, kAttemptsOfSweep);
  run.bind(sweep);
  while (run.row())
    rows.push_back(read_attempt(run));
  return rows;
}

std::vector<AttemptTimes> ReadStore::attempt_times(std::int64_t sweep) {
  std::vector<AttemptTimes> rows;
  sqlite::Run run(*connection_, kTimesOfSweep);
  run.bind(sweep);
  while (run.row())
    rows.push_back({{sweep, run.integer(0), run.integer(1)},
                    run.maybe_real(2).value_or(0),
                    run.maybe_real(3).value_or(0),
                    run.maybe_real(4).value_or(0),
                    run.integer(5)});
  return rows;
}

std::optional<AttemptRow> ReadStore::attempt(const Id& id) {
  sqlite::Run run(*connection_, kOneAttempt);
  run.bind(id.sweep).bind(id.trial).bind(id.attempt);
  return read_one(run);
}

std::optional<AttemptRow> ReadStore::attempt_by_token(const std::string& token) {
  sqlite::Run run(*connection_, kByToken);
  run.bind(token);
  return read_one(run);
}

}  // namespace thalweg::db
