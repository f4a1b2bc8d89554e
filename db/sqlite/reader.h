// A person's own SQL: on a connection of its own that can only read, and only through the
// documented views.
#pragma once

#include <memory>

#include "db/sqlite/connection.h"
#include "db/store.h"

namespace thalweg::db::sqlite {

/// One thread. Sees what is committed at the start of each query.
class Reader {
 public:
  enum class Rows {
    all,
    chosen  ///< the views show the rows of the sweeps that choose() names; of none at first
  };
  explicit Reader(const std::filesystem::path& file, Rows rows = Rows::all);

  /// Only where rows are chosen.
  void choose(const std::vector<std::int64_t>& sweeps);

  /// One statement: SELECT, EXPLAIN or PRAGMA table_info; `parameters` as in Store::query. Throws
  /// db::Error with SQLite's message, or with what is allowed instead; at the time limit with a
  /// hint.
  QueryResult query(const std::string& sql, std::int64_t max_rows, double max_seconds,
                    const std::vector<jobspec::Value>& parameters,
                    const std::function<bool()>& stop = {});

 private:
  void make_views();
  void check_names(const std::string& sql) const;

  struct Close {
    void operator()(sqlite3* database) const;
  };

  Connection connection_;
  Rows rows_;
  std::unique_ptr<sqlite3, Close> names_;  ///< where rows are chosen: empty tables like the views
};

}  // namespace thalweg::db::sqlite
