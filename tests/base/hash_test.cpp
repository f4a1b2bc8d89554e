#include "base/hash.h"

#include <gtest/gtest.h>

namespace thalweg {
namespace {

// Published vectors of FNV-1a, 64 bits (draft-eastlake-fnv).
TEST(HashText, IsFnv1a) {
  EXPECT_EQ(hash_text(""), "cbf29ce484222325");
  EXPECT_EQ(hash_text("a"), "af63dc4c8601ec8c");
  EXPECT_EQ(hash_text("foobar"), "85944171f73967e8");
}

}  // namespace
}  // namespace thalweg
