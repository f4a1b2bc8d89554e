// What each rank remembers goes to other numbers of ranks and loses nothing.
#include "engine/train/sync_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "engine/tensor/buffer.h"
#include "engine/train/checkpoint_slice.h"
#include "jobspec/value.h"
#include "tests/support/memory_transport.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::List;
using jobspec::Map;

void on_ranks(int ranks, const std::function<void(comm::Group&)>& body) {
  auto transports = comm::memory_transports(ranks);
  std::vector<std::thread> threads;
  for (auto& transport : transports)
    threads.emplace_back([&body, &transport] {
      comm::Group group(std::move(transport));
      body(group);
    });
  for (std::thread& thread : threads)
    thread.join();
}

std::unique_ptr<Model> tiny_model() {
  return build_model(Map{{"name", "mlp"}, {"hidden", List{4}}}, {{3}, 2}, 1, "reference");
}

struct Memory {
  explicit Memory(const Model& model) : flat(Buffer::of_floats(model.parameter_floats())) {}
  std::vector<SyncState> states(const Model& model) {
    return {
        {"equal", SyncState::Ranks::equal, equal, {}, false},
        {"summed", SyncState::Ranks::summed, {flat.floats(), model.parameter_floats()}, {}, true},
        {"averaged", SyncState::Ranks::averaged, {}, averaged, false}};
  }
  Buffer flat;
  std::vector<float> equal{0, 0, 0};
  std::vector<double> averaged{0, 0};
};

/// Parts of `ranks` ranks, each of which writes its own: every number of the error memory is 1 +
/// the rank, the averaged ones 10 times that.
std::vector<CheckpointPart> saved_by(int ranks) {
  const auto model = tiny_model();
  Memory memory(*model);
  memory.equal = {1, 2, 3};
  Checkpoint c;
  c.step = 5;
  c.shards = 1;
  const test::TempDir folder;
  for (int rank = 0; rank < ranks; ++rank) {
    const int own = 1 + rank;
    std::fill_n(memory.flat.floats(), model->parameter_floats(), static_cast<float>(own));
    memory.averaged = {10.0 * own, 20.0 * own};
    const auto states = memory.states(*model);
    EXPECT_TRUE(differ_by_rank(states));
    c.slices.push_back(
        write_slice(folder.path(), {c.step, rank, ranks, {}, {}, own_parts(states, *model)}));
    c.parts = common_parts(states, *model, true);
    EXPECT_TRUE(c.parts[1].floats.empty());
  }
  const auto file = folder.path() / checkpoint_name(c.step);
  write_checkpoint(file, c);
  return read_checkpoint(file).parts;
}

TEST(SyncStates, AreThoseOfTheRankOnAsManyRanks) {
  const auto parts = saved_by(3);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].floats.size(), 1u);
  EXPECT_EQ(parts[1].floats.size(), 3u);
  on_ranks(3, [&](comm::Group& group) {
    const auto model = tiny_model();
    Memory memory(*model);
    const auto states = memory.states(*model);
    if (group.rank() == 0) require_parts(parts, states, *model);
    spread_states(group.rank() == 0 ? parts : std::vector<CheckpointPart>(), states, *model, group);
    EXPECT_THAT(memory.equal, testing::ElementsAre(1, 2, 3));
    EXPECT_EQ(memory.flat.floats()[0], 1 + group.rank());
    EXPECT_EQ(memory.averaged[1], 20.0 * (1 + group.rank()));
  });
}

TEST(SyncStates, KeepSumsAndMeansOnOtherRanks) {
  for (const int ranks : {1, 2, 4}) {
    const auto parts = saved_by(3);
    on_ranks(ranks, [&](comm::Group& group) {
      const auto model = tiny_model();
      Memory memory(*model);
      spread_states(group.rank() == 0 ? parts : std::vector<CheckpointPart>(),
                    memory.states(*model), *model, group);
      EXPECT_THAT(memory.equal, testing::ElementsAre(1, 2, 3));
      EXPECT_FLOAT_EQ(memory.flat.floats()[0] * static_cast<float>(ranks), 1 + 2 + 3);
      EXPECT_DOUBLE_EQ(memory.averaged[0], 20);
    });
  }
}

TEST(SyncStates, ListsMayHaveAnyLength) {
  const auto states_of = [](std::vector<double>& list) {
    SyncState state;
    state.name = "account";
    state.list = &list;
    return std::vector<SyncState>{state};
  };
  std::vector<double> saved{3, 1, 4};
  std::vector<CheckpointPart> parts = common_parts(states_of(saved), *tiny_model(), true);
  on_ranks(3, [&](comm::Group& group) {
    std::vector<double> list{2};
    const auto model = tiny_model();
    if (group.rank() == 0) require_parts(parts, states_of(list), *model);
    spread_states(group.rank() == 0 ? parts : std::vector<CheckpointPart>(), states_of(list),
                  *model, group);
    EXPECT_THAT(list, testing::ElementsAre(3, 1, 4));
  });
  parts[0].name = "other";
  std::vector<double> list;
  EXPECT_THROW(require_parts(parts, states_of(list), *tiny_model()), std::invalid_argument);
}

TEST(SyncStates, OfAnotherModelAreRefused) {
  on_ranks(1, [](comm::Group&) {
    const auto model = tiny_model();
    Memory memory(*model);
    const auto states = memory.states(*model);
    auto parts = saved_by(1);
    EXPECT_NO_THROW(require_parts(parts, states, *model));
    auto other = parts;
    other[2].doubles[0].push_back(0);
    EXPECT_THROW(require_parts(other, states, *model), std::invalid_argument);
    other = parts;
    other[1].name = "q";
    EXPECT_THROW(require_parts(other, states, *model), std::invalid_argument);
    parts.pop_back();
    EXPECT_THROW(require_parts(parts, states, *model), std::invalid_argument);
  });
}

}  // namespace
}  // namespace thalweg::engine
