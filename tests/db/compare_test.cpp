#include "db/analysis/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/db/fixture.h"

namespace thalweg::db::analysis {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr double kStart = 1700000000;

/// A sweep over optimizer.name and seeds whose curves are put in by hand.
class CompareTest : public StoreTest {
 protected:
  CompareTest() { sweep = store.insert_sweep(sample_sweep()); }

  /// One finished trial with one attempt on 2 nodes; `errors` are val/error at steps 100, 200, ...
  /// one a second.
  Id add(const std::string& parameters, std::uint64_t seed, const std::vector<double>& errors,
         TrialPhase state = TrialPhase::finished) {
    TrialRow trial = sample_trial(sweep, ++trials, seed);
    if (!train.empty()) trial.train = train;
    if (!resources.empty()) trial.resources = resources;
    trial.configuration = static_cast<std::int64_t>(
        configurations.try_emplace(parameters, configurations.size() + 1).first->second);
    trial.parameters = parameters;
    trial.state = state;
    store.insert_trials({trial});
    AttemptRow attempt = sample_attempt(sweep, trials);
    attempt.started = kStart;
    attempt.ended = kStart + static_cast<double>(errors.size());
    store.insert_attempt(attempt);
    std::vector<Point> points;
    for (std::size_t i = 0; i < errors.size(); ++i) {
      const auto step = static_cast<std::int64_t>(i + 1);
      points.push_back({"val/error", 100 * step, errors[i], kStart + static_cast<double>(step)});
      points.push_back(
          {"perf/samples_per_s", 100 * step, 1000, kStart + static_cast<double>(step)});
    }
    store.add_points(attempt.id, 1, 1, points);
    return trial.id;
  }

  Id optimizer(const std::string& name, std::uint64_t seed, const std::vector<double>& errors) {
    return add(fmt::format(R"({{"optimizer.name":"{}","epochs":2}})", name), seed, errors);
  }

  /// One value, at this step.
  void rarely(const std::string& name, std::uint64_t seed, std::int64_t step, double error) {
    const Id id = optimizer(name, seed, {});
    store.add_points({id.sweep, id.trial, 1}, 2, 2,
                     {{"val/error", step, error, kStart + static_cast<double>(step)}});
  }

  std::int64_t sweep = 0, trials = 0;
  std::string train, resources;  ///< of the next trials, where not the sample's
  std::map<std::string, std::size_t> configurations;
};

TEST_F(CompareTest, BeforeTheFirstLookItSaysWhetherThereWillBeOne) {
  Event submitted;
  submitted.kind = "submitted";
  submitted.id = {sweep, 0, 0};
  submitted.data = R"({"seed_plan":{"rows":2,"looks":[6,11,16]}})";
  store.append_event(submitted);
  for (const std::uint64_t seed : {1, 2})
    for (const char* name : {"adamw", "muon"})
      optimizer(name, seed, {0.2});
  EXPECT_THAT(compare(store, sweep, {}).notes, Contains(HasSubstr("no look has been taken yet")));
  auto row = *store.sweep(sweep);
  row.state = SweepPhase::cancelled;
  store.update_sweep(row);
  const auto notes = compare(store, sweep, {}).notes;
  EXPECT_THAT(notes, Contains(HasSubstr("`thalweg retry 1 --state cancelled` runs them")));
  EXPECT_THAT(notes, Not(Contains(HasSubstr("taken yet"))));
}

TEST_F(CompareTest, GroupsSeedsAndRanksByStepsToTarget) {
  optimizer("momentum", 1, {0.5, 0.3, 0.2, 0.11});
  optimizer("adamw", 1, {0.4, 0.12, 0.10});
  optimizer("momentum", 2, {0.5, 0.3, 0.12, 0.10});
  optimizer("adamw", 2, {0.4, 0.2, 0.115, 0.13});
  optimizer("momentum", 3, {0.5, 0.4, 0.3, 0.2});
  optimizer("adamw", 3, {0.1});

  const Comparison found = compare(store, sweep);
  EXPECT_EQ(found.metric, "val/error");
  EXPECT_EQ(found.goal, Goal::minimize);
  EXPECT_EQ(found.target, 0.12);
  EXPECT_EQ(found.by, std::vector<std::string>{"optimizer.name"});
  ASSERT_EQ(found.rows.size(), 2u);

  const ComparisonRow& first = found.rows[0];
  EXPECT_EQ(first.rank, 1);
  ASSERT_EQ(first.group.size(), 1u);
  EXPECT_EQ(first.group[0].second.as_string(), "adamw");
  EXPECT_EQ(first.n, 3);
  EXPECT_EQ(first.finished, 3);
  EXPECT_EQ(first.failed, 0);
  EXPECT_EQ(first.trials, (std::vector<Id>{{sweep, 2, 0}, {sweep, 4, 0}, {sweep, 6, 0}}));
  EXPECT_EQ(first.best.median, 0.10);
  EXPECT_EQ(first.best.low, 0.10);
  EXPECT_EQ(first.best.high, 0.115);
  EXPECT_EQ(first.steps_to_target.median, 200);
  EXPECT_EQ(first.steps_to_target.low, 100);
  EXPECT_EQ(first.steps_to_target.high, 300);
  EXPECT_EQ(first.steps_to_target.reached, 3);
  EXPECT_EQ(first.seconds_to_target.median, 2);
  EXPECT_EQ(first.node_seconds_to_target.median, 4);
  EXPECT_EQ(first.node_seconds.median, 6);
  EXPECT_EQ(first.samples_per_s, 1000);
  EXPECT_EQ(first.verdict, "best");

  const ComparisonRow& second = found.rows[1];
  EXPECT_EQ(second.steps_to_target.median, 400);
  EXPECT_EQ(second.steps_to_target.reached, 2);
  EXPECT_TRUE(std::isinf(second.steps_to_target.high));
  EXPECT_EQ(second.verdict, "3 seeds, 4 needed");
  EXPECT_THAT(found.notes, Contains(HasSubstr("ranked by the median steps to target 0.12")));
}

TEST_F(CompareTest, RanksByTheLastValue) {
  CompareOptions options;
  options.rank_by = RankBy::last;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const double noise = 0.001 * static_cast<double>(seed);
    optimizer("adamw", seed, {0.05, 0.3 + noise});
    optimizer("sgd", seed, {0.5, 0.4, 0.3, 0.25, 0.24, 0.2 + noise});
  }
  EXPECT_EQ(compare(store, sweep).rows[0].group[0].second.as_string(), "adamw");
  const Comparison found = compare(store, sweep, options);
  EXPECT_THAT(found.notes,
              Contains("ranked by the median last value of val/error (smaller is better)"));
  EXPECT_THAT(found.notes, Not(Contains(HasSubstr("no trial has reached"))));
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "sgd");
  EXPECT_NEAR(found.rows[0].best.median, 0.2035, 1e-12);
  EXPECT_THAT(found.rows[1].verdict, StartsWith("worse (p=")) << "however often they report";
  EXPECT_EQ(found.rows[1].steps_to_target.reached, 6) << "adamw was there";
}

TEST_F(CompareTest, CountsTrialsThatWereEndedEarly) {
  const auto end_early = [&](const Id& id, const std::string& reason) {
    TrialRow row = *store.trial(id);
    row.reason = reason;
    store.update_trial(row);
  };
  const std::string told =
      "ended early: val/error 0.5 after 1 values, 0.4 of 3 trials is the limit";
  optimizer("adamw", 1, {0.4, 0.2, 0.1});
  end_early(optimizer("adamw", 2, {0.1}), told);
  EXPECT_EQ(compare(store, sweep).rows[0].ended_early, 1);
  EXPECT_THAT(compare(store, sweep).notes,
              Contains("1 of 2 trials were ended before their time: what they would "
                       "have reached is not known"))
      << "it had got there";
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    end_early(optimizer("sgd", seed, {0.5}), seed < 3 ? told : "");
  EXPECT_THAT(compare(store, sweep).notes,
              Contains("3 of 5 trials were ended before their time, in rows 1 (1 of 2) "
                       "and 2 (2 of 3); 2 of them without the target, which counts as missed: what "
                       "they would have reached is not known"));
  EXPECT_EQ(compare(store, sweep).rows[1].ended_early, 2);
  add(R"({"optimizer.name":"lion","epochs":2})", 1, {0.5}, TrialPhase::cancelled);
  end_early({sweep, trials, 0}, told);
  EXPECT_EQ(compare(store, sweep).rows[2].ended_early, 0) << "somebody cancelled it";
}

/// Rows whose trials report at steps 0, 1, 2, ... as W&B counts, one of them ended early.
TEST_F(CompareTest, TestsRowsThatReportAlikeFromStep0) {
  const auto report = [&](const std::string& name, std::uint64_t seed, std::int64_t values,
                          std::int64_t first, std::int64_t every) {
    const Id id = optimizer(name, seed, {});
    std::vector<Point> points;
    for (std::int64_t i = 0; i < values; ++i)
      points.push_back({"val/error", first + i * every,
                        0.5 + 0.001 * static_cast<double>(seed) + (name == "adamw" ? 0.1 : 0),
                        kStart + static_cast<double>(i)});
    store.add_points({id.sweep, id.trial, 1}, 2, 2, points);
  };
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    report("adamw", seed, 3, 0, 1);
    report("sgd", seed, 80, 0, 1);
  }
  EXPECT_THAT(compare(store, sweep).rows[1].verdict, StartsWith("worse (p="));
  sweep = store.insert_sweep(sample_sweep());
  trials = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    report("adamw", seed, 3, 0, 30);
    report("sgd", seed, 80, 0, 1);
  }
  EXPECT_EQ(compare(store, sweep).rows[1].verdict, "not tested") << "every 30 steps, every step";
}

TEST_F(CompareTest, LabelsTrialsOfEmulatedMachines) {
  optimizer("adamw", 1, {0.4, 0.1});
  const Id slow = optimizer("adamw", 2, {0.4, 0.1});
  EXPECT_THAT(compare(store, sweep).notes, Not(Contains(HasSubstr("emulated"))));
  const Id before{slow.sweep, slow.trial - 1, 1}, attempt{slow.sweep, slow.trial, 1};
  store.put_start(before, R"({"config":{"emulate":{"preset":"none"}}})");
  EXPECT_THAT(compare(store, sweep).notes, Not(Contains(HasSubstr("emulated"))));
  store.put_start(attempt, R"({"config":{"emulate":{"preset":"compute"}}})");
  const auto notes = compare(store, sweep).notes;
  EXPECT_THAT(notes, Contains(HasSubstr(R"(1 trial of 2 ran emulated, {"preset":"compute"}: its )"
                                        "seconds, cost and samples/s are of no real machine")));
  EXPECT_THAT(notes, Contains(HasSubstr("not all ran on the same emulated machine")));
  store.put_start(before, R"({"config":{"emulate":{"preset":"compute"}}})");
  EXPECT_THAT(compare(store, sweep).notes, Not(Contains(HasSubstr("not all ran"))));
}

TEST_F(CompareTest, TellsWhatEachOfSeveralTargetsTook) {
  SweepRow row = sample_sweep("targets");
  row.targets = {0.3, 0.12, 0.01};
  row.target = 0.01;
  sweep = store.insert_sweep(row);
  EXPECT_EQ(store.sweep(sweep)->targets, row.targets);
  optimizer("adamw", 1, {0.4, 0.2, 0.12, 0.1});
  optimizer("adamw", 2, {0.3, 0.13, 0.11, 0.01});
  optimizer("sgd", 1, {0.5, 0.4});
  const Comparison found = compare(store, sweep);
  EXPECT_EQ(found.target, 0.01);
  EXPECT_EQ(found.other_targets, (std::vector<double>{0.3, 0.12}));
  ASSERT_EQ(found.rows.size(), 2u);
  const ComparisonRow& first = found.rows[0];
  EXPECT_EQ(first.steps_to_target.reached, 1);
  ASSERT_EQ(first.other_targets.size(), 2u);
  EXPECT_EQ(first.other_targets[0].target, 0.3);
  EXPECT_EQ(first.other_targets[0].steps.median, 150);  // of 200 and 100
  EXPECT_EQ(first.other_targets[0].seconds.median, 1.5);
  EXPECT_EQ(first.other_targets[0].node_seconds.median, 3);
  EXPECT_EQ(first.other_targets[1].steps.median, 300);
  EXPECT_EQ(first.other_targets[1].steps.reached, 2);
  EXPECT_EQ(found.rows[1].other_targets[0].steps.reached, 0);
  EXPECT_TRUE(std::isinf(found.rows[1].other_targets[0].steps.median));

  CompareOptions options;
  options.target = 0.12;
  EXPECT_EQ(compare(store, sweep, options).other_targets, (std::vector<double>{0.3, 0.01}));
  options.metric = "perf/samples_per_s";
  EXPECT_TRUE(compare(store, sweep, options).other_targets.empty());
}

// A batch of 64 that became one of 128 after step 150, and one of 256 after 250.
TEST_F(CompareTest, CountsTheSamplesOfABatchThatGrows) {
  const std::vector<Point> reports{{"batch/size", 50, 64, kStart},
                                   {"batch/samples", 50, 50 * 64, kStart},
                                   {"batch/size", 150, 128, kStart + 1},
                                   {"batch/samples", 150, 150 * 64, kStart + 1},
                                   {"batch/size", 250, 256, kStart + 2},
                                   {"batch/samples", 250, 150 * 64 + 100 * 128, kStart + 2}};
  const std::vector<std::vector<double>> errors{{0.1}, {0.5, 0.1}, {0.5, 0.4, 0.1}};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const Id trial = add(fmt::format(R"({{"batch.global":64,"epochs":{}}})", i + 1), 1, errors[i]);
    store.add_points(sample_attempt(sweep, trials).id, 2, 2, reports);
    store.put_start({sweep, trial.trial, 1}, R"({"config":{"batch":{"global":64}}})");
  }
  CompareOptions options;
  options.rank_by = RankBy::samples;
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 3u);
  EXPECT_EQ(found.rows[0].samples_to_target.median, 100 * 64);
  EXPECT_EQ(found.rows[1].samples_to_target.median, 150 * 64 + 50 * 128);
  EXPECT_EQ(found.rows[2].samples_to_target.median, 150 * 64 + 100 * 128 + 50 * 256);
}

TEST_F(CompareTest, CountsSamplesByTheBatchThatWasUsed) {
  // 128 by default, as the engine says; and 64 as written.
  optimizer("adamw", 1, {0.5, 0.1});
  store.put_start({sweep, 1, 1}, R"({"config":{"batch":{"global":128},"optimizer":{"eps":1e-8}}})");
  add(R"({"batch.global":64,"optimizer.name":"adamw"})", 1, {0.5, 0.4, 0.1});
  store.put_start({sweep, 2, 1}, R"({"config":{"batch":{"global":64},"optimizer":{"eps":1e-8}}})");
  CompareOptions options;
  options.rank_by = RankBy::samples;
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].samples_to_target.median, 300 * 64);
  EXPECT_EQ(found.rows[1].samples_to_target.median, 200 * 128);
  EXPECT_THAT(found.notes, Contains(HasSubstr("ranked by the median samples to target 0.12")));
  // What nobody wrote can make the rows, too.
  options.by = {"optimizer.eps"};
  EXPECT_EQ(compare(store, sweep, options).rows[0].group[0].second.as_double(), 1e-8);
  options.by = {"optimizer.epsilon"};
  EXPECT_THROW(compare(store, sweep, options), std::invalid_argument);
}

TEST_F(CompareTest, TimesToATargetCanLeaveValidationOut) {
  // Two attempts: the first one is lost after 3 s, 1 s of it validation; the target comes 2 s
  // into the second one, 0.5 s of which were validation and 0.25 s a checkpoint.
  const Id trial = optimizer("adamw", 1, {0.5, 0.4, 0.3});
  AttemptRow second = sample_attempt(sweep, trials, 2);
  second.started = kStart + 10;
  second.ended = kStart + 20;
  store.insert_attempt(second);
  const Id first{sweep, trial.trial, 1};
  store.add_points(
      first, 2, 2,
      {{"perf/validation_s", 200, 0.5, kStart + 2}, {"perf/validation_s", 300, 1, kStart + 3}});
  store.add_points(second.id, 1, 1,
                   {{"val/error", 400, 0.1, kStart + 12},
                    {"perf/validation_s", 400, 0.5, kStart + 12},
                    {"perf/checkpoint_s", 400, 0.25, kStart + 12},
                    {"val/error", 500, 0.1, kStart + 14},
                    {"perf/validation_s", 500, 0.75, kStart + 14}});
  const auto seconds = [&](const std::vector<std::string>& without) {
    CompareOptions options;
    options.without = without;
    const Comparison found = compare(store, sweep, options);
    EXPECT_EQ(found.rows[0].node_seconds_to_target.median,
              2 * found.rows[0].seconds_to_target.median);
    return found.rows[0].seconds_to_target.median;
  };
  EXPECT_EQ(seconds({}), 5);
  EXPECT_EQ(seconds({"validation"}), 3.5);
  EXPECT_EQ(seconds({"validation", "checkpoints"}), 3.25);
  EXPECT_THAT([&] { seconds({"naps"}); },
              ::testing::ThrowsMessage<std::invalid_argument>(HasSubstr(
                  "'naps' cannot be left out of times; validation, checkpoints and startup "
                  "can")));
}

/// 300 steps in 3 s with a start of 2.5 s; 200 steps in 2 s with one of 0.5 s.
TEST_F(CompareTest, StartUpDoesNotDecideAComparisonOfSeconds) {
  const auto run = [&](int batch, double startup, const std::vector<double>& errors) {
    const std::string tree = fmt::format(R"({{"batch":{{"global":{}}}}})", batch);
    const Id trial = add(fmt::format(R"({{"batch.global":{}}})", batch), 1, errors);
    store.put_start({sweep, trial.trial, 1}, R"({"config":)" + tree + "}");
    store.add_points({sweep, trial.trial, 1}, 2, 2, {{"perf/startup_s", 100, startup, kStart + 1}});
  };
  run(64, 2.5, {0.5, 0.4, 0.1});
  run(128, 0.5, {0.5, 0.1});
  const auto rows = [&](const std::vector<std::string>& without) {
    CompareOptions options;
    options.without = without;
    return compare(store, sweep, options);
  };
  const Comparison found = rows({});
  EXPECT_EQ(found.rows[0].group[0].second.as_int(), 64);
  EXPECT_EQ(found.rows[0].seconds_to_target.median, 0.5);
  EXPECT_EQ(found.rows[1].seconds_to_target.median, 1.5);
  EXPECT_THAT(found.notes, Contains(HasSubstr("differ by less than a start takes (1.5 s)")));
  EXPECT_EQ(rows({"startup"}).rows[0].seconds_to_target.median, 0.5);
  EXPECT_THAT(rows({"startup"}).notes, Not(Contains(HasSubstr("less than a start takes"))));
  // Where rows differ by more than a start, it stays in.
  run(256, 0.5, {0.1});
  const Comparison clear = rows({});
  EXPECT_EQ(clear.rows[0].group[0].second.as_int(), 256);
  EXPECT_EQ(clear.rows[0].seconds_to_target.median, 1);
}

TEST_F(CompareTest, VerdictsFollowTheExactTest) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const double noise = 0.001 * static_cast<double>(seed);
    optimizer("clearly-worse", seed, {0.5 + noise});
    optimizer("best", seed, {0.3 + noise});
    optimizer("about-as-good", seed, {0.3005 + noise});
  }
  const Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 3u);
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "best");
  EXPECT_EQ(found.rows[0].verdict, "best");
  EXPECT_FALSE(found.rows[0].p);
  EXPECT_THAT(found.rows[1].verdict, StartsWith("no clear difference"));
  EXPECT_EQ(found.rows[2].group[0].second.as_string(), "clearly-worse");
  // 2/252, for any of the three pairs, since the data picked the first row.
  EXPECT_EQ(found.rows[2].verdict, "worse (p=0.024)");
  EXPECT_NEAR(*found.rows[2].p, 6.0 / 252, 1e-12);
  EXPECT_THAT(found.notes, Contains(HasSubstr("no trial has reached the target 0.12")));
}

TEST_F(CompareTest, SingleRunsAreNamed) {
  optimizer("a", 1, {0.2});
  optimizer("b", 1, {0.3});
  const Comparison found = compare(store, sweep);
  EXPECT_EQ(found.rows[1].verdict, "1 seed, 4 needed");
  EXPECT_THAT(found.notes, Contains(HasSubstr("2 rows are each a single run")));
  EXPECT_THAT(found.notes, Contains("for a verdict on every row: `seeds: 4`; `thalweg extend 1 "
                                    "--seeds +3` adds only what is missing"));
  EXPECT_THAT(found.notes, Contains(StartsWith("no verdicts: with so few seeds")));
  EXPECT_THAT(found.notes, Not(Contains(HasSubstr("correction"))));
}

TEST_F(CompareTest, TheHintNamesTheSeedsReallyNeeded) {
  for (int row = 0; row < 12; ++row) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed)
      optimizer(std::to_string(row), seed, {0.2 + 0.01 * row + 0.001 * static_cast<double>(seed)});
  }
  const Comparison found = compare(store, sweep);
  EXPECT_EQ(found.rows[11].verdict, "3 seeds, 7 needed");  // 66 pairs: 2/3432 is the first below
  EXPECT_THAT(found.notes, Contains("for a verdict on every row: `seeds: 7`; `thalweg extend 1 "
                                    "--seeds +4` adds only what is missing"));
}

TEST_F(CompareTest, NothingIsExtendedOfRunsOfOtherProgramsOrOfSeveralSweeps) {
  SweepRow imported = sample_sweep("imported");
  imported.backend = "imported";
  sweep = store.insert_sweep(imported);
  optimizer("a", 1, {0.2});
  optimizer("b", 1, {0.3});
  EXPECT_THAT(compare(store, sweep).notes, Contains("for a verdict on every row: `seeds: 4`"));
  const std::int64_t first = sweep;
  sweep = store.insert_sweep(sample_sweep());
  trials = 0;
  optimizer("c", 1, {0.4});
  EXPECT_THAT(compare(store, {sweep, first}).notes, Not(Contains(HasSubstr("thalweg extend"))));
}

TEST_F(CompareTest, SameSeedsAreComparedByTheirDifferences) {
  const auto add = [&](const std::string& name, std::uint64_t seeds, double more) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      optimizer(name, seed, {0.2 + 0.1 * static_cast<double>(seed) + more});
  };
  const auto insert = [&](const std::string& backend) {
    SweepRow row = sample_sweep(backend);
    row.backend = backend;
    sweep = store.insert_sweep(row);
    trials = 0;
    add("a", 8, 0);
    add("b", 8, 0.002);
  };
  insert("local");
  const Comparison found = compare(store, sweep);
  EXPECT_EQ(found.rows[1].verdict, "worse (p=0.0078)");  // 2/2^8
  EXPECT_THAT(found.notes,
              Contains(StartsWith("verdicts: exact two-sided signed-rank test of the differences "
                                  "between trials of the same seed on best value")));
  add("few", 4, 1);
  EXPECT_THAT(compare(store, sweep).notes,
              Contains("1 row has enough seeds in common with the first: it is tested by the "
                       "signed-rank test of the differences between trials of the same seed"));
  // Numbers that runs got in the order in which they came pair nothing.
  insert("imported");
  EXPECT_THAT(compare(store, sweep).rows[1].verdict, StartsWith("no clear difference"));
}

TEST_F(CompareTest, ARowThatFailsHalfOfTheTimeIsNotSimplyTheBest) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const double value = 0.2 + 0.001 * static_cast<double>(seed);
    const bool fails = seed % 2 == 0;
    add(R"({"optimizer.name":"risky"})", seed,
        fails && seed == 6 ? std::vector<double>{} : std::vector{value},
        fails ? TrialPhase::failed : TrialPhase::finished);
    add(R"({"optimizer.name":"safe"})", seed, {value + 0.1});
  }
  const Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].verdict, "best, 3 of 6 failed");
  EXPECT_THAT(found.notes, Contains(StartsWith("3 of 6 trials failed in the first row: ")));
  CompareOptions options;
  options.goal = Goal::maximize;
  EXPECT_EQ(compare(store, sweep, options).rows[0].verdict, "best") << "the safe one";
  EXPECT_THAT(compare(store, sweep, options).notes, Not(Contains(HasSubstr("failed in the"))));
}

TEST_F(CompareTest, NullIsAValueUnlikeWhatATrialDoesNotHave) {
  add(R"({"rnn":null,"lr":1})", 1, {0.2});
  add(R"({"rnn":"gru","lr":1})", 1, {0.3});
  add(R"({"lr":1})", 1, {});
  add(R"({"lr":2})", 1, {0.4});
  const Comparison found = compare(store, sweep);
  ASSERT_EQ(found.by, (std::vector<std::string>{"rnn", "lr"}));
  ASSERT_EQ(found.rows.size(), 3u) << "null and nothing are one row, which then has the null";
  EXPECT_TRUE(found.rows[0].group[0].second.is_null());
  EXPECT_THAT(found.rows[0].absent, testing::IsEmpty());
  EXPECT_THAT(found.rows[2].absent, testing::ElementsAre("rnn"));
}

/// A parameter without any effect: what varies is the learning rate.
TEST_F(CompareTest, SeedsOfAConfigurationAreOneUnit) {
  const double errors[] = {0.2, 0.25, 0.6, 0.3, 0.55, 0.7};
  for (int i = 0; i < 6; ++i) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      add(fmt::format(R"({{"log.every":{},"optimizer.lr":0.{}}})", i < 3 ? 50 : 60, i + 1), seed,
          {errors[i] + 0.001 * static_cast<double>(seed)});
    }
  }
  CompareOptions options;
  options.by = {"log.every"};
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.unit, "configuration");
  EXPECT_EQ(found.rows[0].n, 3);
  EXPECT_EQ(found.rows[0].configurations, 3);
  EXPECT_EQ(found.rows[0].trials_used, 24);
  EXPECT_NEAR(found.rows[0].best.median, 0.2545, 1e-12) << "of the medians over seeds";
  EXPECT_NEAR(found.rows[0].best.high, 0.6045, 1e-12) << "resamples configurations, not trials";
  EXPECT_EQ(found.rows[1].verdict, "3 configurations, 4 needed");
  EXPECT_THAT(found.notes, Contains("rows mix up to 3 values of optimizer.lr: n counts "
                                    "configurations, each with its median over seeds"));
  EXPECT_THAT(found.notes,
              Contains("for a verdict on every row: 4 configurations in each; more seeds do not "
                       "help"));
}

TEST_F(CompareTest, RowsAreComparedWhereOtherParametersAreTheSame) {
  // Rates from good to hopeless; adamw is a little better at each of them.
  for (int rate = 1; rate <= 8; ++rate) {
    for (const std::string name : {"sgd", "adamw"}) {
      for (std::uint64_t seed = 1; seed <= 2; ++seed) {
        const double error = 0.2 + 0.1 * rate + (name == "sgd" ? 0.01 + 0.001 * rate : 0);
        add(fmt::format(R"({{"optimizer.name":"{}","optimizer.lr":{}}})", name, rate), seed,
            {error});
      }
    }
  }
  CompareOptions options;
  options.by = {"name"};
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.by, std::vector<std::string>{"optimizer.name"}) << "a column's title is a name";
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "adamw");
  EXPECT_EQ(found.rows[1].verdict, "worse (p=0.0078)");  // 2/2^8
  EXPECT_THAT(found.notes,
              Contains(HasSubstr("among those that share values of the other parameters")));
}

class BestOverTest : public CompareTest {
 protected:
  /// Each optimizer has a rate of its own at which it is best.
  Comparison best_over(std::uint64_t seeds) {
    for (int rate = 1; rate <= 3; ++rate) {
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const double noise = 0.001 * static_cast<double>(seed);
        add(fmt::format(R"({{"optimizer.name":"sgd","optimizer.lr":{}}})", rate), seed,
            {0.3 + 0.1 * std::abs(rate - 3) + noise});
        add(fmt::format(R"({{"optimizer.name":"adamw","optimizer.lr":{}}})", rate), seed,
            {0.2 + 0.3 * std::abs(rate - 1) + noise});
      }
    }
    CompareOptions options;
    options.by = {"optimizer.name"};
    options.best_over = {"lr"};
    return compare(store, sweep, options);
  }
};

TEST_F(BestOverTest, ChoosesOnSomeSeedsAndEvaluatesOnOthers) {
  const Comparison found = best_over(8);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.best_over, std::vector<std::string>{"optimizer.lr"});
  EXPECT_EQ(found.choosing, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(found.judging, (std::vector<std::uint64_t>{5, 6, 7, 8}));
  const ComparisonRow& first = found.rows[0];
  EXPECT_EQ(first.group[0].second.as_string(), "adamw");
  ASSERT_EQ(first.chosen.size(), 1u);
  EXPECT_EQ(first.chosen[0].first, "optimizer.lr");
  EXPECT_EQ(first.chosen[0].second.as_int(), 1);
  EXPECT_EQ(first.choices, 3);
  EXPECT_EQ(first.n, 4);
  EXPECT_NEAR(first.best.median, 0.2065, 1e-12);
  EXPECT_EQ(found.rows[1].chosen[0].second.as_int(), 3);
  EXPECT_EQ(found.rows[1].verdict, "worse (p=0.029)");  // 2/70
  EXPECT_THAT(found.notes, Contains("each row is at its best optimizer.lr: chosen on seeds 1 to 4, "
                                    "all else is from seeds 5 to 8"));
}

TEST_F(BestOverTest, SeedsThatNoTwoShareAreDividedByTheirOrder) {
  std::uint64_t seed = 100;
  for (const double lr : {1, 2}) {
    for (const char* name : {"a", "b"}) {
      for (int run = 1; run <= 8; ++run)
        add(fmt::format(R"({{"optimizer.name":"{}","optimizer.lr":{}}})", name, lr), ++seed,
            {lr + 0.01 * run + (*name == 'b' ? 5 : 0)});
    }
  }
  CompareOptions options;
  options.by = {"optimizer.name"};
  options.best_over = {"lr"};
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 2u);
  for (const ComparisonRow& row : found.rows) {
    EXPECT_EQ(row.chosen.at(0).second.as_double(), 1);
    EXPECT_EQ(row.n, 4);
  }
  EXPECT_EQ(found.choosing, (std::vector<std::uint64_t>{1, 2, 3, 4}));
  EXPECT_EQ(found.rows[1].verdict, "worse (p=0.029)");
  EXPECT_THAT(found.notes, Contains(HasSubstr("numbered from 1")));
}
TEST_F(BestOverTest, SaysWhereBothAreTheSameSeeds) {
  const Comparison found = best_over(3);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].chosen[0].second.as_int(), 1);
  EXPECT_EQ(found.rows[0].n, 3);
  EXPECT_EQ(found.rows[1].verdict, "not tested");
  EXPECT_FALSE(found.rows[1].p);
  EXPECT_THAT(found.notes, Contains(HasSubstr("chosen and evaluated on the same 3 seeds")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("`seeds: 6`")));
}

TEST_F(BestOverTest, SaysWhereSomeChooseAmongMore) {
  add(R"({"optimizer.name":"lion","optimizer.lr":1})", 1, {0.1});
  const Comparison found = best_over(3);
  EXPECT_THAT(found.notes, Contains(HasSubstr("rows chose among 1 to 3 values of optimizer.lr")));
}

/// Two optimizers that are the same, at draws of their own: it is the draws that differ.
TEST_F(BestOverTest, RowsAtOtherDrawsAreNotTested) {
  for (int i = 0; i < 6; ++i) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const double lr = i % 2 == 0 ? 1 + i : 1.3 + i;
      add(fmt::format(R"({{"optimizer.name":"{}","optimizer.lr":{}}})", i % 2 == 0 ? "a" : "b", lr),
          seed, {0.1 * lr + 0.001 * static_cast<double>(seed)});
    }
  }
  CompareOptions options;
  options.by = {"optimizer.name"};
  options.best_over = {"lr"};
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[1].verdict, "not tested");
  EXPECT_FALSE(found.rows[1].p);
  EXPECT_THAT(found.notes, Contains(HasSubstr("different values of optimizer.lr to choose from")));
}

TEST_F(CompareTest, SeedsThatChangeNothingAreNoSeeds) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    optimizer("a", seed, {0.3, 0.2});
    optimizer("b", seed, {0.3, 0.25});
  }
  Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[1].verdict, "not tested");
  EXPECT_THAT(found.notes, Contains(HasSubstr("to the last digit")));
  // One that differs, in the last place of one row, and they are seeds.
  optimizer("b", 7, {0.3, std::nextafter(0.25, 1)});
  found = compare(store, sweep);
  EXPECT_THAT(found.rows[1].verdict, StartsWith("worse"));
  EXPECT_THAT(found.notes, Not(Contains(HasSubstr("to the last digit"))));
}

// An error of 0 is reached by all, but not after as many steps.
TEST_F(CompareTest, SeedsWhoseBestValuesSaturateAreSeeds) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    for (const bool slow : {false, true}) {
      std::vector<double> errors(20, 0.0);
      std::fill_n(errors.begin(), seed + (slow ? 9 : 0), 0.5);
      optimizer(slow ? "b" : "a", seed, errors);
    }
  const Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].best.median, found.rows[1].best.median);
  EXPECT_THAT(found.rows[1].verdict, StartsWith("worse"));
  EXPECT_THAT(found.notes, Not(Contains(HasSubstr("to the last digit"))));
}

// The least of 12 noisy values against one: better by chance alone.
TEST_F(CompareTest, RowsThatReportUnequallyOftenAreNotTested) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const double noise = 0.001 * static_cast<double>(seed);
    optimizer("often", seed, std::vector<double>(12, 0.3 + noise));
    optimizer("shorter", seed, std::vector<double>(4, 0.4 + noise));  // as often, until it ended
  }
  Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_THAT(found.rows[1].verdict, StartsWith("worse"));
  for (std::uint64_t seed = 1; seed <= 6; ++seed)
    rarely("rare", seed, 1200, 0.35 + 0.001 * static_cast<double>(seed));
  found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 3u);
  EXPECT_EQ(found.rows[0].verdict, "best");
  EXPECT_EQ(found.rows[1].verdict, "not tested");
  EXPECT_FALSE(found.rows[1].p);
  EXPECT_THAT(found.notes, Contains(HasSubstr("report val/error once, those of another 12")));
}

TEST_F(CompareTest, WhatASearchChoseByResultsIsNotTested) {
  SweepRow searched = sample_sweep();
  searched.text = "method: bayes\n" + searched.text;
  sweep = store.insert_sweep(searched);
  for (int i = 1; i <= 12; ++i)
    add(fmt::format(R"({{"log.every":{},"optimizer.lr":0.{}}})", i <= 6 ? 50 : 60, i), 1,
        {i <= 6 ? 0.2 : 0.9});
  CompareOptions options;
  options.by = {"log.every"};
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[1].verdict, "not tested");
  EXPECT_THAT(found.notes, Contains(HasSubstr("`method: bayes` chose configurations")));
}

TEST_F(CompareTest, OnlyTheNewestGenerationOfAPopulationCounts) {
  SweepRow searched = sample_sweep();
  searched.text = "method: pbt\npbt: {population: 2}\nrun_cap: 6\n";
  sweep = store.insert_sweep(searched);
  optimizer("a", 1, {0.5});
  optimizer("b", 1, {0.1});
  EXPECT_EQ(compare(store, sweep).rows.size(), 2u);
  optimizer("a", 2, {0.3});
  optimizer("a", 3, {0.4});
  add(R"({"optimizer.name":"c","epochs":6})", 1, {}, TrialPhase::running);
  const Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].n, 2);
  EXPECT_NEAR(found.rows[0].best.median, 0.35, 1e-12);
  EXPECT_THAT(found.notes, Contains(HasSubstr("only trials of the newest generation count")));
}

TEST_F(CompareTest, NothingIsTheBestOfWhatHasDiverged) {
  optimizer("a", 1, {0.2, std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(compare(store, sweep).rows.at(0).verdict, "diverged");
  optimizer("b", 1, {0.5});
  EXPECT_EQ(compare(store, sweep).rows.at(0).verdict, "best");
}

TEST_F(CompareTest, SeedsOfWhatASearchChoseAreTested) {
  SweepRow searched = sample_sweep();
  searched.text = "method: bayes\n" + searched.text;
  sweep = store.insert_sweep(searched);
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    optimizer("a", seed, {0.3 + 0.001 * static_cast<double>(seed)});
    optimizer("b", seed, {0.5 + 0.001 * static_cast<double>(seed)});
  }
  EXPECT_THAT(compare(store, sweep).rows.at(1).verdict, StartsWith("worse"));
}

TEST_F(BestOverTest, IsRefusedWhereThereIsNothingToChoose) {
  optimizer("a", 1, {0.2});
  optimizer("b", 1, {0.2});
  CompareOptions options;
  options.best_over = {"epochs"};
  EXPECT_THROW(compare(store, sweep, options), std::invalid_argument);
  options.best_over = options.by = {"optimizer.name"};
  EXPECT_THROW(compare(store, sweep, options), std::invalid_argument);
}

TEST_F(CompareTest, RowsCountWhatTheyUse) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    optimizer("a", seed, {0.2 + 0.001 * static_cast<double>(seed)});
  for (std::uint64_t seed = 1; seed <= 40; ++seed)
    add(R"({"optimizer.name":"b","epochs":2})", seed,
        seed <= 3 ? std::vector{0.3 + 0.001 * static_cast<double>(seed)} : std::vector<double>{},
        seed <= 3 ? TrialPhase::finished : TrialPhase::cancelled);
  const Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[1].n, 3);
  EXPECT_EQ(found.rows[1].trials_used, 3);
  EXPECT_EQ(found.rows[1].trials.size(), 40u);
  EXPECT_EQ(found.rows[1].verdict, "3 seeds, 4 needed");
}

TEST_F(CompareTest, TopLeavesTheBestRows) {
  for (int row = 0; row < 5; ++row)
    optimizer(std::to_string(row), 1, {0.2 + 0.01 * row});
  CompareOptions options;
  options.top = 2;
  const Comparison found = compare(store, sweep, options);
  EXPECT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows_in_all, 5);
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "0");
}

TEST_F(CompareTest, MaximizeTurnsEverythingRound) {
  optimizer("a", 1, {0.2, 0.9});
  optimizer("b", 1, {0.95, 0.1});
  CompareOptions options;
  options.goal = Goal::maximize;
  options.target = 0.9;
  const Comparison found = compare(store, sweep, options);
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "b");
  EXPECT_EQ(found.rows[0].best.median, 0.95);
  EXPECT_EQ(found.rows[0].steps_to_target.median, 100);
  EXPECT_EQ(found.rows[1].steps_to_target.median, 200);
}

TEST_F(CompareTest, FailedAndOpenTrialsAreCountedAndSaid) {
  optimizer("a", 1, {0.2, 0.1});
  add(R"({"optimizer.name":"a"})", 2, {}, TrialPhase::failed);
  add(R"({"optimizer.name":"b"})", 1, {0.3}, TrialPhase::running);
  add(R"({"optimizer.name":"b"})", 2, {}, TrialPhase::pending);
  CompareOptions options;
  options.by = {"optimizer.name"};
  const Comparison found = compare(store, sweep, options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].n, 2);
  EXPECT_EQ(found.rows[0].failed, 1);
  EXPECT_EQ(found.rows[0].finished, 1);
  EXPECT_EQ(found.rows[0].best.median, 0.1);
  EXPECT_EQ(found.rows[0].steps_to_target.reached, 1);
  EXPECT_TRUE(std::isinf(found.rows[0].steps_to_target.median));  // a failed seed is a miss
  EXPECT_THAT(found.notes, Contains(HasSubstr("2 trials have not ended")));
  EXPECT_THAT(found.notes, Contains(HasSubstr("1 trial ended without any value of val/error")));
}

TEST_F(CompareTest, AMethodThatPausesTrialsTakesNoMoreSeeds) {
  const auto notes_of = [&](const std::string& method) {
    SweepRow row = sample_sweep();
    row.text = "method: " + method + "\n";
    sweep = store.insert_sweep(row);
    trials = 0;
    optimizer("a", 1, {0.2});
    optimizer("b", 1, {0.3});
    return compare(store, sweep).notes;
  };
  EXPECT_THAT(notes_of("random"), Contains(HasSubstr("`thalweg extend ")));
  const auto notes = notes_of("asha");
  EXPECT_THAT(notes,
              testing::AllOf(Contains(HasSubstr("`thalweg submit --from " + std::to_string(sweep) +
                                                " --best --seeds 4`")),
                             Not(Contains(HasSubstr("thalweg extend")))));
}

TEST_F(CompareTest, ATrialThatRunsIsNoMiss) {
  // b would be as fast as a: its later seeds have only begun.
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    optimizer("a", seed, {0.5, 0.3, 0.11 - 0.001 * static_cast<double>(seed)});
    add(R"({"optimizer.name":"b","epochs":2})", seed, {0.5, 0.3},
        seed == 1 ? TrialPhase::finished : TrialPhase::running);
  }
  CompareOptions options;
  options.rank_by = RankBy::steps;
  const Comparison running = compare(store, sweep, options);
  ASSERT_EQ(running.rows.size(), 2u);
  EXPECT_EQ(running.rows[1].n, 1) << "the one that has ended without";
  EXPECT_EQ(running.rows[1].steps_to_target.reached, 0);
  EXPECT_EQ(running.rows[1].verdict, "not tested");
  EXPECT_THAT(running.notes,
              Contains(HasSubstr("5 trials still run and may yet reach the target: left out of "
                                 "steps to target, and nothing is tested until they have ended")));
  for (TrialRow row : store.trials(sweep)) {
    row.state = TrialPhase::finished;
    store.update_trial(row);
  }
  const Comparison ended = compare(store, sweep, options);
  EXPECT_EQ(ended.rows[1].n, 6);
  EXPECT_THAT(ended.rows[1].verdict, StartsWith("worse (p="));
}

TEST_F(CompareTest, TimeOfEarlierAttemptsCounts) {
  const Id trial = optimizer("a", 1, {0.5, 0.4});  // ran 2 s on 2 nodes
  AttemptRow second = sample_attempt(sweep, trial.trial, 2);
  second.started = kStart + 1000;  // waited long in between: does not count
  second.ended = kStart + 1010;
  second.nodes = 4;
  store.insert_attempt(second);
  store.add_points(second.id, 1, 1, {{"val/error", 300, 0.1, kStart + 1003}});
  const Comparison found = compare(store, sweep);
  ASSERT_EQ(found.rows.size(), 1u);
  EXPECT_EQ(found.rows[0].steps_to_target.median, 300);
  EXPECT_EQ(found.rows[0].seconds_to_target.median, 2 + 3);
  EXPECT_EQ(found.rows[0].node_seconds_to_target.median, 2 * 2 + 3 * 4);
  EXPECT_EQ(found.rows[0].node_seconds.median, 2 * 2 + 10 * 4);
}

TEST_F(CompareTest, LargerBatchesAreComparedBySeconds) {
  add(R"({"batch.global":64})", 1, {0.1});
  add(R"({"batch.global":128})", 1, {0.5, 0.1});
  const Comparison found = compare(store, sweep);
  EXPECT_THAT(found.notes, Contains(HasSubstr("ranked by the median seconds to target")));
  EXPECT_EQ(found.rows[0].group[0].second.as_int(), 64);
}

TEST_F(CompareTest, ByMayNameAnythingInTheTrainTree) {
  optimizer("a", 1, {0.2});
  add(R"({"flag":true})", 1, {0.3});
  add(R"({"flag":false})", 1, {0.4});
  CompareOptions options;
  options.by = {"model.name"};
  ASSERT_EQ(compare(store, sweep, options).rows.size(), 1u);
  EXPECT_EQ(compare(store, sweep, options).rows[0].group[0].second.as_string(), "mlp");
  options.by = {"flag"};
  const Comparison flags = compare(store, sweep, options);
  ASSERT_EQ(flags.rows.size(), 3u);
  EXPECT_TRUE(flags.rows[0].group[0].second.is_null());  // the trial has no such parameter
  EXPECT_TRUE(flags.rows[1].group[0].second.as_bool());
}

TEST_F(CompareTest, AnotherMetricHasNoTargetOfItsOwn) {
  optimizer("a", 1, {0.2});
  CompareOptions options;
  options.metric = "perf/samples_per_s";
  const Comparison found = compare(store, sweep, options);
  EXPECT_FALSE(found.target);
  EXPECT_EQ(found.goal, Goal::maximize);  // as the engine's table has it
  EXPECT_THAT(found.notes, testing::Contains(testing::StartsWith("larger values of perf/")));
  EXPECT_EQ(found.rows[0].best.median, 1000);
  EXPECT_TRUE(std::isnan(found.rows[0].steps_to_target.median));
}

TEST_F(CompareTest, WrongNamesGetTheNearestRightOne) {
  optimizer("a", 1, {0.2});
  const auto message = [&](std::int64_t id, const CompareOptions& options) -> std::string {
    try {
      compare(store, id, options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  CompareOptions options;
  EXPECT_EQ(message(sweep + 1, options), "there is no sweep 2");
  options.by = {"optimizer.nane"};
  EXPECT_EQ(message(sweep, options),
            "sweep 1 has no parameter 'optimizer.nane'; did you mean 'optimizer.name'?");
  options.by = {"optimizer"};
  EXPECT_EQ(message(sweep, options),
            "sweep 1 has no parameter 'optimizer'; did you mean 'optimizer.name'?");
  options = {};
  options.metric = "val/eror";
  EXPECT_EQ(message(sweep, options), "sweep 1 has no metric 'val/eror'; did you mean 'val/error'?");
  options.metric = "f1";
  EXPECT_EQ(message(sweep, options),
            "sweep 1 has no metric 'f1'; there are val/error, perf/samples_per_s");
}

TEST_F(CompareTest, EmptySweepHasNoRows) {
  EXPECT_TRUE(compare(store, sweep).rows.empty());
}

class SeveralSweeps : public CompareTest {
 protected:
  /// Goes on with a new sweep.
  std::int64_t next(const SweepRow& row = sample_sweep("second")) {
    sweep = store.insert_sweep(row);
    trials = 0;
    return sweep;
  }
};

TEST_F(SeveralSweeps, AreComparedAsOne) {
  const std::int64_t first = sweep;
  train = R"({"optimizer":{"name":"sgd"}})";
  for (const std::uint64_t seed : {1, 2, 3})
    optimizer("sgd", seed, {0.5, 0.4, 0.3, 0.11});
  const std::int64_t second = next();
  train = R"({"optimizer":{"name":"adamw"}})";
  for (const std::uint64_t seed : {1, 2, 3, 4})
    optimizer("adamw", seed, {0.4, 0.1});
  const Comparison found = compare(store, {first, second});
  EXPECT_EQ(found.sweeps, (std::vector<std::int64_t>{first, second}));
  EXPECT_EQ(found.by, std::vector<std::string>{"optimizer.name"});
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].group[0].second.as_string(), "adamw");
  EXPECT_EQ(found.rows[0].n, 4);
  EXPECT_EQ(found.rows[0].trials.front(), (Id{second, 1, 0}));
  EXPECT_EQ(found.rows[1].n, 3);
  EXPECT_EQ(found.unit, "seed");
}

TEST_F(SeveralSweeps, ARepeatedRunCountsOnce) {
  const std::int64_t first = sweep;
  optimizer("sgd", 1, {0.5, 0.11});
  optimizer("sgd", 2, {0.5, 0.11});
  const std::int64_t second = next();
  optimizer("sgd", 2, {0.05});
  optimizer("sgd", 3, {0.05});
  optimizer("adamw", 1, {0.5});
  const Comparison found = compare(store, {first, second});
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].n, 3);
  EXPECT_EQ(found.rows[0].steps_to_target.median, 100);  // of 200, 100 and 100
  EXPECT_THAT(found.notes, Contains(StartsWith("1 trial is left out")));
}

TEST_F(SeveralSweeps, MayMakeTheRows) {
  const std::int64_t first = sweep;
  optimizer("sgd", 1, {0.5, 0.11});
  const std::int64_t second = next();
  optimizer("sgd", 2, {0.05});
  CompareOptions options;
  options.by = {"sweep"};
  const Comparison found = compare(store, {first, second}, options);
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].group[0].second.as_int(), second);
  // Nothing differs between them but what they are: the sweep makes the rows.
  EXPECT_EQ(compare(store, {first, second}).by, std::vector<std::string>{"sweep"});
}

TEST_F(SeveralSweeps, DifferByWhatTheyAskFor) {
  const std::int64_t first = sweep;
  optimizer("sgd", 1, {0.5, 0.11});
  const std::int64_t second = next();
  resources = R"({"nodes":4,"ranks_per_node":1,"time_limit":60})";
  optimizer("sgd", 1, {0.11});
  const Comparison found = compare(store, {first, second});
  EXPECT_EQ(found.by, std::vector<std::string>{"resources.nodes"});
  ASSERT_EQ(found.rows.size(), 2u);
  EXPECT_EQ(found.rows[0].group[0].second.as_int(), 4);
  EXPECT_EQ(found.rows[1].group[0].second.as_int(), 2);
}

TEST_F(SeveralSweeps, TheFirstGivesMetricAndTarget) {
  const std::int64_t first = sweep;
  optimizer("sgd", 1, {0.5, 0.11});
  SweepRow other = sample_sweep("other");
  other.target = 0.3;
  const std::int64_t second = next(other);
  optimizer("adamw", 1, {0.2, 0.05});
  const Comparison found = compare(store, {first, second});
  EXPECT_EQ(found.target, 0.12);
  EXPECT_THAT(found.notes, Contains(HasSubstr("sweep 2 has the target 0.3: 0.12 counts for all")));
  other.metric = "val/loss";
  const std::int64_t third = next(other);
  EXPECT_THAT(compare(store, {first, third}).notes,
              Contains(HasSubstr("has the metric val/loss of its own")));
  EXPECT_THROW(compare(store, {first, 99}), std::invalid_argument);
}

TEST_F(CompareTest, StatisticsOtherThanTheMedian) {
  for (const double error : {0.1, 0.2, 0.6})
    optimizer("adamw", static_cast<std::uint64_t>(error * 10), {error});
  for (const double error : {0.25, 0.26, 0.27})
    optimizer("sgd", static_cast<std::uint64_t>(error * 100), {error});
  CompareOptions options;
  options.rank_by = RankBy::best;
  EXPECT_EQ(compare(store, sweep, options).rows[0].best.median, 0.2);
  options.statistic = Statistic::mean;
  const Comparison means = compare(store, sweep, options);
  EXPECT_EQ(means.rows[0].group[0].second.as_string(), "sgd");
  EXPECT_NEAR(means.rows[1].best.median, 0.3, 1e-12);
  EXPECT_THAT(means.notes, Contains(HasSubstr("ranked by the mean best")));
  EXPECT_THAT(means.notes, Contains(HasSubstr("Student's t")));
  options.statistic = Statistic::best;
  const Comparison best = compare(store, sweep, options);
  EXPECT_EQ(best.rows[0].best.median, 0.1);
  EXPECT_TRUE(std::isnan(best.rows[0].best.low));
  EXPECT_EQ(best.rows[1].verdict, "not tested");
  EXPECT_EQ(best.rows[1].p, std::nullopt);
  EXPECT_THAT(best.notes, Contains(HasSubstr("the best of 3 seeds: it says what luck can reach")));
}

TEST_F(CompareTest, RowsSayHowOftenTheyAreBetterThanTheFirst) {
  for (const std::uint64_t seed : {1, 2, 3, 4})
    optimizer("adamw", seed, {0.1 + 0.01 * static_cast<double>(seed)});
  for (const std::uint64_t seed : {1, 2, 3, 4})
    optimizer("sgd", seed, {0.125 + 0.01 * static_cast<double>(seed)});
  CompareOptions options;
  options.rank_by = RankBy::best;
  const Comparison found = compare(store, sweep, options);
  EXPECT_TRUE(std::isnan(found.rows[0].improvement.median));
  EXPECT_DOUBLE_EQ(found.rows[1].improvement.median, 1.0 / 16);  // 0.135 is below 0.14 only
  EXPECT_GT(found.rows[1].improvement.high, 0.06);
  // Where larger is better, the other way round.
  options.goal = Goal::maximize;
  EXPECT_DOUBLE_EQ(compare(store, sweep, options).rows[1].improvement.median, 1.0 / 16);
}

}  // namespace
}  // namespace thalweg::db::analysis
