#include "engine/sync/overlap.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "engine/sync/finite.h"

namespace thalweg::engine {
namespace {

struct Example {
  const char* what;
  std::vector<PartTime> parts;
  std::vector<double> shortest;
  double compute_end, waited;
  CommTimes expected;
};

TEST(Overlap, OfExamplesWorkedOutByHand) {
  const std::vector<Example> examples{
      {"hidden", {{2, 5}}, {3}, 10, 0, {3, 0, 0}},
      {"all after backward", {{10, 14}}, {4}, 10, 4, {4, 4, 0}},
      {"half", {{8, 12}}, {4}, 10, 2, {4, 2, 0}},
      {"the others came at 9", {{2, 12}}, {3}, 10, 2, {3, 2, 0}},
      {"the others came at 13", {{2, 15}}, {2}, 10, 5, {2, 2, 3}},
      {"two at once count once", {{2, 6}, {4, 8}}, {4, 4}, 10, 0, {6, 0, 0}},
      {"one inside the other", {{2, 9}, {4, 5}}, {7, 1}, 8, 1, {7, 1, 0}},
      {"two apart", {{1, 2}, {9, 11}}, {1, 2}, 10, 1, {3, 1, 0}},
      {"out of order", {{9, 11}, {1, 2}}, {2, 1}, 10, 1, {3, 1, 0}},
      {"behind the update of another part", {{10, 12}, {11, 14}}, {2, 3}, 10, 3, {4, 3, 0}},
      {"nothing", {}, {}, 10, 0, {0, 0, 0}},
  };
  for (const Example& e : examples) {
    const CommTimes times = split_times(e.parts, e.shortest, e.compute_end, e.waited);
    EXPECT_DOUBLE_EQ(times.comm_ms, e.expected.comm_ms) << e.what;
    EXPECT_DOUBLE_EQ(times.exposed_ms, e.expected.exposed_ms) << e.what;
    EXPECT_DOUBLE_EQ(times.skew_ms, e.expected.skew_ms) << e.what;
  }
}

TEST(AllFinite, SeesASingleNumberAnywhere) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(all_finite(nullptr, 0));
  for (const std::size_t count : {1u, 17u, 4096u, 5000u}) {
    std::vector<float> values(count, -std::numeric_limits<float>::max());
    EXPECT_TRUE(all_finite(values.data(), count));
    for (const std::size_t at : {std::size_t{0}, count / 2, count - 1})
      for (const float bad : {inf, -inf, nan, -nan}) {
        values[at] = bad;
        EXPECT_FALSE(all_finite(values.data(), count)) << count << " " << at;
        values[at] = 0;
      }
  }
}

}  // namespace
}  // namespace thalweg::engine
