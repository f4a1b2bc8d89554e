// Buffers, shapes and the random numbers against the vectors published with Random123.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <utility>

#include "engine/tensor/buffer.h"
#include "engine/tensor/random.h"
#include "engine/tensor/shape.h"

namespace thalweg::engine {
namespace {

using Words = std::array<std::uint32_t, 4>;

Words from_counter(const Words& counter, std::uint32_t key0, std::uint32_t key1) {
  return philox(std::uint64_t{key1} << 32 | key0, static_cast<Stream>(counter[3]), counter[2],
                std::uint64_t{counter[1]} << 32 | counter[0]);
}

// Random123 1.14, tests/kat_vectors, lines "philox4x32 10".
TEST(Philox, GivesThePublishedNumbers) {
  EXPECT_EQ(from_counter({0, 0, 0, 0}, 0, 0),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(from_counter({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffff, 0xffffffff),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(from_counter({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformStaysBelowOne) {
  EXPECT_EQ(uniform01(0), 0.0f);
  EXPECT_LT(uniform01(0xffffffff), 1.0f);
}

TEST(Buffer, IsAlignedAndZero) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{100}, std::size_t{9} << 20}) {
    Buffer buffer(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment_bytes, 0u);
    for (std::size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(static_cast<char*>(buffer.data())[i], 0);
  }
}

TEST(Buffer, MovesItsMemory) {
  Buffer a = Buffer::of_floats(3);
  a.floats()[2] = 5;
  Buffer b = std::move(a);
  EXPECT_EQ(b.floats()[2], 5);
  EXPECT_EQ(b.bytes(), 12u);
  a = std::move(b);
  EXPECT_EQ(a.floats()[2], 5);
}

TEST(Shape, CountsAndPrints) {
  EXPECT_EQ(elements({}), 1);
  EXPECT_EQ(elements({3, 28, 28}), 2352);
  EXPECT_EQ(to_text({3, 28, 28}), "(3, 28, 28)");
  EXPECT_EQ(to_text({}), "()");
}

}  // namespace
}  // namespace thalweg::engine
