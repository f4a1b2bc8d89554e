// Who may read what is decided by SQLite's authorizer, which tells the view that reads a table by
// name alone. Where rows are chosen, a view V of the record is made once more as the temporary view
// chosen_V with a condition, and V as a temporary view of that; a temporary name goes before the
// record's. Only the chosen_ ones may read tables, so main.V, the one without condition, may not.
// The authorizer is not told who reads a table of which no column but its key is wanted, as
// count(*) does; so the query must also make sense in an empty database that has nothing but the
// names of the views.
#include "db/sqlite/reader.h"

#include <sqlite3.h>

#include <fmt/format.h>

#include <chrono>
#include <set>
#include <string_view>

#include "db/sqlite/cte.h"
#include "jobspec/value.h"

namespace thalweg::db::sqlite {
namespace {

constexpr std::string_view kViewNames =
    "sweeps, trials, attempts, starts, ranks, hyperparameters, metrics, replaced_metrics, "
    "latest_metrics, events";

// VM instructions between two looks at the clock: some tens of microseconds.
constexpr int kInstructions = 1000;
// One value of a result; also stops a runaway group_concat.
constexpr int kMaxValueBytes = 64 << 20;
// All of a result, with what a cell takes itself: rows may be few and long.
constexpr std::size_t kMaxResultBytes = 64 << 20;
constexpr std::size_t kCellBytes = 48;

// At its first use on a connection SQLite sets such a function up by statements that the authorizer
// would refuse.
const Sql kWarmUp{"set up table functions",
                  "SELECT 1 FROM json_each('[]'), json_tree('[]'),"
                  " pragma_table_info('sweep'), pragma_table_xinfo('sweep')"};
const Sql kNames{"list tables or views", "SELECT name FROM sqlite_master WHERE type = ?"};

const Sql kViews{"list views", "SELECT name, sql FROM main.sqlite_master WHERE type = 'view'"};
const Sql kColumns{"columns of a view", "SELECT name FROM pragma_table_info(?)"};
const Sql kForget{"forget chosen sweeps", "DELETE FROM temp.sweep_choice"};
const Sql kChoose{"choose a sweep", "INSERT OR IGNORE INTO temp.sweep_choice VALUES (?)"};
constexpr std::string_view kChosen = "chosen_";

/// What a query may call. A list, since releases and extensions add functions that reach out of the
/// database or into the process (fts3_tokenizer takes and gives code addresses), and ones that only
/// fill memory (zeroblob).
bool may_call(std::string_view function) {
  static const std::set<std::string_view> allowed{
      // clang-format off
      "->", "->>", "abs", "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "avg", "ceil",
      "ceiling", "char", "coalesce", "concat", "concat_ws", "cos", "cosh", "count", "cume_dist",
      "current_date", "current_time", "current_timestamp", "date", "datetime", "degrees",
      "dense_rank", "exp", "first_value", "floor", "format", "glob", "group_concat", "hex", "if",
      "ifnull", "iif", "instr", "json", "json_array", "json_array_length", "json_extract",
      "json_group_array", "json_group_object", "json_insert", "json_object", "json_patch",
      "json_pretty", "json_quote", "json_remove", "json_replace", "json_set", "json_type",
      "json_valid", "julianday", "lag", "last_value", "lead", "length", "like", "likelihood",
      "likely", "ln", "log", "log10", "log2", "lower", "ltrim", "max", "median", "min", "mod",
      "nth_value", "ntile", "nullif", "octet_length", "percent_rank", "percentile",
      "percentile_cont", "percentile_disc", "pi", "pow", "power", "printf", "quote", "radians",
      "random", "rank", "replace", "round", "row_number", "rtrim", "sign", "sin", "sinh", "soundex",
      "sqlite_version", "sqrt", "strftime", "string_agg", "substr", "substring", "sum", "tan",
      "tanh", "time", "timediff", "total", "trim", "trunc", "typeof", "unhex", "unicode",
      "unixepoch", "unlikely", "upper",
      // clang-format on
  };
  return allowed.contains(function);
}

Names names(Connection& connection, const char* type) {
  Names found;
  Run run(connection, kNames);
  run.bind(type);
  while (run.row())
    found.insert(run.text(0));
  return found;
}

/// Lives as long as one query; owns the hooks on the connection.
class Guard {
 public:
  Guard(Connection& connection, double max_seconds, const std::function<bool()>& stop,
        Reader::Rows rows)
      : database_(connection.handle()),
        started_(std::chrono::steady_clock::now()),
        stop_(stop),
        deadline_(started_ +
                  std::chrono::milliseconds(static_cast<std::int64_t>(max_seconds * 1e3))),
        tables_(names(connection, "table")),
        views_(names(connection, "view")),
        readers_(rows == Reader::Rows::chosen ? Names() : views_) {
    if (rows == Reader::Rows::chosen)
      for (const std::string& view : views_)
        readers_.insert(std::string(kChosen) + view);
    names_ = views_;
    names_.insert(readers_.begin(), readers_.end());
    sqlite3_set_authorizer(database_, &Guard::authorize, this);
    sqlite3_progress_handler(database_, kInstructions, &Guard::look_at_clock, this);
  }
  ~Guard() {
    sqlite3_set_authorizer(database_, nullptr, nullptr);
    sqlite3_progress_handler(database_, 0, nullptr, nullptr);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  /// That no table of a query's own may have.
  const Names& taken() const { return names_; }
  bool late() const { return late_; }
  /// The caller's word ended it.
  bool stopped() const { return stopped_; }
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - started_).count();
  }
  const std::string& refused() const { return refused_; }

 private:
  static int look_at_clock(void* self) {
    auto* guard = static_cast<Guard*>(self);
    guard->late_ = std::chrono::steady_clock::now() > guard->deadline_;
    guard->stopped_ = !guard->late_ && guard->stop_ && guard->stop_();
    return guard->late_ || guard->stopped_ ? 1 : 0;
  }

  /// `source`: the view, subquery or common table expression that asks.
  static int authorize(void* self, int action, const char* first, const char* second,
                       const char* /*database*/, const char* source) {
    const auto text = [](const char* part) { return std::string_view(part ? part : ""); };
    return static_cast<Guard*>(self)->decide(action, text(first), text(second), text(source));
  }

  int decide(int action, std::string_view first, std::string_view second, std::string_view source) {
    switch (action) {
      case SQLITE_SELECT:
      case SQLITE_RECURSIVE:
        return SQLITE_OK;
      case SQLITE_READ:
        if (readers_.contains(source) || !tables_.contains(first)) return SQLITE_OK;
        if (second.empty()) return SQLITE_OK;  // nothing but how many rows there are
        return refuse("the table " + std::string(first) +
                      " is private and may change with any version; use the views " +
                      std::string(kViewNames));
      case SQLITE_FUNCTION:
        if (may_call(second)) return SQLITE_OK;
        return refuse("the function " + std::string(second) + " is not allowed");
      case SQLITE_PRAGMA:
        if (first == "table_info" || first == "table_xinfo") return SQLITE_OK;
        return refuse("of the pragmas only table_info is allowed");
      default:
        return refuse(
            "only SELECT, EXPLAIN and PRAGMA table_info are allowed: the record cannot be "
            "changed by a query");
    }
  }

  int refuse(std::string why) {
    if (refused_.empty()) refused_ = std::move(why);
    return SQLITE_DENY;
  }

  sqlite3* database_;
  std::chrono::steady_clock::time_point started_;
  const std::function<bool()>& stop_;
  std::chrono::steady_clock::time_point deadline_;
  Names tables_, views_;
  Names readers_;  ///< views that may read tables
  Names names_;
  std::string refused_;
  bool late_ = false, stopped_ = false;
};

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

jobspec::Value value_of(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_NULL:
      return {};
    default: {  // text; the views hold no blobs, one that is made by the query comes as its bytes
      const auto* data = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
      return data == nullptr ? std::string() : std::string(data, size);
    }
  }
}

/// Nothing is copied: `value` must live until the last step.
int bind(sqlite3_stmt* statement, int number, const jobspec::Value& value) {
  if (value.is_null()) return sqlite3_bind_null(statement, number);
  if (value.is_bool()) return sqlite3_bind_int64(statement, number, value.as_bool() ? 1 : 0);
  if (value.is_int()) return sqlite3_bind_int64(statement, number, value.as_int());
  if (value.is_number()) return sqlite3_bind_double(statement, number, value.as_double());
  const std::string& text = value.as_string();
  return sqlite3_bind_text64(statement, number, text.data(), text.size(), SQLITE_STATIC,
                             SQLITE_UTF8);
}

bool only_space(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

[[noreturn]] void fail_with(const std::string& message) {
  const bool no_table = message.starts_with("no such table");
  throw Error("query: " + message + (no_table ? "; the views are " + std::string(kViewNames) : ""));
}

[[noreturn]] void fail(sqlite3* database, const Guard& guard, double max_seconds) {
  if (guard.late()) {
    throw Error("query: stopped after " + jobspec::Value(max_seconds).to_text() +
                " s; ask for less (name a sweep and a metric in WHERE)");
  }
  if (guard.stopped())
    throw Error(
        fmt::format("query: stopped after {:.1f} s, since others wait: ask for less (name a "
                    "sweep and a metric in WHERE), or later",
                    guard.seconds()));
  if (!guard.refused().empty()) throw Error("query: " + guard.refused());
  const std::string message = sqlite3_errmsg(database);
  fail_with(message);
}

}  // namespace

Reader::Reader(const std::filesystem::path& file, Rows rows)
    : connection_(file, Connection::Mode::read_only), rows_(rows) {
  connection_.script("set up the connection", reader_settings);
  connection_.run(kWarmUp);
  if (rows_ == Rows::chosen) make_views();
  sqlite3* const database = connection_.handle();
  sqlite3_limit(database, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  // Beside the list of functions and the authorizer: what SQLite itself offers against the same.
  sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0, nullptr);
}

void Reader::make_views() {
  std::string script =
      "PRAGMA temp_store = MEMORY;"
      "CREATE TEMP TABLE sweep_choice (sweep INTEGER PRIMARY KEY);";
  {
    Run run(connection_, kViews);
    while (run.row()) {
      const std::string name = run.text(0), text = run.text(1);
      const std::string head = "CREATE VIEW " + name + " AS";
      if (!text.starts_with(head)) throw Error("query: the view " + name + " cannot be confined");
      const std::string chosen = std::string(kChosen) + name;
      script += "CREATE TEMP VIEW " + chosen + " AS SELECT * FROM (" + text.substr(head.size()) +
                ") WHERE sweep IN (SELECT sweep FROM temp.sweep_choice);" + "CREATE TEMP VIEW " +
                name + " AS SELECT * FROM " + chosen + ";";
    }
  }
  connection_.script("views of chosen sweeps", script);

  sqlite3* database = nullptr;
  const int code =
      sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  names_.reset(database);
  std::string tables;
  for (const std::string& view : names(connection_, "view")) {
    std::string list;
    Run run(connection_, kColumns);
    run.bind(view);
    while (run.row())
      list += (list.empty() ? "" : ", ") + run.text(0);
    tables += "CREATE TEMP TABLE " + view + " (" + list + ");";
  }
  if (code != SQLITE_OK ||
      sqlite3_exec(database, tables.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    throw Error(std::string("query: names of the views: ") + sqlite3_errmsg(database));
}

void Reader::Close::operator()(sqlite3* database) const {
  sqlite3_close(database);
}

/// Prepared only. After the authorizer: what acts when it is prepared was refused.
void Reader::check_names(const std::string& sql) const {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v2(names_.get(), sql.c_str(), -1, &raw, nullptr);
  const Prepared statement(raw);
  if (code != SQLITE_OK) fail_with(sqlite3_errmsg(names_.get()));
}

void Reader::choose(const std::vector<std::int64_t>& sweeps) {
  connection_.run(kForget);
  for (const std::int64_t sweep : sweeps)
    connection_.run(kChoose, sweep);
}

QueryResult Reader::query(const std::string& sql, std::int64_t max_rows, double max_seconds,
                          const std::vector<jobspec::Value>& parameters,
                          const std::function<bool()>& stop) {
  sqlite3* database = connection_.handle();
  const Guard guard(connection_, max_seconds, stop, rows_);

  if (const std::string name = shadowed(sql, guard.taken()); !name.empty())
    throw Error("query: " + name + " is a view of the record; give your own table another name");
  sqlite3_stmt* raw = nullptr;
  const char* rest = nullptr;
  if (sqlite3_prepare_v2(database, sql.c_str(), -1, &raw, &rest) != SQLITE_OK) {
    fail(database, guard, max_seconds);
  }
  const Prepared statement(raw);
  if (!statement) throw Error("query: there is no statement in it");
  if (!only_space(rest)) throw Error("query: one statement at a time");
  if (names_) check_names(sql);
  const auto places = static_cast<std::size_t>(sqlite3_bind_parameter_count(raw));
  if (places != parameters.size() && parameters.empty())
    throw Error("query: a ? is a placeholder without a value: write the value instead");
  if (places != parameters.size())
    throw Error("query: the statement has " + std::to_string(places) + " parameters (?), but " +
                std::to_string(parameters.size()) + " values came with it");
  for (std::size_t i = 0; i < places; ++i)
    if (bind(raw, static_cast<int>(i) + 1, parameters[i]) != SQLITE_OK)
      fail(database, guard, max_seconds);

  QueryResult result;
  std::size_t bytes = 0;
  const int columns = sqlite3_column_count(raw);
  for (int i = 0; i < columns; ++i)
    result.columns.emplace_back(sqlite3_column_name(raw, i));
  for (;;) {
    const int code = sqlite3_step(raw);
    if (code == SQLITE_DONE) return result;
    if (code != SQLITE_ROW) fail(database, guard, max_seconds);
    if (static_cast<std::int64_t>(result.rows.size()) == max_rows || bytes > kMaxResultBytes) {
      result.truncated = true;
      return result;
    }
    auto& row = result.rows.emplace_back();
    row.reserve(static_cast<std::size_t>(columns));
    for (int i = 0; i < columns; ++i) {
      row.push_back(value_of(raw, i));
      bytes += kCellBytes + (row.back().is_string() ? row.back().as_string().size() : 0);
    }
  }
}

}  // namespace thalweg::db::sqlite
