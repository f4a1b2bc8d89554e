// Parameters read from their texts, and newest points of one metric: both are short cuts past SQL
// that takes everything apart, and must say the same.
#include "db/analysis/parameters.h"

#include <gmock/gmock.h>

#include "tests/db/fixture.h"

namespace thalweg::db::analysis {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::pair<std::string, std::string>> members(const std::string& text) {
  std::vector<std::pair<std::string, std::string>> found;
  each_member(
      text, [&](std::string_view key, std::string_view value) { found.emplace_back(key, value); });
  return found;
}

TEST(Members, AreFoundWhateverTheyHold) {
  EXPECT_THAT(members(R"({"a":1,"b.c":"x, }\"","d":[1,{"e":"]"}],"f":{"g":2}, "h" : null})"),
              ElementsAre(Pair("a", "1"), Pair("b.c", R"("x, }\"")"), Pair("d", R"([1,{"e":"]"}])"),
                          Pair("f", R"({"g":2})"), Pair("h", "null")));
  for (const char* text : {"", "{}", "[1]", "nonsense", R"({"a")", R"({"a":)", R"({"a":"x)"})
    EXPECT_TRUE(members(text).empty()) << text;
  EXPECT_EQ(members(R"({"a":1,"b)").size(), 1u);
}

TEST(Members, HaveTheKindOfTheirText) {
  EXPECT_TRUE(member_value("3").is_int());
  EXPECT_EQ(member_value("-2.5e-3").as_double(), -0.0025);
  EXPECT_EQ(member_value("true"), jobspec::Value(true));
  EXPECT_TRUE(member_value("null").is_null());
  EXPECT_EQ(member_value(R"("3")"), jobspec::Value("3"));
  EXPECT_EQ(member_value(R"("a \"b\" \u00e9")"), jobspec::Value("a \"b\" é"));
  EXPECT_EQ(member_value("[1, 2]"), jobspec::Value("[1, 2]"));
}

class Parameters : public StoreTest {
 protected:
  Parameters() : sweep_(store.insert_sweep(sample_sweep())) {}
  void add(const std::string& parameters) {
    TrialRow row = sample_trial(sweep_, ++trials_);
    row.parameters = parameters;
    store.insert_trials({row});
  }
  std::int64_t sweep_, trials_ = 0;
};

TEST_F(Parameters, ThatVaryAreToldInTheOrderOfTheFile) {
  add(R"({"z":1,"same":"x","lr":0.1,"t\"q":1})");
  add(R"({"z":1,"same":"x","lr":0.1,"t\"q":1})");
  add(R"({"z":2,"same":"x","lr":0.1,"t\"q":2})");
  EXPECT_THAT(varied_parameters(store, sweep_), ElementsAre("z", "t\"q"));
  add(R"({"z":2,"same":"x","momentum":0.9,"t\"q":2})");
  EXPECT_THAT(varied_parameters(store, sweep_), ElementsAre("z", "lr", "t\"q", "momentum"));
  add(R"({"z":2,"same":true,"momentum":0.9,"t\"q":2})");
  EXPECT_THAT(varied_parameters(store, sweep_), ElementsAre("z", "same", "lr", "t\"q", "momentum"));
  EXPECT_TRUE(varied_parameters(store, sweep_ + 1).empty());
}

TEST_F(Parameters, AreThoseOfEachTrial) {
  add(R"({"lr":0.1,"name":"sgd"})");
  add(R"({"lr":0.1,"name":"sgd"})");
  add(R"({"name":"adamw","fast":true})");
  const auto values = parameter_values(store, sweep_, {"lr", "fast", "name", "none"});
  EXPECT_THAT(values[0], ElementsAre(Pair(1, jobspec::Value(0.1)), Pair(2, jobspec::Value(0.1))));
  EXPECT_THAT(values[1], ElementsAre(Pair(3, jobspec::Value(true))));
  EXPECT_EQ(values[2].at(3), jobspec::Value("adamw"));
  EXPECT_TRUE(values[3].empty());
}

TEST_F(Parameters, NewestPointsOfOneMetricAreThoseOfAll) {
  for (int trial = 1; trial <= 3; ++trial) {
    add("{}");
    store.insert_attempt(sample_attempt(sweep_, trial));
    std::vector<Point> points{{"b", 7, 2.0 * trial, 100}};
    if (trial != 2) points.push_back({"a", 9, 1.0 * trial, 101});
    store.add_points({sweep_, trial, 1}, 1, 1, points);
  }
  const auto all = store.latest(sweep_);
  for (const std::string metric : {"a", "b", "c"}) {
    std::vector<std::pair<std::int64_t, double>> wanted, found;
    for (const auto& latest : all)
      if (latest.metric == metric) wanted.emplace_back(latest.trial.trial, latest.value);
    for (const auto& latest : store.latest(sweep_, metric)) {
      EXPECT_EQ(latest.metric, metric);
      found.emplace_back(latest.trial.trial, latest.value);
    }
    EXPECT_EQ(found, wanted) << metric;
  }
  std::vector<std::string> of_first;
  for (const auto& latest : store.latest(Id{sweep_, 1, 0}))
    of_first.push_back(latest.metric + "=" + std::to_string(latest.value));
  EXPECT_THAT(of_first, ElementsAre("a=1.000000", "b=2.000000"));
  EXPECT_THAT(store.last_steps(sweep_), ElementsAre(Pair(1, 9), Pair(2, 7), Pair(3, 9)));
}

}  // namespace
}  // namespace thalweg::db::analysis
