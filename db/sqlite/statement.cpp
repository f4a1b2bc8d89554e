#include "db/sqlite/statement.h"

#include <sqlite3.h>

#include <cmath>
#include <limits>

#include "db/sqlite/connection.h"
#include "db/store.h"

namespace thalweg::db::sqlite {

Statement::Statement(sqlite3* database, const Sql& sql) : name_(sql.name) {
  const int code =
      sqlite3_prepare_v3(database, sql.text, -1, SQLITE_PREPARE_PERSISTENT, &handle_, nullptr);
  if (code != SQLITE_OK) {
    throw Error(name_ + ": " + sqlite3_errmsg(database) + " (in: " + sql.text + ")");
  }
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

Run::Run(Connection& connection, const Sql& sql)
    : connection_(connection), statement_(&connection.cached(sql)) {
  if (statement_->busy_) {
    statement_ = &own_.emplace(connection.handle(), sql);
  }
  statement_->busy_ = true;
}

Run::~Run() {
  sqlite3_reset(statement_->handle_);  // repeats the error of the last step, which was thrown there
  sqlite3_clear_bindings(statement_->handle_);
  statement_->busy_ = false;
}

void Run::check(int code) {
  if (code != SQLITE_OK) connection_.fail(statement_->name_, code);
}

Run& Run::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_->handle_, next_++, value));
  return *this;
}

Run& Run::bind(double value) {
  check(sqlite3_bind_double(statement_->handle_, next_++, value));
  return *this;
}

Run& Run::bind(std::string_view value) {
  const char* data = value.data() != nullptr ? value.data() : "";
  check(sqlite3_bind_text64(statement_->handle_, next_++, data, value.size(), SQLITE_STATIC,
                            SQLITE_UTF8));
  return *this;
}

Run& Run::bind_null() {
  check(sqlite3_bind_null(statement_->handle_, next_++));
  return *this;
}

bool Run::row() {
  const int code = sqlite3_step(statement_->handle_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  connection_.fail(statement_->name_, code);
}

std::int64_t Run::integer(int column) const {
  return sqlite3_column_int64(statement_->handle_, column);
}

double Run::real(int column) const {
  if (null(column)) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(statement_->handle_, column);
}

std::string_view Run::view(int column) const {
  const auto* data =
      reinterpret_cast<const char*>(sqlite3_column_text(statement_->handle_, column));
  if (data == nullptr) return {};
  return {data, static_cast<std::size_t>(sqlite3_column_bytes(statement_->handle_, column))};
}

std::string Run::text(int column) const {
  return std::string(view(column));
}

void Run::unknown_word(int column, std::string_view what) const {
  throw Error(statement_->name_ + ": '" + text(column) + "' is no " + std::string(what));
}

bool Run::null(int column) const {
  return sqlite3_column_type(statement_->handle_, column) == SQLITE_NULL;
}

std::optional<int> Run::maybe_int(int column) const {
  if (null(column)) return std::nullopt;
  return small(column);
}

std::optional<double> Run::maybe_real(int column) const {
  if (null(column)) return std::nullopt;
  return real(column);
}

}  // namespace thalweg::db::sqlite
