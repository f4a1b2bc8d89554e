// A person's own SQL: on a connection of its own that can only read, and only through the
// documented views.
#pragma once

#include "db/sqlite/connection.h"
#include "db/store.h"

namespace thalweg::db::sqlite {

/// One thread. Sees what is committed at the start of each query.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& file);

  /// One statement: SELECT, EXPLAIN or PRAGMA table_info; `parameters` as in Store::query. Throws
  /// db::Error with SQLite's message, or with what is allowed instead; at the time limit with a
  /// hint.
  QueryResult query(const std::string& sql, std::int64_t max_rows, double max_seconds,
                    const std::vector<jobspec::Value>& parameters);

 private:
  Connection connection_;
};

}  // namespace thalweg::db::sqlite
