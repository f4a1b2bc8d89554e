#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "db/chunk.h"
#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::int64_t> steps(const std::vector<CurvePoint>& curve) {
  std::vector<std::int64_t> found;
  for (const CurvePoint& point : curve)
    found.push_back(point.step);
  return found;
}

std::int64_t count(Store& store, const std::string& from) {
  return store.query("SELECT count(*) FROM " + from, 1, 10).rows[0][0].as_int();
}

TEST(Chunk, EveryDoubleReadsBackBitwise) {
  std::mt19937_64 random(7);
  Chunk chunk;
  std::vector<double> values{0.0,
                             -0.0,
                             kInfinity,
                             -kInfinity,
                             std::numeric_limits<double>::denorm_min(),
                             std::numeric_limits<double>::max(),
                             std::numeric_limits<double>::lowest(),
                             0.1,
                             1e-5,
                             5,
                             1e22};
  while (values.size() < 5000) {
    const std::uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isnan(value)) values.push_back(value);
  }
  std::int64_t step = 0;
  for (const double value : values) {
    chunk.append(step, value, -step);
    ++step;
  }
  std::size_t at = 0;
  read_points(chunk.data, [&](std::int64_t s, double value, std::int64_t time) {
    ASSERT_LT(at, values.size());
    EXPECT_EQ(s, static_cast<std::int64_t>(at));
    EXPECT_EQ(time, -static_cast<std::int64_t>(at));
    EXPECT_EQ(std::memcmp(&value, &values[at], sizeof value), 0) << values[at];
    ++at;
  });
  EXPECT_EQ(at, values.size());
}

TEST(Chunk, NanIsNullAndOutsideMinAndMax) {
  Chunk chunk;
  chunk.append(1, std::nan(""), 5);
  EXPECT_EQ(chunk.data, "[[1,null,5]]");
  EXPECT_TRUE(std::isnan(chunk.min));
  chunk.append(2, 3, 6);
  EXPECT_EQ(chunk.data, "[[1,null,5],[2,3,6]]");
  EXPECT_EQ(chunk.min, 3);
  EXPECT_EQ(chunk.max, 3);
  double first = 0;
  read_points(chunk.data, [&](std::int64_t s, double value, std::int64_t) {
    if (s == 1) first = value;
  });
  EXPECT_TRUE(std::isnan(first));
}

TEST(Chunk, TextThatIsNoChunkIsAnError) {
  for (const char* text : {"", "[", "[[", "[[1,2]]", "[[1,2,3]", "[[1,2,3],]", "[[1,x,3]]",
                           "[[1,2,3]] ", "[[1,", "null"}) {
    EXPECT_THROW(read_points(text, [](std::int64_t, double, std::int64_t) {}), Error) << text;
  }
}

TEST_F(StoreTest, PointsAreTakenExactlyOnce) {
  const Id id = running_attempt();
  EXPECT_TRUE(store.add_points(id, 1, 2, {{"train/loss", 10, 2.5, 1700000003.5}}));
  EXPECT_EQ(store.attempt(id)->journal_lines, 2);
  EXPECT_FALSE(store.add_points(id, 1, 2, {{"train/loss", 10, 2.5, 1700000003.5}}));
  EXPECT_FALSE(store.add_points(id, 4, 5, {{"train/loss", 30, 2.5, 1700000003.5}}));  // a gap
  EXPECT_FALSE(store.add_points(id, 3, 2, {}));                                       // no lines
  EXPECT_TRUE(store.add_points(id, 3, 3, {}));  // a line without points
  EXPECT_EQ(store.attempt(id)->journal_lines, 3);
  const auto curve = store.curve(id, "train/loss");
  ASSERT_EQ(curve.size(), 1u);
  EXPECT_EQ(curve[0].step, 10);
  EXPECT_EQ(curve[0].value, 2.5);
  EXPECT_EQ(curve[0].time, 1700000003.5);
  EXPECT_EQ(curve[0].attempt, 1);
}

TEST_F(StoreTest, PointsOfAnUnknownAttemptAreAnError) {
  EXPECT_THROW(store.add_points({1, 1, 1}, 1, 1, {}), Error);
}

TEST_F(StoreTest, ARolledBackBatchLeavesNothing) {
  const Id id = running_attempt();
  EXPECT_THROW(store.transaction([&] {
    store.add_points(id, 1, 1, {{"new/metric", 1, 1, 1700000003}});
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(store.attempt(id)->journal_lines, 0);
  EXPECT_TRUE(store.metric_names(id.sweep).empty());
  EXPECT_TRUE(store.add_points(id, 1, 1, {{"new/metric", 1, 1, 1700000003}}));
  EXPECT_EQ(store.curve(id, "new/metric").size(), 1u);
}

/// Batches of many sizes, through tails, pours and full chunks.
TEST_F(StoreTest, CurveHoldsEveryPointWhateverTheBatchSize) {
  const Id id = running_attempt();
  const std::vector<int> sizes{1,   1,    5, 120,  3,  200, 1,  127, 128,
                               129, 1024, 1, 5000, 64, 64,  64, 1};
  std::vector<Point> all;
  std::int64_t line = 1, step = 0;
  for (const int size : sizes) {
    std::vector<Point> batch;
    for (int i = 0; i < size; ++i) {
      step += 1;
      batch.push_back({"a", step, std::sin(static_cast<double>(step)),
                       1700000003 + 0.001 * static_cast<double>(step)});
      batch.push_back({"b", step, -static_cast<double>(step), 1700000003});
    }
    ASSERT_TRUE(store.add_points(id, line, line, batch));
    ++line;
    all.insert(all.end(), batch.begin(), batch.end());
  }
  const auto a = store.curve(id, "a");
  const auto b = store.curve(id, "b");
  ASSERT_EQ(a.size(), static_cast<std::size_t>(step));
  ASSERT_EQ(b.size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].step, all[2 * i].step);
    EXPECT_EQ(a[i].value, all[2 * i].value);
    EXPECT_NEAR(a[i].time, all[2 * i].time, 1e-6);
    EXPECT_EQ(b[i].value, all[2 * i + 1].value);
  }
  EXPECT_EQ(count(store, "metrics"), 2 * step);
  const auto latest = store.latest(id.sweep);
  ASSERT_EQ(latest.size(), 2u);
  EXPECT_EQ(latest[1].metric, "b");
  EXPECT_EQ(latest[1].step, step);
  EXPECT_EQ(latest[1].value, -static_cast<double>(step));
  EXPECT_EQ(latest[1].min, -static_cast<double>(step));
  EXPECT_EQ(latest[1].max, -1);
}

TEST_F(StoreTest, SmallBatchesEndInFullChunks) {
  const Id id = running_attempt();
  store.transaction([&] {
    for (std::int64_t line = 1; line <= 4096; ++line) {
      ASSERT_TRUE(store.add_points(id, line, line, {{"a", line, 0.5, 1700000003}}));
    }
  });
  sqlite::Connection& connection = store.connection();
  static const sqlite::Sql sizes{"sizes", "SELECT points FROM metric_chunk ORDER BY number"};
  sqlite::Run run(connection, sizes);
  std::vector<std::int64_t> found;
  while (run.row())
    found.push_back(run.integer(0));
  EXPECT_EQ(found, (std::vector<std::int64_t>{1024, 1024, 1024, 896, 128}));
}

TEST_F(StoreTest, WhereAttemptsOverlapTheLatestCounts) {
  const Id id = running_attempt();
  store.insert_attempt(sample_attempt(id.sweep, id.trial, 2));
  const Id again{id.sweep, id.trial, 2};
  store.add_points(
      id, 1, 1, {{"a", 1, 0.1, 1700000003}, {"a", 2, 0.2, 1700000004}, {"a", 3, 0.3, 1700000005}});
  store.add_points(again, 1, 1,
                   {{"a", 2, 20, 1700000104}, {"a", 3, 30, 1700000105}, {"a", 4, 40, 1700000106}});
  store.add_points(id, 2, 2, {{"a", 5, 0.5, 1700000007}});  // a late line of the first attempt
  const auto curve = store.curve(id, "a");
  EXPECT_EQ(steps(curve), (std::vector<std::int64_t>{1, 2, 3, 4}))
      << "the second attempt has trained from step 2 on anew";
  EXPECT_EQ(curve[0].value, 0.1);
  EXPECT_EQ(curve[1].value, 20);
  EXPECT_EQ(curve[1].attempt, 2);
  EXPECT_EQ(curve[3].value, 40);
  const auto latest = store.latest(id.sweep);
  ASSERT_EQ(latest.size(), 1u);
  EXPECT_EQ(latest[0].step, 4);
  EXPECT_EQ(latest[0].value, 40);
  EXPECT_EQ(latest[0].min, 0.1);
  EXPECT_EQ(latest[0].max, 40);
}

TEST_F(StoreTest, TheBestTrialHasTheBestOfAllItsValues) {
  const Id id = running_attempt();
  store.insert_trials(
      {sample_trial(id.sweep, 2), sample_trial(id.sweep, 3), sample_trial(id.sweep, 4)});
  EXPECT_FALSE(store.best_trial(id.sweep, "a", false));
  const auto add = [&](std::int64_t trial, const std::vector<Point>& points) {
    if (trial != 1) store.insert_attempt(sample_attempt(id.sweep, trial));
    ASSERT_TRUE(store.add_points({id.sweep, trial, 1}, 1, 1, points));
  };
  add(1, {{"a", 1, 0.5, 1700000003}, {"a", 2, 0.4, 1700000004}, {"b", 2, -9, 1700000004}});
  add(2, {{"a", 1, 0.1, 1700000003}, {"a", 2, 0.6, 1700000004}});
  add(3, {{"a", 1, 0.1, 1700000003}, {"a", 2, 0.9, 1700000004}});
  add(4, {{"a", 1, std::nan(""), 1700000003}});
  EXPECT_EQ(store.best_trial(id.sweep, "a", false), (Id{id.sweep, 2, 0})) << "the first of two";
  EXPECT_EQ(store.best_trial(id.sweep, "a", true), (Id{id.sweep, 3, 0}));
  EXPECT_EQ(store.best_trial(id.sweep, "b", true), (Id{id.sweep, 1, 0}));
  EXPECT_FALSE(store.best_trial(id.sweep, "c", true));
}

TEST_F(StoreTest, NanAndInfinityReadBack) {
  const Id id = running_attempt();
  store.add_points(id, 1, 1, {{"a", 1, std::nan(""), 1700000003}});
  EXPECT_TRUE(std::isnan(store.latest(id.sweep)[0].min));
  store.add_points(id, 2, 2, {{"a", 2, kInfinity, 1700000003}, {"a", 3, 1, 1700000003}});
  const auto curve = store.curve(id, "a");
  ASSERT_EQ(curve.size(), 3u);
  EXPECT_TRUE(std::isnan(curve[0].value));
  EXPECT_EQ(curve[1].value, kInfinity);
  const auto latest = store.latest(id.sweep);
  EXPECT_EQ(latest[0].min, 1);
  EXPECT_EQ(latest[0].max, 1) << "an infinity is no best value";
  const auto rows = store.query("SELECT value FROM metrics ORDER BY step", 10, 10).rows;
  EXPECT_TRUE(rows[0][0].is_null());
  EXPECT_EQ(rows[1][0].as_double(), kInfinity);
}

TEST_F(StoreTest, ThinningKeepsFirstAndLast) {
  const Id id = running_attempt();
  std::vector<Point> points;
  for (int i = 0; i <= 1000; ++i)
    points.push_back({"a", i, 1.0 * i, 1700000003});
  store.add_points(id, 1, 1, points);
  EXPECT_EQ(steps(store.curve(id, "a", 5)), (std::vector<std::int64_t>{0, 250, 500, 750, 1000}));
  EXPECT_EQ(steps(store.curve(id, "a", 1)), (std::vector<std::int64_t>{1000}));
  EXPECT_EQ(store.curve(id, "a", 1001).size(), 1001u);
  EXPECT_EQ(store.curve(id, "a", 5000).size(), 1001u);
  EXPECT_TRUE(store.curve(id, "b").empty());
}

TEST_F(StoreTest, MetricNamesAreTheSweepsOwn) {
  const Id id = running_attempt();
  const Id other = running_attempt();
  store.add_points(id, 1, 1, {{"b", 1, 1, 1}, {"a", 1, 1, 1}});
  store.add_points(other, 1, 1, {{"c", 1, 1, 1}});
  EXPECT_EQ(store.metric_names(id.sweep), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(store.metric_names(other.sweep), (std::vector<std::string>{"c"}));
}

/// On a machine without a clock, say: differences of two times are numbers all the same.
class AbsurdTimes : public StoreTest {};

TEST_F(AbsurdTimes, AreCutButKeepTheirSigns) {
  const Id id = running_attempt();
  store.add_points(id, 1, 1, {{"a", 1, 1, -1e300}, {"b", 1, 1, 1e300}, {"c", 1, 1, kInfinity}});
  EXPECT_LT(store.curve({id.sweep, id.trial, 0}, "a").at(0).time, -4e12);
  EXPECT_GT(store.curve({id.sweep, id.trial, 0}, "b").at(0).time, 4e12);
  EXPECT_GT(store.curve({id.sweep, id.trial, 0}, "c").at(0).time, 4e12);
}

}  // namespace
}  // namespace thalweg::db
