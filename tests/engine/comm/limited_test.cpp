// Links that are slower than the machine's: the same numbers, later.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/comm/algorithms/table.h"
#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<LinkLimit> links(int ranks, LinkLimit limit) {
  return std::vector<LinkLimit>(static_cast<std::size_t>(ranks), limit);
}

TEST(LimitedLinks, CarryTheSameNumbers) {
  for (const int ranks : {1, 2, 3, 4}) {
    GroupOptions options;
    options.links = links(ranks, {200, 500});
    options.links[0] = {};
    on_ranks(ranks, options, [&](Group& group) {
      for (const std::size_t count : {1U, 5000U, 70000U}) {
        std::vector<std::int32_t> numbers(count);
        std::iota(numbers.begin(), numbers.end(), group.rank());
        group.allreduce(numbers.data(), count, Type::i32, Op::sum);
        const int extra = ranks * (ranks - 1) / 2;
        for (std::size_t i = 0; i < count; ++i)
          ASSERT_EQ(numbers[i], static_cast<int>(i) * ranks + extra);
      }
      // Many at once, of other lengths.
      std::vector<std::vector<float>> vectors;
      std::vector<std::unique_ptr<Request>> requests;
      for (std::size_t count = 1; count < 3000; count *= 3)
        vectors.emplace_back(count, 1.0F);
      for (auto& v : vectors)
        requests.push_back(group.start_allreduce(v.data(), v.size(), Type::f32, Op::sum));
      for (std::size_t i = requests.size(); i-- > 0;)
        requests[i]->wait();
      for (const auto& v : vectors)
        EXPECT_EQ(v.back(), static_cast<float>(ranks));
      EXPECT_FALSE(group.layout().shares) << "memory would not use the link";
    });
  }
}

// A lower bound of the time, which no load of the machine can break.
TEST(LimitedLinks, TakeAtLeastTheirTime) {
  GroupOptions options;
  options.links = links(2, {});
  options.links[1] = {5000, 10};
  on_ranks(2, options, [&](Group& group) {
    std::vector<std::byte> mebibyte(1 << 20);
    const auto start = Clock::now();
    group.broadcast(mebibyte.data(), mebibyte.size(), 0);
    group.barrier();
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(100 + 5));
  });
}

TEST(LimitedLinks, NeedALinkForEachRank) {
  GroupOptions options;
  options.links = links(3, {});
  auto transports = memory_transports(2);
  EXPECT_THROW(Group(std::move(transports[0]), options), std::invalid_argument);
}

}  // namespace
}  // namespace thalweg::engine::comm
