// Best of k configurations: the distribution against counting all subsets, and what is read from
// the record.
#include "db/studies/regret.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "db/studies/study.h"
#include "tests/db/fixture.h"

namespace thalweg::db {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// By going through all subsets of k of n.
std::vector<std::size_t> counted(std::size_t n, std::size_t k, const std::vector<double>& shares) {
  std::vector<std::size_t> first(n, 0);  // how many subsets have this rank as their best
  std::size_t all = 0;
  for (std::uint32_t set = 0; set < 1u << n; ++set) {
    if (static_cast<std::size_t>(__builtin_popcount(set)) != k) continue;
    ++first[static_cast<std::size_t>(__builtin_ctz(set))];
    ++all;
  }
  std::vector<std::size_t> ranks;
  for (const double share : shares) {
    std::size_t rank = 0, sum = first[0];
    while (static_cast<double>(sum) < share * static_cast<double>(all) - 1e-9)
      sum += first[++rank];
    ranks.push_back(rank);
  }
  return ranks;
}

TEST(BestOfDraws, IsWhatCountingAllSubsetsGives) {
  const std::vector<double> shares{0.1, 0.25, 0.5, 0.9};
  for (std::size_t n = 1; n <= 12; ++n)
    for (std::size_t k = 1; k <= n; ++k)
      EXPECT_EQ(best_of_draws(n, k, shares), counted(n, k, shares)) << k << " of " << n;
}

TEST(BestOfDraws, OfManyIsTheMedianOfGeometricDraws) {
  // 1 - (1 - p)^60 = 0.95 at p = 0.0487: the rule that 60 draws find the best 5 % (Bergstra and
  // Bengio 2012).
  EXPECT_NEAR(static_cast<double>(best_of_draws(100'000, 60, {0.95})[0]) / 100'000, 0.0487, 0.0002);
}

class RegretTest : public StoreTest {
 protected:
  std::int64_t sweep(const std::string& text, jobspec::Goal goal = jobspec::Goal::minimize) {
    SweepRow row = sample_sweep();
    row.text = text;
    row.goal = goal;
    trials_ = 0;
    return sweep_ = store.insert_sweep(row);
  }
  void add(double value, std::int64_t configuration, const char* optimizer = "sgd",
           TrialPhase state = TrialPhase::finished) {
    TrialRow row = sample_trial(sweep_, ++trials_);
    row.configuration = configuration;
    row.state = state;
    row.parameters = std::string(R"({"optimizer.name":")") + optimizer + "\"}";
    store.insert_trials({row});
    store.insert_attempt(sample_attempt(sweep_, trials_));
    if (!std::isnan(value))
      store.add_points({sweep_, trials_, 1}, 1, 1, {{"val/error", 10, value, 2000}});
  }
  DataTable regret(const std::vector<std::int64_t>& sweeps, const std::string& by = "",
                   bool in_order = false) {
    const Study& study = *find_study("regret");
    StudyRequest request;
    request.sweeps = sweeps;
    for (const StudyOption& option : study.options) {
      if (option.name == "by" && !by.empty()) request.set(option, by);
      if (option.name == "in_order" && in_order) request.set(option, "1");
    }
    return study.run(store, request);
  }

  std::int64_t sweep_ = 0, trials_ = 0;
};

std::vector<double> column(const DataTable& table, const std::string& key) {
  std::vector<double> values;
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (table.columns[i].key == key)
      for (const auto& row : table.rows) {
        const double* const number = std::get_if<double>(&row[i]);
        values.push_back(number ? *number : NAN);
      }
  return values;
}

TEST_F(RegretTest, OfDrawnConfigurationsIsTheMedianOverOrders) {
  const std::int64_t id = sweep("method: random\n");
  for (const double value : {0.5, 0.2, 0.4, 0.1, 0.3})
    add(value, trials_ + 1);
  const DataTable table = regret({id});
  EXPECT_THAT(column(table, "budget"), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(column(table, "best"), ElementsAre(0.3, 0.2, 0.1, 0.1));
  EXPECT_THAT(column(table, "low"), ElementsAre(0.1, 0.1, 0.1, 0.1));
  EXPECT_THAT(column(table, "high"), ElementsAre(0.5, 0.3, 0.2, 0.1));
  EXPECT_NEAR(column(table, "regret")[0], 0.2, 1e-12);
  EXPECT_EQ(column(table, "regret")[3], 0);
}

TEST_F(RegretTest, OfAMethodWithAnOrderIsTheBestSoFar) {
  std::int64_t id = 0;
  for (const char* method : {"sobol", "bayes", "tpe"}) {
    id = sweep(std::string("method: ") + method + "\n");
    for (const double value : {0.5, 0.2, 0.4, 0.1, 0.3})
      add(value, trials_ + 1);
    EXPECT_THAT(column(regret({id}), "best"), ElementsAre(0.5, 0.2, 0.2, 0.1)) << method;
  }
  const std::int64_t drawn = sweep("method: random\n");
  add(0.5, 1), add(0.3, 2);
  EXPECT_THAT(column(regret({drawn}, "", true), "best"), ElementsAre(0.5, 0.3));
  const DataTable both = regret({id, drawn});
  EXPECT_EQ(both.columns[0].key, "sweep");
  EXPECT_NEAR(column(both, "regret").back(), 0.2, 1e-12) << "against the best of both";
}

TEST_F(RegretTest, FailuresSeedsAndGroups) {
  const std::int64_t id = sweep("method: grid\n", jobspec::Goal::maximize);
  add(0.7, 1, "sgd"), add(0.9, 1, "sgd"), add(0.8, 1, "sgd");  // three seeds
  add(NAN, 2, "sgd", TrialPhase::failed);
  add(0.6, 3, "adam");
  add(0.99, 4, "adam", TrialPhase::running);
  const DataTable table = regret({id}, "optimizer.name");
  ASSERT_EQ(table.rows.size(), 3u) << "adam: 1; sgd: 1, 2";
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), "adam");
  EXPECT_THAT(column(table, "best"), ElementsAre(0.6, 0.8, 0.8)) << "the median over seeds";
  EXPECT_NEAR(column(table, "regret")[0], 0.2, 1e-12) << "larger is better";
  EXPECT_TRUE(std::isnan(column(table, "high")[1])) << "one of two tries finds nothing";
  EXPECT_THAT(table.notes, testing::Contains(HasSubstr("1 configuration without a value")));
  EXPECT_THAT(table.notes, testing::Contains(HasSubstr("not ended or cancelled: 1 trial")));
}

TEST_F(RegretTest, RefusesWhatCannotBeCompared) {
  const std::int64_t id = sweep("method: grid\n");
  add(0.7, 1);
  const std::int64_t other = sweep("method: grid\n", jobspec::Goal::maximize);
  add(0.7, 1);
  EXPECT_THROW(regret({id, other}), std::invalid_argument);
  EXPECT_THROW(regret({id}, "optimizer.nam"), std::invalid_argument);
  EXPECT_THROW(regret({99}), std::invalid_argument);
}

TEST(Studies, RowsAreWhole) {
  ASSERT_FALSE(studies().empty());
  for (const Study* study : studies()) {
    EXPECT_EQ(find_study(study->name), study);
    EXPECT_NE(study->run, nullptr) << study->name;
    for (const char* text : {study->summary, study->details, study->example})
      EXPECT_STRNE(text, "") << study->name;
    EXPECT_THAT(study->example, HasSubstr(std::string("thalweg ") + study->name));
    for (const StudyOption& option : study->options) {
      EXPECT_NE(option.name, "sweeps") << study->name;
      // Without help it is none of the command line: the program itself gives it.
      const bool named = option.kind != StudyOption::Kind::flag && !option.help.empty();
      EXPECT_EQ(!option.value.empty(), named) << option.name;
    }
  }
}

TEST(Studies, OptionsAreOfTheirKind) {
  StudyRequest request;
  using Kind = StudyOption::Kind;
  request.set({"target", Kind::number, "VALUE", ""}, "-1.5e-3");
  EXPECT_EQ(request.number("target"), -1.5e-3);
  EXPECT_EQ(request.number("other"), std::nullopt);
  EXPECT_THROW(request.set({"target", Kind::number, "VALUE", ""}, "1x"), std::invalid_argument);
  EXPECT_THROW(request.set({"target", Kind::number, "VALUE", ""}, ""), std::invalid_argument);
  EXPECT_THROW(request.set({"all", Kind::flag, "", ""}, "yes"), std::invalid_argument);
  request.set({"by", Kind::names, "NAME", ""}, "a,b.c,,d");
  EXPECT_THAT(request.names("by"), ElementsAre("a", "b.c", "d"));
  EXPECT_FALSE(request.flag("all"));
}

}  // namespace
}  // namespace thalweg::db
