#include "base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using thalweg::CommandOption;
using thalweg::Names;
using Words = std::vector<std::string>;

struct Parsed {
  Words given;  ///< "name=value" in the order of `set`
  Words names;
};

std::vector<CommandOption> options(Words& given) {
  const auto row = [&given](const char* name, const char* letter, const char* value) {
    return CommandOption{
        name,  letter,
        value, "what it is",
        "",    [&given, name](const std::string& v) {
                           given.push_back(name + ("=" + v)); }};
  };
  return {row("--ranks", "-n", "N"), row("--token", "", "TEXT"), row("--plot", "-p", "")};
}

Parsed parse(const Words& words, Names names = Names::anywhere) {
  Parsed parsed;
  parsed.names = parse_command_line(options(parsed.given), words, names);
  return parsed;
}

std::string refusal(const Words& words, Names names = Names::anywhere) {
  try {
    parse(words, names);
  } catch (const thalweg::UsageError& error) {
    return error.what();
  }
  return "was taken";
}

TEST(CommandLine, EverySpellingOfAValue) {
  for (const Words& words : {Words{"--ranks", "4"}, {"--ranks=4"}, {"-n", "4"}, {"-n4"}})
    EXPECT_THAT(parse(words).given, ElementsAre("--ranks=4")) << words[0];
  EXPECT_THAT(parse({"-n", "-1"}).given, ElementsAre("--ranks=-1"));
  EXPECT_THAT(parse({"-n", "1", "-n", "2"}).given, ElementsAre("--ranks=1", "--ranks=2"));
  EXPECT_THAT(parse({"--token", "[a]"}).given, ElementsAre("--token=[a]"));
  EXPECT_THAT(parse({"--token", "--plot"}).given, ElementsAre("--token=--plot"));
}

TEST(CommandLine, AnEmptyValueIsAValue) {
  for (const Words& words : {Words{"--token=", "name"}, {"--token", "", "name"}}) {
    const Parsed parsed = parse(words);
    EXPECT_THAT(parsed.given, ElementsAre("--token="));
    EXPECT_THAT(parsed.names, ElementsAre("name"));
  }
}

TEST(CommandLine, NamesStandBetweenOptions) {
  const Parsed parsed = parse({"a", "-p", "b", "--", "--ranks=", "--"});
  EXPECT_THAT(parsed.given, ElementsAre("--plot="));
  EXPECT_THAT(parsed.names, ElementsAre("a", "b", "--ranks=", "--"));
}

TEST(CommandLine, ACommandKeepsItsOwnOptions) {
  for (const Words& words : {Words{"-p", "run", "--ranks", "x", "--", "--token="},
                             {"-p", "--", "run", "--ranks", "x", "--", "--token="}}) {
    const Parsed parsed = parse(words, Names::after_options);
    EXPECT_THAT(parsed.given, ElementsAre("--plot="));
    EXPECT_THAT(parsed.names, ElementsAre("run", "--ranks", "x", "--", "--token="));
  }
  EXPECT_THAT(parse({}, Names::after_options).names, IsEmpty());
}

TEST(CommandLine, MistakesAreNamedAsTheyWereWritten) {
  EXPECT_EQ(refusal({"--rank", "4"}), "unknown option --rank (did you mean --ranks?)");
  EXPECT_EQ(refusal({"--qwertyuiop=4"}), "unknown option --qwertyuiop");
  EXPECT_EQ(refusal({"-x", "run"}, Names::after_options), "unknown option -x");
  EXPECT_EQ(refusal({"-p", "-n"}), "-n needs a value: N");
  EXPECT_EQ(refusal({"--token"}), "--token needs a value: TEXT");
  EXPECT_EQ(refusal({"--plot=1", "a"}), "--plot takes no value");
}

TEST(CommandLine, NumbersAreWholeWordsWithinTheirRange) {
  EXPECT_EQ(thalweg::number("-n", "7", 1, 7), 7);
  EXPECT_EQ(thalweg::number("-s", "2.5e-1", 0.0, 1.0), 0.25);
  for (const char* text : {"8", "0", "", "seven", "7x", "7.5", "nan"}) {
    try {
      thalweg::number("-n", text, 1, 7);
      ADD_FAILURE() << text << " was taken";
    } catch (const thalweg::UsageError& error) {
      EXPECT_EQ(error.what(), "-n takes a number from 1 to 7, not '" + std::string(text) + "'");
    }
  }
  EXPECT_THROW(thalweg::number("-s", "nan", 0.0, 1e9), thalweg::UsageError);
}

TEST(CommandLine, HelpHasALineForEachOption) {
  Words unused;
  EXPECT_THAT(
      option_lines(options(unused)),
      HasSubstr("  -n, --ranks N             what it is\n      --token TEXT          what"));
}

}  // namespace
