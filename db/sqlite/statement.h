// One SQL statement and one run of it. Prepare, bind, step and reset happen here and nowhere else.
// Not thread-safe; a Run must not outlive its Connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "jobspec/enum_names.h"

struct sqlite3;
struct sqlite3_stmt;

namespace thalweg::db::sqlite {

class Connection;

/// A statement as the .cpp files list them: the name is what error messages say.
struct Sql {
  const char* name;
  const char* text;
};

/// A prepared statement; finalized in the destructor.
class Statement {
 public:
  /// Throws db::Error with the name and SQLite's text.
  Statement(sqlite3* database, const Sql& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

 private:
  friend class Run;
  sqlite3_stmt* handle_ = nullptr;
  std::string name_;
  bool busy_ = false;
};

/// One execution: bind all parameters in order, then step through the rows. Resets in the
/// destructor. Text and blobs are not copied: what was bound must live until the last step.
class Run {
 public:
  Run(Connection& connection, const Sql& sql);
  ~Run();
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Run& bind(std::int64_t value);
  Run& bind(int value) { return bind(std::int64_t{value}); }
  Run& bind(std::uint64_t value) { return bind(static_cast<std::int64_t>(value)); }
  Run& bind(double value);  ///< NaN becomes NULL, as everywhere in SQLite
  Run& bind(std::string_view value);
  Run& bind(const std::string& value) { return bind(std::string_view(value)); }
  Run& bind(const char* value) { return bind(std::string_view(value)); }
  Run& bind_null();
  /// By its word (jobspec/enum_names.h).
  template <class Enum>
  requires std::is_enum_v<Enum> Run& bind(Enum value) { return bind(jobspec::name_of(value)); }
  template <class T>
  Run& bind(const std::optional<T>& value) {
    return value ? bind(*value) : bind_null();
  }

  /// Next row; false at the end. Throws db::Error.
  bool row();
  /// Runs to the end.
  void done() {
    while (row()) {
    }
  }

  // The current row; columns count from 0. NULL reads as 0, NaN or "".
  std::int64_t integer(int column) const;
  int small(int column) const { return static_cast<int>(integer(column)); }
  double real(int column) const;
  std::string text(int column) const;
  /// Valid until the next step.
  std::string_view view(int column) const;
  bool null(int column) const;
  /// The enum's value with this word. Throws db::Error where none has it.
  template <class Enum>
  Enum word(int column) const {
    if (const auto value = jobspec::find_name<Enum>(view(column))) return *value;
    unknown_word(column, jobspec::EnumNames<Enum>::what);
  }
  std::optional<int> maybe_int(int column) const;
  std::optional<double> maybe_real(int column) const;

 private:
  void check(int code);
  [[noreturn]] void unknown_word(int column, std::string_view what) const;

  Connection& connection_;
  std::optional<Statement> own_;  ///< where the cached statement is already running
  Statement* statement_;
  int next_ = 1;
};

}  // namespace thalweg::db::sqlite
