#include "db/sqlite/connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "db/store.h"

namespace thalweg::db::sqlite {
namespace {

// Another program (a person's sqlite3 shell, a backup) may hold the lock for a moment.
constexpr double opening_patience_s = 10;

/// SQLite would create the file with the umask's mode; the record carries attempts' tokens.
void create_private(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    throw Error("cannot create or write the database " + file.string() + ": " +
                std::strerror(errno));
  }
  ::close(descriptor);
}

/// Quotas and limits on file sizes come as errors of a write.
bool passes(int code) {
  switch (code) {
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
    case SQLITE_IOERR_TRUNCATE:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMMAP:
    case SQLITE_IOERR_SHMOPEN:
      return true;
    default:
      return (code & 0xff) == SQLITE_FULL || (code & 0xff) == SQLITE_BUSY;
  }
}

/// What the system said of it, as "Disk quota exceeded"; 0 where it was not asked. At a commit
/// SQLite leaves that with the file alone, mostly the write-ahead log.
int system_error(sqlite3* handle, int code) {
  const int kind = code & 0xff;
  if (kind != SQLITE_IOERR && kind != SQLITE_CANTOPEN) return 0;
  int error = sqlite3_system_errno(handle);
  for (const int of : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    if (error != 0 || sqlite3_file_control(handle, nullptr, of, &file) != SQLITE_OK ||
        file == nullptr || file->pMethods == nullptr)
      continue;
    file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error);
  }
  return error;
}

std::string reason(const std::string& text, int error) {
  return error == 0 ? text : text + ": " + std::strerror(error);
}

const char* remedy(int code, int error) {
  if (code == SQLITE_IOERR_WRITE || error == ENOSPC || error == EDQUOT) code = SQLITE_FULL;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "; this change was rolled back and nothing recorded before it is lost: free space on "
             "that filesystem (or raise the quota), then try again";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "; another program holds the database's lock: end it (fuser shows which), then try "
             "again";
    case SQLITE_READONLY:
      return "; check that the file and its folder belong to you and can be written";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "; copy the file away before anything else, then look at it with: sqlite3 FILE "
             "'PRAGMA integrity_check'";
    default:
      return "";
  }
}

}  // namespace

Connection::Connection(const std::filesystem::path& file, Mode mode) : file_(file) {
  if (mode == Mode::write) create_private(file);
  const int flags = mode == Mode::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  const int code = sqlite3_open_v2(file.c_str(), &handle_, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    const std::string text = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    sqlite3_close(handle_);
    throw Error("cannot open the database " + file.string() + ": " + text);
  }
  sqlite3_extended_result_codes(handle_, 1);
  be_patient(opening_patience_s);
}

void Connection::be_patient(double seconds) {
  sqlite3_busy_timeout(handle_, static_cast<int>(seconds * 1000));
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close(handle_);
}

Statement& Connection::cached(const Sql& sql) {
  auto& entry = statements_[&sql];
  if (!entry) entry = std::make_unique<Statement>(handle_, sql);
  return *entry;
}

void Connection::script(const std::string& name, const std::string& text) {
  const int code = sqlite3_exec(handle_, text.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(name, code);
}

bool Connection::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

std::int64_t Connection::changes() const {
  return sqlite3_changes(handle_);
}

std::int64_t Connection::total_changes() const {
  return sqlite3_total_changes64(handle_);
}

void Connection::missing(const std::string& what, const Sql& sql) {
  throw Error(std::string(sql.name) + ": there is no " + what);
}

std::int64_t Connection::last_insert_id() const {
  return sqlite3_last_insert_rowid(handle_);
}

void Connection::fail(const std::string& name, int code) const {
  const int error = system_error(handle_, code);
  const std::string text = name + ": " + reason(sqlite3_errmsg(handle_), error) + " (database " +
                           file_.string() + ")" + remedy(code, error);
  if (passes(code)) throw CannotWrite(text);
  throw Error(text);
}

}  // namespace thalweg::db::sqlite
