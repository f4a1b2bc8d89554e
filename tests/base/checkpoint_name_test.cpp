#include "base/checkpoint_name.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

TEST(CheckpointName, IsReadBack) {
  EXPECT_EQ(checkpoint_name(1287), "step-000000001287.ckpt");
  EXPECT_EQ(slice_name(1287, 3, 8), "step-000000001287.rank-0003-of-0008.ckpt");
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{1287}, std::int64_t{12} << 40}) {
    const auto whole = parse_checkpoint_name(checkpoint_name(step).string());
    ASSERT_TRUE(whole);
    EXPECT_EQ(whole->step, step);
    EXPECT_FALSE(whole->slice);
    const auto slice = parse_checkpoint_name(slice_name(step, 12345, 20000).string());
    ASSERT_TRUE(slice);
    EXPECT_EQ(slice->step, step);
    EXPECT_TRUE(slice->slice);
  }
}

TEST(CheckpointName, OthersAreNone) {
  for (const char* name :
       {"", "step-.ckpt", "step-17.ckpt", "step-00000000001x.ckpt", "step-000000000017",
        "step-000000000017.ckpt.new", "step-000000000017.old.ckpt", "x-step-000000000017.ckpt",
        "step-99999999999999999999.ckpt", "ckpt", "step-", "step-.ckp"})
    EXPECT_FALSE(parse_checkpoint_name(name)) << name;
}

}  // namespace
}  // namespace thalweg
