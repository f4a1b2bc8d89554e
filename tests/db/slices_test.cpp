// What searches found, against programs that are as simple as possible: each parameter against the
// metric, and the best value so far.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "db/studies/study.h"
#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

class SearchedSweep : public StoreTest {
 protected:
  std::int64_t sweep(jobspec::Goal goal) {
    SweepRow row = sample_sweep();
    row.goal = goal;
    trials_ = 0;
    return sweep_ = store.insert_sweep(row);
  }
  /// `value` NaN: it failed. `ended`: seconds after a common beginning.
  void add(std::int64_t configuration, const std::string& parameters, double value, double ended,
           TrialPhase state = TrialPhase::finished) {
    TrialRow row = sample_trial(sweep_, ++trials_);
    row.configuration = configuration;
    row.state = std::isnan(value) ? TrialPhase::failed : state;
    row.parameters = parameters;
    store.insert_trials({row});
    AttemptRow attempt = sample_attempt(sweep_, trials_);
    attempt.started = 1000;
    attempt.ended = 1000 + ended;
    attempt.nodes = 2;
    store.insert_attempt(attempt);
    if (!std::isnan(value))
      store.add_points({sweep_, trials_, 1}, 1, 1, {{"val/error", 10, value, 2000}});
  }
  DataTable ask(const char* name, const std::vector<std::int64_t>& sweeps) {
    StudyRequest request;
    request.sweeps = sweeps;
    return find_study(name)->run(store, request);
  }
  static std::vector<double> numbers(const DataTable& table, const std::string& key) {
    std::vector<double> values;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].key == key)
        for (const auto& row : table.rows)
          values.push_back(std::holds_alternative<double>(row[i]) ? std::get<double>(row[i]) : NAN);
    return values;
  }
  static std::vector<std::string> texts(const DataTable& table, const std::string& key) {
    std::vector<std::string> values;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      if (table.columns[i].key == key)
        for (const auto& row : table.rows)
          values.push_back(std::get<std::string>(row[i]));
    return values;
  }

  std::int64_t sweep_ = 0, trials_ = 0;
};

using HistoryStudy = SearchedSweep;
using SlicesStudy = SearchedSweep;

TEST_F(HistoryStudy, ListsEachImprovementAndWhatItHadCost) {
  const std::int64_t id = sweep(jobspec::Goal::minimize);
  add(1, "{}", 0.5, 40);
  add(2, "{}", 0.7, 10);  // the first that ended
  add(3, "{}", NAN, 20);
  add(4, "{}", 0.4, 30);
  add(5, "{}", 0.1, 50, TrialPhase::running);
  const DataTable table = ask("history", {id});
  EXPECT_THAT(numbers(table, "ended"), ElementsAre(1, 3));
  EXPECT_THAT(texts(table, "trial"), ElementsAre("1.2", "1.4"));
  EXPECT_THAT(numbers(table, "best"), ElementsAre(0.7, 0.4));
  EXPECT_THAT(numbers(table, "seconds"), ElementsAre(10, 30));
  EXPECT_THAT(numbers(table, "node_seconds"), ElementsAre(20, 120));
  EXPECT_THAT(table.summary, ElementsAre("1 trial ended after the last improvement"));
  EXPECT_THAT(table.notes, Contains(HasSubstr("not ended or cancelled: 1 trial")));
  ASSERT_EQ(table.charts.size(), 1u);
  EXPECT_THAT(table.charts[0].series[0].x, ElementsAre(1, 3, 4)) << "the failed one has no dot";
  EXPECT_THAT(table.charts[0].series[1].x, ElementsAre(1, 3, 3, 4));
  EXPECT_THAT(table.charts[0].series[1].y, ElementsAre(0.7, 0.7, 0.4, 0.4));
}

TEST_F(HistoryStudy, IsTheBestSoFarOfRandomSweeps) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 10; ++round) {
    const bool maximize = round % 2 == 0;
    const std::int64_t id = sweep(maximize ? jobspec::Goal::maximize : jobspec::Goal::minimize);
    const int trials = 1 + static_cast<int>(random() % 20);
    std::vector<std::pair<double, double>> of;  // end, value
    for (int i = 0; i < trials; ++i) {
      const double ended = 1 + i * 7 % 23 + i * 0.01;
      const double value = random() % 5 == 0 ? NAN : static_cast<double>(random() % 8);
      of.emplace_back(ended, value);
      add(i + 1, "{}", value, ended);
    }
    std::sort(of.begin(), of.end(), [](auto& a, auto& b) { return a.first < b.first; });
    std::vector<double> best;
    for (const auto& [ended, value] : of)
      if (!std::isnan(value) &&
          (best.empty() || (maximize ? value > best.back() : value < best.back())))
        best.push_back(value);
    EXPECT_EQ(numbers(ask("history", {id}), "best"), best) << round;
  }
}

TEST_F(HistoryStudy, OfSeveralSweepsHasALineForEachAndRefusesOtherGoals) {
  const std::int64_t one = sweep(jobspec::Goal::minimize);
  add(1, "{}", 0.5, 1);
  const std::int64_t two = sweep(jobspec::Goal::minimize);
  add(1, "{}", 0.4, 1), add(2, "{}", 0.3, 2);
  const DataTable table = ask("history", {one, two});
  EXPECT_THAT(numbers(table, "sweep"), ElementsAre(1, 2, 2));
  EXPECT_EQ(table.charts[0].series.size(), 4u);
  const std::int64_t other = sweep(jobspec::Goal::maximize);
  EXPECT_THROW(ask("history", {one, other}), std::invalid_argument);
  EXPECT_THROW(ask("history", {99}), std::invalid_argument);
}

TEST_F(SlicesStudy, EachValueIsTheBestAndTheMedianOfItsConfigurations) {
  const std::int64_t id = sweep(jobspec::Goal::minimize);
  int configuration = 0;
  const auto trial = [&](const char* optimizer, double lr, std::vector<double> seeds) {
    ++configuration;
    for (const double value : seeds)
      add(configuration,
          R"({"optimizer.name":")" + std::string(optimizer) + R"(","optimizer.lr":)" +
              std::to_string(lr) + "}",
          value, configuration);
  };
  trial("sgd", 0.1, {0.3, 0.9, 0.4});  // 0.4
  trial("sgd", 0.01, {0.5});
  trial("adam", 0.1, {NAN});
  trial("adam", 0.01, {0.2});
  trial("adam", 0.001, {0.6});
  const DataTable table = ask("slices", {id});
  EXPECT_THAT(texts(table, "value"), ElementsAre("sgd", "adam", "0.001", "0.01", "0.1"));
  EXPECT_THAT(numbers(table, "configurations"), ElementsAre(2, 3, 1, 2, 2));
  EXPECT_THAT(numbers(table, "best"), ElementsAre(0.4, 0.2, 0.6, 0.2, 0.4));
  EXPECT_THAT(numbers(table, "without"), ElementsAre(0, 1, 0, 0, 1));
  EXPECT_THAT(table.notes, testing::Not(Contains(HasSubstr("may lie beyond"))));
  ASSERT_EQ(table.charts.size(), 2u);
  EXPECT_THAT(table.charts[0].bars, ElementsAre("sgd", "adam"));
  EXPECT_THAT(table.charts[1].series[0].x, ElementsAre(0.001, 0.01, 0.01, 0.1));
  EXPECT_TRUE(table.charts[1].log_x);
}

TEST_F(SlicesStudy, TheEdgeOfWhatWasSearchedIsSaid) {
  for (const bool maximize : {false, true}) {
    const std::int64_t id = sweep(maximize ? jobspec::Goal::maximize : jobspec::Goal::minimize);
    for (int i = 1; i <= 12; ++i)
      add(i, R"({"optimizer.lr":)" + std::to_string(i) + "}", i, i);
    EXPECT_THAT(ask("slices", {id}).notes,
                Contains(HasSubstr(maximize ? "the largest optimizer.lr that was tried, 12"
                                            : "the smallest optimizer.lr that was tried, 1")));
  }
}

TEST_F(SlicesStudy, RangesHoldEachConfigurationOnce) {
  std::mt19937 random(20261129);
  for (int round = 0; round < 6; ++round) {
    const std::int64_t id = sweep(jobspec::Goal::minimize);
    const int configurations = 2 + static_cast<int>(random() % 60);
    std::set<double> different;
    std::vector<std::pair<double, double>> of;
    for (int i = 0; i < configurations; ++i) {
      const double x = static_cast<double>(random() % 40), y = static_cast<double>(random() % 1000);
      different.insert(x);
      of.emplace_back(x, y);
      add(i + 1, R"({"optimizer.lr":)" + std::to_string(x) + "}", y, i);
    }
    const DataTable table = ask("slices", {id});
    if (different.size() < 2) {
      EXPECT_TRUE(table.rows.empty());
      continue;
    }
    const auto counts = numbers(table, "configurations"), best = numbers(table, "best");
    EXPECT_LE(counts.size(), 8u);
    EXPECT_GE(counts.size(), 2u);
    double sum = 0, least = 1e9;
    for (const auto& [x, y] : of)
      least = std::min(least, y);
    for (const double count : counts)
      sum += count;
    EXPECT_EQ(sum, configurations) << round;
    EXPECT_EQ(*std::min_element(best.begin(), best.end()), least);
  }
}

}  // namespace
}  // namespace thalweg::db
