// Conditions of `when` that no configuration meets are mistakes, and no others are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tests/jobspec/support.h"
#include "tests/support/fuzz.h"

namespace thalweg::jobspec {
namespace {

using testing::HasSubstr;

constexpr const char* kProgram = "command: [sh, '-c', 'true']\nmetric: {name: loss}\n";

std::string mistakes_of(const std::string& text) {
  try {
    parse(text);
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

TEST(Conditions, ThatNeverHoldAreMistakes) {
  const auto file = [](const std::string& rest) { return kProgram + rest; };
  const std::string opts = "parameters: {opt: {values: [sgd, adam]}, m: {values: [0.9, 0.99]}}\n";
  EXPECT_THAT(
      mistakes_of(file("method: grid\n" + opts + "when: {m: {opt: sgdd}}\n")),
      HasSubstr("when.m.opt: found sgdd, which opt never is, expected sgd or adam, which are "
                "its values (did you mean 'sgd'?)"));
  EXPECT_THAT(
      mistakes_of(file("method: grid\n" + opts + "config: {n: 1}\nwhen: {m: {n: [2, 3]}}\n")),
      HasSubstr("found 2, which n never is, expected 1, which it is set to (m would be left "
                "out of every trial)"));
  EXPECT_EQ(mistakes_of(file("method: grid\n" + opts + "when: {m: {opt: [sgd, lamb]}}\n")), "");
  const std::string range =
      "run_cap: 9\nparameters: {x: {min: 0, max: 8}, y: {min: 0.0, max: 1.0}, "
      "m: {values: [1, 2]}}\n";
  for (const char* method : {"method: random\n", "method: bayes\n"}) {
    EXPECT_EQ(mistakes_of(file(method + range + "when: {m: {x: 8}}\n")), "");
    EXPECT_THAT(mistakes_of(file(method + range + "when: {m: {x: 9}}\n")),
                HasSubstr("found 9, which x never is, expected a whole number from 0 to 8"));
    EXPECT_THAT(mistakes_of(file(method + range + "when: {m: {x: 1.5}}\n")), HasSubstr("never is"));
    EXPECT_THAT(mistakes_of(file(method + range + "when: {m: {y: 0.5}}\n")),
                HasSubstr("expected a parameter with a list of values"));
  }
  EXPECT_THAT(
      mistakes_of(file("method: grid\nparameters: {a: {values: [1, 2]}, b: {values: [3, 4]}, "
                       "m: {values: [5, 6]}}\nzip: [a, b]\nwhen: {m: {a: 1, b: 4}}\n")),
      HasSubstr("when.m: found conditions that never hold together"));
  EXPECT_THAT(
      mistakes_of(file("method: grid\nparameters: {a: {values: [1, 2]}, b: {values: [3, 4]}, "
                       "m: {values: [5, 6]}}\nconstraint: a + b < 5\nwhen: {m: {b: 4}}\n")),
      HasSubstr("parameters.m: found conditions under when that no configuration meets"));
}

/// Parameters with their values as a file writes them, so that equal texts are equal values.
using Values = std::map<std::string, std::vector<std::string>>;

std::vector<std::string> some_values(std::mt19937& random, std::size_t most) {
  std::vector<std::string> pool{"1", "2", "0.5", "x", "true", "'1'", "y"};
  std::shuffle(pool.begin(), pool.end(), random);
  pool.resize(1 + random() % most);
  return pool;
}

std::string list_of(const std::vector<std::string>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

TEST(Conditions, RandomGridsAreRefusedWhereAParameterIsNeverSet) {
  int refused = 0, taken = 0;
  test::fuzz(2000, [&](int, std::mt19937& random) {
    Values axes{{"a", some_values(random, 3)}, {"b", some_values(random, 3)}};
    const std::string fixed = some_values(random, 1).front();
    const bool zip = axes["a"].size() == axes["b"].size() && random() % 2 == 0;
    Values conditions;
    for (const char* on : {"a", "b", "n"})
      if (random() % 2 == 0) conditions[on] = some_values(random, 3);
    if (conditions.empty()) return;
    std::string text = std::string(kProgram) + "method: grid\nconfig: {n: " + fixed +
                       "}\nparameters: {a: {values: " + list_of(axes["a"]) +
                       "}, b: {values: " + list_of(axes["b"]) + "}, m: {values: [7, 8]}}\n";
    if (zip) text += "zip: [a, b]\n";
    text += "when: {m: {";
    for (const auto& [on, values] : conditions)
      text += fmt::format("{}{}: {}", text.ends_with('{') ? "" : ", ", on, list_of(values));
    text += "}}\n";
    bool ever = false;
    for (std::size_t i = 0; i < axes["a"].size(); ++i)
      for (std::size_t j = 0; j < axes["b"].size(); ++j) {
        if (zip && i != j) continue;
        const std::map<std::string, std::string> row{
            {"a", axes["a"][i]}, {"b", axes["b"][j]}, {"n", fixed}};
        ever = ever || std::all_of(conditions.begin(), conditions.end(), [&](const auto& each) {
                 return std::count(each.second.begin(), each.second.end(), row.at(each.first)) > 0;
               });
      }
    EXPECT_EQ(mistakes_of(text).empty(), ever) << text << mistakes_of(text);
    ++(ever ? taken : refused);
  });
  if (test::fuzz_range(2000).many()) {
    EXPECT_GT(refused, 0);
    EXPECT_GT(taken, 0);
  }
}

}  // namespace
}  // namespace thalweg::jobspec
