// Curves of ended sweeps that are thinned.
#include "db/thin.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "db/analysis/timeline.h"
#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

std::vector<ThinPoint> series(std::int64_t count, double (*value)(std::int64_t)) {
  std::vector<ThinPoint> points;
  for (std::int64_t i = 1; i <= count; ++i)
    points.push_back({10 * i, value(i), 1000 * i});
  return points;
}

TEST(Thin, WhatComparisonsRestOnIsLeftAlone) {
  EXPECT_EQ(thinning_of("my/score", "my/score"), Thinning::none);
  EXPECT_EQ(thinning_of("my/score", "val/error"), Thinning::sample);
  for (const char* name :
       {"val/loss", "test/error", "perf/startup_s", "perf/checkpoint_ms", "perf/gpu_energy_j"})
    EXPECT_EQ(thinning_of(name, "val/error"), Thinning::none) << name;
  for (const char* name : {"perf/data_ms", "perf/samples_per_s", "perf/tflops"})
    EXPECT_EQ(thinning_of(name, "val/error"), Thinning::mean) << name;
  for (const char* name : {"train/loss", "lr", "noise/b_simple", "value", "validity/x"})
    EXPECT_EQ(thinning_of(name, "val/error"), Thinning::sample) << name;
}

TEST(Thin, SamplesKeepEndsAndExtremes) {
  auto points = series(1000, [](std::int64_t i) { return std::sin(0.1 * static_cast<double>(i)); });
  points[511].value = 7;
  points[512].value = -7;
  points[600].value = std::numeric_limits<double>::quiet_NaN();
  const auto stay = thinned(points, 50, Thinning::sample);
  EXPECT_GE(stay.size(), 50u);
  EXPECT_LE(stay.size(), 53u);
  EXPECT_EQ(stay.front().step, 10);
  EXPECT_EQ(stay.back().step, 10'000);
  int extremes = 0, unknown = 0;
  std::int64_t gap = 0;
  for (std::size_t i = 0; i < stay.size(); ++i) {
    extremes += std::abs(stay[i].value) == 7 ? 1 : 0;
    unknown += std::isnan(stay[i].value) ? 1 : 0;
    EXPECT_EQ(stay[i].time, 100 * stay[i].step) << "a point that was there";
    if (i > 0) gap = std::max(gap, stay[i].step - stay[i - 1].step);
  }
  EXPECT_EQ(extremes, 2);
  EXPECT_EQ(unknown, 1);
  EXPECT_LE(gap, 10 * 21) << "at even distances";
}

TEST(Thin, MeansKeepTheSumOverSteps) {
  auto points = series(997, [](std::int64_t i) { return static_cast<double>(i % 7); });
  points[400].step += 5;  // not all at the same distance
  const auto sum = [](const std::vector<ThinPoint>& of) {
    double total = 0;
    std::int64_t before = 0;
    for (const ThinPoint& point : of) {
      total += point.value * static_cast<double>(point.step - before);
      before = point.step;
    }
    return total;
  };
  const auto stay = thinned(points, 20, Thinning::mean);
  EXPECT_EQ(stay.size(), 20u);
  EXPECT_NEAR(sum(stay), sum(points), 1e-9 * sum(points));
}

TEST(Thin, LeavesWhatIsShortOrOutOfOrder) {
  auto points = series(40, [](std::int64_t i) { return static_cast<double>(i); });
  EXPECT_EQ(thinned(points, 40, Thinning::sample).size(), 40u);
  EXPECT_EQ(thinned(points, 10, Thinning::none).size(), 40u);
  std::swap(points[3], points[4]);
  EXPECT_EQ(thinned(points, 10, Thinning::sample).size(), 40u);
}

class ThinStore : public StoreTest {};

TEST_F(ThinStore, ThinsAnAttemptsCurvesAndNothingTwice) {
  const Id id = running_attempt();
  std::vector<Point> points;
  for (std::int64_t step = 1; step <= 5000; ++step)
    for (const char* name : {"train/loss", "val/error", "perf/compute_ms"})
      points.push_back(
          {name, step, 1.0 / static_cast<double>(step), 1.7e9 + 0.01 * static_cast<double>(step)});
  ASSERT_TRUE(store.add_points(id, 1, 1, points));
  const auto error = store.curve({id.sweep, id.trial, 0}, "val/error", 0);
  const auto loss = store.curve({id.sweep, id.trial, 0}, "train/loss", 0);
  const auto seconds = [&] {
    const auto all = analysis::timeline(store, {id.sweep, id.trial, 0}, 1.8e9);
    for (const auto& part : all.at(0).parts)
      if (part.name == "compute") return part.seconds;
    return 0.0;
  };
  const double computed = seconds();
  EXPECT_EQ(store.thin_points(id, 2000, "val/error"), 2 * 3000);
  const auto thin = store.curve({id.sweep, id.trial, 0}, "train/loss", 0);
  ASSERT_EQ(thin.size(), 2000u);
  EXPECT_EQ(thin.front().value, loss.front().value);
  EXPECT_EQ(thin.back().value, loss.back().value);
  EXPECT_EQ(thin.back().time, loss.back().time);
  EXPECT_EQ(store.curve({id.sweep, id.trial, 0}, "val/error", 0).size(), error.size());
  EXPECT_GT(computed, 0);
  EXPECT_NEAR(seconds(), computed, 1e-6);
  EXPECT_EQ(store.thin_points(id, 2000, "val/error"), 0);
  const auto latest = store.query(
      "SELECT points, (SELECT count(*) FROM metrics AS m WHERE m.sweep = 1 AND m.metric = l.metric)"
      " FROM latest_metrics AS l WHERE sweep = 1 AND metric = 'train/loss'",
      1, 10);
  EXPECT_EQ(latest.rows[0][0].as_int(), 2000);
  EXPECT_EQ(latest.rows[0][1].as_int(), 2000);
  // What comes later goes behind.
  ASSERT_TRUE(store.add_points(id, 2, 2, {{"train/loss", 5001, 2, 1.8e9}}));
  EXPECT_EQ(store.curve({id.sweep, id.trial, 0}, "train/loss", 0).back().step, 5001);
}

}  // namespace
}  // namespace thalweg::db
