// Words of command lines: sh itself reads them back.
#include "base/shell.h"

#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace thalweg {
namespace {

TEST(Shell, WordsComeBackFromTheShell) {
  for (const std::string text : {"", "plain", "it's", "a b\tc", "$HOME `id` \\ \" * ? ~", "'''",
                                 "-n", "-x=1,2/3:4", "line\nbreak"}) {
    EXPECT_EQ(test::run({"sh", "-c", "printf %s " + shell_word(text)}).out, text);
    EXPECT_EQ(test::run({"sh", "-c", "printf %s " + shell_quoted(text)}).out, text);
  }
}

TEST(Shell, QuotesOnlyWhereNeeded) {
  EXPECT_EQ(shell_word("optimizer.name=adamw"), "optimizer.name=adamw");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_quoted("a"), "'a'");
}

}  // namespace
}  // namespace thalweg
