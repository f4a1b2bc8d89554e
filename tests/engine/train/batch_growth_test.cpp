// A batch that grows: the arithmetic of epochs, bits, resuming, and the rule that goes by noise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

#include "engine/train/batch_growth.h"
#include "engine/train/checkpoint.h"
#include "engine/train/options.h"
#include "jobspec/complete.h"
#include "tests/engine/train/support.h"
#include "tests/support/memory_transport.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;
using jobspec::Trial;
using jobspec::Value;
using testing::Contains;
using testing::HasSubstr;

Value tree_with(Map growth, std::int64_t epochs = 3) {
  Trial trial = tiny_trial();
  trial.train.set("batch_growth", std::move(growth));
  trial.train.set("epochs", epochs);
  return complete_for(trial.train, 1, train_schema(), "trial.yaml");
}

/// One rank.
class Alone {
 public:
  comm::Group& group() { return group_; }

 private:
  comm::Group group_{std::move(comm::memory_transports(1)[0]), comm::GroupOptions()};
};

// Against samples that are counted one batch at a time.
TEST(BatchGrowth, CountsEpochsInSamples) {
  std::mt19937 random(3);
  const auto draw = [&](int from, int to) {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  Alone alone;
  for (int round = 0; round < 200; ++round) {
    const std::int64_t batch = draw(1, 12), training = batch * 9 + draw(0, 40), epochs = 6;
    const double first = draw(1, 20) / 8.0, second = first + draw(1, 20) / 8.0;
    const RunLength length{training / batch * epochs, training / batch, batch};
    BatchGrowth growth(
        tree_with({{"by", "epochs"}, {"at_epochs", List{first, second}}, {"factor", 3}}, epochs),
        length, training);
    EXPECT_EQ(growth.largest(), 9);
    std::int64_t epoch = 0, place = 0, samples = 0, step = 0;
    while (step < growth.end_step()) {
      ASSERT_EQ(growth.samples(step), samples) << round;
      const double before = growth.epochs(step);
      const std::int64_t size = batch * growth.multiple();
      place += size;  // of the batch that this step takes
      ASSERT_LE(place, training) << round << ", step " << step;
      samples += size;
      ++step;
      const double after = growth.epochs(step);
      ASSERT_GT(after, before);
      if (place + size > training) {
        ASSERT_EQ(after, static_cast<double>(++epoch)) << "exactly at the end of an epoch";
        place = 0;
      }
      const int old = growth.multiple();
      const bool grew = growth.grow(step, NoiseScale(), alone.group());
      ASSERT_EQ(grew, growth.multiple() != old);
      if (step == growth.end_step()) break;
      ASSERT_EQ(growth.multiple(), after >= second ? 9 : after >= first ? 3 : 1);
      if (grew && place + batch * growth.multiple() > training) {
        ++epoch;
        place = 0;
      }
      if (grew) {
        ASSERT_EQ(growth.start().epoch, epoch);
        ASSERT_EQ(growth.start().place, place);
        BatchGrowth again(
            tree_with({{"by", "epochs"}, {"at_epochs", List{first, second}}, {"factor", 3}},
                      epochs),
            length, training);
        again.restore(growth.state());
        ASSERT_EQ(again.epochs(step + 1), growth.epochs(step + 1));
        ASSERT_EQ(again.end_step(), growth.end_step());
        ASSERT_EQ(again.multiple(), growth.multiple());
      }
    }
    EXPECT_GE(epoch, epochs) << round;
  }
}

// The other refusals are files in tests/engine/train/unfit.
TEST(BatchGrowth, IsRefusedOnGpus) {
  const Value complete = tree_with({{"by", "epochs"}, {"at_epochs", List{1}}});
  const BatchGrowth growth(complete, {60, 20, 24}, 480);
  SyncFacts facts;
  const Settings settings = read_settings(complete);
  require_growth(growth, complete, settings, facts, 4);
  facts.on_gpu = true;
  try {
    require_growth(growth, complete, settings, facts, 4);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_THAT(e.what(), HasSubstr("on a GPU a step is captured for one number of micro-batches"));
  }
  require_growth(BatchGrowth(), complete, settings, facts, 4);
}

/// Of the newest checkpoint.
std::vector<float> last_weights(const std::filesystem::path& folder) {
  return newest_checkpoint({folder / "checkpoints"}).checkpoint.value().parameters;
}

/// Batches of 24 of 480 samples, in one order, at one rate.
Trial steady_trial() {
  Trial trial = tiny_trial();
  trial.train.set("data", Map{{"name", "synthetic"},
                              {"samples", 528},
                              {"validation", 48},
                              {"noise", 1.5},
                              {"shuffle", "once"}});
  trial.train.set("schedule", Map{{"decay", "constant"}});
  trial.train.set("batch", Map{{"global", 24}, {"shards", 4}});
  trial.train.set("checkpoint", Map{{"every", 20}, {"keep", 100}});
  return trial;
}

TEST(GrowingAttempt, IsBitwiseARunThatIsResumedWithTheLargerBatch) {
  for (const char* device : {"reference", "cpu"}) {
    Trial trial = steady_trial();
    trial.train.set("device", device);
    trial.train.set("batch_growth", Map{{"by", "epochs"}, {"at_epochs", List{1}}, {"factor", 2}});
    const test::TempDir grown;
    run_to_end(trial, grown.path(), 2);  // 20 steps of 24 samples, 20 of 48

    Trial small = steady_trial();
    small.train.set("device", device);
    small.train.set("epochs", 1);
    const test::TempDir first, second;
    run_to_end(small, first.path(), 1);
    Trial large = steady_trial();
    large.train.set("device", device);
    large.train.set("epochs", 4);  // of 10 steps each
    large.train.set("batch", Map{{"global", 48}, {"shards", 4}});
    large.train.set("sync", Map{{"accumulate", 2}});
    large.train.set("init_from",
                    Map{{"file", (first.path() / "checkpoints").string()}, {"state", "all"}});
    run_to_end(large, second.path(), 1);
    const auto end = newest_checkpoint({grown.path() / "checkpoints"}).checkpoint.value();
    EXPECT_EQ(end.step, 40);
    EXPECT_EQ(last_weights(grown.path()), last_weights(second.path())) << device;
    EXPECT_NE(last_weights(grown.path()), last_weights(first.path()));
  }
}

TEST(GrowingAttempt, RecordsSizesAndSamplesAndValidatesByEpochs) {
  Trial trial = tiny_trial();
  trial.train.set("epochs", 4);
  trial.train.set("batch_growth",
                  Map{{"by", "epochs"}, {"at_epochs", List{1, 2.5}}, {"factor", 2}});
  const test::TempDir folder;
  run_to_end(trial, folder.path(), 2);
  const auto points = curve({folder.path()});
  // 20 steps of 24, 15 of 48 to epoch 2.5; then, from place 240, 2 of 96 and 5 in epoch 3.
  for (const char* point : {"batch/size 18 24", "batch/size 20 48", "batch/size 35 96",
                            "batch/samples 20 480", "batch/samples 35 1200",
                            "batch/samples 42 1872", "epoch 20 1", "epoch 35 2.5", "epoch 42 4"})
    EXPECT_THAT(points, Contains(testing::StartsWith(point))) << point;
  std::vector<int> validations;
  for (const std::string& point : points)
    if (point.starts_with("val/loss ")) validations.push_back(std::stoi(point.substr(9)));
  EXPECT_THAT(validations, testing::ElementsAre(20, 30, 37, 42));
  EXPECT_THAT(test::read_file(folder.path() / "journal.jsonl"),
              HasSubstr("batch_growth: 96 samples in an update after step 35, epoch 2.5"));
}

void expect_to_resume_bitwise(Trial trial, const std::vector<int>& steps) {
  trial.train.set("checkpoint", Map{{"every", 5}, {"keep", 100}});
  const test::TempDir whole;
  run_to_end(trial, whole.path(), 1);
  const auto expected = curve({whole.path()});
  for (const int step : steps) {
    const test::TempDir first, second;
    trial.resume.clear();
    run_to_end(trial, first.path(), 2);
    keep_only(first.path(), step);
    trial.resume = {first.path() / "checkpoints"};
    run_to_end(trial, second.path(), 3);
    EXPECT_EQ(curve({first.path(), second.path()}), expected) << step;
    EXPECT_EQ(last_weights(second.path()), last_weights(whole.path())) << step;
    EXPECT_THAT(test::read_file(second.path() / "journal.jsonl"),
                testing::Not(HasSubstr("not bitwise")));
  }
}

// What is made anew at a growth works on the same replica as before.
TEST(GrowingAttempt, HasTheSameBitsInEveryWayOfWorkingTogether) {
  Trial trial = tiny_trial();
  trial.train.set("batch", Map{{"global", 24}, {"shards", 4}});
  trial.train.set("batch_growth",
                  Map{{"by", "epochs"}, {"at_epochs", List{0.5, 1.5}}, {"factor", 3}});
  const test::TempDir plain;
  run_to_end(trial, plain.path(), 1);
  for (const Map& sync : {Map{{"shard_optimizer", true}}, Map{{"compare_every", 2}},
                          Map{{"overlap", false}}, Map{{"bucket_mib", 0}}}) {
    trial.train.set("sync", sync);
    const test::TempDir folder;
    run_to_end(trial, folder.path(), 3);
    EXPECT_EQ(curve({folder.path()}), curve({plain.path()})) << sync.front().first;
    EXPECT_EQ(last_weights(folder.path()), last_weights(plain.path())) << sync.front().first;
  }
  trial.train.set("sync", Map{});
  trial.train.set("batch", Map{{"global", 24}, {"shards", 4}, {"shares", List{1, 3}}});
  const test::TempDir unequal;
  run_to_end(trial, unequal.path(), 2);
  EXPECT_EQ(last_weights(unequal.path()), last_weights(plain.path()));
}

// One that has ended goes on as if it had been longer from the start.
TEST(GrowingAttempt, GoesOnWhenItIsMadeLonger) {
  Trial trial = steady_trial();
  trial.train.set("batch_growth", Map{{"by", "epochs"}, {"at_epochs", List{1.5}}});
  trial.train.set("epochs", 5);
  const test::TempDir whole, first, second;
  run_to_end(trial, whole.path(), 1);
  trial.train.set("epochs", 2);
  run_to_end(trial, first.path(), 2);
  trial.train.set("epochs", 5);
  trial.resume = {first.path() / "checkpoints"};
  run_to_end(trial, second.path(), 1);
  EXPECT_EQ(last_weights(second.path()), last_weights(whole.path()));
}

// Cosine, momentum and dropout go on too. 20 is where it grows, 25 in an epoch of it.
TEST(GrowingAttempt, ResumesBitwiseOnOtherRanks) {
  Trial trial = tiny_trial();
  trial.train.set("batch_growth", Map{{"by", "epochs"}, {"at_epochs", List{1, 1.5}}});
  expect_to_resume_bitwise(trial, {15, 20, 25, 30});
}

std::map<std::int64_t, double> series(const std::vector<std::string>& points, std::string name) {
  std::map<std::int64_t, double> found;
  name += " ";
  for (const std::string& point : points)
    if (point.starts_with(name)) {
      const std::size_t gap = point.find(' ', name.size());
      found[std::stoll(point.substr(name.size(), gap))] = std::stod(point.substr(gap));
    }
  return found;
}

Trial adaptive_trial() {
  Trial trial = tiny_trial();
  trial.train.set(
      "batch_growth",
      Map{{"by", "noise_scale"}, {"samples_for_a_step", 100}, {"max", 192}, {"every", 5}});
  trial.train.set("log", Map{{"every", 5}});
  return trial;
}

TEST(AdaptiveAttempt, ResumesBitwiseOnOtherRanks) {
  expect_to_resume_bitwise(adaptive_trial(), {5, 10, 15});
}

// Every size that is reported follows from the noise scale that is reported with it.
TEST(AdaptiveAttempt, FollowsTheNoiseThatItMeasures) {
  const test::TempDir folder;
  run_to_end(adaptive_trial(), folder.path(), 2);
  const auto points = curve({folder.path()});
  const auto sizes = series(points, "batch/size"), noise = series(points, "noise/b_simple");
  double size = 24;
  for (const auto& [step, reported] : sizes) {
    if (step % 5 == 0 && noise.contains(step) && step != sizes.rbegin()->first)
      while (size < 192 && 2 * size <= std::sqrt(100 * noise.at(step)))
        size *= 2;
    EXPECT_EQ(reported, size) << step;
  }
  EXPECT_GT(size, 24) << "it has grown";
  EXPECT_EQ(series(points, "epoch").rbegin()->second, 3);
}

// Gradients from N(G, sigma^2 I) of dimension 1000, |G|^2 = 2: B_simple = 500 sigma^2, and with
// r = 800 the batch is sqrt(400,000) sigma = 632 sigma, as a power of two times 32 below that.
TEST(BatchGrowth, FollowsTheRootOfAKnownNoiseScale) {
  constexpr int kDimension = 1000, kParts = 16;
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  Alone alone;
  BatchGrowth growth(
      tree_with({{"by", "noise_scale"}, {"samples_for_a_step", 800}, {"max", 2048}, {"every", 10}},
                100),
      {100 * 1000, 1000, 32}, 32000);
  std::int64_t step = 0;
  for (const auto& [sigma, expected] : {std::pair{0.075, 32},
                                        {0.15, 64},
                                        {0.3, 128},
                                        {1.3, 512},
                                        {0.3, 512},
                                        {2.4, 1024},
                                        {9.0, 2048}}) {
    NoiseScale noise(0.999);
    for (int draw = 0; draw < 200; ++draw) {
      // As in training, of the batch that there is.
      const int large = 32 * growth.multiple();
      NoisePair pair{large / kParts, large, 0, 0};
      std::vector<double> mean(kDimension);
      for (int part = 0; part < kParts; ++part)
        for (double& m : mean) {
          const double g =
              std::sqrt(2.0 / kDimension) + sigma * normal(random) / std::sqrt(pair.small_batch);
          m += g / kParts;
          pair.small_squares += g * g / kParts;
        }
      for (const double m : mean)
        pair.large_squares += m * m;
      noise.add(pair);
    }
    EXPECT_FALSE(growth.grow(step + 7, noise, alone.group())) << "not asked for then";
    growth.grow(step += 10, noise, alone.group());
    EXPECT_EQ(growth.multiple() * 32, expected) << "sigma " << sigma;
  }
}

}  // namespace
}  // namespace thalweg::engine
