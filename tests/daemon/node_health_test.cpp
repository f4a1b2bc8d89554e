// Nodes that fail what would not fail elsewhere: named in every form of Slurm's lists, found in
// simulated sweeps, and not found where failures are the trials' own.
#include "daemon/state/node_health.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <iostream>
#include <queue>
#include <random>

namespace thalweg::daemon {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(NodeNames, OfSlurmsLists) {
  EXPECT_THAT(node_names(""), IsEmpty());
  EXPECT_THAT(node_names("n1"), ElementsAre("n1"));
  EXPECT_THAT(node_names("n1,gpu-b.site"), ElementsAre("n1", "gpu-b.site"));
  EXPECT_THAT(node_names("n[1-3,07],m2"), ElementsAre("n1", "n2", "n3", "n07", "m2"));
  EXPECT_THAT(node_names("n[008-011]"), ElementsAre("n008", "n009", "n010", "n011"));
  EXPECT_THAT(node_names("a[1-2],b[3]"), ElementsAre("a1", "a2", "b3"));
  for (const char* odd : {"n[", "n[1-", "n[3-1]", "n[1-9999999999]", "n[x]", "n[1]x", ",", "n]1[",
                          "None assigned", "(null)", "n1,", "n1;rm"})
    EXPECT_THAT(node_names(odd), IsEmpty()) << odd;
}

/// A node is found by name, or because nothing else took part.
TEST(NodeHealth, BlamesTheNodeThatFailed) {
  NodeHealths nodes;
  count_end(nodes, 1, EndCause::failed, "n[1-2]", "", 5);
  EXPECT_THAT(nodes, IsEmpty()) << "one of two";
  count_end(nodes, 1, EndCause::failed, "n[1-2]", "login", 5);
  count_end(nodes, 1, EndCause::failed, "", "n2", 5);
  EXPECT_THAT(nodes, IsEmpty()) << "no node of the backend's";
  count_end(nodes, 1, EndCause::failed, "n[1-2]", "n2.cluster.local", 6);
  count_end(nodes, 2, EndCause::failed, "n3", "gpu-host", 7);
  count_end(nodes, 3, EndCause::finished, "n[1-2]", "", 8);
  EXPECT_EQ(nodes.at("n2").failed, 1);
  EXPECT_THAT(nodes.at("n2").in_a_row, IsEmpty()) << "something finished there";
  EXPECT_THAT(nodes.at("n3").in_a_row, ElementsAre(2));
  for (const EndCause cause : {EndCause::lost, EndCause::cancelled, EndCause::stopped,
                               EndCause::diverged, EndCause::bad_input})
    count_end(nodes, 9, cause, "n3", "", 9);
  EXPECT_EQ(nodes.at("n3").failed, 1);
}

/// n1 fails `trials` different trials, the others finish 20 each.
NodeHealths with_bad_n1(int known, int trials, double now) {
  NodeHealths nodes;
  for (int i = 2; i <= known; ++i)
    for (int k = 0; k < 20; ++k)
      count_end(nodes, 100 * i + k, EndCause::finished, fmt::format("n{}", i), "", now);
  for (int k = 0; k < trials; ++k)
    count_end(nodes, k, EndCause::failed, "n1", "", now);
  return nodes;
}

TEST(NodeHealth, IsAvoidedForAnHourWhereOtherNodesAreLeft) {
  const NodeHealths nodes = with_bad_n1(4, 3, 1000);
  EXPECT_THAT(nodes_to_avoid(nodes, 1, 1000), ElementsAre("n1"));
  EXPECT_THAT(nodes_to_avoid(nodes, 3, 4599), ElementsAre("n1"));
  EXPECT_THAT(nodes_to_avoid(nodes, 1, 4600), IsEmpty());
  EXPECT_THAT(nodes_to_avoid(nodes, 1, 999), IsEmpty()) << "the clock was set back";
  EXPECT_THAT(nodes_to_avoid(nodes, 4, 1000), IsEmpty()) << "it takes all four";
  EXPECT_THAT(nodes_to_avoid(with_bad_n1(2, 3, 1000), 1, 1000), IsEmpty()) << "half of the nodes";
  EXPECT_THAT(nodes_to_avoid(with_bad_n1(4, 1, 1000), 1, 1000), IsEmpty()) << "one trial's fault";
  EXPECT_EQ(why_avoided(nodes, {"n1"}), "n1 is left out: 3 trials failed there in a row");
  NodeHealths same = with_bad_n1(4, 0, 1000);
  for (int k = 0; k < 10; ++k)
    count_end(same, 1, EndCause::failed, "n1", "", 1000);
  EXPECT_THAT(nodes_to_avoid(same, 1, 1000), IsEmpty()) << "one trial again and again";
}

/// Of GPUs one goes of two to seven, a quarter of more, and never what an attempt needs.
TEST(NodeHealth, OfGpusOneMayGoOfTwo) {
  EXPECT_EQ(gpu_of("GPU 2"), "2");
  EXPECT_EQ(gpu_of(gpu_place("GPU-8932f937")), "GPU-8932f937");
  EXPECT_EQ(gpu_of("gpu2"), std::nullopt);
  for (int known = 1; known <= 16; ++known)
    for (int bad = 1; bad < known; ++bad)
      for (int needed = 1; needed <= known; ++needed) {
        NodeHealths gpus;
        for (int i = 0; i < known; ++i)
          for (int k = 0; k < 20; ++k)
            count_end(gpus, 100 * i + k, i < bad ? EndCause::failed : EndCause::finished,
                      std::vector<std::string>{gpu_place(std::to_string(i))}, "", 1000);
        const auto avoided = nodes_to_avoid(gpus, needed, 1000);
        EXPECT_LE(avoided.size(), static_cast<std::size_t>(std::max(1, known / 4)));
        EXPECT_LE(static_cast<int>(avoided.size()), std::max(0, known - needed));
        if (bad == 1 && needed < known) {
          EXPECT_THAT(avoided, ElementsAre("GPU 0")) << known << needed;
        }
      }
}

struct Outcome {
  int attempts = 0, on_bad = 0, failed_trials = 0, launches_without = 0;
};

/// A sweep of one-node trials: `bad` first nodes fail at once, all others after a while with the
/// chance `fails`. The longest free node gets the next attempt; three retries.
Outcome simulate(int nodes, int bad, int trials, double fails, bool avoids, unsigned seed) {
  std::mt19937 random(seed);
  NodeHealths health;
  struct End {
    double time;
    int node, trial;
    bool operator>(const End& other) const { return time > other.time; }
  };
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  std::deque<int> waiting;
  std::vector<int> failures(static_cast<std::size_t>(trials));
  for (int i = 0; i < trials; ++i)
    waiting.push_back(i);
  std::deque<int> idle;
  for (int i = 0; i < nodes; ++i)
    idle.push_back(i);
  Outcome outcome;
  double now = 0;
  while (!waiting.empty() || !running.empty()) {
    const auto avoided = avoids ? nodes_to_avoid(health, 1, now) : std::vector<std::string>();
    EXPECT_LE(avoided.size(), static_cast<std::size_t>(std::max(1, nodes / 4)));
    const auto free = std::find_if(idle.begin(), idle.end(), [&](int node) {
      return std::count(avoided.begin(), avoided.end(), fmt::format("n{}", node)) == 0;
    });
    if (!waiting.empty() && free != idle.end()) {
      const double takes = *free < bad ? 1 : std::uniform_real_distribution<double>(30, 60)(random);
      running.push({now + takes, *free, waiting.front()});
      outcome.attempts += 1;
      outcome.on_bad += *free < bad ? 1 : 0;
      outcome.launches_without += avoided.empty() ? 0 : 1;
      waiting.pop_front();
      idle.erase(free);
      continue;
    }
    const End end = running.top();
    running.pop();
    now = end.time;
    idle.push_back(end.node);
    const bool failed =
        end.node < bad || std::uniform_real_distribution<double>(0, 1)(random) < fails;
    count_end(health, end.trial, failed ? EndCause::failed : EndCause::finished,
              fmt::format("n{}", end.node), "", now);
    if (!failed) continue;
    if (++failures[static_cast<std::size_t>(end.trial)] > 3)
      outcome.failed_trials += 1;
    else
      waiting.push_back(end.trial);
  }
  return outcome;
}

/// Of 16 nodes one fails at once: it would get most attempts.
TEST(NodeHealth, ABadNodeDoesNotEatTheSweep) {
  int failed = 0, failed_otherwise = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const Outcome with = simulate(16, 1, 200, 0.02, true, seed);
    const Outcome without = simulate(16, 1, 200, 0.02, false, seed);
    // Until something has finished elsewhere nobody knows that it is the node.
    EXPECT_LT(with.on_bad, without.on_bad / 2) << seed;
    failed += with.failed_trials;
    failed_otherwise += without.failed_trials;
  }
  std::cout << "trials that failed for good, of 4000: " << failed << " with, " << failed_otherwise
            << " without\n";
  EXPECT_LT(failed, failed_otherwise / 2);
}

/// Failures that are the trials' own take few nodes away.
TEST(NodeHealth, GoodNodesAreSeldomAvoided) {
  for (const double fails : {0.02, 0.1, 0.3, 0.6}) {
    int launches = 0, without = 0;
    for (unsigned seed = 1; seed <= 50; ++seed) {
      const Outcome outcome = simulate(8, 0, 100, fails, true, seed);
      launches += outcome.attempts;
      without += outcome.launches_without;
    }
    std::cout << "share of launches with a good node left out, " << fails
              << " of attempts fail: " << 100.0 * without / launches << " %\n";
    EXPECT_LT(without, launches / 5) << fails;
  }
}

}  // namespace
}  // namespace thalweg::daemon
