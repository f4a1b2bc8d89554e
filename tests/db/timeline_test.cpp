// Where an attempt's time went, from its own times and the engine's means.
#include "db/analysis/timeline.h"

#include <gmock/gmock.h>

#include <map>
#include <stdexcept>

#include "db/studies/study.h"
#include "tests/db/fixture.h"

namespace thalweg::db::analysis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kSubmitted = 1700000000;

/// A trial whose attempts are put in by hand.
class TimelineTest : public StoreTest {
 protected:
  TimelineTest() {
    SweepRow row = sample_sweep();
    row.submitted = kSubmitted;
    sweep = store.insert_sweep(row);
    store.insert_trials({sample_trial(sweep, 1)});
  }

  /// Launched `after` seconds after submission; runs from 5 s to 105 s after that. ms per step:
  /// data 10, compute 50, and so on; 1,000 steps, reported every 500.
  Id attempt(std::int64_t number, double after, std::int64_t resumed = 0) {
    AttemptRow row = sample_attempt(sweep, 1, number);
    row.launched = kSubmitted + after;
    row.started = row.launched + 5;
    row.ended = row.launched + 105;
    row.state = AttemptState::finished;
    store.insert_attempt(row);
    store.put_start(
        row.id, R"({"resumed_step":)" + std::to_string(resumed) + R"(,"node_list":["n1","n2"]})");
    std::vector<Point> points;
    for (const std::int64_t step : {resumed + 500, resumed + 1000}) {
      const double time = row.started + static_cast<double>(step - resumed) / 10;
      for (const auto& [name, value] : std::map<std::string, double>{{"perf/data_ms", 10},
                                                                     {"perf/compute_ms", 50},
                                                                     {"perf/comm_exposed_ms", 8},
                                                                     {"perf/skew_ms", 4},
                                                                     {"perf/optimizer_ms", 2},
                                                                     {"perf/checkpoint_ms", 250},
                                                                     {"perf/startup_s", 7},
                                                                     {"perf/kernels_s", 3},
                                                                     {"perf/validation_s", 6},
                                                                     {"train/loss", 1e9}})
        points.push_back({name, step, value, time});
    }
    store.add_points(row.id, 1, 1, points);
    return row.id;
  }
  static std::map<std::string, double> parts(const AttemptTimeline& of) {
    std::map<std::string, double> found;
    for (const TimelinePart& part : of.parts)
      found[part.name] = part.seconds;
    return found;
  }

  std::int64_t sweep = 0;
};

TEST_F(TimelineTest, OfTrialsThatShareAJobItIsThePlaceThatIsWaitedFor) {
  const auto advice = [&](std::int64_t number, const std::string& handle) {
    AttemptRow row = sample_attempt(sweep, 1, number);
    row.backend = "slurm";
    row.handle = handle;
    row.launched = kSubmitted;
    row.started = kSubmitted + 100;
    row.ended = kSubmitted + 101;
    store.insert_attempt(row);
    const auto all = timeline(store, {sweep, 1, 0}, kSubmitted);
    EXPECT_EQ(all.back().bottleneck, "queued");
    return all.back().advice;
  };
  EXPECT_THAT(advice(1, "4711"), HasSubstr("fewer nodes"));
  EXPECT_THAT(advice(2, "4711.3"), HasSubstr("slurm.pack"));
  EXPECT_THAT(advice(3, "pack:5df61d12f4f89dfc:5.1-cbd7a5ce"), HasSubstr("slurm.pack"));
}

TEST_F(TimelineTest, AccountsForEverySecondOfEveryAttempt) {
  attempt(1, 2);
  attempt(2, 2 + 105 + 30, 1000);
  const auto all = timeline(store, {sweep, 1, 0}, kSubmitted);
  ASSERT_EQ(all.size(), 2u);
  const std::map<std::string, double> expected{
      {"queued", 5},     {"start-up", 4},      {"kernels", 3},       {"data", 10},
      {"compute", 50},   {"skew", 4},          {"communication", 8}, {"optimizer", 2},
      {"validation", 6}, {"checkpoints", 0.5}, {"other", 12.5}};
  for (const AttemptTimeline& one : all) {
    EXPECT_EQ(one.seconds, 105);
    EXPECT_EQ(one.steps, 1000);
    const auto found = parts(one);
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, seconds] : expected)
      EXPECT_NEAR(found.at(name), seconds, 1e-6) << name;
    EXPECT_EQ(one.bottleneck, "compute");
    EXPECT_THAT(one.advice, HasSubstr("more ranks"));
  }
  EXPECT_EQ(all[0].waited, 2);
  EXPECT_EQ(all[1].waited, 30);
  EXPECT_TRUE(timeline(store, {sweep, 2, 0}, kSubmitted).empty());
}

TEST_F(TimelineTest, TellsAHoldFromTheQueue) {
  const Id id = attempt(1, 0);
  AttemptRow row = *store.attempt(id);
  row.eligible = row.launched + 3;
  store.update_attempt(row);
  const auto found = parts(timeline(store, {sweep, 1, 0}, kSubmitted).at(0));
  EXPECT_EQ(found.at("held"), 3);
  EXPECT_EQ(found.at("queued"), 2);
}

TEST_F(TimelineTest, NamesTheRankThatOthersWaitFor) {
  const Id id = attempt(1, 0);
  store.put_ranks(id, R"({"step":500,"compute_ms":[1,1,1]})");
  store.put_ranks(id, R"({"step":1000,"data_ms":[1,2],"compute_ms":[20,80],)"
                      R"("comm_exposed_ms":[8,1],"skew_ms":[60,0],"optimizer_ms":[2,2]})");
  const auto one = timeline(store, {sweep, 1, 0}, kSubmitted).at(0);
  ASSERT_EQ(one.per_rank.size(), 2u);
  EXPECT_EQ(one.per_rank[1].node, "n2");
  EXPECT_EQ(one.per_rank[1].compute_ms, 80);
  EXPECT_EQ(one.per_rank[0].skew_ms, 60);
  EXPECT_THAT(one.advice, HasSubstr("rank 1 on n2 computes 80 ms a step, the median rank 50 ms"));
}

TEST_F(TimelineTest, IsATableOfAllAttemptsThatAreAskedFor) {
  attempt(1, 2);
  const Id second = attempt(2, 2 + 105 + 30, 1000);
  store.put_ranks(second, R"({"step":2000,"data_ms":[1,2],"compute_ms":[20,80],)"
                          R"("comm_exposed_ms":[8,1],"skew_ms":[60,0],"optimizer_ms":[2,2]})");
  const Study& study = *find_study("timeline");
  StudyRequest request;
  request.trials = {{sweep, 1, 0}};
  const DataTable both = study.run(store, request);
  ASSERT_EQ(both.rows.size(), 22u);
  double shares = 0;
  for (const auto& row : both.rows)
    shares += std::get<double>(row[3]);
  EXPECT_NEAR(shares, 2, 1e-9);
  EXPECT_THAT(both.summary, ElementsAre(HasSubstr("1.1.1: compute"), HasSubstr("1.1.2: compute")));
  ASSERT_EQ(both.further.size(), 2u);
  EXPECT_EQ(both.further[0].rows.size(), 2u);
  EXPECT_EQ(both.further[1].rows.size(), 2u) << "ranks of the second";
  EXPECT_EQ(both.charts[0].bars.size(), 2u);
  request.trials = {second};
  EXPECT_EQ(study.run(store, request).rows.size(), 11u);
  request.trials = {{sweep, 1, 3}};
  EXPECT_THROW(study.run(store, request), std::out_of_range);
  request.trials = {{sweep, 2, 0}};
  EXPECT_THROW(study.run(store, request), std::out_of_range) << "never launched";
}

/// In a chart the parts of every attempt stand in the order in which they came.
TEST_F(TimelineTest, AChartHasThePartsInTheirOrder) {
  AttemptRow row = sample_attempt(sweep, 1, 1);
  row.launched = kSubmitted + 1;
  row.started = row.launched + 5;
  row.ended = row.launched + 9;
  row.state = AttemptState::failed;
  store.insert_attempt(row);
  attempt(2, 50);
  StudyRequest request;
  request.trials = {{sweep, 1, 0}};
  const DataChart chart = find_study("timeline")->run(store, request).charts.at(0);
  std::vector<std::string> labels;
  for (const DataSeries& series : chart.series) {
    labels.push_back(series.label);
    EXPECT_LE(series.y.size(), 2u);
  }
  EXPECT_THAT(labels,
              ElementsAre("queued", "start-up", "kernels", "data", "compute", "communication",
                          "skew", "optimizer", "validation", "checkpoints", "other"));
  EXPECT_THAT(chart.series[0].y, ElementsAre(5, 5));
  EXPECT_EQ(chart.series[4].y, (std::vector<double>{0, 50}));
}

TEST_F(TimelineTest, AnAttemptInTheQueueHasOnlyThat) {
  AttemptRow row = sample_attempt(sweep, 1);
  row.launched = kSubmitted + 1;
  row.started = 0;
  row.state = AttemptState::queued;
  store.insert_attempt(row);
  const auto one = timeline(store, {sweep, 1, 0}, kSubmitted + 61).at(0);
  EXPECT_EQ(parts(one), (std::map<std::string, double>{{"queued", 60}}));
  EXPECT_EQ(one.bottleneck, "queued");
  EXPECT_EQ(one.steps, 0);
  // Of an attempt without a start record there are no ranks either.
  store.put_ranks(row.id, R"({"compute_ms":[1]})");
  EXPECT_TRUE(timeline(store, {sweep, 1, 0}, kSubmitted + 61).at(0).per_rank.empty());
}

/// A run that a clock was set back in, or whose times overlap, has no negative parts and no more
/// than all its seconds.
TEST_F(TimelineTest, PartsAreNeverMoreThanTheWhole) {
  const Id id = attempt(1, 0);
  AttemptRow row = *store.attempt(id);
  row.ended = row.launched + 20;
  store.update_attempt(row);
  const auto one = timeline(store, {sweep, 1, 0}, kSubmitted).at(0);
  double sum = 0;
  for (const TimelinePart& part : one.parts) {
    EXPECT_GT(part.seconds, 0) << part.name;
    sum += part.seconds;
  }
  EXPECT_NEAR(sum, 20, 1e-9);
}

}  // namespace
}  // namespace thalweg::db::analysis
