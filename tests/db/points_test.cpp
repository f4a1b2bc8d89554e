// Which points count: every reader of the record against a plain model, on random journals.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "db/analysis/compare.h"
#include "db/chunk.h"
#include "db/migrate.h"
#include "tests/db/fixture.h"
#include "tests/support/fuzz.h"
#include "tests/support/journals.h"

namespace thalweg::db {
namespace {

using test::AttemptJournal;
using test::counting;
using test::Journals;
using test::plain_best;
using test::plain_steps_to;
using test::PlainPoint;
using test::TrialJournal;

constexpr double kTarget = 0;
constexpr const char* kMetrics[] = {"loss", "val/score"};

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

std::string start_record(const AttemptJournal& attempt) {
  return std::string(R"({"device":")") + (attempt.program ? "program" : "cpu") +
         R"(","resumed_step":)" + std::to_string(attempt.resumed) + "}";
}

std::vector<Point> points_of(const AttemptJournal& attempt, std::size_t first, std::size_t count) {
  std::vector<Point> points;
  for (std::size_t i = first; i < first + count; ++i) {
    const test::Report& report = attempt.reports[i];
    points.push_back(
        {report.metric, report.step, report.value, 1700000003 + static_cast<double>(i) / 4});
  }
  return points;
}

/// One sweep for each seed, with some trials.
class PointsTest : public StoreTest {
 protected:
  static constexpr std::int64_t trials = 3;

  std::int64_t draw(int seed, bool maximize, std::vector<TrialJournal>& journals) {
    SweepRow row = sample_sweep();
    row.metric = "loss";
    row.goal = maximize ? jobspec::Goal::maximize : jobspec::Goal::minimize;
    row.target = kTarget;
    row.targets = {kTarget};
    const std::int64_t sweep = store.insert_sweep(row);
    Journals drawn(static_cast<std::uint64_t>(seed), true);
    for (std::int64_t trial = 1; trial <= trials; ++trial) {
      TrialRow one = sample_trial(sweep, trial);
      one.parameters = R"({"x":)" + std::to_string(trial) + "}";
      one.state = TrialPhase::finished;
      store.insert_trials({one});
      journals.push_back(drawn.next());
      for (std::size_t i = 0; i < journals.back().attempts.size(); ++i)
        store.insert_attempt(sample_attempt(sweep, trial, static_cast<std::int64_t>(i + 1)));
      take({sweep, trial, 0}, journals.back());
    }
    return sweep;
  }

  void take(Id id, const TrialJournal& journal) {
    std::vector<std::size_t> taken(journal.attempts.size());
    std::vector<std::int64_t> lines(journal.attempts.size());
    for (const auto& [i, count] : journal.parts) {
      const AttemptJournal& attempt = journal.attempts[i];
      id.attempt = static_cast<std::int64_t>(i + 1);
      ++lines[i];
      ASSERT_TRUE(store.add_points(id, lines[i], lines[i], points_of(attempt, taken[i], count)));
      if (lines[i] == 1 && attempt.starts) store.put_start(id, start_record(attempt));
      taken[i] += count;
    }
  }

  void check(std::int64_t sweep, bool maximize, const std::vector<TrialJournal>& journals) {
    for (const char* metric : kMetrics) {
      std::vector<std::vector<PlainPoint>> plain;
      for (const TrialJournal& journal : journals)
        plain.push_back(counting(journal, metric));
      check_curves(sweep, metric, plain);
      check_views(sweep, metric, plain);
      check_latest(sweep, metric, maximize, plain);
      check_order(sweep, metric, maximize, plain);
      check_comparison(sweep, metric, maximize, plain);
    }
    check_reported(sweep, journals);
  }

  void check_curves(std::int64_t sweep, const char* metric,
                    const std::vector<std::vector<PlainPoint>>& plain) {
    std::map<std::int64_t, std::vector<CurvePoint>> all;
    store.curves(sweep, metric, [&](std::int64_t trial, const auto& curve) { all[trial] = curve; });
    for (std::int64_t trial = 1; trial <= trials; ++trial) {
      const auto& wanted = plain[static_cast<std::size_t>(trial - 1)];
      for (const auto& curve : {store.curve({sweep, trial, 0}, metric), all[trial]}) {
        ASSERT_EQ(curve.size(), wanted.size()) << metric << " of " << trial;
        for (std::size_t i = 0; i < curve.size(); ++i) {
          EXPECT_EQ(curve[i].step, wanted[i].step);
          EXPECT_EQ(curve[i].attempt, wanted[i].attempt);
          EXPECT_TRUE(same(curve[i].value, wanted[i].value)) << metric << " at " << curve[i].step;
        }
      }
    }
  }

  /// What a person's own SQL finds.
  void check_views(std::int64_t sweep, const char* metric,
                   const std::vector<std::vector<PlainPoint>>& plain) {
    std::size_t points = 0;
    for (const auto& each : plain)
      points += each.size();
    EXPECT_EQ(store
                  .query("SELECT count(*) FROM metrics WHERE sweep = ? AND metric = ?", 1, 10,
                         {sweep, metric})
                  .rows[0][0]
                  .as_int(),
              static_cast<std::int64_t>(points));
    for (const auto& row :
         store
             .query("SELECT l.trial, l.step, l.value, l.min, l.max, l.points, l.diverged,"
                    " count(*), max(m.step), min(CASE WHEN abs(m.value) < 9e999 THEN m.value END),"
                    " max(CASE WHEN abs(m.value) < 9e999 THEN m.value END), max(m.attempt)"
                    " = l.attempt"
                    " FROM latest_metrics AS l JOIN metrics AS m ON m.sweep = l.sweep"
                    " AND m.trial = l.trial AND m.metric = l.metric"
                    " WHERE l.sweep = ? AND l.metric = ? GROUP BY l.trial",
                    100, 10, {sweep, metric})
             .rows) {
      const auto& wanted = plain[static_cast<std::size_t>(row[0].as_int() - 1)];
      const auto number = [&](int column) {
        return row[static_cast<std::size_t>(column)].is_null()
                   ? std::nan("")
                   : row[static_cast<std::size_t>(column)].as_double();
      };
      ASSERT_FALSE(wanted.empty());
      EXPECT_EQ(row[1].as_int(), wanted.back().step);
      EXPECT_TRUE(same(number(2), wanted.back().value));
      for (const int column : {3, 9})
        EXPECT_TRUE(same(number(column), plain_best(wanted, false))) << column;
      for (const int column : {4, 10})
        EXPECT_TRUE(same(number(column), plain_best(wanted, true))) << column;
      for (const std::size_t column : {5u, 7u})
        EXPECT_EQ(row[column].as_int(), static_cast<std::int64_t>(wanted.size()));
      EXPECT_EQ(row[6].as_int() != 0, jobspec::has_diverged(wanted.back().value));
      EXPECT_EQ(row[8].as_int(), wanted.back().step);
      EXPECT_EQ(row[11].as_int(), 1);
    }
  }

  void check_latest(std::int64_t sweep, const char* metric, bool maximize,
                    const std::vector<std::vector<PlainPoint>>& plain) {
    std::map<std::int64_t, ReadStore::Latest> found;
    for (const auto& latest : store.latest(sweep, metric))
      found.emplace(latest.trial.trial, latest);
    for (std::int64_t trial = 1; trial <= trials; ++trial) {
      const auto& wanted = plain[static_cast<std::size_t>(trial - 1)];
      ASSERT_EQ(found.count(trial), wanted.empty() ? 0u : 1u) << metric << " of " << trial;
      if (wanted.empty()) continue;
      const ReadStore::Latest& latest = found.at(trial);
      EXPECT_EQ(latest.step, wanted.back().step);
      EXPECT_TRUE(same(latest.value, wanted.back().value));
      EXPECT_TRUE(same(latest.best(maximize), plain_best(wanted, maximize)));
    }
  }

  void check_order(std::int64_t sweep, const char* metric, bool maximize,
                   const std::vector<std::vector<PlainPoint>>& plain) {
    std::vector<std::int64_t> order;
    for (const bool diverged : {false, true}) {
      std::vector<std::pair<double, std::int64_t>> part;
      for (std::int64_t trial = 1; trial <= trials; ++trial) {
        const auto& points = plain[static_cast<std::size_t>(trial - 1)];
        const double best = plain_best(points, maximize);
        if (!std::isnan(best) && jobspec::has_diverged(points.back().value) == diverged)
          part.emplace_back(maximize ? -best : best, trial);
      }
      std::sort(part.begin(), part.end());
      for (const auto& [best, trial] : part)
        order.push_back(trial);
    }
    EXPECT_EQ(store.best_trials(sweep, metric, maximize), order);
    const auto first = store.best_trial(sweep, metric, maximize);
    EXPECT_EQ(first ? first->trial : 0, order.empty() ? 0 : order.front());
  }

  /// A row for each trial.
  void check_comparison(std::int64_t sweep, const char* metric, bool maximize,
                        const std::vector<std::vector<PlainPoint>>& plain) {
    const auto any =
        std::any_of(plain.begin(), plain.end(), [](const auto& p) { return !p.empty(); });
    if (!any) return;
    analysis::CompareOptions options;
    options.metric = metric;
    options.target = kTarget;
    options.goal = maximize ? jobspec::Goal::maximize : jobspec::Goal::minimize;
    const auto comparison = analysis::compare(store, sweep, options);
    ASSERT_EQ(comparison.rows.size(), static_cast<std::size_t>(trials));
    bool diverged_before = false;
    for (const auto& row : comparison.rows) {
      const auto& wanted = plain[static_cast<std::size_t>(row.trials.at(0).trial - 1)];
      const double best = row.best.median;
      const bool diverged = !wanted.empty() && jobspec::has_diverged(wanted.back().value);
      EXPECT_TRUE(!diverged_before || diverged || wanted.empty()) << "before one that diverged";
      diverged_before = diverged_before || diverged;
      const auto steps = plain_steps_to(wanted, kTarget, maximize);
      if (diverged)
        EXPECT_EQ(best, (maximize ? -1 : 1) * std::numeric_limits<double>::infinity());
      else
        EXPECT_TRUE(same(best, plain_best(wanted, maximize))) << best;
      if (diverged || !steps)
        EXPECT_FALSE(std::isfinite(row.steps_to_target.median));
      else
        EXPECT_EQ(row.steps_to_target.median, static_cast<double>(*steps));
    }
  }

  void check_reported(std::int64_t sweep, const std::vector<TrialJournal>& journals) {
    for (std::int64_t trial = 1; trial <= trials; ++trial) {
      std::size_t lines = 0;
      for (const AttemptJournal& attempt : journals[static_cast<std::size_t>(trial - 1)].attempts)
        lines += attempt.reports.size();
      std::size_t found = 0;
      for (const char* metric : kMetrics)
        found += store.reported({sweep, trial, 0}, metric).size();
      EXPECT_EQ(found, lines) << "nothing is lost";
    }
  }
};

TEST_F(PointsTest, EveryReaderAgreesWithAPlainModel) {
  const test::FuzzRange seeds = test::fuzz_range(1000);
  for (int seed = seeds.first; seed < seeds.end(); ++seed) {
    SCOPED_TRACE("THALWEG_FUZZ_FIRST=" + std::to_string(seed));
    const bool maximize = seed % 2 == 1;
    std::vector<TrialJournal> journals;
    std::int64_t sweep = 0;
    store.transaction([&] { sweep = draw(seed, maximize, journals); });
    check(sweep, maximize, journals);
    if (HasFailure()) break;
    store.transaction([&] { store.remove_sweep(sweep); });
  }
}

/// Long curves go through chunks and tails when a part of them is replaced.
TEST_F(PointsTest, ReplacedInTheMiddleOfManyChunks) {
  const Id id = running_attempt();
  std::map<std::int64_t, double> wanted;
  std::mt19937 random(7);
  store.transaction([&] {
    std::int64_t step = 0;
    for (std::int64_t line = 1; line <= 400; ++line) {
      std::vector<Point> points;
      if (line % 50 == 0) step = static_cast<std::int64_t>(random() % 6000);
      for (int i = 0; i < 40; ++i, ++step) {
        wanted[step] = static_cast<double>(random() % 1000);
        points.push_back({"a", step, wanted[step], 1700000003});
      }
      ASSERT_TRUE(store.add_points(id, line, line, points));
    }
  });
  const auto curve = store.curve(id, "a");
  ASSERT_EQ(curve.size(), wanted.size());
  auto next = wanted.begin();
  for (const CurvePoint& point : curve) {
    EXPECT_EQ(point.step, next->first);
    EXPECT_EQ(point.value, next->second);
    ++next;
  }
  EXPECT_EQ(store.reported(id, "a").size(), 400u * 40);
}

/// Rows of a record of schema 12, whose chunks hold what came as it came.
class OldRecord {
 public:
  void add_sweep(std::int64_t sweep) {
    add("INSERT INTO sweep (id, name, owner, backend, file_name, text, metric, goal, target, state,"
        " notes) VALUES (",
        sweep, ", 'x', 'x', 'local', 'x', '', 'loss', 'minimize', 0, 'finished', '[]');");
  }

  void add_trial(std::int64_t sweep, std::int64_t trial, const TrialJournal& journal) {
    add("INSERT INTO trial VALUES (", sweep, ", ", trial, ", ", trial,
        ", 1, '', 'finished', '{}', '{}', '{}', 1, NULL, '');");
    for (std::size_t i = 0; i < journal.attempts.size(); ++i) {
      ++row_;
      add("INSERT INTO attempt (id, sweep, trial, attempt, token, state, backend, handle, folder,"
          " nodes, ranks, node_list, reason, failed_node, journal_lines, clock) VALUES (",
          row_, ", ", sweep, ", ", trial, ", ", i + 1, ", 't", row_,
          "', 'finished', 'local', '', '', 1, 1, '', '', '', 1, 1700000000000000);");
      if (journal.attempts[i].starts)
        add("INSERT INTO attempt_start (attempt, record) VALUES (", row_, ", '",
            start_record(journal.attempts[i]), "');");
      for (const int metric : {1, 2})
        add_series(sweep, trial, metric, journal.attempts[i]);
    }
  }

  void write(const std::filesystem::path& file) const {
    sqlite::Connection connection(file, sqlite::Connection::Mode::write);
    migrate(connection, migrations().first(12));
    connection.script(
        "an old record",
        "INSERT INTO metric_name VALUES (1, 'loss'), (2, 'val/score');" + text_.str());
  }

 private:
  void add_series(std::int64_t sweep, std::int64_t trial, int metric,
                  const AttemptJournal& attempt) {
    Chunk chunk;
    for (const test::Report& report : attempt.reports)
      if (report.metric == kMetrics[metric - 1]) chunk.append(report.step, report.value, 3'000'000);
    if (chunk.points == 0) return;
    add("INSERT INTO metric_chunk VALUES (", row_, ", ", metric, ", 0, ", chunk.points, ", ",
        chunk.first_step, ", ", chunk.last_step, ", -99, 99, '", chunk.data, "');");
    add("INSERT OR REPLACE INTO metric_latest VALUES (", sweep, ", ", trial, ", ", metric,
        ", 1, 1, -99, 1, -99, 99, 1);");
  }

  template <class... Parts>
  void add(const Parts&... parts) {
    (text_ << ... << parts);
  }

  std::ostringstream text_;
  std::int64_t row_ = 0;
};

TEST_F(PointsTest, OlderFilesAreSortedWhenTheyAreOpened) {
  const auto file = folder.path() / "old.db";
  std::map<Id, TrialJournal> journals;
  OldRecord record;
  for (std::int64_t sweep = 1; sweep <= 100; ++sweep) {
    record.add_sweep(sweep);
    Journals drawn(static_cast<std::uint64_t>(sweep), false);
    for (std::int64_t trial = 1; trial <= trials; ++trial) {
      const TrialJournal& journal = journals[{sweep, trial, 0}] = drawn.next();
      record.add_trial(sweep, trial, journal);
    }
  }
  record.write(file);
  Store opened(file);
  for (const auto& [id, journal] : journals) {
    SCOPED_TRACE(id.to_string());
    std::size_t with_points = 0;
    for (const char* metric : kMetrics) {
      const auto wanted = counting(journal, metric);
      const auto curve = opened.curve(id, metric);
      ASSERT_EQ(curve.size(), wanted.size()) << metric;
      for (std::size_t i = 0; i < curve.size(); ++i) {
        EXPECT_EQ(curve[i].step, wanted[i].step);
        EXPECT_TRUE(same(curve[i].value, wanted[i].value));
      }
      with_points += wanted.empty() ? 0 : 1;
      for (const auto& latest : opened.latest(id)) {
        if (latest.metric != metric) continue;
        EXPECT_TRUE(same(latest.min, plain_best(wanted, false)));
        EXPECT_TRUE(same(latest.value, wanted.back().value));
      }
    }
    EXPECT_EQ(opened.latest(id).size(), with_points);
  }
}

/// What counts is decided in one place, and nobody reads past it.
TEST(Points, AreReadThroughTheStoreOrTheViewsOnly) {
  const std::filesystem::path root(THALWEG_SOURCE_DIR);
  std::size_t seen = 0;
  for (const char* component : {"base", "db", "daemon", "cli", "engine", "jobspec", "packaging"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / component)) {
      const std::string name = entry.path().lexically_relative(root).string();
      const std::string end = entry.path().extension().string();
      if (!entry.is_regular_file() || (end != ".cpp" && end != ".h" && end != ".py")) continue;
      if (name == "db/series.cpp" || name == "db/points.cpp" || name == "db/metrics.cpp") continue;
      ++seen;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      for (const char* table : {"metric_chunk", "metric_replaced", "metric_latest"})
        for (const char* verb : {"FROM ", "JOIN ", "INTO ", "UPDATE "})
          EXPECT_EQ(text.find(std::string(verb) + table), std::string::npos) << name;
    }
  EXPECT_GT(seen, 1000u);
}

}  // namespace
}  // namespace thalweg::db
