#include "engine/train/plain_part.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/support/models.h"

namespace thalweg::engine {
namespace {

// Layouts of every kind: blocks of channels, rows in another order, padding.
TEST(PlainPart, OfAllRanksTogetherIsEveryNumberOnceInAnyLayout) {
  for (const char* device : {"reference", "cpu"})
    for (const test::ModelCase& each : test::model_cases()) {
      if (each.name == "resnet18" || each.name == "cnn3d") continue;  // slow; as lenet
      const auto model = build_model(each.model, each.data, 1, device);
      std::vector<float> plain(static_cast<std::size_t>(model->parameter_count()));
      std::iota(plain.begin(), plain.end(), 1.0f);
      std::vector<FlatVector> states;
      states.emplace_back(nullptr, model->parameter_floats(), "a state");
      model->from_plain(plain.data(), states[0].floats());
      for (const std::size_t ranks : {1u, 2u, 3u, 7u}) {
        std::vector<float> together(plain.size());
        std::vector<int> seen(plain.size());
        for (std::size_t rank = 0; rank < ranks; ++rank) {
          const std::size_t begin = model->parameter_floats() * rank / ranks;
          const std::size_t end = model->parameter_floats() * (rank + 1) / ranks;
          CheckpointSlice slice;
          take_plain_part(*model, {begin, end - begin}, states, slice);
          ASSERT_EQ(slice.states.size(), 1u);
          EXPECT_LE(slice.states[0].size(), end - begin);
          std::size_t from = 0;
          for (const PlainRun& run : slice.runs)
            for (std::int64_t i = run.begin; i < run.begin + run.count; ++i) {
              ++seen[static_cast<std::size_t>(i)];
              together[static_cast<std::size_t>(i)] = slice.states[0].at(from++);
            }
          EXPECT_EQ(from, slice.states[0].size());
        }
        EXPECT_EQ(together, plain) << each.name << " on " << device << ", " << ranks << " ranks";
        EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](int n) { return n == 1; }));
      }
    }
}

}  // namespace
}  // namespace thalweg::engine
