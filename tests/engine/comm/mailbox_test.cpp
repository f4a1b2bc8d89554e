// Messages from rank to rank, beside collectives under way.
#include "engine/comm/mailbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/engine/comm/threads.h"

namespace thalweg::engine::comm {
namespace {

using testing::HasSubstr;

TEST(Mailbox, AServerAnswersWorkersInTheOrderOfArrival) {
  constexpr int kRanks = 4, kRounds = 50;
  on_ranks(kRanks, [](Group& group) {
    Mailbox mailbox(group);
    if (group.rank() != 0) {
      for (std::int64_t round = 0; round < kRounds; ++round) {
        const std::int64_t question = 1000 * group.rank() + round;
        std::int64_t answer = 0;
        auto heard = mailbox.receive(0, 2, &answer, sizeof answer);
        auto sent = mailbox.send(0, 1, &question, sizeof question);
        mailbox.wait("the answer", [&] { return is_done(heard) && is_done(sent); });
        ASSERT_EQ(answer, -question);
      }
      return;
    }
    std::vector<std::int64_t> question(kRanks), answer(kRanks);
    std::vector<std::unique_ptr<Request>> heard(kRanks), sent(kRanks);
    std::vector<std::int64_t> counts(kRanks);
    for (int rank = 1; rank < kRanks; ++rank)
      heard[rank] = mailbox.receive(rank, 1, &question[rank], sizeof question[rank]);
    int served = 0;
    mailbox.wait("questions", [&] {
      for (int rank = 1; rank < kRanks; ++rank) {
        if (counts[rank] == kRounds || !is_done(heard[rank]) || !is_done(sent[rank])) continue;
        EXPECT_EQ(question[rank], 1000 * rank + counts[rank]) << "in the order of sending";
        answer[rank] = -question[rank];
        ++served;
        if (++counts[rank] < kRounds)
          heard[rank] = mailbox.receive(rank, 1, &question[rank], sizeof question[rank]);
        sent[rank] = mailbox.send(rank, 2, &answer[rank], sizeof answer[rank]);
      }
      return served == (kRanks - 1) * kRounds &&
             std::all_of(sent.begin() + 1, sent.end(), [](auto& s) { return is_done(s); });
    });
  });
}

TEST(Mailbox, MeetsNeitherCollectivesNorOtherMailboxes) {
  on_ranks(2, [](Group& group) {
    Mailbox first(group), second(group);
    const int peer = 1 - group.rank();
    std::vector<float> here(100'000), there(100'000), other(100'000), sum(100'000, 1.0f);
    std::iota(here.begin(), here.end(), static_cast<float>(group.rank()));
    auto to_second = second.receive(peer, 7, other.data(), other.size() * sizeof(float));
    auto to_first = first.receive(peer, 7, there.data(), there.size() * sizeof(float));
    auto sending = first.send(peer, 7, here.data(), here.size() * sizeof(float));
    group.allreduce(sum.data(), sum.size(), Type::f32, Op::sum);
    EXPECT_EQ(sum.back(), 2);
    first.wait("the vector", [&] { return is_done(to_first) && is_done(sending); });
    EXPECT_EQ(there[5], static_cast<float>(peer + 5));
    EXPECT_EQ(other[5], 0);
    group.barrier();
    auto late = second.send(peer, 7, here.data(), here.size() * sizeof(float));
    second.wait("the other", [&] { return is_done(to_second) && is_done(late); });
    EXPECT_EQ(other, there);
  });
}

TEST(Mailbox, SaysWhatDoesNotCome) {
  GroupOptions options;
  options.stall_timeout = std::chrono::milliseconds(100);
  try {
    on_ranks(2, options, [](Group& group) {
      Mailbox mailbox(group);
      if (group.rank() == 1) {
        // Alive, and waiting for something else.
        int never = 0;
        auto heard = mailbox.receive(0, 1, &never, sizeof never);
        mailbox.wait("news of rank 0", [&] { return is_done(heard); });
        return;
      }
      int never = 0;
      auto heard = mailbox.receive(1, 2, &never, sizeof never);
      mailbox.wait("news of rank 1", [&] { return is_done(heard); });
    });
    FAIL() << "waited for ever";
  } catch (const CommError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no progress for"));
    EXPECT_THAT(error.what(), HasSubstr("news of rank"));
  }
}

}  // namespace
}  // namespace thalweg::engine::comm
