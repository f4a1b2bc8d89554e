// An open database file and its prepared statements. The only owner of a sqlite3 handle. One
// thread.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "db/sqlite/statement.h"

namespace thalweg::db::sqlite {

/// Settings of every connection that reads. A reader's cache is void after each commit; pages that
/// are mapped need no copies then.
inline constexpr const char* reader_settings =
    "PRAGMA cache_size = -65536;"  // KiB
    "PRAGMA mmap_size = 4294967296;";

class Connection {
 public:
  enum class Mode {
    write,     ///< creates the file (mode 0600) where it is missing
    read_only  ///< cannot change anything
  };

  /// Throws db::Error naming the file.
  Connection(const std::filesystem::path& file, Mode mode);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The cached statement of this Sql (by address: Sql objects are constants).
  Statement& cached(const Sql& sql);

  /// Binds the arguments in order and runs to the end.
  template <class... Args>
  void run(const Sql& sql, const Args&... args) {
    Run run(*this, sql);
    (run.bind(args), ...);
    run.done();
  }

  /// Several statements in one text, without parameters or results. `name` is for messages.
  void script(const std::string& name, const std::string& text);

  /// As run(), for an UPDATE of one row: throws db::Error, naming `what`, where there is no such
  /// row.
  template <class... Args>
  void change_one(const std::string& what, const Sql& sql, const Args&... args) {
    run(sql, args...);
    if (changes() != 1) missing(what, sql);
  }

  bool in_transaction() const;
  std::int64_t changes() const;
  std::int64_t total_changes() const;  ///< rows that this connection has changed
  std::int64_t last_insert_id() const;
  const std::filesystem::path& file() const { return file_; }
  sqlite3* handle() const { return handle_; }
  /// How long a statement waits for the lock of another program; 10 s where nothing was said.
  void be_patient(double seconds);

  /// Throws db::Error: "NAME: SQLite's text (file)", with a remedy where there is one (disk full,
  /// locked ...).
  [[noreturn]] void fail(const std::string& name, int code) const;

 private:
  [[noreturn]] static void missing(const std::string& what, const Sql& sql);

  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
  std::map<const Sql*, std::unique_ptr<Statement>> statements_;
};

}  // namespace thalweg::db::sqlite
