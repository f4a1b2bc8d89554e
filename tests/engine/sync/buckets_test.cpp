#include "engine/sync/buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace thalweg::engine {
namespace {

using testing::ElementsAre;

std::vector<ParameterInfo> side_by_side(const std::vector<std::size_t>& counts) {
  std::vector<ParameterInfo> parameters;
  std::size_t offset = 0;
  for (const std::size_t count : counts) {
    ParameterInfo p;
    p.offset = offset;
    p.count = count;
    parameters.push_back(p);
    offset += count;
  }
  return parameters;
}

std::vector<int> backwards(std::size_t n) {
  std::vector<int> order(n);
  std::iota(order.rbegin(), order.rend(), 0);
  return order;
}

std::vector<std::size_t> resnet50() {
  std::vector<std::size_t> counts{64 * 3 * 49, 64, 64};
  std::size_t in = 64;
  const std::size_t blocks[] = {3, 4, 6, 3};
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const std::size_t width = std::size_t{64} << stage, out = 4 * width;
    for (std::size_t block = 0; block < blocks[stage]; ++block) {
      counts.insert(counts.end(), {in * width, width, width, width * width * 9, width, width,
                                   width * out, out, out});
      if (block == 0) counts.insert(counts.end(), {in * out, out, out});
      in = out;
    }
  }
  counts.insert(counts.end(), {2048 * 1000, 1000});
  return counts;
}

// What PyTorch's DistributedDataParallel makes of torchvision's ResNet-50.
TEST(Buckets, OfResnet50AreThoseOfDdp) {
  const auto parameters = side_by_side(resnet50());
  std::vector<std::size_t> bytes;
  for (const Bucket& b : plan_buckets(parameters, backwards(parameters.size()), {}))
    bytes.push_back(b.count * sizeof(float));
  EXPECT_THAT(bytes, ElementsAre(8196000, 31502336, 26255360, 26550272, 9724160));
}

TEST(Buckets, SizeZeroGivesOneBucketPerParameter) {
  const auto parameters = side_by_side({16, 32, 48});
  const auto buckets = plan_buckets(parameters, {2, 1, 0}, {0, 0});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].offset, 48u);
  EXPECT_EQ(buckets[0].count, 48u);
  EXPECT_THAT(buckets[2].parameters, ElementsAre(0));
}

// A layer's weight comes before its bias in memory, and in the ready order as well.
TEST(Buckets, StayOpenUntilTheirMemoryIsContiguous) {
  const auto parameters = side_by_side({160, 16, 320, 32});  // w0 b0 w1 b1
  const auto buckets = plan_buckets(parameters, {2, 3, 0, 1}, {0, 0});
  ASSERT_EQ(buckets.size(), 4u);
  const auto odd = plan_buckets(parameters, {3, 0, 2, 1}, {0, 1000});
  ASSERT_EQ(odd.size(), 2u);  // b1 alone; w0 and w1 must wait for b0 between them
  EXPECT_EQ(odd[1].offset, 0u);
  EXPECT_EQ(odd[1].count, 496u);
  EXPECT_THAT(odd[1].parameters, ElementsAre(0, 2, 1));
}

// A last layer whose weight fills the first bucket: its bias is cut off from all that comes later.
TEST(Buckets, NeverShareMemory) {
  const auto parameters = side_by_side({160, 16, 320, 32, 640, 64});  // w0 b0 w1 b1 w2 b2
  std::vector<int> order{0, 1, 2, 3, 4, 5};
  do {
    for (const BucketSizes sizes :
         {BucketSizes{0, 0}, BucketSizes{0, 1300}, BucketSizes{0, 5000}, BucketSizes{1000, 700}}) {
      std::vector<int> owners(160 + 16 + 320 + 32 + 640 + 64, 0);
      std::vector<int> named(order.size(), 0);
      for (const Bucket& bucket : plan_buckets(parameters, order, sizes)) {
        std::size_t floats = 0;
        for (const int number : bucket.parameters) {
          const ParameterInfo& p = parameters[static_cast<std::size_t>(number)];
          ++named[static_cast<std::size_t>(number)];
          floats += p.count;
          EXPECT_GE(p.offset, bucket.offset);
          EXPECT_LE(p.offset + p.count, bucket.offset + bucket.count);
        }
        EXPECT_EQ(floats, bucket.count);
        for (std::size_t i = 0; i < bucket.count; ++i)
          ++owners[bucket.offset + i];
      }
      EXPECT_THAT(owners, testing::Each(1));
      EXPECT_THAT(named, testing::Each(1));
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Buckets, AreSplitRoundWhatWentBefore) {
  const auto parameters = side_by_side({160, 16, 320, 32});  // w0 b0 w1 b1
  const auto buckets = plan_buckets(parameters, {2, 3, 0, 1}, {0, 600});
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_THAT(buckets[0].parameters, ElementsAre(2));
  EXPECT_THAT(buckets[1].parameters, ElementsAre(0, 1));
  EXPECT_THAT(buckets[2].parameters, ElementsAre(3));
}

TEST(Buckets, CoverEveryFloatOnce) {
  const auto parameters = side_by_side(resnet50());
  for (const std::size_t limit : {std::size_t{0}, std::size_t{1} << 16, std::size_t{1} << 30}) {
    std::size_t end = parameters.back().offset + parameters.back().count;
    for (const Bucket& b : plan_buckets(parameters, backwards(parameters.size()), {limit, limit})) {
      EXPECT_EQ(b.offset + b.count, end);
      end = b.offset;
    }
    EXPECT_EQ(end, 0u);
  }
}

}  // namespace
}  // namespace thalweg::engine
