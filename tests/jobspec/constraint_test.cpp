// The language of `constraint`: precedence, kinds, and what is refused.
#include "jobspec/constraint.h"

#include <gmock/gmock.h>

#include <map>

#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Test;

bool holds(const std::string& text) {
  static const std::map<std::string, Value> known{{"a", 2},        {"b", 3.5},
                                                  {"c.d", -7},     {"name", "adamw"},
                                                  {"on", true},    {"weight-decay", 0.1},
                                                  {"batch", 128.0}};
  const Constraint constraint(text);
  std::vector<const Value*> values;
  for (const std::string& name : constraint.names())
    values.push_back(&known.at(name));
  return constraint.holds(values);
}

std::string complaint(const std::string& text) {
  try {
    holds(text);
  } catch (const std::invalid_argument& bad) {
    return bad.what();
  }
  return "";
}

/// Each line holds, and holds in Python, too (names with a dash apart).
TEST(ConstraintText, IsReadAsPythonReadsIt) {
  for (const char* text : {"a < b",
                           "a <= 2 and b >= 3.5",
                           "1 < a < 3 < b",
                           "not 1 < a < 2 < b",
                           "a + 2 * 3 == 8",
                           "(a + 2) * 3 == 12",
                           "8 - 4 - 2 == a",
                           "64 / 4 / 2 == 8",
                           "c.d % 3 == 2",
                           "7 % -3 == -a",
                           "-7.5 % 2 == 0.5",
                           "--a == 2",
                           "-a * -a == 4",
                           "a == 2.0",
                           "name == 'adamw'",
                           "name != \"sgd\"",
                           "name in ['sgd', 'adamw']",
                           "name not in ['sgd']",
                           "a in [1, 1 + 1]",
                           "not a in [1, 3]",
                           "on",
                           "not on or a == 2",
                           "on == true",
                           "on != false",
                           "a == 3 or a == 2 and b == 3.5",
                           "not (a == 3 or a == 2 and b == 4)",
                           "name != 2",
                           "1e-4 < .1 < 1E+2",
                           "`weight-decay` < 1",
                           "batch % 64 == 0",
                           "not not on",
                           "a*b+c.d==0",
                           "a == 3 and name + 1 == 2 or on"})
    EXPECT_TRUE(holds(text)) << text;
  EXPECT_FALSE(holds("a > b"));
  EXPECT_FALSE(holds("1 < a < 2"));
  EXPECT_FALSE(holds("a == 2 and not on"));
}

TEST(ConstraintText, NamesStandOnceAndALeftOutOneLetsItHold) {
  const Constraint constraint("b < a and a > c.d");
  EXPECT_THAT(constraint.names(), ElementsAre("b", "a", "c.d"));
  const Value one = 1, two = 2;
  EXPECT_FALSE(constraint.holds({&two, &one, &two}));
  EXPECT_TRUE(constraint.holds({&two, &one, nullptr}));
}

TEST(ConstraintText, IsRefusedWithItsPlace) {
  const struct {
    const char *text, *message;
  } rows[] = {
      {"", "found the end, expected a value (character 1)"},
      {"a <", "found the end, expected a value (character 4)"},
      {"a < 1 b", "found 'b', expected an operator or the end (character 7)"},
      {"a = 1", "found '=', expected == for equality (character 3)"},
      {"a & on", "found '&', expected and, or, not (character 3)"},
      {"a == 1 || on", "found '|', expected and, or, not (character 8)"},
      {"(a < 1", "expected ) (character 7)"},
      {"a in b", "found 'b', expected [ (character 6)"},
      {"a in []", "found ']', expected a value (character 7)"},
      {"a < 'x", "found no closing ' (character 5)"},
      {"a < 1.2.3", "found '1.2.3', expected a number (character 5)"},
      {"a < 2x", "found '2x', expected a number (character 5)"},
      {"a < and", "found 'and', expected a value (character 5)"},
      {"a ** 2 < 5", "found '*', expected a value (character 4)"},
      {"a; b", "found ';' (character 2)"},
      {"a + 1", "found 3.0, expected true or false"},
      {"not a", "found 2 of a, expected true or false"},
      {"name < 3", "found text \"adamw\" of name, and < is for numbers"},
      {"a + name == 3", "of name, and + is for numbers"},
      {"-on < 3", "of on, and - is for numbers"},
      {"a and on", "found 2 of a, expected true or false"},
  };
  for (const auto& row : rows)
    EXPECT_THAT(complaint(row.text), HasSubstr(row.message)) << row.text;
}

TEST(ConstraintText, NoDepthOverflowsTheStack) {
  const auto repeat = [](const std::string& what, int times) {
    std::string text;
    for (int i = 0; i < times; ++i)
      text += what;
    return text;
  };
  EXPECT_THAT(complaint(repeat("(", 1'000'000)), HasSubstr("too many parentheses or signs"));
  EXPECT_THAT(complaint(repeat("-", 1'000'000) + "a < 1"), HasSubstr("too many"));
  EXPECT_THAT(complaint(repeat("not ", 1'000'000) + "on"), HasSubstr("too many"));
  EXPECT_THAT(complaint(repeat("a + ", 1'000'000) + "1 < 1"), HasSubstr("too many operations"));
  EXPECT_TRUE(holds(repeat("(", 50) + "on" + repeat(")", 50)));
  EXPECT_TRUE(holds("on" + repeat(" and on", 5000)));
}

}  // namespace
}  // namespace thalweg::jobspec
