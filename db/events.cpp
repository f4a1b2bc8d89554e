// The log that everything else can be rebuilt from; only ever appended to.
#include "db/sqlite/connection.h"
#include "db/store.h"

namespace thalweg::db {
namespace {

const sqlite::Sql kAppend{
    "append event",
    "INSERT INTO event (time, kind, sweep, trial, attempt, data) VALUES (?, ?, ?, ?, ?, ?)"};
const sqlite::Sql kAfter{"read events",
                         "SELECT number, time, kind, sweep, trial, attempt, data FROM event"
                         " WHERE number > ? ORDER BY number"};
const sqlite::Sql kOf{"read events of one id",
                      "SELECT number, time, kind, sweep, trial, attempt, data FROM event"
                      " WHERE number > ?1 AND sweep = ?2 AND (?3 = 0 OR trial = ?3)"
                      " AND (?4 = 0 OR attempt = ?4) ORDER BY number"};

Event read_event(const sqlite::Run& run) {
  return {run.integer(0),
          run.real(1),
          run.text(2),
          {run.integer(3), run.integer(4), run.integer(5)},
          run.text(6)};
}

}  // namespace

std::int64_t Store::append_event(const Event& event) {
  connection_->run(kAppend, event.time, event.kind, event.id.sweep, event.id.trial,
                   event.id.attempt, event.data);
  return connection_->last_insert_id();
}

void ReadStore::events(std::int64_t after, const std::function<void(const Event&)>& each) {
  sqlite::Run run(*connection_, kAfter);
  run.bind(after);
  while (run.row())
    each(read_event(run));
}

std::vector<Event> ReadStore::events_of(const Id& id, std::int64_t after) {
  std::vector<Event> found;
  sqlite::Run run(*connection_, kOf);
  run.bind(after).bind(id.sweep).bind(id.trial).bind(id.attempt);
  while (run.row())
    found.push_back(read_event(run));
  return found;
}

}  // namespace thalweg::db
