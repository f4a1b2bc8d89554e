// A person's own SQL from a seeded generator: whatever it says, it shows nothing private, changes
// nothing and comes back. How many: tests/support/fuzz.h.
#include <gtest/gtest.h>

#include "tests/db/fixture.h"
#include "tests/support/fuzz.h"

namespace thalweg::db {
namespace {

constexpr const char* secret = "s3cret";

const char* const views[] = {"sweeps",  "trials",         "attempts", "hyperparameters",
                             "metrics", "latest_metrics", "events"};
const char* const tables[] = {"sweep",
                              "trial",
                              "attempt",
                              "event",
                              "metric_name",
                              "metric_chunk",
                              "metric_latest",
                              "sqlite_master",
                              "main.event",
                              "pragma_table_info('event')",
                              "json_each('[1,2]')",
                              "EVENT",
                              "\"event\"",
                              "[attempt]",
                              "temp.x",
                              "main.trials",
                              "\"main\".[sweeps]",
                              "main . metrics",
                              "temp.events",
                              "chosen_attempts",
                              "temp.sweep_choice",
                              "main.chosen_trials",
                              "sqlite_temp_master"};
const char* const columns[] = {"*",
                               "data",
                               "token",
                               "text",
                               "sql",
                               "count(*)",
                               "group_concat(data)",
                               "rowid",
                               "event.data",
                               "max(token)",
                               "hex(data)",
                               "name",
                               "1",
                               "NULL",
                               "json_extract(data, '$.token')",
                               "quote(token)",
                               "load_extension('x')",
                               "randomblob(100)",
                               "writefile('/tmp/x', 1)",
                               "readfile('/etc/passwd')",
                               "fts3_tokenizer('x')",
                               "sum(number)",
                               "data || ''",
                               "typeof(data)"};
const char* const whole[] = {"PRAGMA table_info(event)",
                             "PRAGMA writable_schema = 1",
                             "ATTACH '/tmp/x.db' AS x",
                             "DELETE FROM event",
                             "UPDATE attempt SET token = 'x'",
                             "DROP VIEW events",
                             "VACUUM",
                             "VACUUM INTO '/tmp/thalweg-fuzz.db'",
                             "CREATE TEMP VIEW sweeps AS SELECT * FROM event",
                             "CREATE TABLE sweeps2 AS SELECT * FROM event",
                             "BEGIN IMMEDIATE",
                             "EXPLAIN SELECT data FROM event",
                             "INSERT INTO event SELECT * FROM event",
                             "PRAGMA journal_mode = DELETE",
                             "REINDEX",
                             ";",
                             "",
                             "SELECT 1; SELECT data FROM event",
                             "VALUES (1), ((SELECT data FROM event))"};

class Generator {
 public:
  explicit Generator(std::mt19937& random) : random_(random) {}

  std::string statement() {
    if (below(12) == 0) return test::one_of(whole, random_);
    std::string text = select(0);
    if (below(3) == 0)
      text = "WITH " + std::string(below(4) == 0 ? "RECURSIVE " : "") + expressions(0) + text;
    if (below(12) == 0) text = "EXPLAIN " + text;
    if (below(10) == 0) text = test::damaged(std::move(text), random_);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string view() { return test::one_of(views, random_); }

  /// A name for something of one's own: sometimes that of a view, in some spelling.
  std::string own_name() {
    std::string name = below(3) == 0 ? "own" : view();
    if (below(6) == 0) name = "chosen_" + name;
    if (below(5) == 0) name[0] = static_cast<char>(name[0] - 'a' + 'A');
    switch (below(6)) {
      case 0:
        return "\"" + name + "\"";
      case 1:
        return "[" + name + "]";
      case 2:
        return "`" + name + "`";
      default:
        return name;
    }
  }

  std::string space() { return below(8) == 0 ? " /* ) */ " : below(8) == 0 ? " -- (\n" : " "; }

  std::string expressions(int depth) {
    std::string text;
    for (std::size_t i = 1 + below(2); i > 0; --i) {
      text += own_name() + (below(6) == 0 ? "(\")\")" : "") + space() + "AS" + space();
      text += below(6) == 0 ? "NOT MATERIALIZED (" : below(6) == 0 ? "MATERIALIZED (" : "(";
      text += select(depth + 1) + ")" + (i > 1 ? ", " : " ");
    }
    return text;
  }

  std::string source(int depth) {
    switch (below(depth < 3 ? 6 : 4)) {
      case 0:
      case 1:
        return own_name();
      case 2:
      case 3:
        return test::one_of(tables, random_);
      case 4:
        return "(" + select(depth + 1) + ") AS " + own_name();
      default:
        return "(WITH " + expressions(depth + 1) + select(depth + 1) + ")";
    }
  }

  std::string select(int depth) {
    std::string text =
        "SELECT " + std::string(test::one_of(columns, random_)) + " FROM" + space() + source(depth);
    if (below(4) == 0) text += ", " + source(depth);
    if (below(4) == 0) text += " JOIN " + source(depth) + " ON 1";
    if (below(5) == 0)
      text += " WHERE EXISTS (SELECT " + std::string(test::one_of(columns, random_)) + " FROM " +
              source(depth) + ")";
    if (below(5) == 0) text += " ORDER BY (SELECT data FROM " + source(depth) + ")";
    if (depth < 2 && below(6) == 0) text += " UNION ALL " + select(depth + 1);
    return text;
  }

  std::mt19937& random_;
};

class QueryFuzz : public StoreTest {
 protected:
  QueryFuzz() {
    const Id id = running_attempt();
    store.append_event({0, 1, "launching", id, std::string(R"({"token":")") + secret + "\"}"});
    AttemptRow row = *store.attempt(id);
    row.id.attempt = 2;
    row.token = secret;
    store.insert_attempt(row);
    store.add_points(id, 1, 1, {{"val/error", 100, 0.5, 1700000010.5}});
  }
  std::int64_t events() {
    std::int64_t count = 0;
    store.events(0, [&](const Event&) { ++count; });
    return count;
  }
};

TEST_F(QueryFuzz, ShowsNothingPrivateAndChangesNothing) {
  const std::string secret_hex = "733363726574";
  const std::int64_t before = events();
  int answered = 0;
  test::fuzz(2000, [&](int, std::mt19937& random) {
    const std::string sql = Generator(random).statement();
    try {
      const QueryResult result = store.query(sql, 100, 0.2);
      ++answered;
      for (const auto& row : result.rows)
        for (const auto& cell : row)
          if (cell.is_string()) {
            ASSERT_EQ(cell.as_string().find(secret), std::string::npos) << sql;
            ASSERT_EQ(cell.as_string().find(secret_hex), std::string::npos) << sql;
          }
    } catch (const Error& error) {
      ASSERT_STRNE(error.what(), "") << sql;
    }
  });
  EXPECT_EQ(events(), before);
  EXPECT_TRUE(store.attempt_by_token(secret));
  if (test::fuzz_range(2000).many()) {
    EXPECT_GT(answered, 0) << "the generator writes no SQL";
  }
}

TEST_F(QueryFuzz, ShowsNothingOfOtherSweepsThanTheChosen) {
  const std::string hidden = "h1dden";
  const double sentinel = 7654321.25;
  SweepRow sweep = sample_sweep(hidden);
  sweep.owner = sweep.text = sweep.comment = hidden;
  const std::int64_t id = store.insert_sweep(sweep);
  TrialRow trial = sample_trial(id, 1);
  trial.hash = trial.reason = hidden;
  trial.parameters = "{\"" + hidden + "\":1}";
  store.insert_trials({trial});
  AttemptRow attempt = sample_attempt(id, 1);
  attempt.folder = attempt.node_list = attempt.reason = hidden;
  store.insert_attempt(attempt);
  store.add_points(attempt.id, 1, 1, {{hidden, 100, sentinel, 1700000010.5}});
  store.append_event({0, 1, "submitted", {id, 0, 0}, "{\"x\":\"" + hidden + "\"}"});
  store.confine_queries(std::vector<std::int64_t>{1});
  int answered = 0;
  test::fuzz(2000, [&](int, std::mt19937& random) {
    const std::string sql = Generator(random).statement();
    try {
      const QueryResult result = store.query(sql, 100, 0.2);
      ++answered;
      for (const auto& row : result.rows)
        for (const auto& cell : row) {
          const std::string text = cell.to_text();
          for (const std::string& part : {hidden, std::string("683164"), std::string("7654321")})
            ASSERT_EQ(text.find(part), std::string::npos) << sql;
        }
    } catch (const Error& error) {
      ASSERT_STRNE(error.what(), "") << sql;
    }
  });
  if (test::fuzz_range(2000).many()) {
    EXPECT_GT(answered, 0) << "the generator writes no SQL";
  }
}

}  // namespace
}  // namespace thalweg::db
