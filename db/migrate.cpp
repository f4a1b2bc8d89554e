#include "db/migrate.h"

#include <string>

#include "db/sqlite/transaction.h"
#include "db/store.h"

namespace thalweg::db {
namespace {

// "Thwg": says whose file it is (shown by `file` and checked below).
constexpr std::int64_t kApplicationId = 0x54687767;

const sqlite::Sql kVersion{"read schema version", "PRAGMA user_version"};
const sqlite::Sql kApplication{"read application id", "PRAGMA application_id"};
const sqlite::Sql kTables{"count tables", "SELECT count(*) FROM sqlite_master"};

std::int64_t number(sqlite::Connection& connection, const sqlite::Sql& sql) {
  sqlite::Run run(connection, sql);
  run.row();
  return run.integer(0);
}

void check_owner(sqlite::Connection& connection) {
  const std::int64_t application = number(connection, kApplication);
  const bool fresh = application == 0 && number(connection, kTables) == 0;
  if (fresh || application == kApplicationId) return;
  throw Error(connection.file().string() +
              " is the database of another program: move it away, or point THALWEG_HOME at "
              "another folder");
}

void check_not_newer(const sqlite::Connection& connection, std::int64_t version,
                     std::int64_t newest) {
  if (version <= newest) return;
  throw Error(connection.file().string() + " has schema " + std::to_string(version) +
              ", and this program knows schemas up to " + std::to_string(newest) +
              ": a newer Thalweg wrote it; use that version, or point THALWEG_HOME at another "
              "folder");
}

}  // namespace

void migrate(sqlite::Connection& connection, std::span<const Migration> all) {
  const std::int64_t newest = all.empty() ? 0 : all.back().number;
  check_owner(connection);
  check_not_newer(connection, number(connection, kVersion), newest);
  for (const Migration& step : all) {
    if (number(connection, kVersion) >= step.number) continue;
    sqlite::Transaction transaction(connection);
    // Again under the lock: another process may have done this step meanwhile.
    if (number(connection, kVersion) >= step.number) continue;
    const std::string name = std::string("migration ") + step.name;
    connection.script(name, step.text);
    connection.script(name, "PRAGMA application_id = " + std::to_string(kApplicationId) +
                                "; PRAGMA user_version = " + std::to_string(step.number));
    transaction.commit();
  }
}

void check_schema(sqlite::Connection& connection, std::span<const Migration> all) {
  const std::int64_t newest = all.empty() ? 0 : all.back().number;
  check_owner(connection);
  const std::int64_t version = number(connection, kVersion);
  check_not_newer(connection, version, newest);
  if (version < newest)
    throw Error(connection.file().string() + " has schema " + std::to_string(version) +
                ", and this program reads schema " + std::to_string(newest) +
                ": start this version's thalwegd on it once, which brings it up to date");
}

}  // namespace thalweg::db
