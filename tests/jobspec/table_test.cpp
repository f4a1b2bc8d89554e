// Tables of named rows: what they find, and what they say where they find nothing.
#include "jobspec/table.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "jobspec/schema.h"

namespace thalweg::jobspec {
namespace {

using testing::ElementsAre;

struct Tool {
  const char* name;
  const char* doc;
  std::vector<Option> options{};
};

Table<Tool> tools() {
  return {"tool", {{"hammer", "hits", {{"weight"}, {"length"}}}, {"saw", "cuts"}}};
}

std::string refusal(const std::string& name, const std::string& key) {
  try {
    (void)tools().at(name, key);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Table, FindsRowsByTheirWholeName) {
  const Table<Tool> table = tools();
  ASSERT_NE(table.find("saw"), nullptr);
  EXPECT_STREQ(table.find("saw")->doc, "cuts");
  EXPECT_STREQ(table.at("hammer").doc, "hits");
  for (const char* name : {"", "sa", "sawn", "Saw"})
    EXPECT_EQ(table.find(name), nullptr) << name;
}

TEST(Table, KeepsTheOrderOfItsRows) {
  EXPECT_THAT(tools().names(), ElementsAre("hammer", "saw"));
  EXPECT_STREQ(tools().front().name, "hammer");
}

TEST(Table, NamesTheNearestRowWhereThereIsNone) {
  EXPECT_EQ(refusal("hamer", ""), "there is no tool 'hamer', did you mean 'hammer'?");
  EXPECT_EQ(refusal("hamer", "kit.tool"),
            "kit.tool: there is no tool 'hamer', did you mean 'hammer'?");
  EXPECT_EQ(refusal("screwdriver", "kit.tool"), "kit.tool: there is no tool 'screwdriver'");
}

TEST(Table, OffersEachRowWithItsOptions) {
  const std::vector<Variant> variants = tools().variants();
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0].name, "hammer");
  EXPECT_EQ(variants[0].doc, "hits");
  ASSERT_EQ(variants[0].options.size(), 2u);
  EXPECT_EQ(variants[0].options[1].name, "length");
  EXPECT_TRUE(variants[1].options.empty());
}

}  // namespace
}  // namespace thalweg::jobspec
