// Replicas that drift apart are found, named, and made equal again.
#include "engine/sync/replica_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/engine/sync/support.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using test::Case;
using test::TestRank;
using testing::HasSubstr;

Case plain_case(const char* optimizer = "adam") {
  Case c = test::batch_norm_and_dropout();
  c.optimizer = Map{{"name", optimizer}};
  c.steps = 6;
  return c;
}

/// Trains; before the given step `spoil` may change a rank's replica, after each one `look` sees
/// it.
void train(const Case& c, int ranks,
           const std::function<void(int rank, int step, TestRank& here)>& spoil,
           const std::function<void(comm::Group&, TestRank&, SyncMode&, int step)>& look) {
  test::on_ranks(ranks, [&](comm::Group& group) {
    TestRank here(c, group, 1);
    const auto mode = make_sync_mode(c.sync, here.parts());
    for (int step = 0; step < c.steps; ++step) {
      mode->step(here.input(step));
      mode->settle();
      spoil(group.rank(), step, here);
      look(group, here, *mode, step);
    }
  });
}

TEST(ReplicaCheck, NothingDiffersWhereNothingIsWrong) {
  for (const char* optimizer : {"sgd", "adam", "lars", "dadapt_adam", "shampoo"})
    for (const Map& sync : {Map{}, Map{{"mode", "lag"}}, Map{{"compress", "bf16"}}}) {
      Case c = plain_case(optimizer);
      c.sync = sync;
      train(
          c, 3, [](int, int, TestRank&) {},
          [](comm::Group& group, TestRank& here, SyncMode& mode, int) {
            EXPECT_FALSE(
                find_divergence(group, *here.model, *here.replica, mode.gradient()).has_value());
          });
    }
}

struct Spoiled {
  std::string tensor;
  std::function<void(TestRank&)> how;
};

TEST(ReplicaCheck, NamesRankAndTensor) {
  const auto nudge = [](float& number) { number = std::nextafter(number, 1e9F); };
  std::vector<ParameterInfo> infos;
  test::on_ranks(1, [&](comm::Group& group) {
    const Case c = plain_case();
    infos = TestRank(c, group, 1).model->parameters();
  });
  const std::vector<Spoiled> all = {
      {infos[3].name,
       [&](TestRank& here) {
         nudge(here.replica->parameters.floats()[infos[3].offset + infos[3].count - 1]);
       }},
      {"state 2 of " + infos[1].name,
       [&](TestRank& here) { nudge(here.replica->states[1].floats()[infos[1].offset]); }},
      {"running statistics", [&](TestRank& here) { nudge(here.replica->running.floats()[0]); }},
  };
  for (const Spoiled& spoiled : all)
    for (const int wrong : {0, 2})
      train(
          plain_case(), 4,
          [&](int rank, int step, TestRank& here) {
            if (rank == wrong && step == 2) spoiled.how(here);
          },
          [&](comm::Group& group, TestRank& here, SyncMode&, int step) {
            const auto found = find_divergence(group, *here.model, *here.replica);
            ASSERT_EQ(found.has_value(), step >= 2) << step;
            if (step != 2) return;
            EXPECT_EQ(found->rank, wrong);
            EXPECT_EQ(found->ranks, 1);
            EXPECT_EQ(found->reference, wrong == 0 ? 1 : 0);
            EXPECT_EQ(found->tensor, spoiled.tensor);
            EXPECT_THAT(describe(*found, group), HasSubstr(spoiled.tensor + " differs: rank " +
                                                           std::to_string(wrong) + " on "));
          });
}

// HetSeq's check: the ranks' gradients agree, and so do their norms.
TEST(ReplicaCheck, TellsTheNormsOfGradientsThatDiffer) {
  test::on_ranks(3, [&](comm::Group& group) {
    const Case c = plain_case("sgd");
    TestRank here(c, group, 1);
    std::vector<float> gradient(here.model->parameter_floats(), 0.5F);
    EXPECT_FALSE(find_divergence(group, *here.model, *here.replica, gradient.data()));
    if (group.rank() == 1) gradient[0] = 100;
    const auto found = find_divergence(group, *here.model, *here.replica, gradient.data());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->rank, 1);
    EXPECT_EQ(found->tensor, "gradient of " + here.model->parameters()[0].name);
    EXPECT_NEAR(found->norm * found->norm - found->reference_norm * found->reference_norm,
                10000 - 0.25, 1e-6);
    EXPECT_THAT(describe(*found, group), HasSubstr("norm of the whole gradient 100."));
  });
}

TEST(ReplicaCheck, ABroadcastMakesDriftUndone) {
  for (const char* sync : {"sync", "lag"}) {
    Case c = plain_case();
    c.sync = Map{{"mode", sync}};
    const std::vector<float> expected = test::train(c, 3, 1)[0].parameters;
    train(
        c, 3,
        [&](int rank, int step, TestRank& here) {
          if (rank == 1 && step == 3) {
            here.replica->parameters.floats()[0] += 1;
            here.replica->states[0].floats()[1] += 1;
          }
        },
        [&](comm::Group& group, TestRank& here, SyncMode& mode, int step) {
          if (const auto found = find_divergence(group, *here.model, *here.replica)) {
            EXPECT_EQ(step, 3);
            EXPECT_EQ(found->rank, 1);
            broadcast_replica(group, *here.replica, found->reference);
            mode.replica_written();
          }
          if (step + 1 < c.steps) return;
          EXPECT_EQ(here.plain_parameters(), expected) << sync;
        });
  }
}

}  // namespace
}  // namespace thalweg::engine
