#include "jobspec/schema.h"

#include <gmock/gmock.h>

#include "jobspec/diagnostic.h"
#include "jobspec/json_schema.h"
#include "jobspec/option.h"

namespace thalweg::jobspec {
namespace {

TEST(Schema, SurvivesJson) {
  Option lr{"lr", OptionType::real, "step size", Value("auto"), true, 0.0, 10.0, true, {}, true};
  Option kind{"kind", OptionType::text, "", "a", false};
  kind.choices = {"a", "b"};
  kind.synonyms = {{"first", "a"}};
  kind.path = kind.or_list = true;
  kind.words = {"inputs"};
  Schema schema{"1.2", {}};
  schema.sections.push_back({"optimizer", "the rule", {lr}, "name", {{"sgd", "plain", {kind}}}});
  schema.sections.push_back(
      {"", "", {{"epochs", OptionType::integer, "", Value(), false}}, "name", {}});

  const Schema back = Schema::from_json(schema.to_json());
  EXPECT_EQ(back.to_json(), schema.to_json());
  ASSERT_EQ(back.sections.size(), 2u);
  const Option& read = back.sections[0].options.at(0);
  EXPECT_EQ(read.type, OptionType::real);
  EXPECT_EQ(read.default_value, Value("auto"));
  EXPECT_TRUE(read.required && read.above_min && read.or_auto);
  EXPECT_EQ(read.max, 10.0);
  const Option& chosen = back.sections[0].variants.at(0).options.at(0);
  EXPECT_EQ(chosen.choices.size(), 2u);
  EXPECT_EQ(chosen.synonyms, kind.synonyms);
  EXPECT_TRUE(chosen.path && chosen.or_list);
  EXPECT_EQ(chosen.words, kind.words);
}

TEST(Schema, AnOptionMayTakeAListOfItsValues) {
  Option deviation = above_min(float_option("deviation", 1.0, 0, no_limit, ""));
  std::string hint;
  const auto expected = [&](const Value& value) { return mismatch(deviation, value, &hint); };
  EXPECT_NE(expected(List{1.0, 2}), "") << "not unless it says so";
  deviation = or_list(deviation);
  EXPECT_EQ(expected(List{1.0, 2}), "");
  EXPECT_EQ(expected(0.5), "");
  EXPECT_EQ(expected(List{1.0, 0.0}), "a number above 0, or a list of such");
  EXPECT_NE(expected(List{}), "");
  EXPECT_NE(expected(List{List{1.0}}), "");
  EXPECT_NE(expected("auto"), "");
  deviation.or_auto = true;
  EXPECT_EQ(expected("auto"), "");
  EXPECT_NE(expected(List{"auto"}), "");
}

TEST(Schema, EditorsKnowOfListsAndAuto) {
  Option mean = or_list(float_option("mean", 0.0, -no_limit, no_limit, ""));
  mean.or_auto = true;
  Section data;
  data.path = "data";
  data.options = {mean};
  EXPECT_THAT(
      json_schema(Schema{"1.2", {data}}),
      ::testing::HasSubstr(
          R"("anyOf":[{"type":"number"},{"type":"array","items":{"type":"number"},"minItems":1},{"const":"auto"}])"));
}

TEST(Schema, BadJsonNamesTheKey) {
  try {
    Schema::from_json(
        R"({"format":1,"sections":[{"path":"a","options":[{"nam":"x","type":"int"}]}]})");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("sections[0].options[0].nam: unknown key"));
    EXPECT_THAT(error.what(),
                ::testing::HasSubstr("found text \"int\", expected boolean, integer"));
  }
}

}  // namespace
}  // namespace thalweg::jobspec
