#include "base/text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

namespace thalweg {
namespace {

TEST(Text, BytesThatAreNoCharacterAreReplaced) {
  EXPECT_EQ(valid_utf8("läuft → ∞ 😀"), "läuft → ∞ 😀");
  EXPECT_EQ(valid_utf8("a\xff"
                       "b"),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(valid_utf8("half \xe2\x86"), "half \xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(valid_utf8("\xc0\xaf"), "\xef\xbf\xbd\xef\xbf\xbd") << "longer than needed";
  EXPECT_EQ(valid_utf8("\xed\xa0\x80").find("\xed"), std::string::npos) << "half of a pair";
}

// nlohmann's writer refuses what is no UTF-8.
TEST(Text, WhateverComesIsValidAfterwards) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes;
    for (std::uint64_t i = 0, size = random() % 40; i < size; ++i)
      bytes += static_cast<char>(random() % 3 == 0 ? random() % 256 : 0x80 + random() % 0x80);
    const std::string valid = valid_utf8(bytes);
    EXPECT_NO_THROW((void)nlohmann::json(valid).dump());
    EXPECT_EQ(valid_utf8(valid), valid);
    for (std::size_t size = 0; size <= valid.size(); ++size) {
      const std::string cut(cut_utf8(valid, size));
      EXPECT_LE(cut.size(), size);
      EXPECT_GT(cut.size() + 4, size);
      EXPECT_EQ(valid_utf8(cut), cut) << "no half character";
    }
  }
}

TEST(Text, CommasSplit) {
  const auto parts = [](const char* text) { return split_at_commas(text); };
  EXPECT_EQ(parts(""), std::vector<std::string>());
  EXPECT_EQ(parts("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(parts("a,,b c,"), (std::vector<std::string>{"a", "", "b c"}));
  EXPECT_EQ(parts(",a"), (std::vector<std::string>{"", "a"}));
}

TEST(Text, EscapesOfTerminalsAreTakenOut) {
  EXPECT_EQ(without_escapes("loss \x1b[1;32m0.5\x1b[0m!"), "loss 0.5!");
  EXPECT_EQ(without_escapes("\x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b[2K\x1b(plain"),
            "link plain");
  EXPECT_EQ(without_escapes("end \x1b"), "end ");
  EXPECT_EQ(without_escapes("end \x1b[3"), "end ");
  EXPECT_EQ(without_escapes("läuft"), "läuft");
}

}  // namespace
}  // namespace thalweg
