// What ranks say when they do not play together: one leaves, one does not come, one calls something
// else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>

#include "engine/comm/algorithms/table.h"
#include "tests/engine/comm/threads.h"
#include "tests/support/deadline.h"
#include "tests/support/memory_transport.h"

namespace thalweg::engine::comm {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::HasSubstr;

constexpr int kAnybody = -2;

/// Runs `body` on each rank and returns what each one's CommError said.
std::vector<std::string> errors_of(int ranks, const GroupOptions& options, int failed_rank,
                                   const std::function<void(Group&)>& body) {
  std::vector<std::string> messages(static_cast<std::size_t>(ranks));
  auto transports = memory_transports(ranks);
  std::vector<std::thread> threads;
  for (std::size_t r = 0; r < transports.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        Group group(std::move(transports[r]), options);
        body(group);
      } catch (const CommError& e) {
        messages[r] = e.what();
        if (failed_rank != kAnybody) {
          EXPECT_EQ(failed_rank, e.rank());
        }
      }
    });
  }
  for (auto& thread : threads) {
    thread.join();
  }
  return messages;
}

TEST(Trouble, ARankThatLeavesIsNamedByAllOthers) {
  const auto messages = errors_of(4, {}, 2, [](Group& group) {
    group.barrier();
    if (group.rank() == 2) return;
    std::vector<double> data(1000, 1);
    group.allreduce(data.data(), data.size(), Type::f64, Op::sum);
  });
  EXPECT_EQ("", messages[2]);
  for (const int r : {0, 1, 3}) {
    EXPECT_THAT(messages[static_cast<std::size_t>(r)], testing::HasSubstr("rank 2"));
  }
}

TEST(Trouble, WhoWaitsForSomethingElseSeesARankLeave) {
  const auto messages = errors_of(3, {}, 1, [](Group& group) {
    group.barrier();
    if (group.rank() == 1) return;
    const auto all_here = group.start_barrier();
    while (true) {
      group.look_round();
      std::this_thread::sleep_for(milliseconds(1));
    }
  });
  EXPECT_EQ("", messages[1]);
  for (const int r : {0, 2})
    EXPECT_THAT(messages[static_cast<std::size_t>(r)], HasSubstr("rank 1"));
}

TEST(Trouble, ARankThatDoesNotComeIsNamedAfterTheStallTime) {
  std::atomic<int> ended{0};
  const auto messages = errors_of(4, {.stall_timeout = thalweg::test::slowed(milliseconds(300))}, 1,
                                  [&](Group& group) {
                                    group.barrier();
                                    if (group.rank() == 1) {
                                      while (ended < 3) {
                                        std::this_thread::sleep_for(milliseconds(5));
                                      }
                                      return;
                                    }
                                    struct Count {
                                      std::atomic<int>& n;
                                      ~Count() { ++n; }
                                    } count{ended};
                                    group.barrier();
                                  });
  for (const int r : {0, 2, 3}) {
    EXPECT_THAT(messages[static_cast<std::size_t>(r)], testing::HasSubstr("rank 1"));
    EXPECT_THAT(messages[static_cast<std::size_t>(r)], testing::HasSubstr("does not answer"));
  }
}

TEST(Trouble, DifferentLengthsAreToldByWhoeverSeesThemFirst) {
  std::string said;
  auto transports = memory_transports(2);
  std::thread other([&] {
    Group group(std::move(transports[1]), {.allreduce = "ring"});
    std::vector<float> data(120);
    EXPECT_THROW(group.allreduce(data.data(), data.size(), Type::f32, Op::sum), CommError);
  });
  {
    Group group(std::move(transports[0]), {.allreduce = "ring"});
    std::vector<float> data(100);
    EXPECT_THROW(
        {
          try {
            group.allreduce(data.data(), data.size(), Type::f32, Op::sum);
          } catch (const CommError& e) {
            said = e.what();
            throw;
          }
        },
        CommError);
  }
  other.join();
  EXPECT_THAT(said,
              testing::AnyOf(testing::HasSubstr("rank 1 sent 240 bytes where rank 0 expects 200"),
                             testing::HasSubstr("rank 0 sent 200 bytes where rank 1 expects 240")));
}

/// Calls of all kinds; no two are the same.
struct Variant {
  const char* text;
  std::function<std::unique_ptr<Request>(Group&, std::string_view label)> start;
};

double g_data[8][4096];  // one row per rank

const Variant kVariants[] = {
    {"allreduce of 100 f32 (sum)",
     [](Group& g, auto label) {
       return g.start_allreduce(g_data[g.rank()], 100, Type::f32, Op::sum, label);
     }},
    {"allreduce of 100 f32 (max)",
     [](Group& g, auto label) {
       return g.start_allreduce(g_data[g.rank()], 100, Type::f32, Op::max, label);
     }},
    {"allreduce of 50 f64 (sum)",
     [](Group& g, auto label) {
       return g.start_allreduce(g_data[g.rank()], 50, Type::f64, Op::sum, label);
     }},
    {"allreduce of 0 f32 (sum)",
     [](Group& g, auto label) {
       return g.start_allreduce(g_data[g.rank()], 0, Type::f32, Op::sum, label);
     }},
    {"allreduce of 100 f32 (sum) by ring",
     [](Group& g, auto label) {
       g.use_allreduce("ring");
       return g.start_allreduce(g_data[g.rank()], 100, Type::f32, Op::sum, label);
     }},
    {"reduce_scatter of 100 f32 (sum)",
     [](Group& g, auto label) {
       return g.start_reduce_scatter(g_data[g.rank()], 100, Type::f32, Op::sum, label);
     }},
    {"broadcast of 400 bytes from 1",
     [](Group& g, auto label) { return g.start_broadcast(g_data[g.rank()], 400, 1, label); }},
    {"broadcast of 400 bytes from 0",
     [](Group& g, auto label) { return g.start_broadcast(g_data[g.rank()], 400, 0, label); }},
    {"allgather of 3 x 40 bytes",
     [](Group& g, auto label) {
       return g.start_allgather(g_data[g.rank()], g_data[g.rank()] + 100, 40, label);
     }},
    {"all_to_all of 3 x 40 bytes",
     [](Group& g, auto label) {
       return g.start_all_to_all(g_data[g.rank()], g_data[g.rank()] + 100, 40, label);
     }},
    {"barrier", [](Group& g, auto) { return g.start_barrier(); }},
    {"sum of 100 f32 over 6 shards",
     [](Group& g, auto label) {
       auto* first = reinterpret_cast<float*>(g_data[g.rank()]);
       float* const mine[] = {first, first + 100};
       return g.start_shard_sum(mine, 100, 6, label);
     }},
};

TEST(CheckedMode, ARankThatCallsSomethingElseIsNamedByAll) {
  for (std::size_t i = 0; i < std::size(kVariants); ++i) {
    const Variant& usual = kVariants[i];
    const Variant& odd = kVariants[(i + 1) % std::size(kVariants)];
    const auto messages = errors_of(3, {.checked = true}, 2, [&](Group& group) {
      group.barrier();
      (group.rank() == 2 ? odd : usual).start(group, "")->wait();
      FAIL() << "rank " << group.rank() << " went on";
    });
    EXPECT_THAT(messages, Each(std::string("rank 2 on node memory calls ") + odd.text +
                               " where the others call " + usual.text));
  }
}

TEST(CheckedMode, BlockingCallsAndLabelsAreComparedToo) {
  EXPECT_THAT(errors_of(2, {.checked = true}, 1,
                        [](Group& group) {
                          float x[4] = {};
                          group.allreduce(x, group.rank() == 1 ? 0 : 4, Type::f32, Op::sum);
                        }),
              Each("rank 1 on node memory calls allreduce of 0 f32 (sum) where "
                   "rank 0 on node memory calls allreduce of 4 f32 (sum)"));
  EXPECT_THAT(errors_of(2, {.checked = true}, 1,
                        [](Group& group) {
                          const bool odd = group.rank() == 1;
                          kVariants[0].start(group, odd ? "fc2.bias" : "fc1.bias")->wait();
                        }),
              Each(HasSubstr("calls allreduce of fc2.bias, 100 f32 (sum)")));
  EXPECT_THAT(
      errors_of(3, {.checked = true}, 0,
                [](Group& group) {
                  if (group.rank() == 0) group.barrier();
                  (void)group.split(0, 0);
                }),
      Each("rank 0 on node memory calls barrier where the others call split of 3 x 16 bytes"));
}

TEST(CheckedMode, TensorsOfAdasumAreComparedToo) {
  const auto messages = errors_of(4, {.checked = true}, 1, [](Group& group) {
    const std::size_t usual[] = {60, 100}, odd[] = {61, 100};
    group.adasum(g_data[group.rank()], 100, Type::f64, group.rank() == 1 ? odd : usual);
  });
  EXPECT_THAT(messages, Each(testing::MatchesRegex(
                            "rank 1 on node memory calls Adasum of 100 f64 in 2 tensors .ends "
                            "[0-9a-f]+. by ranks where the others call Adasum of 100 f64 in 2 "
                            "tensors .ends [0-9a-f]+. by ranks")));
}

TEST(CheckedMode, ManyUnderWayInAnotherOrder) {
  const auto messages = errors_of(4, {.checked = true}, 3, [](Group& group) {
    const std::size_t first = group.rank() == 3 ? 9 : 8;
    auto same = kVariants[0].start(group, "a");
    auto one = kVariants[first].start(group, "b");
    auto two = kVariants[17 - first].start(group, "c");
    two->wait();
    one->wait();
    same->wait();
  });
  EXPECT_THAT(messages, Each(HasSubstr("rank 3 on node memory calls all_to_all of b, 4 x 40 bytes "
                                       "where the others call allgather of b, 4 x 40 bytes")));
}

TEST(CheckedMode, TheRanksOfASubGroupAreNamedAsInTheWorld) {
  const auto messages = errors_of(4, {.checked = true}, 3, [](Group& group) {
    auto half = group.split(group.rank() / 2, 0);
    kVariants[group.rank() == 3 ? 10 : 0].start(*half, "")->wait();
    group.barrier();
  });
  EXPECT_THAT(messages, Each(HasSubstr("rank 3 on node memory calls barrier where rank 2 on node "
                                       "memory calls allreduce of 100 f32 (sum)")));
}

TEST(CheckedMode, TheSameCallsGiveTheSameResults) {
  on_ranks(5, {.checked = true}, [](Group& group) {
    std::vector<std::unique_ptr<Request>> requests;
    std::vector<std::vector<std::int64_t>> data(20, std::vector<std::int64_t>(3000, group.rank()));
    for (std::size_t i = 0; i < data.size(); ++i) {
      requests.push_back(
          group.start_allreduce(data[i].data(), i * 150, Type::i64, Op::sum, std::to_string(i)));
    }
    group.barrier();
    for (std::size_t i = 1; i < data.size(); ++i) {
      requests[i]->wait();
      EXPECT_EQ(10, data[i][0]);
      EXPECT_EQ(group.rank(), data[i][i * 150]);
    }
    requests[0]->wait();
    auto pair = group.split(group.rank() / 2, 0);
    float x = 1;
    pair->allreduce(&x, 1, Type::f32, Op::sum);
    EXPECT_EQ(pair->size(), x);
  });
}

// Long enough for a thread to get a core between the liveness probe and the verdict, or it is said
// not to answer.
constexpr milliseconds kStall{2000};

TEST(Stall, SaysWhichRankHasNotJoinedAndWhatItDoesInstead) {
  // Ranks 1 and 2 wait for each other in two groups; whoever loses patience first tells all.
  const auto messages =
      errors_of(3, {.stall_timeout = thalweg::test::slowed(kStall)}, kAnybody, [](Group& group) {
        group.barrier();
        auto pair = group.split(group.rank() > 0 ? 1 : 0, 0);
        if (group.rank() == 2) {
          float x = 0;
          pair->allreduce(&x, 1, Type::f32, Op::sum);
        }
        kVariants[0].start(group, "bucket 2 (fc1.weight, fc1.bias)")->wait();
      });
  EXPECT_THAT(
      messages,
      Each(testing::AnyOf(
          testing::AllOf(HasSubstr("in allreduce of bucket 2 (fc1.weight, fc1.bias)"),
                         HasSubstr("rank 2 on node memory has not joined it (it waits in allreduce "
                                   "of 1 f32 (sum)"),
                         HasSubstr("its last call was split")),
          testing::AllOf(HasSubstr("in allreduce of 1 f32 (sum)"),
                         HasSubstr("rank 1 on node memory has not joined it (it waits in allreduce "
                                   "of bucket 2 (fc1.weight, fc1.bias)"),
                         HasSubstr("has called nothing in this group")))));
}

TEST(Stall, SaysWhichRankCallsSomethingElse) {
  // Both sides wait to receive: no length tells that anything is wrong.
  const auto messages =
      errors_of(2, {.stall_timeout = thalweg::test::slowed(kStall)}, kAnybody, [](Group& group) {
        group.use(Collective::broadcast, "binomial");
        kVariants[group.rank() == 0 ? 6 : 7].start(group, "")->wait();
      });
  EXPECT_THAT(messages[0], HasSubstr("calls broadcast of 400 bytes from"));
  EXPECT_THAT(messages[0], HasSubstr("instead"));
}

TEST(Stall, WarnsOnceAtHalfTheTimeAndGoesOnWhereTheRankComesAfterAll) {
  std::mutex mutex;
  std::vector<std::string> warnings;
  GroupOptions options{.stall_timeout = thalweg::test::slowed(kStall)};
  options.warn = [&](const std::string& text) {
    std::lock_guard lock(mutex);
    warnings.push_back(text);
  };
  on_ranks(3, options, [&](Group& group) {
    group.barrier();
    if (group.rank() == 1) {
      for (std::size_t seen = 0; seen < 2;) {
        std::this_thread::sleep_for(milliseconds(5));
        std::lock_guard lock(mutex);
        seen = warnings.size();
      }
    }
    kVariants[0].start(group, "bucket 7")->wait();
  });
  EXPECT_EQ(2U, warnings.size());
  EXPECT_THAT(warnings, Each(testing::AllOf(HasSubstr("no progress for "),
                                            HasSubstr("in allreduce of bucket 7, 100 f32 (sum)"),
                                            HasSubstr("rank 1 on node memory does not answer"))));
}

}  // namespace
}  // namespace thalweg::engine::comm
