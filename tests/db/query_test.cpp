#include <gmock/gmock.h>

#include <chrono>
#include <fstream>

#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class QueryTest : public StoreTest {
 protected:
  QueryTest() {
    id = running_attempt();
    store.add_points(id, 1, 1,
                     {{"val/error", 100, 0.5, 1700000010.5},
                      {"val/error", 200, 0.75, 1700000015},  // replaced by the next
                      {"val/error", 200, 0.25, 1700000020},
                      {"train/loss", 100, 2, 1700000010.5}});
    store.put_start(
        id,
        R"({"version":"0.1","device":"cpu","device_name":"A CPU","ranks":2,"threads":1,)"
        R"("shards":4,"parameters":10,"flops_per_sample":48.0,"steps":99,"resumed_step":0,"libraries":{},)"
        R"("config":{"optimizer":{"name":"adamw","lr":0.001,"eps":1e-8},)"
        R"("model":{"name":"mlp","hidden":[512,256]},"batch":{"global":128},)"
        R"("epochs":5,"steps":null}})");
    store.put_ranks(id, R"({"step":3,"compute_ms":[1.5]})");
    store.append_event({0, 1700000000, "submitted", {id.sweep, 0, 0}, R"({"trials":1})"});
  }

  QueryResult ask(const std::string& sql, std::int64_t max_rows = 100, double seconds = 10) {
    return store.query(sql, max_rows, seconds);
  }

  std::string refusal(const std::string& sql) {
    try {
      ask(sql);
    } catch (const Error& error) {
      return error.what();
    }
    return "(allowed)";
  }

  Id id;
};

TEST_F(QueryTest, ATableOfOnesOwnIsNotTakenForAView) {
  for (const char* sql :
       {"WITH events AS (SELECT data FROM event) SELECT * FROM events",
        "with Events(x) as materialized (select token from attempt) select * from events",
        "WITH a AS (SELECT 1), \"events\" AS NOT MATERIALIZED (SELECT data FROM event) "
        "SELECT * FROM events",
        "WITH RECURSIVE [attempts] /* , */ (x) -- (\n AS (SELECT token FROM attempt) "
        "SELECT * FROM attempts",
        "SELECT * FROM (WITH `sweeps` AS (SELECT token FROM attempt) SELECT * FROM sweeps)",
        "WITH sweeps(\")\", \"as\") AS (SELECT token, 1 FROM attempt) SELECT * FROM sweeps",
        "WITH 'sweeps' AS (SELECT token FROM attempt) SELECT * FROM sweeps",
        "WITH \"swe\"\"eps\" AS (SELECT 1), sweeps AS (SELECT token FROM attempt) "
        "SELECT * FROM sweeps"})
    EXPECT_THAT(refusal(sql), HasSubstr("is a view of the record")) << sql;
  for (const char* sql : {"SELECT * FROM (SELECT token FROM attempt) AS attempts",
                          "SELECT attempts.token FROM attempt AS attempts",
                          "WITH own AS (SELECT token FROM attempt) SELECT * FROM own"})
    EXPECT_THAT(refusal(sql), HasSubstr("private")) << sql;
  for (const char* sql : {"WITH own AS (SELECT * FROM events) SELECT * FROM own",
                          "SELECT sweeps AS n FROM (SELECT count(*) AS sweeps FROM sweeps)",
                          "SELECT 'events AS (' FROM sweeps -- events AS (",
                          "SELECT cast(sweep AS text) FROM sweeps"})
    EXPECT_EQ(refusal(sql), "(allowed)") << sql;
}

TEST_F(QueryTest, AResultIsLimitedInBytesToo) {
  const auto found =
      ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
          "SELECT i, printf('%02000000d', i) FROM n",
          1'000'000);
  EXPECT_TRUE(found.truncated);
  EXPECT_GT(found.rows.size(), 10u);
  EXPECT_LT(found.rows.size(), 50u);
}

TEST_F(QueryTest, TheEventsShowNoSecrets) {
  store.append_event({0, 1700000001, "launching", id,
                      R"({"token":"t0ken","push_secret":"s3cret","folder":"/runs/1"})"});
  store.append_event({0, 1700000002, "launching", id, "not JSON"});
  const auto found = ask("SELECT data FROM events WHERE kind = 'launching' ORDER BY number");
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0][0].as_string(), R"({"folder":"/runs/1"})");
  EXPECT_EQ(found.rows[1][0].as_string(), "not JSON");
}

std::vector<std::string> columns_in_documentation(const std::string& view) {
  std::ifstream file(std::string(THALWEG_SOURCE_DIR) + "/db/views.md");
  std::vector<std::string> columns;
  std::string line;
  bool inside = false;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) inside = line == "## " + view;
    if (inside && line.starts_with("| `")) {
      columns.push_back(line.substr(3, line.find('`', 3) - 3));
    }
  }
  return columns;
}

TEST_F(QueryTest, EveryViewHasTheDocumentedColumns) {
  for (const char* view : {"sweeps", "trials", "attempts", "starts", "ranks", "hyperparameters",
                           "metrics", "replaced_metrics", "latest_metrics", "events"}) {
    const auto result = ask(std::string("SELECT * FROM ") + view);
    EXPECT_EQ(result.columns, columns_in_documentation(view)) << view;
    EXPECT_FALSE(result.rows.empty()) << view;
  }
  EXPECT_EQ(ask("SELECT name FROM sqlite_master WHERE type = 'view'").rows.size(), 10u);
}

TEST_F(QueryTest, StartsTellWhatATrainingStepComputes) {
  EXPECT_EQ(ask("SELECT parameters * flops_per_sample FROM starts").rows.at(0).at(0).as_double(),
            480);
}

TEST_F(QueryTest, MetricsArePointsAsRows) {
  const auto result =
      ask("SELECT sweep, trial, attempt, metric, step, value, time FROM metrics"
          " WHERE metric = 'val/error' ORDER BY step");
  ASSERT_EQ(result.rows.size(), 2u);
  EXPECT_EQ(result.rows[0][0].as_int(), id.sweep);
  EXPECT_EQ(result.rows[0][1].as_int(), 1);
  EXPECT_EQ(result.rows[0][2].as_int(), 1);
  EXPECT_EQ(result.rows[0][3].as_string(), "val/error");
  EXPECT_EQ(result.rows[0][4].as_int(), 100);
  EXPECT_EQ(result.rows[0][5].as_double(), 0.5);
  EXPECT_EQ(result.rows[0][6].as_double(), 1700000010.5);
  // A whole number stays a real: value / 4 must not be an integer division.
  EXPECT_EQ(ask("SELECT value / 4 FROM metrics WHERE metric = 'train/loss'").rows[0][0].as_double(),
            0.5);
}

TEST_F(QueryTest, HyperparametersSayWhatTheEngineTookForThem) {
  TrialRow trial = sample_trial(id.sweep, 2);
  trial.parameters = R"({"optimizer.lr":"auto","resources.nodes":2})";
  trial.train = R"({"optimizer":{"name":"adamw","lr":"auto"},"batch":{"shards":"auto"}})";
  store.insert_trials({trial});
  const auto resolved = [&] {
    std::vector<std::string> found;
    for (const auto& row : ask("SELECT name, value, varied, resolved FROM hyperparameters WHERE "
                               "trial = 2 ORDER BY name")
                               .rows)
      found.push_back(row[0].as_string() + " " + row[1].to_text() + " " + row[2].to_text() + " " +
                      row[3].to_text());
    return found;
  };
  EXPECT_THAT(resolved(),
              ::testing::ElementsAre("batch.shards auto 0 auto", "optimizer.lr auto 1 auto",
                                     "optimizer.name adamw 0 adamw", "resources.nodes 2 1 2"));
  for (const int number : {1, 2}) {
    store.insert_attempt(sample_attempt(id.sweep, 2, number));
    store.put_start({id.sweep, 2, number}, R"({"config":{"optimizer":{"name":"adamw","lr":0.00)" +
                                               std::to_string(number) +
                                               R"(,"nesterov":true},"batch":{"shards":4}}})");
  }
  EXPECT_THAT(resolved(),
              ::testing::ElementsAre("batch.shards auto 0 4", "optimizer.lr auto 1 0.002",
                                     "optimizer.name adamw 0 adamw", "optimizer.nesterov null 0 1",
                                     "resources.nodes 2 1 2"));
  EXPECT_THAT([&] { store.put_start({id.sweep, 2, 3}, "{}"); }, ::testing::Throws<Error>());
}

TEST_F(QueryTest, HyperparametersAreTypedAndSayWhatVaried) {
  const auto rows = ask("SELECT name, value, varied FROM hyperparameters WHERE value IS NOT NULL"
                        " ORDER BY varied DESC, name")
                        .rows;
  std::vector<std::string> found;
  for (const auto& row : rows) {
    found.push_back(row[0].as_string() + "=" + row[1].to_text() + (row[1].is_string() ? "s" : "") +
                    " " + row[2].to_text());
  }
  EXPECT_EQ(found, (std::vector<std::string>{"optimizer.lr=0.001 1", "optimizer.name=adamws 1",
                                             "epochs=5 0", "model.hidden=[512,256]s 0",
                                             "model.name=mlps 0", "optimizer.weight_decay=0 0"}));
}

TEST_F(QueryTest, AttemptsShowCostButNoToken) {
  AttemptRow row = sample_attempt(id.sweep, id.trial);
  row.ended = row.started + 10;
  store.update_attempt(row);
  const auto result = ask("SELECT id, seconds, node_seconds, exit_code FROM attempts");
  EXPECT_EQ(result.rows[0][0].as_string(), "1.1.1");
  EXPECT_EQ(result.rows[0][1].as_double(), 10);
  EXPECT_EQ(result.rows[0][2].as_double(), 20);
  EXPECT_TRUE(result.rows[0][3].is_null());
  EXPECT_THAT(refusal("SELECT token FROM attempts"), HasSubstr("no such column: token"));
}

TEST_F(QueryTest, WorksAcrossViewsAndWithSubqueries) {
  const auto rows = ask(R"(
      WITH best AS (SELECT sweep, trial, min AS error FROM latest_metrics WHERE metric = 'val/error')
      SELECT h.value, b.error FROM best AS b JOIN hyperparameters AS h USING (sweep, trial)
      WHERE h.name = 'optimizer.name' AND EXISTS (SELECT 1 FROM trials AS t WHERE t.trial = b.trial))")
                        .rows;
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0][0].as_string(), "adamw");
  EXPECT_EQ(rows[0][1].as_double(), 0.25);
  EXPECT_EQ(ask("SELECT count(*) FROM metrics").rows[0][0].as_int(), 3);
  EXPECT_FALSE(ask("EXPLAIN QUERY PLAN SELECT * FROM metrics").rows.empty());
  EXPECT_FALSE(ask("PRAGMA table_info(metrics)").rows.empty());
  EXPECT_FALSE(ask("SELECT name FROM pragma_table_info('metrics')").rows.empty());
}

TEST_F(QueryTest, NothingCanBeChanged) {
  for (const char* sql :
       {"DELETE FROM trial", "INSERT INTO event VALUES (9,1,'x',1,1,1,'{}')",
        "UPDATE sweep SET name = 'x'", "DROP VIEW metrics", "CREATE TABLE t (a)",
        "CREATE TEMP TABLE t (a)", "BEGIN IMMEDIATE", "ATTACH '/tmp/other.db' AS other",
        "VACUUM INTO '/tmp/copy.db'", "VACUUM", "PRAGMA journal_mode = DELETE",
        "PRAGMA writable_schema = 1", "SELECT load_extension('x')", "REINDEX", "ANALYZE"}) {
    const std::string message = refusal(sql);
    EXPECT_THAT(message, HasSubstr("allowed")) << sql;
    EXPECT_NE(message, "(allowed)") << sql;
  }
  EXPECT_EQ(store.trials(id.sweep).size(), 1u);
  EXPECT_EQ(store.sweeps()[0].name, "demo");
}

TEST_F(QueryTest, FunctionsThatReachOutOfTheRecordAreRefused) {
  for (const char* call :
       {"fts3_tokenizer('simple')", "fts3_tokenizer('simple', x'4141414141414141')",
        "load_extension('x')", "zeroblob(60000000)", "randomblob(60000000)",
        "sqlite_compileoption_get(0)", "sqlite_log(1, 'x')", "last_insert_rowid()"}) {
    const std::string message = refusal(std::string("SELECT hex(") + call + ")");
    EXPECT_THAT(message, testing::AnyOf(HasSubstr("is not allowed"), HasSubstr("no such function")))
        << call;
  }
  for (const char* call :
       {"round(avg(value), 2)", "group_concat(step)", "json_extract('{\"a\": 1}', '$.a')",
        "'{\"a\": 1}' ->> 'a'", "max(step) - min(step)", "total(value)", "sqrt(sum(value))",
        "printf('%.2f', avg(value))", "count(DISTINCT step)", "upper(substr('abc', 2))"})
    EXPECT_FALSE(ask(std::string("SELECT ") + call + " FROM metrics").rows.empty()) << call;
  EXPECT_EQ(ask("SELECT row_number() OVER (ORDER BY step), lag(value) OVER (ORDER BY step), "
                "strftime('%Y', time, 'unixepoch') FROM metrics")
                .rows.size(),
            3u);
}

TEST_F(QueryTest, PrivateTablesAreRefusedByName) {
  EXPECT_THAT(refusal("SELECT token FROM attempt"), HasSubstr("the table attempt is private"));
  EXPECT_THAT(refusal("SELECT token FROM attempt"), HasSubstr("use the views sweeps"));
  EXPECT_THAT(refusal("SELECT (SELECT max(token) FROM attempt) FROM trials"), HasSubstr("private"));
  EXPECT_THAT(refusal("WITH t AS (SELECT data FROM metric_chunk) SELECT * FROM t"),
              HasSubstr("private"));
}

TEST_F(QueryTest, MessagesAreSqlites) {
  EXPECT_EQ(refusal("SELEC 1"), "query: near \"SELEC\": syntax error");
  EXPECT_EQ(refusal("SELECT x FROM metrics"), "query: no such column: x");
  EXPECT_THAT(refusal("SELECT * FROM foo"),
              HasSubstr("no such table: foo; the views are sweeps, trials, attempts"));
  EXPECT_EQ(refusal(""), "query: there is no statement in it");
  EXPECT_EQ(refusal("SELECT 1; SELECT 2"), "query: one statement at a time");
  EXPECT_EQ(ask("SELECT 1 ;\n").rows.size(), 1u);
}

TEST_F(QueryTest, ParametersAreBoundNotPutIntoTheText) {
  const std::string odd = "o'clock\" OR 1; --\n?";
  const auto row = store
                       .query("SELECT ?, ?, ?, ?, ?, typeof(?4)", 1, 10,
                              {odd, std::int64_t{1} << 62, 0.1, true, jobspec::Value()})
                       .rows.at(0);
  EXPECT_EQ(row[0].as_string(), odd);
  EXPECT_EQ(row[1].as_int(), std::int64_t{1} << 62);
  EXPECT_EQ(row[2].as_double(), 0.1);
  EXPECT_EQ(row[3].as_int(), 1);
  EXPECT_TRUE(row[4].is_null());
  EXPECT_EQ(row[5].as_string(), "integer");
  const auto values = store.query("SELECT value FROM metrics WHERE metric = ? AND step = ?", 9, 10,
                                  {"val/error", 200});
  ASSERT_EQ(values.rows.size(), 1u);
  EXPECT_EQ(values.rows[0][0].as_double(), 0.25);
}

TEST_F(QueryTest, AsManyValuesAsParameters) {
  EXPECT_EQ(refusal("SELECT ?, ?"),
            "query: a ? is a placeholder without a value: write the value instead");
  EXPECT_THROW(store.query("SELECT ?", 1, 10, {1, 2}), Error);
}

TEST_F(QueryTest, RowLimit) {
  const std::string three = "SELECT step FROM metrics ORDER BY step";
  EXPECT_EQ(ask(three, 2).rows.size(), 2u);
  EXPECT_TRUE(ask(three, 2).truncated);
  EXPECT_FALSE(ask(three, 3).truncated);
  EXPECT_EQ(ask(three, 0).rows.size(), 0u);
}

TEST_F(QueryTest, TimeLimit) {
  std::string message;
  try {
    ask("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", 10,
        0.2);
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_THAT(message, HasSubstr("stopped after 0.2 s"));
  EXPECT_EQ(ask("SELECT 1").rows.size(), 1u);  // and the connection is as before
}

TEST_F(QueryTest, TheCallerStopsIt) {
  int asked = 0;
  std::string message;
  try {
    store.query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n", 10,
        90, {}, [&] { return ++asked == 50; });
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_EQ(asked, 50);
  EXPECT_THAT(message, HasSubstr("since others wait"));
  EXPECT_EQ(store.query("SELECT 1", 1, 90, {}, [] { return false; }).rows.size(), 1u);
}

TEST_F(QueryTest, RunsBesideAnOpenTransactionAndSeesWhatIsCommitted) {
  store.transaction([&] {
    store.insert_sweep(sample_sweep("uncommitted"));
    EXPECT_EQ(ask("SELECT count(*) FROM sweeps").rows[0][0].as_int(), 1);
  });
  EXPECT_EQ(ask("SELECT count(*) FROM sweeps").rows[0][0].as_int(), 2);
}

TEST_F(QueryTest, ConfinedItShowsTheChosenSweepsAlone) {
  const Id other = running_attempt();
  store.add_points(other, 1, 1, {{"secret/metric", 1, 2, 3}, {"secret/metric", 1, 3, 4}});
  store.put_start(other, R"({"version":"0.1","config":{"optimizer":{"lr":7}}})");
  store.put_ranks(other, R"({"step":3,"compute_ms":[1.5,2]})");
  store.append_event({0, 1700000000, "submitted", {other.sweep, 0, 0}, "{}"});
  const auto views = ask("SELECT name FROM sqlite_master WHERE type = 'view'");
  ASSERT_GE(views.rows.size(), 10u);
  const auto sweeps_in = [&](const std::string& view) {
    std::string text;
    for (const auto& row : ask("SELECT DISTINCT sweep FROM " + view + " ORDER BY sweep").rows)
      text += row[0].to_text() + " ";
    return text;
  };
  const std::string a = std::to_string(id.sweep) + " ", b = std::to_string(other.sweep) + " ";
  for (const auto& row : views.rows) {
    const std::string view = row[0].as_string();
    store.confine_queries(std::nullopt);
    const auto all = ask("SELECT * FROM " + view, 10000);
    EXPECT_EQ(sweeps_in(view), a + b) << view;
    store.confine_queries(std::vector<std::int64_t>{other.sweep});
    EXPECT_EQ(sweeps_in(view), b) << view;
    EXPECT_EQ(ask("SELECT * FROM " + view).columns, all.columns) << view;
    const auto few = ask("SELECT count(*) FROM " + view).rows.at(0).at(0).as_int();
    EXPECT_GT(few, 0) << view;
    EXPECT_LT(few, static_cast<std::int64_t>(all.rows.size())) << view;
    store.confine_queries(std::vector<std::int64_t>{});
    EXPECT_EQ(sweeps_in(view), "") << view;
    EXPECT_EQ(ask("SELECT count(*) FROM " + view).rows.at(0).at(0).as_int(), 0) << view;
  }
}

TEST_F(QueryTest, ConfinedTheViewsOfTheRecordItselfAreClosed) {
  running_attempt();
  store.confine_queries(std::vector<std::int64_t>{id.sweep});
  for (const char* sql :
       {"SELECT * FROM main.sweeps", "SELECT count(*) FROM main.sweeps",
        "SELECT 1 FROM \"main\" . [trials]", "SELECT * FROM main.events, trials",
        "SELECT (SELECT max(sweep) FROM main.metrics)", "SELECT count(*) FROM sweep",
        "SELECT 1 FROM trial", "SELECT EXISTS (SELECT 1 FROM main.attempt)",
        "SELECT count(*) FROM (SELECT * FROM main.hyperparameters)",
        "WITH t AS (SELECT * FROM main.trials) SELECT count(*) FROM t",
        "SELECT count(*) FROM sweeps AS s JOIN main.sweeps AS m ON m.sweep <> s.sweep",
        "SELECT * FROM main.sweeps AS chosen_sweeps",
        "SELECT count(*) FROM (SELECT * FROM sweep) AS chosen_sweeps", "SELECT rowid FROM sweep"})
    EXPECT_THAT(refusal(sql), AnyOf(HasSubstr("private"), HasSubstr("no such table"))) << sql;
  for (const char* sql : {"WITH chosen_sweeps AS (SELECT * FROM sweep) SELECT * FROM chosen_sweeps",
                          "WITH Sweeps AS (SELECT * FROM sweep) SELECT * FROM sweeps"})
    EXPECT_THAT(refusal(sql), HasSubstr("is a view of the record")) << sql;
  for (const char* sql :
       {"INSERT INTO temp.sweep_choice VALUES (2)", "DROP VIEW temp.sweeps",
        "DELETE FROM sweep_choice", "CREATE TEMP VIEW chosen_x AS SELECT * FROM sweep",
        "ATTACH 'thalweg.db' AS again", "PRAGMA temp_store = FILE"})
    EXPECT_NE(refusal(sql), "(allowed)") << sql;
  EXPECT_EQ(ask("SELECT sweep FROM temp.sweeps").rows.size(), 1u);
  EXPECT_EQ(ask("WITH own AS (SELECT * FROM sweeps) SELECT * FROM own").rows.size(), 1u);
}

}  // namespace
}  // namespace thalweg::db
