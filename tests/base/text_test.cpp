#include "base/text.h"

#include <gtest/gtest.h>

#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

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

TEST(Text, HelpIsBrokenAtBlanksAndParagraphsFlowOn) {
  EXPECT_EQ(in_columns("one two three\nfour five\n\nsix\n", 8),
            "one two\nthree\nfour\nfive\n\nsix\n");
  EXPECT_EQ(in_columns("  -n  one two three\n  -m  four\n", 13),
            "  -n  one two\n      three\n  -m  four\n");
  EXPECT_EQ(in_columns("  -n  one two three\n      four\n", 13),
            "  -n  one two\n      three\n      four\n");
  EXPECT_EQ(in_columns("short\n  $ command\n", 80), "short\n  $ command\n");
  EXPECT_EQ(in_columns("unbreakable_word_that_is_long\n", 8), "unbreakable_word_that_is_long\n");
}

TEST(Text, ColumnsKeepEveryWord) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (int n = 0; n < 60; ++n) {
      const unsigned kind = random() % 12;
      text += kind == 0 ? "\n" : kind == 1 ? "\n  " : kind == 2 ? "  " : " ";
      text += std::string(1 + random() % 9, static_cast<char>('a' + random() % 26));
    }
    const std::string fitted = in_columns(text, 30);
    const auto words = [](const std::string& of) {
      std::istringstream stream(of);
      return std::vector<std::string>(std::istream_iterator<std::string>(stream), {});
    };
    EXPECT_EQ(words(fitted), words(text)) << text;
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
