// What a reader of a sweep's numbers has to know beside them: what is missing, and what made them.
#include "db/sqlite/connection.h"
#include "db/store.h"

namespace thalweg::db {
namespace {

// Counts only grow, and SQLite takes the other columns from the row that has the maximum.
const sqlite::Sql kLost{
    "read lost numbers",
    "SELECT trial, attempt, json_extract(data, '$.lost') AS lost,"
    " max(json_extract(data, '$.count')), json_extract(data, '$.text') FROM event"
    " WHERE sweep = ? AND kind = 'note' AND instr(data, '\"lost\"') > 0 AND json_valid(data)"
    " AND lost IS NOT NULL GROUP BY trial, attempt, lost ORDER BY trial, attempt, lost"};
const sqlite::Sql kWithout{
    "list trials without a metric",
    "SELECT t.trial, ifnull(l.metric, '') FROM trial AS t"
    " LEFT JOIN latest_metrics AS l ON l.sweep = t.sweep AND l.trial = t.trial"
    " WHERE t.sweep = ?1 AND t.state = 'finished' AND NOT EXISTS"
    " (SELECT 1 FROM latest_metrics AS own WHERE own.sweep = t.sweep AND own.trial = t.trial"
    "  AND own.metric = ?2) ORDER BY t.trial, l.metric"};
const sqlite::Sql kPrograms{
    "read programs that ran",
    "SELECT a.trial, a.attempt, json_extract(s.record, '$.program.file'),"
    " json_extract(s.record, '$.program.hash'),"
    " ifnull(json_extract(s.record, '$.program.sources'), '') FROM attempt AS a"
    " JOIN attempt_start AS s ON s.attempt = a.id"
    " WHERE a.sweep = ? AND json_extract(s.record, '$.program.hash') IS NOT NULL"
    " ORDER BY a.launched, a.trial, a.attempt"};

}  // namespace

std::vector<ReadStore::LostNumbers> ReadStore::lost_numbers(std::int64_t sweep) {
  std::vector<LostNumbers> lost;
  sqlite::Run run(*connection_, kLost);
  run.bind(sweep);
  while (run.row())
    lost.push_back(
        {{sweep, run.integer(0), run.integer(1)}, run.text(2), run.integer(3), run.text(4)});
  return lost;
}

std::vector<ReadStore::WithoutMetric> ReadStore::without_metric(std::int64_t sweep,
                                                                const std::string& metric) {
  std::vector<WithoutMetric> trials;
  sqlite::Run run(*connection_, kWithout);
  run.bind(sweep).bind(metric);
  while (run.row()) {
    if (trials.empty() || trials.back().trial != run.integer(0))
      trials.push_back({run.integer(0), {}});
    const std::string name = run.text(1);
    if (!name.empty() && !name.starts_with("perf/")) trials.back().reported.push_back(name);
  }
  return trials;
}

std::vector<ReadStore::ProgramRun> ReadStore::program_runs(std::int64_t sweep) {
  std::vector<ProgramRun> runs;
  sqlite::Run run(*connection_, kPrograms);
  run.bind(sweep);
  while (run.row())
    runs.push_back(
        {{sweep, run.integer(0), run.integer(1)}, run.text(2), run.text(3), run.text(4)});
  return runs;
}

}  // namespace thalweg::db
