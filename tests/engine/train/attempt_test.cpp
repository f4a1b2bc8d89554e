// Whole attempts with ranks as threads: curves, resuming, stopping, and bad endings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <thread>

#include "engine/device/device.h"
#include "engine/nn/model_table.h"
#include "tests/engine/train/support.h"
#include "tests/support/memory_transport.h"
#include "tests/support/npy.h"
#include "tests/support/process.h"
#include "tests/support/processor.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::Contains;
using testing::HasSubstr;

TEST(Attempt, JournalTellsTheWholeStory) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.id = {12, 3, 1};
  trial.token = "secret";
  run_to_end(trial, folder.path(), 2);
  const auto journal = read_journal(folder.path());
  for (std::size_t i = 0; i < journal.size(); ++i)
    EXPECT_EQ(journal[i].find("n")->as_int(), static_cast<std::int64_t>(i) + 1);
  const Value& start = journal.front();
  EXPECT_EQ(start.find("type")->as_string(), "start");
  EXPECT_EQ(start.find("attempt")->as_string(), "12.3.1");
  EXPECT_EQ(start.find("token")->as_string(), "secret");
  EXPECT_EQ(start.find("ranks")->as_int(), 2);
  EXPECT_EQ(start.find("node_list")->as_list().size(), 2u);
  EXPECT_EQ(start.find("shards")->as_int(), 4);
  EXPECT_EQ(start.find("steps")->as_int(), 60);
  EXPECT_EQ(start.find("steps_per_epoch")->as_int(), 20);
  EXPECT_EQ(start.find("epochs")->as_double(), 3);
  EXPECT_EQ(start.find("resumed_step")->as_int(), 0);
  EXPECT_EQ(start.find("config.batch.shards")->as_int(), 4);
  EXPECT_EQ(start.find("config.schedule.warmup")->as_string(), "none");
  const Value& end = journal.back();
  EXPECT_EQ(end.find("type")->as_string(), "end");
  EXPECT_EQ(end.find("status")->as_string(), "finished");
  EXPECT_EQ(end.find("step")->as_int(), 60);

  const auto points = curve({folder.path()});
  EXPECT_THAT(points, Contains(HasSubstr("train/loss 6 ")));
  EXPECT_THAT(points, Contains("epoch 60 3.0"));
  EXPECT_THAT(points,
              Contains("lr 6 " + Value(0.01 * 0.5 * (1 + std::cos(M_PI * 5 / 60))).to_json()));
  for (const char* step : {"20", "40", "60"})
    EXPECT_THAT(points, Contains(HasSubstr(std::string("val/error ") + step + " ")));
  EXPECT_EQ(lines_of(journal, "checkpoint").size(), 3u);
  for (const char* name : {"comm_exposed_ms", "comm_ms", "skew_ms", "overlap"})
    EXPECT_THAT(test::read_file(folder.path() / "journal.jsonl"),
                HasSubstr(std::string("perf/") + name));
}

double last_value(const std::vector<Value>& journal, const std::string& name) {
  double value = NAN;
  for (const Value& line : lines_of(journal, "metrics"))
    for (const Value& point : line.find("points")->as_list())
      if (point.as_list()[0].as_string() == name) value = point.as_list()[2].as_double();
  return value;
}

TEST(Attempt, JournalTellsFlopsOfASampleAndASecond) {
  const test::TempDir folder;
  run_to_end(tiny_trial(), folder.path(), 2);
  const auto journal = read_journal(folder.path());
  // 16 to 12 features forward and for the weights' gradients, to 10 for the inputs' as well.
  const double sample = journal.front().find("flops_per_sample")->as_double();
  EXPECT_EQ(sample, 2 * 2 * 16 * 12 + 3 * 2 * 12 * 10);
  EXPECT_DOUBLE_EQ(last_value(journal, "perf/tflops"),
                   last_value(journal, "perf/samples_per_s") * sample * 1e-12);
}

TEST(Attempt, AutotuneWritesItsTableAndKeepsTheCurve) {
  const test::TempDir plain, tuned;
  Trial trial = tiny_trial();
  run_to_end(trial, plain.path(), 2);
  trial.train.set("sync.allreduce", "autotune");
  run_to_end(trial, tuned.path(), 2);
  EXPECT_EQ(curve({plain.path()}), curve({tuned.path()}));
  const auto notes = lines_of(read_journal(tuned.path()), "note");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0].find("text")->as_string(),
              testing::MatchesRegex("measured allreduce .*\n64 bytes: .* us.*"));
}

TEST(Attempt, NaNInTheDataIsFoundBeforeTheGradientIsHeldForTheCause) {
  const test::TempDir folder;
  std::vector<float> inputs(64 * 4);
  std::vector<std::int32_t> labels(64);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<float>(i % 7);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::int32_t>(i % 3);
  for (std::size_t row = 10; row < 64; ++row)  // wherever the first batch falls
    inputs[row * 4 + 1] = NAN;
  test::write_file(folder.path() / "x.npy", test::npy_text("<f4", {64, 4}, inputs));
  test::write_file(folder.path() / "y.npy", test::npy_text("<i4", {64}, labels));
  Trial trial = tiny_trial();
  trial.train.set("data", Map{{"name", "arrays"},
                              {"inputs", (folder.path() / "x.npy").string()},
                              {"labels", (folder.path() / "y.npy").string()}});
  const StopFlag stop;
  const auto ends = run_ranks(trial, folder.path(), 2, stop);
  for (const RankEnd& end : ends) {
    ASSERT_FALSE(end.threw) << end.failure.reason;
    EXPECT_EQ(end.outcome.code, ExitCode::diverged);
    EXPECT_THAT(end.outcome.reason,
                testing::MatchesRegex("diverged: the inputs hold NaN, first in row [0-9]+ of "
                                      ".*x.npy; .* at step 1 .*"));
  }
}

TEST(Attempt, ImagesWithTheirChannelsLastAreWarnedOf) {
  const test::TempDir folder;
  test::write_file(folder.path() / "x.npy",
                   test::npy_text("|u1", {40, 8, 9, 3}, std::vector<std::uint8_t>(40 * 216)));
  test::write_file(folder.path() / "y.npy",
                   test::npy_text("|u1", {40}, std::vector<std::uint8_t>(40, 1)));
  Trial trial = tiny_trial();
  trial.train.set("data", Map{{"name", "arrays"},
                              {"inputs", (folder.path() / "x.npy").string()},
                              {"labels", (folder.path() / "y.npy").string()}});
  trial.train.set("epochs", 1);
  run_to_end(trial, folder.path(), 1);
  const auto notes = lines_of(read_journal(folder.path()), "note");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_THAT(notes[0].find("text")->as_string(),
              HasSubstr("n x 8 x 9 x 3 is taken as 8 channels; if the channels are last, store "
                        "numpy.transpose(x, (0, 3, 1, 2))"));
}

TEST(Attempt, TestSamplesAreJudgedAtTheEndOrAlways) {
  const test::TempDir plain, tested, always;
  Trial trial = tiny_trial();
  trial.train.set("data.samples", 576);
  trial.train.set("data.test_samples", 48);
  run_to_end(trial, tested.path(), 2);
  const auto of_the_test = [](const std::vector<std::string>& points) {
    std::vector<std::string> found;
    for (const std::string& point : points)
      if (point.starts_with("test/")) found.push_back(point.substr(0, point.rfind(' ')));
    return found;
  };
  const auto points = curve({tested.path()});
  EXPECT_THAT(of_the_test(points),
              testing::UnorderedElementsAre("test/loss 60", "test/error 60", "test/accuracy 60",
                                            "test/top5_error 60"));
  trial.train.set("eval.test", "always");
  run_to_end(trial, always.path(), 1);
  const auto more = curve({always.path()});
  EXPECT_EQ(of_the_test(more).size(), 12u);
  std::vector<std::string> same;  // training and validation know nothing of it
  for (const std::string& point : more)
    if (!point.starts_with("test/") || point.find(" 60 ") != std::string::npos)
      same.push_back(point);
  EXPECT_EQ(same, points);
}

TEST(Attempt, TheScheduleNeverSeesTheTest) {
  Trial trial = tiny_trial();
  trial.train.set("data.test_samples", 48);
  trial.train.set("schedule", Map{{"decay", "plateau"}, {"metric", "test/loss"}});
  const test::TempDir folder;
  const StopFlag stop;
  const auto ends = run_ranks(trial, folder.path(), 1, stop);
  ASSERT_TRUE(ends[0].threw);
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("validation does not report test/loss"));
}

TEST(Attempt, Learns) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("data.noise", 0.5);
  trial.train.set("model.dropout", 0.0);
  run_to_end(trial, folder.path(), 1);
  EXPECT_LT(last_value(read_journal(folder.path()), "val/error"), 0.25);  // guessing: 0.9
}

TEST(Attempt, CurveDoesNotDependOnRanksOrThreads) {
  const test::TempDir one;
  run_to_end(tiny_trial(), one.path(), 1);
  const auto expected = curve({one.path()});
  ASSERT_FALSE(expected.empty());
  for (const int ranks : {2, 3, 4}) {
    const test::TempDir folder;
    Trial trial = tiny_trial();
    trial.resources.threads_per_rank = 1 + ranks % 2;
    run_to_end(trial, folder.path(), ranks);
    EXPECT_EQ(curve({folder.path()}), expected) << ranks;
  }
}

/// What a sweep over nodes compares: batch norm included, with the shards left to `auto`.
TEST(Attempt, AutomaticShardsOfASweepGiveOneCurveOnAnyRanks) {
  std::vector<std::string> first;
  for (const int ranks : {1, 2, 3, 4, 5, 8, 16}) {
    const test::TempDir folder;
    Trial trial = tiny_trial();
    trial.train.set("batch.global", 48);
    trial.train.set("epochs", 1);
    trial.sweep_ranks = 16;
    run_to_end(trial, folder.path(), ranks);
    const auto points = curve({folder.path()});
    if (first.empty()) first = points;
    EXPECT_EQ(points, first) << ranks << " ranks";
  }
  EXPECT_GT(first.size(), 10u);
}

TEST(Attempt, AugmentedCurveDoesNotDependOnRanks) {
  Trial trial = tiny_trial();
  trial.train.set("data.shape", jobspec::List{1, 4, 4});
  trial.train.set("data.duplicate", 2);
  const test::TempDir plain, one, three;
  run_to_end(trial, plain.path(), 1);
  trial.train.set("augment", Map{{"rotate", 20.0}, {"contrast", 0.3}});
  run_to_end(trial, one.path(), 1);
  run_to_end(trial, three.path(), 3);
  EXPECT_EQ(curve({three.path()}), curve({one.path()}));
  EXPECT_NE(curve({plain.path()}), curve({one.path()}));
}

TEST(Attempt, MicroBatchesGiveTheCurveOfAsManyMoreShards) {
  const test::TempDir more, accumulating;
  Trial trial = tiny_trial();
  trial.train.set("batch.shards", 8);
  run_to_end(trial, more.path(), 1);
  trial.train.set("batch.shards", 4);
  trial.train.set("sync.accumulate", 2);
  run_to_end(trial, accumulating.path(), 2);
  EXPECT_EQ(curve({accumulating.path()}), curve({more.path()}));
}

TEST(Attempt, SeedChangesTheCurveAndTheSameSeedDoesNot) {
  const test::TempDir a, b, c;
  run_to_end(tiny_trial(), a.path(), 1);
  run_to_end(tiny_trial(), b.path(), 1);
  Trial other = tiny_trial();
  other.seed = 8;
  run_to_end(other, c.path(), 1);
  EXPECT_EQ(curve({a.path()}), curve({b.path()}));
  EXPECT_NE(curve({a.path()}), curve({c.path()}));
}

/// Starts a run that has only a part of its steps: it leaves checkpoints as a killed one would.
void run_and_lose_the_rest(Trial trial, const std::filesystem::path& folder, int ranks,
                           std::int64_t kept_step) {
  run_to_end(trial, folder, ranks);
  keep_only(folder, kept_step);
}

TEST(Attempt, ResumesBitwiseInTheMiddleOfAnIntervalOnOtherRanks) {
  const test::TempDir whole, first, second;
  Trial trial = tiny_trial();
  run_to_end(trial, whole.path(), 1);
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  run_and_lose_the_rest(trial, first.path(), 2, 32);  // 32 is neither a report nor an epoch
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 3);
  const auto journal = read_journal(second.path());
  EXPECT_EQ(journal.front().find("resumed_step")->as_int(), 32);
  EXPECT_THAT(curve({second.path()}), testing::Not(Contains(HasSubstr("train/loss 30 "))));
  EXPECT_THAT(curve({second.path()}), Contains(HasSubstr("train/loss 36 ")));
  // What the second attempt measured is part of the uninterrupted curve, and together they are all
  // of it.
  for (const std::string& point : curve({second.path()}))
    EXPECT_THAT(curve({whole.path()}), Contains(point));
  EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
}

/// Every rank stops at this step, as at a rung.
void run_to_pause(const Trial& trial, const std::filesystem::path& folder, int ranks,
                  std::int64_t step) {
  const StopFlag never;
  for (const RankEnd& end : run_ranks(trial, folder, ranks, never)) {
    EXPECT_FALSE(end.threw) << end.failure.reason;
    EXPECT_EQ(end.outcome.code, ExitCode::stopped);
    EXPECT_EQ(end.outcome.reason, "paused at step " + std::to_string(step));
  }
}

TEST(Attempt, PausesAtRungsAndGoesOnBitwiseOnOtherRanks) {
  const test::TempDir whole, first, again, second, third;
  Trial trial = tiny_trial();
  trial.train.set("stop", Map{{"patience", 100}});
  run_to_end(trial, whole.path(), 1);
  trial.pause_epochs = 1;
  run_to_pause(trial, first.path(), 2, 20);
  // Killed before its end was known: the next attempt has nothing to do.
  trial.resume = {first.path() / "checkpoints"};
  run_to_pause(trial, again.path(), 1, 20);
  EXPECT_THAT(curve({again.path()}), testing::IsEmpty());
  trial.pause_epochs = 0;
  trial.pause_steps = 21;  // the validation after it
  run_to_pause(trial, second.path(), 3, 40);
  trial.resume = {second.path() / "checkpoints", first.path() / "checkpoints"};
  trial.pause_steps = 60;  // its end
  run_to_end(trial, third.path(), 2);
  EXPECT_EQ(curve({first.path(), second.path(), third.path()}), curve({whole.path()}));
}

TEST(Attempt, CannotPauseWhereNobodyKnowsAfterHowManyStepsItValidates) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.pause_epochs = 1;
  trial.train.set("eval", Map{{"every_seconds", 5.0}});
  const StopFlag never;
  const auto ends = run_ranks(trial, folder.path(), 1, never);
  ASSERT_TRUE(ends[0].threw);
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("set eval.every_epochs or eval.every_steps"));
}

TEST(Attempt, EveryKindOfOptimizerResumesBitwiseOnOtherRanks) {
  // Matrices of their own, sums over all parameters, another point to validate at, a second
  // backward pass, groups and a mean of the weights; on both devices.
  const Map optimizers[] = {
      {{"name", "soap"}, {"every", 3}},
      {{"name", "prodigy"}},
      {{"name", "schedule_free_adamw"}},
      {{"name", "sophia_g"}, {"every", 5}},
      {{"name", "momentum"},
       {"ema", 0.9},
       {"groups", jobspec::List{Map{{"match", "*.bias"}, {"name", "nadam"}, {"lr_factor", 0.1}}}}}};
  for (const Map& optimizer : optimizers)
    for (const char* device : {"reference", "cpu"}) {
      const test::TempDir whole, first, second;
      Trial trial = tiny_trial();
      trial.train.set("device", device);
      trial.train.set("optimizer", optimizer);
      run_to_end(trial, whole.path(), 1);
      trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
      run_and_lose_the_rest(trial, first.path(), 2, 32);
      trial.resume = {first.path() / "checkpoints"};
      run_to_end(trial, second.path(), 3);
      EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}))
          << Value(optimizer).to_text() << " on " << device;
    }
}

TEST(Attempt, InBf16ResumesBitwiseOnOtherRanks) {
  if (!test::multiplies_bf16()) GTEST_SKIP() << "this processor does not multiply bf16";
  const test::TempDir whole, first, second, fp32;
  Trial trial = tiny_trial();
  trial.train.set("device", "cpu");
  run_to_end(trial, fp32.path(), 1);
  trial.train.set("precision", "bf16");
  run_to_end(trial, whole.path(), 1);
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  run_and_lose_the_rest(trial, first.path(), 2, 32);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 3);
  EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
  EXPECT_NE(curve({fp32.path()}), curve({whole.path()}));
}

TEST(Attempt, PlateauGoesOnWhereItWasOnOtherRanks) {
  const test::TempDir whole, first, second;
  Trial trial = tiny_trial();
  trial.train.set("epochs", 8);
  trial.train.set("schedule", Map{{"decay", "plateau"},
                                  {"patience_epochs", 1},
                                  {"threshold", 0.5},  // little progress counts as none
                                  {"gamma", 0.5}});
  run_to_end(trial, whole.path(), 1);
  std::set<std::string> rates;
  for (const std::string& point : curve({whole.path()}))
    if (point.starts_with("lr ")) rates.insert(point.substr(point.rfind(' ') + 1));
  EXPECT_GE(rates.size(), 3u);  // otherwise this test tests nothing
  trial.train.set("checkpoint", Map{{"every", 20}, {"keep", 100}});
  run_and_lose_the_rest(trial, first.path(), 2, 80);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 3);
  EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
}

TEST(Attempt, ALongerRunGoesOnWhereTheScheduleLetsIt) {
  const test::TempDir whole, first, second;
  Trial trial = tiny_trial();
  trial.train.set("schedule.decay_epochs", 6);
  trial.train.set("epochs", 4);
  run_to_end(trial, whole.path(), 1);
  trial.train.set("epochs", 2);
  run_to_end(trial, first.path(), 2);
  trial.train.set("epochs", 4);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 3);
  EXPECT_EQ(read_journal(second.path()).front().find("resumed_step")->as_int(), 40);
  // The first run ends within an interval of the log, and reports what it has of it.
  EXPECT_THAT(curve({first.path()}), Contains(HasSubstr("train/loss 40 ")));
  EXPECT_THAT(curve({second.path()}), Contains(HasSubstr("train/loss 42 ")));
  for (const std::string& point : curve({second.path()}))
    EXPECT_THAT(curve({whole.path()}), Contains(point));
  for (const std::string& point : curve({whole.path()}))
    EXPECT_THAT(curve({first.path(), second.path()}), Contains(point));

  const test::TempDir third;
  trial.train.set("epochs", 3);
  trial.resume = {second.path() / "checkpoints"};
  const StopFlag never;
  for (const RankEnd& end : run_ranks(trial, third.path(), 1, never))
    EXPECT_EQ(end.failure.code, ExitCode::bad_input) << "a shorter run is another one";
}

TEST(Attempt, ALongerRunIsRefusedWhereItsRatesAreOthers) {
  const test::TempDir first, second;
  Trial trial = tiny_trial();
  trial.train.set("epochs", 2);
  run_to_end(trial, first.path(), 1);
  trial.train.set("epochs", 4);
  trial.resume = {first.path() / "checkpoints"};
  const StopFlag never;
  for (const RankEnd& end : run_ranks(trial, second.path(), 1, never)) {
    EXPECT_EQ(end.failure.code, ExitCode::bad_input);
    EXPECT_THAT(end.failure.reason,
                HasSubstr("a run of 40 steps, whose length sets its learning rate"));
  }
}

Trial compressed(const char* name) {
  Trial trial = tiny_trial();
  trial.train.set("sync.compress", name);
  trial.train.set("sync.compress_start", 5);
  trial.train.set("checkpoint", Map{{"every", 8}, {"keep", 100}});
  if (name == std::string("powersgd")) trial.train.set("sync.compress_rank", 1);
  return trial;
}

TEST(Attempt, ResumesCompressionBitwiseOnAsManyRanks) {
  for (const char* name : {"powersgd", "top-k"}) {
    const test::TempDir whole, first, second, three;
    Trial trial = compressed(name);
    run_to_end(trial, whole.path(), 2);
    run_and_lose_the_rest(trial, first.path(), 2, 32);
    trial.resume = {first.path() / "checkpoints"};
    run_to_end(trial, second.path(), 2);
    EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()})) << name;
    EXPECT_TRUE(lines_of(read_journal(second.path()), "note").empty());
    // On other ranks it goes on as well, but says that it is not the same.
    run_to_end(trial, three.path(), 3);
    const auto notes = lines_of(read_journal(three.path()), "note");
    ASSERT_EQ(notes.size(), 1u) << name;
    EXPECT_THAT(notes[0].find("text")->as_string(), HasSubstr("made on 2 ranks, this run has 3"));
  }
}

TEST(Attempt, SaysWhenAResumedRunAddsUpOtherwise) {
  const test::TempDir first;
  Trial trial = tiny_trial();
  run_to_end(trial, first.path(), 2);
  trial.resume = {first.path() / "checkpoints"};
  const auto notes = [&](const Map& sync, int shards) {
    const test::TempDir second;
    trial.train.set("sync", sync);
    trial.train.set("batch.shards", shards);
    run_to_end(trial, second.path(), 1);
    std::string text;
    for (const Value& line : lines_of(read_journal(second.path()), "note"))
      text += line.find("text")->as_string();
    return text;
  };
  EXPECT_EQ(notes(Map{}, 4), "");
  EXPECT_EQ(notes(Map{{"accumulate", 2}}, 2), "");  // the same tree
  EXPECT_THAT(notes(Map{{"accumulate", 3}}, 4),
              HasSubstr("with 4 shards, this run has 4 shards of 3 micro-batches"));
  EXPECT_THAT(notes(Map{{"sum", "ranks"}}, 4), HasSubstr("on 2 ranks, this run has 1"));
}

TEST(Attempt, ARankThatKeptTheOthersWaitingStandsInTheJournal) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  // Warns after half of it.
  const std::chrono::duration<double> stall = test::slowed(std::chrono::duration<double>(4));
  trial.train.set("sync.stall_timeout_s", stall.count());
  const StopFlag never;
  const auto ends = run_ranks(trial, folder.path(), 2, never, [&](int rank) {
    if (rank == 1) std::this_thread::sleep_for(0.6 * stall);
  });
  for (const RankEnd& end : ends)
    EXPECT_FALSE(end.threw) << end.failure.reason;
  const auto journal = read_journal(folder.path());
  EXPECT_EQ(journal.at(0).find("type")->as_string(), "start");
  const auto notes = lines_of(journal, "note");
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].find("level")->as_string(), "warning");
  EXPECT_THAT(notes[0].find("text")->as_string(), HasSubstr("no progress for "));
  EXPECT_THAT(notes[0].find("text")->as_string(), HasSubstr("rank 1 on node"));
}

TEST(Attempt, CompressionIsPartOfWhatARunIs) {
  const test::TempDir first, second;
  Trial trial = compressed("top-k");
  run_to_end(trial, first.path(), 1);
  trial.resume = {first.path() / "checkpoints"};
  trial.train.set("sync.compress_share", 0.5);
  const StopFlag never;
  const auto ends = run_ranks(trial, second.path(), 1, never);
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("sync.compress_share was 0.01 and is 0.5"));
}

TEST(Attempt, PlateauMustWatchWhatIsMeasured) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("schedule", Map{{"decay", "plateau"}, {"metric", "val/iou"}});
  const StopFlag never;
  for (const RankEnd& end : run_ranks(trial, folder.path(), 2, never)) {
    EXPECT_TRUE(end.threw);
    EXPECT_EQ(end.failure.code, ExitCode::bad_input);
    EXPECT_THAT(end.failure.reason, HasSubstr("schedule.metric"));
    EXPECT_THAT(end.failure.reason, HasSubstr("val/loss, val/error"));
  }
}

TEST(Attempt, KeepsTheShardsOfTheCheckpoint) {
  const test::TempDir whole, first, second;
  Trial trial = tiny_trial();
  run_to_end(trial, whole.path(), 6);  // auto: 8 shards
  run_and_lose_the_rest(trial, first.path(), 6, 40);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 2);  // auto alone would say 4
  EXPECT_EQ(read_journal(second.path()).front().find("shards")->as_int(), 8);
  EXPECT_EQ(curve({first.path(), second.path()}), curve({whole.path()}));
}

TEST(Attempt, PassesOverADamagedCheckpointWithANote) {
  const test::TempDir first, second;
  Trial trial = tiny_trial();
  run_to_end(trial, first.path(), 1);  // keeps steps 40 and 60
  const auto newest = first.path() / "checkpoints" / checkpoint_name(60);
  test::write_file(newest, test::read_file(newest).substr(0, 1000));
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 2);
  const auto journal = read_journal(second.path());
  EXPECT_EQ(lines_of(journal, "start")[0].find("resumed_step")->as_int(), 40);
  EXPECT_THAT(lines_of(journal, "note")[0].find("text")->as_string(),
              AllOf(HasSubstr("checkpoint passed over"), HasSubstr("checksum")));
}

TEST(Attempt, RunningAgainInTheSameFolderGoesOn) {
  const test::TempDir folder;
  run_to_end(tiny_trial(), folder.path(), 1);
  const auto before = curve({folder.path()});
  run_to_end(tiny_trial(), folder.path(), 1);
  const auto journal = read_journal(folder.path());
  EXPECT_EQ(lines_of(journal, "start")[1].find("resumed_step")->as_int(), 60);
  EXPECT_EQ(journal.back().find("n")->as_int(), static_cast<std::int64_t>(journal.size()));
  EXPECT_EQ(curve({folder.path()}), before);
}

TEST(Attempt, ACheckpointOfAnotherRunIsBadInputOnEveryRank) {
  const test::TempDir first, second;
  Trial trial = tiny_trial();
  run_to_end(trial, first.path(), 1);
  trial.resume = {first.path() / "checkpoints"};
  trial.train.set("optimizer.lr", 0.02);
  const StopFlag never;
  const auto ends = run_ranks(trial, second.path(), 2, never);
  for (const RankEnd& end : ends) {
    ASSERT_TRUE(end.threw);
    EXPECT_EQ(end.failure.code, ExitCode::bad_input);
  }
  EXPECT_THAT(ends[0].failure.reason, HasSubstr("optimizer.lr was 0.01 and is 0.02"));
  EXPECT_THAT(ends[1].failure.reason, HasSubstr("rank 0 on"));
  const Value end = read_journal(second.path()).back();
  EXPECT_EQ(end.find("status")->as_string(), "failed");
  EXPECT_THAT(end.find("reason")->as_string(), HasSubstr("optimizer.lr"));
}

TEST(Attempt, StopsAfterACheckpointAndGoesOn) {
  const test::TempDir whole, folder;
  Trial trial = tiny_trial();
  trial.train.set("checkpoint.every", 0);
  run_to_end(trial, whole.path(), 1);
  StopFlag stop;
  stop.request();  // before the first step: that step is still made
  for (const RankEnd& end : run_ranks(trial, folder.path(), 2, stop)) {
    ASSERT_FALSE(end.threw) << end.failure.reason;
    EXPECT_EQ(end.outcome.code, ExitCode::stopped);
    EXPECT_EQ(end.outcome.step, 1);
  }
  EXPECT_EQ(read_journal(folder.path()).back().find("status")->as_string(), "stopped");
  run_to_end(trial, folder.path(), 4);
  EXPECT_EQ(curve({folder.path()}), curve({whole.path()}));
}

TEST(Attempt, ALossThatIsNotFiniteEndsTheRun) {
  const test::TempDir folder;
  Trial trial = tiny_trial();
  trial.train.set("optimizer", Map{{"name", "sgd"}, {"lr", 1e30}});
  trial.train.set("model", Map{{"name", "mlp"}, {"hidden", jobspec::List{12}}});
  const StopFlag never;
  for (const RankEnd& end : run_ranks(trial, folder.path(), 2, never)) {
    ASSERT_FALSE(end.threw) << end.failure.reason;
    EXPECT_EQ(end.outcome.code, ExitCode::diverged);
  }
  const auto journal = read_journal(folder.path());
  EXPECT_EQ(journal.back().find("status")->as_string(), "failed");
  EXPECT_THAT(
      journal.back().find("reason")->as_string(),
      AllOf(HasSubstr("diverged: the loss became"), HasSubstr("at step"), HasSubstr("(lr 9.99")));
  EXPECT_EQ(lines_of(journal, "note").size(), 1u);
}

TEST(Attempt, BlendedSamplesAndWorkersKeepTheBitsOnAnyRanks) {
  const test::TempDir plain, one, two;
  Trial trial = tiny_trial();
  run_to_end(trial, plain.path(), 1);
  trial.train.set("augment", Map{{"mixup", 0.3}});
  run_to_end(trial, one.path(), 1);
  trial.train.set("data.workers", 3);
  run_to_end(trial, two.path(), 2);
  EXPECT_EQ(curve({one.path()}), curve({two.path()}));
  EXPECT_NE(curve({one.path()}), curve({plain.path()}));
  EXPECT_LT(last_value(read_journal(one.path()), "val/error"), 0.75);  // guessing: 0.9
}

TEST(Attempt, BadInputIsBadInputOnEveryRank) {
  const StopFlag never;
  const auto ends_of = [&](const char* key, const Value& value, int ranks) {
    const test::TempDir folder;
    Trial trial = tiny_trial();
    trial.train.set(key, value);
    const auto ends = run_ranks(trial, folder.path(), ranks, never);
    std::string reasons;
    for (const RankEnd& end : ends) {
      EXPECT_TRUE(end.threw);
      EXPECT_EQ(end.failure.code, ExitCode::bad_input);
      reasons += end.failure.reason + "\n";
    }
    return reasons;
  };
  EXPECT_THAT(ends_of("data", Map{{"name", "fashion-mnist"}, {"dir", "/nonexistent"}}, 2),
              HasSubstr("dataset-fashion-mnist"));
  EXPECT_THAT(ends_of("batch.global", 481, 2), HasSubstr("481 is more than the 480"));
  EXPECT_THAT(ends_of("batch.global", 29, 3), HasSubstr("do not divide into 4 shards"));
  EXPECT_THAT(ends_of("batch.shards", 2, 3), HasSubstr("use at most 2 ranks"));
  EXPECT_THAT(ends_of("sync.accumulate", 4, 2),
              HasSubstr("a shard of 6 samples (batch.global over 4 shards) does not divide into 4 "
                        "micro-batches; use one of 1, 2, 3, 6"));
  EXPECT_THAT(ends_of("data.validation", 528, 1), HasSubstr("cannot hold out 528 of 528"));
  EXPECT_THAT(ends_of("steps", 5, 1), HasSubstr("both epochs and steps"));
}

TEST(Together, OneRankThatThrowsIsHeardByAll) {
  auto transports = comm::memory_transports(3);
  std::vector<std::string> heard(3);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < 3; ++rank)
    threads.emplace_back([&, rank] {
      comm::Group group(std::move(transports[rank]));
      together(group, [] {});
      try {
        together(group, [&] {
          if (rank == 1) throw std::invalid_argument("my disk is empty");
        });
      } catch (const PeerFailed& e) {
        heard[rank] = e.code() == ExitCode::bad_input ? e.what() : "wrong code";
      } catch (const std::exception& e) {
        heard[rank] = e.what();
      }
    });
  for (std::thread& t : threads)
    t.join();
  EXPECT_THAT(heard[0], HasSubstr("rank 1 on"));
  EXPECT_EQ(heard[1], "my disk is empty");
  EXPECT_THAT(heard[2], HasSubstr("rank 1 on"));
}

}  // namespace
}  // namespace thalweg::engine
