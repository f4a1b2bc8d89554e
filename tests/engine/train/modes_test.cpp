// Sync modes through the whole engine: attempts that are lost, and the largest stable learning rate
// under lag on a quadratic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "engine/train/checkpoint.h"
#include "engine/train/describe_failure.h"
#include "engine/train/options.h"
#include "jobspec/complete.h"
#include "jobspec/schema.h"
#include "tests/engine/train/support.h"
#include "tests/support/memory_transport.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::HasSubstr;

// Gradients that wait go through checkpoints; the bits do not depend on the ranks.
TEST(LagAttempt, ResumesBitwiseOnOtherRanks) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"mode", "lag"}, {"lag", 3}, {"cooldown_steps", 10}});
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 1);
  const auto expected = curve({whole.path()});
  for (const int step : {8, 32, 56}) {
    const test::TempDir first, second;
    trial.resume.clear();
    run_to_end(trial, first.path(), 2);
    keep_only(first.path(), step);
    trial.resume = {first.path() / "checkpoints"};
    run_to_end(trial, second.path(), 3);
    EXPECT_EQ(curve({first.path(), second.path()}), expected) << step;
  }
  Trial plain = tiny_trial();
  const test::TempDir synchronous;
  run_to_end(plain, synchronous.path(), 1);
  EXPECT_NE(curve({synchronous.path()}), expected);
}

// In the middle of a period; the checkpoint's weights are the ranks' mean.
TEST(LocalAttempt, ResumesBitwiseOnAsManyRanks) {
  for (const char* device : {"reference", "cpu"}) {
    Trial trial = tiny_trial();
    trial.train.set("device", device);
    trial.train.set("sync", Map{{"mode", "local"}, {"period", 7}, {"synchronous_steps", 10}});
    trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
    const test::TempDir whole;
    run_to_end(trial, whole.path(), 2);
    const auto expected = curve({whole.path()});
    for (const int step : {8, 32}) {
      const test::TempDir first, second;
      trial.resume.clear();
      run_to_end(trial, first.path(), 2);
      keep_only(first.path(), step);
      trial.resume = {first.path() / "checkpoints"};
      run_to_end(trial, second.path(), 2);
      EXPECT_EQ(curve({first.path(), second.path()}), expected) << device << ", " << step;
    }
    // Other ranks make other steps of their own.
    const test::TempDir three;
    trial.resume.clear();
    run_to_end(trial, three.path(), 3);
    EXPECT_NE(curve({three.path()}), expected) << device;
  }
}

TEST(AsyncAttempt, OnOneRankIsSynchronousAlsoWhenItResumes) {
  Trial trial = tiny_trial();
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 1);
  const auto expected = curve({whole.path()});
  trial.train.set("sync", Map{{"mode", "async"}});
  const test::TempDir first, second;
  run_to_end(trial, first.path(), 1);
  keep_only(first.path(), 32);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 1);
  const auto alike = [](std::vector<std::string> points) {
    std::erase_if(points, [](const std::string& point) {
      return point.starts_with("sync/") || point.starts_with("noise/");
    });
    return points;
  };
  EXPECT_EQ(alike(curve({first.path(), second.path()})), alike(expected));
}

// What a checkpoint of several ranks holds is one model with its optimizer's states, for any number
// of ranks.
TEST(AsyncAttempt, ResumesOnOtherRanks) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"mode", "async"}, {"max_lead", 4}});
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir first, second;
  run_to_end(trial, first.path(), 3);
  keep_only(first.path(), 32);
  const Checkpoint saved = read_checkpoint(first.path() / "checkpoints" / checkpoint_name(32));
  ASSERT_EQ(saved.parts.size(), 1u);
  EXPECT_EQ(saved.parts[0].doubles.at(0).at(0), 3 * 32) << "updates of every weight";
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 2);
  EXPECT_THAT(test::read_file(second.path() / "journal.jsonl"),
              testing::AllOf(HasSubstr("sync/staleness_mean"), HasSubstr("sync/staleness_max")));
}

// A worker with servers on ranks of their own, and again with others.
TEST(AsyncAttempt, OneWorkerIsSynchronousAlsoWhenItResumesWithOtherServers) {
  Trial trial = tiny_trial();
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 1);
  const auto expected = curve({whole.path()});
  trial.train.set("sync", Map{{"mode", "async"}, {"servers", 2}});
  const test::TempDir first, second;
  run_to_end(trial, first.path(), 3);
  EXPECT_THAT(test::read_file(first.path() / "journal.jsonl"),
              HasSubstr("ranks 1 to 2 are parameter servers"));
  keep_only(first.path(), 32);
  trial.resume = {first.path() / "checkpoints"};
  trial.train.set("sync", Map{{"mode", "async"}, {"servers", 1}});
  run_to_end(trial, second.path(), 2);
  const auto alike = [](std::vector<std::string> points) {
    std::erase_if(points, [](const std::string& point) {
      return point.starts_with("sync/") || point.starts_with("noise/");
    });
    return points;
  };
  EXPECT_EQ(alike(curve({first.path(), second.path()})), alike(expected));
}

TEST(AsyncAttempt, ResumesWithServersOnRanksOfTheirOwn) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"mode", "async"}, {"max_lead", 4}});
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir first, second;
  run_to_end(trial, first.path(), 3);
  keep_only(first.path(), 32);
  trial.resume = {first.path() / "checkpoints"};
  trial.train.set("sync", Map{{"mode", "async"}, {"max_lead", 4}, {"servers", 2}});
  run_to_end(trial, second.path(), 4);
  const Checkpoint saved = read_checkpoint(second.path() / "checkpoints" / checkpoint_name(56));
  EXPECT_EQ(saved.parts.at(0).doubles.at(0).at(0), 3 * 32 + 2 * (56 - 32))
      << "updates of every weight: three workers, then two";
}

TEST(AsyncAttempt, SamplesOfARankAreTheWorkers) {
  const auto batch = [](int servers) {
    Value train = tiny_trial().train;
    train.set("batch", Map{{"per_rank", 6}});
    train.set("sync", Map{{"mode", "async"}, {"servers", servers}});
    return complete_for(train, 4, train_schema(), "trial.yaml").find("batch.global")->as_int();
  };
  EXPECT_EQ(batch(0), 24);
  EXPECT_EQ(batch(1), 18);
  EXPECT_THROW((void)batch(4), std::invalid_argument);
}

TEST(AsyncAttempt, SharesAreTheWorkers) {
  Trial trial = tiny_trial();
  trial.train.set("batch", Map{{"global", 24}, {"shards", 4}, {"shares", List{1.0, 3.0}}});
  trial.train.set("sync", Map{{"mode", "async"}, {"servers", 1}});
  const test::TempDir folder;
  run_to_end(trial, folder.path(), 3);
  EXPECT_THAT(test::read_file(folder.path() / "journal.jsonl"), HasSubstr("1, 3, 0 of 4 shards"));
}

TEST(HybridAttempt, OneGroupIsSynchronousAlsoWhenItResumes) {
  Trial trial = tiny_trial();
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 1);
  const auto expected = curve({whole.path()});
  trial.train.set("sync", Map{{"mode", "hybrid"}, {"groups", 1}});
  const test::TempDir first, second;
  run_to_end(trial, first.path(), 3);
  keep_only(first.path(), 32);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 2);
  const auto alike = [](std::vector<std::string> points) {
    std::erase_if(points, [](const std::string& point) {
      return point.starts_with("sync/") || point.starts_with("noise/");
    });
    return points;
  };
  EXPECT_EQ(alike(curve({first.path(), second.path()})), alike(expected));
}

TEST(HybridAttempt, ResumesOnOtherRanksInOtherGroups) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"mode", "hybrid"}, {"groups", 2}, {"max_lead", 4}});
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir first, second;
  run_to_end(trial, first.path(), 4);
  keep_only(first.path(), 32);
  const Checkpoint saved = read_checkpoint(first.path() / "checkpoints" / checkpoint_name(32));
  ASSERT_EQ(saved.parts.size(), 1u);
  EXPECT_EQ(saved.parts[0].doubles.at(0).at(0), 2 * 32) << "updates of every weight";
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 3);
  EXPECT_THAT(test::read_file(second.path() / "journal.jsonl"),
              testing::AllOf(HasSubstr("sync/staleness_mean"), HasSubstr("sync/staleness_max")));
}

std::vector<double> find_metric(const std::filesystem::path& folder, const std::string& name) {
  std::vector<double> values;
  for (const Value& line : lines_of(read_journal(folder), "metrics"))
    for (const Value& point : line.find("points")->as_list())
      if (point.as_list()[0].as_string() == name) values.push_back(point.as_list()[2].as_double());
  return values;
}

TEST(AbsAttempt, OnePassInEachRoundIsLagAlsoWhenItResumes) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"mode", "lag"}, {"cooldown_steps", 1}});
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 1);
  const auto expected = without_rounds(curve({whole.path()}));
  trial.train.set("sync", Map{{"mode", "abs"}, {"passes", 1}});
  for (const int step : {8, 32, 56}) {
    const test::TempDir first, second;
    trial.resume.clear();
    run_to_end(trial, first.path(), 2);
    EXPECT_EQ(without_rounds(curve({first.path()})), expected);
    keep_only(first.path(), step);
    trial.resume = {first.path() / "checkpoints"};
    run_to_end(trial, second.path(), 3);
    EXPECT_EQ(without_rounds(curve({first.path(), second.path()})), expected) << step;
  }
}

// Rounds of three global batches: a third of the steps, as many samples; on other ranks as well.
TEST(AbsAttempt, ResumesBitwiseWhereRoundsAreKnown) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"mode", "abs"}, {"passes", 3}});
  trial.train.set("checkpoint", Map{{"every", 4}, {"keep", 100}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 1);
  const auto expected = without_rounds(curve({whole.path()}));
  EXPECT_EQ(find_metric(whole.path(), "epoch").back(), 3);
  for (const int step : {4, 12}) {
    const test::TempDir first, second;
    trial.resume.clear();
    run_to_end(trial, first.path(), 3);
    keep_only(first.path(), step);
    trial.resume = {first.path() / "checkpoints"};
    run_to_end(trial, second.path(), 2);
    EXPECT_EQ(without_rounds(curve({first.path(), second.path()})), expected) << step;
  }
}

// Counted where ranks make passes, over all attempts: as many as the steps say, in every mode.
TEST(SampleCount, OfAResumedRunIsThatOfItsSteps) {
  for (const Map& sync :
       {Map{{"mode", "sync"}}, Map{{"mode", "lag"}}, Map{{"mode", "local"}},
        Map{{"mode", "abs"}, {"passes", 2}}, Map{{"mode", "async"}},
        Map{{"mode", "async"}, {"servers", 1}}, Map{{"mode", "hybrid"}}, Map{{"mode", "adasum"}}}) {
    Trial trial = tiny_trial();
    trial.train.set("sync", sync);
    trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
    const test::TempDir first, second;
    run_to_end(trial, first.path(), 4);
    keep_only(first.path(), 16);
    trial.resume = {first.path() / "checkpoints"};
    run_to_end(trial, second.path(), 2);
    const FoundCheckpoint last = newest_checkpoint({second.path() / "checkpoints"});
    ASSERT_TRUE(last.checkpoint) << Value(sync).to_json();
    EXPECT_EQ(last.checkpoint->samples, 60 * 24) << Value(sync).to_json();
  }
}

// As many passes as fit: no two runs need be alike, but all take the trial's samples, each once.
TEST(AbsAttempt, TakesTheTrialsSamplesOnUnequalRanks) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"mode", "abs"}});
  trial.train.set("epochs", 8);
  trial.train.set("emulate", Map{{"pause_every", 1}, {"pause_ms", 2}, {"pauses", List{1, 0, 0}}});
  trial.train.set("checkpoint", Map{{"every", 4}, {"keep", 100}});
  const test::TempDir first, second;
  run_to_end(trial, first.path(), 3);
  const std::vector<double> samples = find_metric(first.path(), "batch/samples");
  const double wanted = 8 * 20 * 24;  // epochs, global batches in each
  EXPECT_GE(samples.back(), wanted);
  EXPECT_EQ(newest_checkpoint({first.path() / "checkpoints"}).checkpoint->samples, samples.back());
  EXPECT_LE(samples.back(), 2 * wanted) << "two rounds more at most";
  // The last one is perhaps of one round.
  const std::vector<double> most = find_metric(first.path(), "sync/passes_max");
  EXPECT_GT(*std::max_element(most.begin(), most.end()), 1.2);
  EXPECT_EQ(find_metric(first.path(), "sync/staleness_max").back(), 1);
  EXPECT_THAT(test::read_file(first.path() / "journal.jsonl"), HasSubstr("\"passes\":["));
  keep_only(first.path(), 4);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 2);
  const double in_all = find_metric(second.path(), "batch/samples").back();
  EXPECT_GE(in_all, wanted);
  EXPECT_EQ(newest_checkpoint({second.path() / "checkpoints"}).checkpoint->samples, in_all);
  // What has ended has no more steps to make.
  const test::TempDir again;
  trial.resume = {second.path() / "checkpoints"};
  run_to_end(trial, again.path(), 2);
  EXPECT_TRUE(lines_of(read_journal(again.path()), "metrics").empty());
}

/// Three ranks of which rank 1 clips its gradient, as if its processor erred.
std::vector<RankEnd> with_an_odd_rank(Trial trial, const std::filesystem::path& folder) {
  constexpr std::size_t kRanks = 3;
  const Value config = complete_for(trial.train, kRanks, train_schema(), "trial.yaml");
  trial.train.set("clip_norm", 0.01);
  const Value odd = complete_for(trial.train, kRanks, train_schema(), "trial.yaml");
  auto transports = comm::memory_transports(kRanks);
  std::vector<RankEnd> ends(kRanks);
  std::vector<std::thread> threads;
  const StopFlag never;
  for (std::size_t r = 0; r < kRanks; ++r)
    threads.emplace_back([&, r] {
      try {
        comm::Group group(std::move(transports[r]), group_options(*config.find("sync")));
        ends[r].outcome = run_attempt({trial, r == 1 ? odd : config, folder, group, never});
      } catch (...) {
        ends[r].threw = true;
        ends[r].failure = describe_failure(std::current_exception(), static_cast<int>(r), "here");
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  return ends;
}

TEST(CompareReplicas, NamesARankThatErrs) {
  Trial trial = tiny_trial();
  trial.train.set("sync", Map{{"compare_every", 5}});
  const test::TempDir folder;
  for (const RankEnd& end : with_an_odd_rank(trial, folder.path())) {
    EXPECT_TRUE(end.threw);
    EXPECT_EQ(end.failure.code, ExitCode::failed);
    EXPECT_THAT(end.failure.reason, HasSubstr("gradient of "));
    EXPECT_THAT(end.failure.reason, HasSubstr("differs: rank 1 on "));
    EXPECT_THAT(end.failure.reason, HasSubstr("after step 5 "));
  }
}

TEST(CompareReplicas, GivesARankThatErrsTheOthersNumbers) {
  Trial trial = tiny_trial();
  trial.train.set("epochs", 1);
  const test::TempDir plain, repaired;
  run_to_end(trial, plain.path(), 3);
  trial.train.set("sync", Map{{"compare_every", 1}, {"on_difference", "broadcast"}});
  for (const RankEnd& end : with_an_odd_rank(trial, repaired.path()))
    EXPECT_FALSE(end.threw) << end.failure.reason;
  EXPECT_EQ(curve({repaired.path()}), curve({plain.path()}));
  int told = 0;
  for (const Value& note : lines_of(read_journal(repaired.path()), "note"))
    told +=
        note.find("text")->as_string().find("all have those of rank 0 now") != std::string::npos;
  EXPECT_EQ(told, 20);
}

TEST(CompareReplicas, ChangesNothingWhereNothingDiffers) {
  for (const char* mode : {"sync", "lag", "adasum"}) {
    Trial trial = tiny_trial();
    trial.train.set("epochs", 1);
    trial.train.set("sync", Map{{"mode", mode}});
    const test::TempDir plain, compared;
    run_to_end(trial, plain.path(), 2);
    trial.train.set("sync", Map{{"mode", mode}, {"compare_every", 1}});
    run_to_end(trial, compared.path(), 2);
    EXPECT_EQ(curve({compared.path()}), curve({plain.path()})) << mode;
  }
}

/// Losses at half of the steps and at the end, of one weight and one bias whose loss is a quadratic
/// with equal curvature in both.
bool is_stable(const std::filesystem::path& data, int lag, double lr) {
  Trial trial;
  trial.train = Map{{"model", Map{{"name", "mlp"}, {"hidden", List{}}}},
                    {"loss", Map{{"name", "mse"}}},
                    {"data", Map{{"name", "arrays"},
                                 {"inputs", (data / "x.npy").string()},
                                 {"targets", (data / "y.npy").string()},
                                 {"validation_inputs", (data / "x.npy").string()},
                                 {"validation_targets", (data / "y.npy").string()}}},
                    {"batch", Map{{"global", 2}}},
                    {"epochs", 1200},
                    {"optimizer", Map{{"name", "sgd"}, {"lr", lr}}},
                    {"sync", Map{{"mode", "lag"}, {"lag", lag}}},
                    {"eval", Map{{"every_steps", 600}}},
                    {"checkpoint", Map{{"every", 0}}},
                    {"log", Map{{"every", 600}}},
                    {"device", "reference"}};
  const test::TempDir folder;
  const StopFlag never;
  const std::vector<RankEnd> ends = run_ranks(trial, folder.path(), 1, never);
  if (ends[0].threw || ends[0].outcome.code != ExitCode::finished) return false;  // diverged
  std::vector<double> losses;
  for (const Value& line : lines_of(read_journal(folder.path()), "metrics"))
    for (const Value& point : line.find("points")->as_list())
      if (point.as_list()[0].as_string() == "val/loss")
        losses.push_back(point.as_list()[2].as_double());
  EXPECT_EQ(losses.size(), 2u);
  return losses.back() <= losses.front();
}

/// SGD on f(w) = h w^2 / 2 is stable up to lr h = 2 sin(pi / (2 (2 lag + 1))): roots of
/// z^(lag + 1) = z^lag - lr h on the unit circle.
TEST(LagAttempt, FindsTheLargestStableRateOfAQuadratic) {
  const test::TempDir data;
  test::write_file(data.path() / "x.npy", test::npy_text<float>("<f4", {2, 1}, {1, -1}));
  test::write_file(data.path() / "y.npy", test::npy_text<float>("<f4", {2, 1}, {3, -1}));
  double curvature = 0;
  for (const int lag : {0, 1, 2, 4}) {
    const double limit = 2 * std::sin(M_PI / (2 * (2 * lag + 1)));
    double low = 0.01, high = 4;
    while (high > 1.003 * low) {
      const double middle = std::sqrt(low * high);
      (is_stable(data.path(), lag, middle) ? low : high) = middle;
    }
    if (lag == 0) curvature = 2 / low;  // of mse's mean over the samples
    EXPECT_NEAR(low * curvature, limit, 0.01 * limit) << "lag " << lag;
  }
  EXPECT_NEAR(curvature, 2, 0.02);
}

}  // namespace
}  // namespace thalweg::engine
