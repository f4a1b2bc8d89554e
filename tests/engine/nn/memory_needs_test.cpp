// What a run takes of memory, and what it is told where that is too much.
#include <gtest/gtest.h>

#include "engine/device/memory_needs.h"

namespace thalweg::engine {
namespace {

constexpr std::size_t mebibyte = 1 << 20;

/// 10 MiB, and 1 MiB a sample: half of it where values are computed again.
MemoryNeeds needs(const ShardSize& size) {
  MemoryNeeds n;
  n.parameters = n.gradients = 5 * mebibyte;
  n.activations = static_cast<std::size_t>(size.samples) * mebibyte / (size.recompute ? 2 : 1);
  return n;
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(MemoryNeeds, AreToldByKind) {
  const MemoryNeeds n = needs({3, 1, false});
  EXPECT_EQ(n.total(), 13 * mebibyte);
  EXPECT_EQ(n.line(), "13.0 MiB: parameters 5.0, gradients 5.0, activations 3.0");
  EXPECT_TRUE(says(n.table(), "  activations                  3.0 MiB\n")) << n.table();
  EXPECT_TRUE(says(n.table(), "  together                    13.0 MiB\n")) << n.table();
  EXPECT_FALSE(says(n.table(), "workspace"));
}

TEST(MemoryNeeds, ThatFitAreNotRefused) {
  EXPECT_EQ(refuse_memory({20, 1, false}, 4, 30 * mebibyte, "a GPU", needs), "");
}

TEST(MemoryNeeds, ThatDoNotFitAreRefusedWithWhatDoes) {
  const std::string text = refuse_memory({24, 1, false}, 4, 30 * mebibyte, "a GPU", needs);
  EXPECT_TRUE(says(text, "takes 34.0 MiB of a GPU's memory, and 30.0 MiB are free")) << text;
  EXPECT_TRUE(says(text, "recompute: blocks (22.0 MiB")) << text;
  EXPECT_TRUE(says(text, "sync.accumulate: 2 (micro-batches of 12 samples, 22.0 MiB)")) << text;
  EXPECT_TRUE(says(text, "batch.global: 80 at most (30.0 MiB)")) << text;
}

TEST(MemoryNeeds, NameTheFewestMicroBatchesThatDivideTheShard) {
  const std::string text = refuse_memory({30, 1, true}, 1, 14 * mebibyte, "a GPU", needs);
  EXPECT_TRUE(says(text, "sync.accumulate: 5 (micro-batches of 6 samples")) << text;
  EXPECT_TRUE(says(text, "batch.global: 8 at most")) << text;
  EXPECT_FALSE(says(text, "recompute")) << text;
}

TEST(MemoryNeeds, BothChangesWhereOneIsNotEnough) {
  const std::string text =
      refuse_memory({4, 1, false}, 1, 10 * mebibyte + mebibyte / 2, "a GPU", needs);
  EXPECT_TRUE(says(text, "recompute: blocks together with sync.accumulate: 4")) << text;
  const std::string nothing = refuse_memory({4, 1, false}, 1, mebibyte, "a GPU", needs);
  EXPECT_TRUE(says(nothing, "not one sample at a time fits")) << nothing;
}

TEST(MemoryNeeds, AreNotAskedForTooOften) {
  int asked = 0;
  refuse_memory({1024, 1, false}, 1, 11 * mebibyte, "a GPU", [&](const ShardSize& size) {
    ++asked;
    return needs(size);
  });
  EXPECT_LT(asked, 40);
}

}  // namespace
}  // namespace thalweg::engine
