#include "engine/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <numeric>
#include <set>

#include "engine/data/order.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

/// Sample i is the number i; counts how often it was read.
class Numbers : public Dataset {
 public:
  explicit Numbers(std::size_t size) : Dataset({.input = {1}, .classes = 10}), size_(size) {}
  std::size_t size() const override { return size_; }
  void copy(std::size_t index, float* out) const override {
    ++copies;
    if (static_cast<std::int64_t>(index) == broken) throw DataError("disk.idx", 99, "broken");
    out[0] = static_cast<float>(index);
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = static_cast<std::int32_t>(index % 10);
  }
  mutable std::atomic<int> copies{0};
  std::int64_t broken = -1;

 private:
  std::size_t size_;
};

std::vector<float> inputs_of(const PreparedBatch& batch) {
  return {batch.inputs.begin(), batch.inputs.end()};
}

std::vector<std::uint32_t> all(std::size_t n) {
  std::vector<std::uint32_t> v(n);
  std::iota(v.begin(), v.end(), 0u);
  return v;
}

LoaderPlan plan(std::size_t batch, std::int64_t end) {
  LoaderPlan p;
  p.seed = 5;
  p.global_batch = batch;
  p.positions = batch;
  p.end_step = end;
  return p;
}

TEST(Loader, AnEpochShowsEverySampleAtMostOnceAndDropsTheRest) {
  const Numbers numbers(50);
  Loader loader(numbers, all(50), plan(16, 6));  // 3 steps an epoch, 2 samples dropped
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::multiset<float> seen;
    for (int step = 0; step < 3; ++step) {
      const PreparedBatch& batch = loader.next();
      EXPECT_EQ(batch.step, epoch * 3 + step);
      seen.insert(batch.inputs.begin(), batch.inputs.end());
      for (std::size_t i = 0; i < 16; ++i)
        EXPECT_EQ(batch.labels[i], static_cast<std::int32_t>(batch.inputs[i]) % 10);
    }
    EXPECT_EQ(seen.size(), 48u);
    EXPECT_EQ(std::set<float>(seen.begin(), seen.end()).size(), 48u);
  }
  EXPECT_THROW(loader.next(), std::logic_error);
}

TEST(Loader, RanksTogetherSeeTheGlobalBatch) {
  const Numbers numbers(64);
  Loader whole(numbers, all(64), plan(16, 8));
  LoaderPlan first = plan(16, 8), second = plan(16, 8);
  first.positions = 4;
  second.first_position = 4;
  second.positions = 12;
  Loader a(numbers, all(64), first), b(numbers, all(64), second);
  for (int step = 0; step < 8; ++step) {
    std::vector<float> joined = inputs_of(a.next());
    const PreparedBatch& rest = b.next();
    joined.insert(joined.end(), rest.inputs.begin(), rest.inputs.end());
    EXPECT_EQ(joined, inputs_of(whole.next()));
  }
}

TEST(Loader, StartsInTheMiddleAsIfItHadBeenThereBefore) {
  const Numbers numbers(64);
  Loader whole(numbers, all(64), plan(16, 8));
  LoaderPlan late = plan(16, 8);
  late.first_step = 6;
  Loader resumed(numbers, all(64), late);
  for (int step = 0; step < 6; ++step)
    whole.next();
  for (int step = 6; step < 8; ++step) {
    const PreparedBatch& batch = resumed.next();
    EXPECT_EQ(batch.step, step);
    EXPECT_EQ(inputs_of(batch), inputs_of(whole.next()));
  }
}

// 50 samples: two batches of 8, then batches of 16 from place 16 of epoch 0 on: two more there (2
// samples dropped), three in every later epoch.
TEST(Loader, LargerBatchesGoOnWhereSmallerOnesEnded) {
  const Numbers numbers(50);
  Loader small(numbers, all(50), plan(8, 6));
  LoaderPlan later = plan(16, 8);
  later.origin_step = later.first_step = 2;
  later.origin_place = 16;
  Loader large(numbers, all(50), later);
  std::vector<float> seen, whole;
  for (int step = 0; step < 6; ++step) {
    const std::vector<float> batch = inputs_of(small.next());
    whole.insert(whole.end(), batch.begin(), batch.end());
    if (step < 2) seen = whole;
  }
  for (int step = 2; step < 4; ++step) {
    const PreparedBatch& batch = large.next();
    EXPECT_EQ(batch.step, step);
    std::vector<std::uint32_t> samples(batch.inputs.begin(), batch.inputs.end());
    std::sort(samples.begin(), samples.end());
    EXPECT_EQ(samples, large.samples_of(step));
    seen.insert(seen.end(), batch.inputs.begin(), batch.inputs.end());
  }
  EXPECT_EQ(seen, whole);
  LoaderPlan second = plan(16, 6);
  second.first_step = 3;  // of epoch 1, which has three steps as well
  Loader next(numbers, all(50), second);
  for (int step = 4; step < 7; ++step)
    EXPECT_EQ(inputs_of(large.next()), inputs_of(next.next())) << step;
}

TEST(Loader, MayKeepTheFirstOrder) {
  const Numbers numbers(48);
  LoaderPlan once = plan(16, 6), late = once;
  once.shuffle_once = late.shuffle_once = true;
  late.first_step = 4;
  Loader loader(numbers, all(48), once), resumed(numbers, all(48), late);
  std::vector<std::vector<float>> steps;
  for (int step = 0; step < 6; ++step)
    steps.push_back(inputs_of(loader.next()));
  for (std::size_t step = 0; step < 3; ++step)
    EXPECT_EQ(steps[step], steps[step + 3]);
  EXPECT_NE(steps[0], steps[1]);
  EXPECT_EQ(inputs_of(resumed.next()), steps[4]);
}

TEST(Loader, PreparesAheadButNotWithoutBound) {
  const Numbers numbers(1000);
  LoaderPlan p = plan(10, 100);
  p.ahead = 3;
  Loader loader(numbers, all(1000), p);
  const auto reaches = [&](int copies) {
    return thalweg::test::eventually([&] { return numbers.copies >= copies; });
  };
  EXPECT_TRUE(reaches(30));
  EXPECT_EQ(numbers.copies, 30);
  loader.next();
  EXPECT_TRUE(reaches(40));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // room for a mistake to show
  EXPECT_LE(numbers.copies, 40);
}

TEST(Loader, KeepsBatchesAsLongAsAskedFor) {
  const Numbers numbers(1000);
  LoaderPlan p = plan(10, 100);
  p.ahead = 2;
  p.kept = 3;
  std::vector<std::vector<std::byte>> memory;
  memory.reserve(8);
  p.memory = [&](std::size_t bytes) { return memory.emplace_back(bytes).data(); };
  Loader loader(numbers, all(1000), p);
  EXPECT_EQ(memory.size(), 5u);
  std::vector<std::pair<const PreparedBatch*, std::vector<float>>> handed_out;
  for (int step = 0; step < 12; ++step) {
    const PreparedBatch& batch = loader.next();
    handed_out.emplace_back(&batch, inputs_of(batch));
    EXPECT_TRUE(thalweg::test::eventually([&] { return numbers.copies >= 10 * (step + 3); }));
    for (std::size_t back = 1; back <= 3 && back <= handed_out.size(); ++back) {
      const auto& [there, before] = handed_out[handed_out.size() - back];
      EXPECT_EQ(inputs_of(*there), before) << "step " << step << ", " << back << " back";
    }
  }
}

// Shards of steps in any order, also of two epochs in one batch, are those of the whole batches.
TEST(Loader, PreparesShardsOnDemand) {
  const Numbers numbers(70);  // 4 steps an epoch
  Loader whole(numbers, all(70), plan(16, 8));
  std::vector<float> steps;
  for (int step = 0; step < 8; ++step)
    for (const float input : inputs_of(whole.next()))
      steps.push_back(input);
  LoaderPlan p = plan(16, 0);
  p.shards = 4;
  p.positions = 8;
  p.workers = 2;
  p.ahead = 2;
  Loader loader(numbers, all(70), p);
  EXPECT_THROW(loader.next(), std::logic_error) << "nothing is wanted";
  EXPECT_THROW(loader.want({1}), std::logic_error) << "half a batch";
  const std::vector<std::vector<std::int64_t>> wanted{{0, 1}, {15, 16}, {6, 3}, {31, 0}, {2, 30}};
  for (const auto& shards : wanted)
    loader.want(shards);
  for (const auto& shards : wanted) {
    std::vector<float> expected;
    for (const std::int64_t shard : shards)
      expected.insert(expected.end(), steps.begin() + 4 * shard, steps.begin() + 4 * shard + 4);
    EXPECT_EQ(inputs_of(loader.next()), expected);
  }
  EXPECT_THROW(loader.next(), std::logic_error);
  loader.want({7, 8});
  loader.next();
  const std::vector<std::uint32_t> told = loader.samples_of(0);
  EXPECT_EQ(told.size(), 6 * 8u);
  EXPECT_TRUE(
      std::binary_search(told.begin(), told.end(), static_cast<std::uint32_t>(steps[8 * 4 + 1])));
}

TEST(Loader, ErrorsReachTheTrainerAfterTheGoodBatches) {
  Numbers numbers(40);
  const auto order = permutation(5, Stream::shuffle, 0, 40);
  numbers.broken = order[25];  // in step 2 of batches of 10
  Loader loader(numbers, all(40), plan(10, 4));
  EXPECT_EQ(loader.next().step, 0);
  EXPECT_EQ(loader.next().step, 1);
  EXPECT_THROW(loader.next(), DataError);
}

TEST(Loader, EndsCleanlyInTheMiddle) {
  const Numbers numbers(1000);
  { const Loader unused(numbers, all(1000), plan(10, 100)); }
  Loader loader(numbers, all(1000), plan(10, 100));
  loader.next();
}

TEST(Loader, RefusesABatchLargerThanTheTrainingSet) {
  const Numbers numbers(10);
  EXPECT_THROW(Loader(numbers, all(10), plan(11, 1)), std::invalid_argument);
}

TEST(Loader, WithoutWorkersHasTheirBatches) {
  const Numbers numbers(50);
  LoaderPlan alone = plan(16, 9);
  alone.workers = alone.ahead = 0;
  Loader loader(numbers, all(50), alone), expected(numbers, all(50), plan(16, 9));
  for (int step = 0; step < 9; ++step)
    EXPECT_EQ(inputs_of(loader.next()), inputs_of(expected.next())) << step;
  EXPECT_EQ(numbers.copies, 2 * 9 * 16) << "none before it is asked for";
  EXPECT_THROW(loader.next(), std::logic_error);

  LoaderPlan on_demand = alone;
  on_demand.shards = 4;
  Loader chosen(numbers, all(50), on_demand), steps(numbers, all(50), plan(16, 9));
  chosen.want({4, 5, 6, 7});  // those of the second step
  steps.next();
  EXPECT_EQ(inputs_of(chosen.next()), inputs_of(steps.next()));

  Numbers bad(50);
  bad.broken = 7;
  Loader failing(bad, all(50), alone);
  EXPECT_THROW(
      {
        for (int step = 0; step < 3; ++step)
          failing.next();
      },
      DataError);
}

}  // namespace
}  // namespace thalweg::engine
