// Every row of the table of search methods, by what each must do: a new row is tested by being one.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "jobspec/search/genes.h"
#include "jobspec/search/search.h"
#include "jobspec/suggest.h"
#include "tests/jobspec/search_problems.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

std::vector<std::string> names_where(bool (SearchMethod::*is)() const, bool wanted) {
  std::vector<std::string> names;
  for (const SearchMethod& method : search_methods())
    if ((method.*is)() == wanted) names.emplace_back(method.name);
  return names;
}

/// Of those that draw: the file of sweep_of() runs a program, which has no checkpoints. A study has
/// a budget of its own (study_test.cpp).
std::vector<std::string> names_that_run_programs() {
  std::vector<std::string> names = names_where(&SearchMethod::lists, false);
  std::erase_if(names, [](const std::string& name) {
    const SearchMethod& method = search_methods().at(name);
    return method.promotes != Promotes::no || method.tunes || !method.generation.empty();
  });
  return names;
}

/// generations_test.cpp has those that learn and have generations.
std::vector<std::string> names_that_learn() {
  std::vector<std::string> names = names_where(&SearchMethod::learns, true);
  std::erase_if(
      names, [](const std::string& name) { return !search_methods().at(name).generation.empty(); });
  return names;
}

std::string name_of_method(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

Sweep sweep_of(const std::string& method, std::int64_t run_cap, const std::string& parameters,
               std::uint64_t seed = 1) {
  Sweep sweep = parse_sweep("program: f\nmethod: " + method +
                                "\nmetric: {name: loss, goal: minimize}\nrun_cap: " +
                                std::to_string(run_cap) + "\n" + parameters,
                            "sweep.yaml", Schema());
  sweep.seed = seed;
  return sweep;
}

/// Every kind of axis: `depth` is there only where `kind` is deep, `a` and `b` go together.
constexpr char all_kinds[] =
    "parameters:\n"
    "  lr: {min: 0.00001, max: 1.0, distribution: log_uniform_values}\n"
    "  width: {min: 10, max: 200}\n"
    "  kind: {values: [deep, wide, flat]}\n"
    "  depth: {min: 1.0, max: 9.0}\n"
    "  batch: {values: [64, 16, 32, 128]}\n"
    "  a: {values: [x, y, z]}\n"
    "  b: {values: [3, 1, 2]}\n"
    "when: {depth: {kind: deep}}\n"
    "zip: [a, b]\n"
    "constraint: lr * width < 20\n";
constexpr char twelve[] =
    "parameters:\n"
    "  lr: {values: [0.1, 0.01, 0.001]}\n"
    "  kind: {values: [deep, wide]}\n"
    "  width: {values: [10, 20]}\n";

double number_in(const Value& parameters, const char* name) {
  return parameters.find(name)->as_double();
}

/// Least, 0, at lr = 0.01, width = 80, kind = wide, b = 2.
double loss_of(const Value& parameters) {
  const double lr = std::log10(number_in(parameters, "lr")) + 2;
  const double width = (number_in(parameters, "width") - 80) / 100;
  const bool wide = parameters.find("kind")->as_string() == "wide";
  return lr * lr + width * width + (wide ? 0 : 1) + std::abs(number_in(parameters, "b") - 2) / 2;
}

/// The configurations of a sweep whose trials run one after the other.
std::vector<Value> run_through(const Sweep& sweep) {
  std::vector<Value> found;
  std::vector<Observed> observed;
  std::set<std::string> taken;
  for (const ExpandedTrial& trial : expand(sweep, Schema()).trials) {
    ExpandedTrial next = trial;
    if (sweep.learning && trial.number > sweep.learning->drawn_trials())
      next = suggest(sweep, Schema(), observed, taken, trial.configuration)->trial;
    taken.insert(next.hash);
    observed.push_back({next.parameters, Observed::State::ended, loss_of(next.parameters)});
    found.push_back(next.parameters);
  }
  return found;
}

double best_of(const Sweep& sweep) {
  double least = 1e9;
  for (const Value& parameters : run_through(sweep))
    least = std::min(least, loss_of(parameters));
  return least;
}

class EveryMethod : public testing::TestWithParam<std::string> {};

TEST_P(EveryMethod, IsToldInTheDocumentsAndHasAnExample) {
  const SearchMethod& method = search_methods().at(GetParam());
  const std::string line = "| `" + GetParam() + "` | " + std::string(method.about) + " |\n";
  EXPECT_THAT(read_file(source_dir() / "jobspec/sweep-file.md"), testing::HasSubstr(line));
  EXPECT_THAT(read_file(source_dir() / "packaging/man/thalweg-sweep.5"),
              testing::HasSubstr(".B " + GetParam() + "\n"));
  int examples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "jobspec/examples"))
    if (entry.path().extension() == ".yaml")
      examples += read_yaml(read_file(entry.path()), "example").find("method") &&
                  *read_yaml(read_file(entry.path()), "example").find("method") == GetParam();
  EXPECT_GT(examples, 0) << "jobspec/examples has no file with method: " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(SearchMethods, EveryMethod, testing::ValuesIn(search_methods().names()),
                         name_of_method);

TEST(GeneSpace, ZippedValuesThatBeginAlikeAreEachDrawn) {
  const Sweep sweep = sweep_of("tpe", 20,
                               "parameters:\n  a: {values: [u, u, v, v]}\n"
                               "  b: {values: [1, 2, 1, 2]}\nzip: [a, b]\n");
  const GeneSpace space(sweep);
  ASSERT_EQ(space.genes().size(), 1u);
  EXPECT_EQ(space.genes()[0].shares, std::vector<double>(4, 0.25));
}

class DrawingMethod : public testing::TestWithParam<std::string> {};

TEST_P(DrawingMethod, IsTheSameFromTheSameSeedAlone) {
  const auto with_seed = [&](std::uint64_t seed) {
    return run_through(sweep_of(GetParam(), 20, all_kinds, seed));
  };
  EXPECT_EQ(with_seed(3), with_seed(3));
  EXPECT_NE(with_seed(3), with_seed(4));
}

TEST_P(DrawingMethod, KeepsConditionsZipsAndConstraints) {
  int deep = 0;
  for (const Value& parameters : run_through(sweep_of(GetParam(), 60, all_kinds))) {
    EXPECT_LT(number_in(parameters, "lr") * number_in(parameters, "width"), 20);
    const bool is_deep = parameters.find("kind")->as_string() == "deep";
    deep += is_deep ? 1 : 0;
    EXPECT_EQ(parameters.find("depth") != nullptr, is_deep);
    const std::string& a = parameters.find("a")->as_string();
    EXPECT_EQ(number_in(parameters, "b"), a == "x" ? 3 : a == "y" ? 1 : 2);
  }
  EXPECT_GT(deep, 0);
}

/// What `thalweg extend --set run_cap=N` stands on.
TEST_P(DrawingMethod, ALargerRunCapKeepsTheFirstConfigurations) {
  const std::vector<Value> more = run_through(sweep_of(GetParam(), 45, all_kinds));
  const Sweep sweep = sweep_of(GetParam(), 30, all_kinds);
  const std::vector<Value> fewer = run_through(sweep);
  ASSERT_GT(more.size(), fewer.size());
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), more.begin()));
}

TEST_P(DrawingMethod, RunsNoConfigurationTwice) {
  const Expansion expansion = expand(sweep_of(GetParam(), 40, twelve), Schema());
  std::set<std::string> hashes;
  for (const ExpandedTrial& trial : expansion.trials)
    EXPECT_TRUE(hashes.insert(trial.hash).second);
  EXPECT_GT(hashes.size(), 8u);
}

INSTANTIATE_TEST_SUITE_P(SearchMethods, DrawingMethod, testing::ValuesIn(names_that_run_programs()),
                         name_of_method);

TEST(PromotingMethod, DrawsAsRandomSearchDoes) {
  int found = 0;
  for (const SearchMethod& method : search_methods()) {
    if (method.promotes == Promotes::no) continue;
    ++found;
    EXPECT_EQ(method.draw, search_methods().at("random").draw) << method.name;
    EXPECT_FALSE(method.learns()) << method.name;
  }
  EXPECT_EQ(found, 2);
}

class LearningMethod : public testing::TestWithParam<std::string> {};

TEST_P(LearningMethod, TriesAllThereIsBeforeAnythingAgain) {
  const Sweep sweep = sweep_of(GetParam(), 12, twelve);
  std::vector<Observed> observed;
  std::set<std::string> taken;
  const auto value = [](const Value& parameters) { return number_in(parameters, "width"); };
  for (const ExpandedTrial& trial : expand(sweep, Schema()).trials) {
    if (trial.number > 4) break;
    observed.push_back({trial.parameters, Observed::State::ended, value(trial.parameters)});
    taken.insert(trial.hash);
  }
  while (taken.size() < 12) {
    const auto configuration = static_cast<std::int64_t>(taken.size()) + 1;
    const auto next = suggest(sweep, Schema(), observed, taken, configuration);
    ASSERT_TRUE(next);
    ASSERT_TRUE(taken.insert(next->trial.hash).second) << next->reason;
    observed.push_back(
        {next->trial.parameters, Observed::State::ended, value(next->trial.parameters)});
  }
  const auto again = suggest(sweep, Schema(), observed, taken, 13);
  ASSERT_TRUE(again);
  EXPECT_EQ(taken.count(again->trial.hash), 1u);
}

TEST_P(LearningMethod, FindsMoreThanAsManyDraws) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 9; ++seed)
    better += best_of(sweep_of(GetParam(), 40, all_kinds, seed)) <
              best_of(sweep_of("random", 40, all_kinds, seed));
  EXPECT_GE(better, 8);
}

TEST_P(LearningMethod, MaximizesWhereItIsTold) {
  Sweep sweep = sweep_of(GetParam(), 30, all_kinds);
  std::vector<Observed> observed;
  for (const ExpandedTrial& trial : expand(sweep, Schema()).trials)
    observed.push_back({trial.parameters, Observed::State::ended, loss_of(trial.parameters)});
  const auto least = suggest(sweep, Schema(), observed, {}, 31);
  for (Observed& each : observed)
    each.value = -*each.value;
  EXPECT_NE(suggest(sweep, Schema(), observed, {}, 31)->trial.hash, least->trial.hash);
  sweep.metric.goal = Goal::maximize;
  EXPECT_EQ(suggest(sweep, Schema(), observed, {}, 31)->trial.hash, least->trial.hash);
}

TEST_P(LearningMethod, TakesRunningAndFailedTrials) {
  const Sweep sweep = sweep_of(GetParam(), 30, all_kinds);
  std::vector<Observed> observed;
  for (const ExpandedTrial& trial : expand(sweep, Schema()).trials)
    observed.push_back({trial.parameters, Observed::State::ended, loss_of(trial.parameters)});
  for (std::size_t i = 0; i < 6; ++i) {
    observed[4 * i].state = i % 2 ? Observed::State::running : Observed::State::failed;
    observed[4 * i].value.reset();
  }
  EXPECT_TRUE(suggest(sweep, Schema(), observed, {}, 31));
}

TEST_P(LearningMethod, ReadsItsOptionsAndRefusesOthers) {
  const SearchMethod& method = search_methods().at(GetParam());
  std::vector<Option> options = learning_options();
  options.insert(options.end(), method.options.begin(), method.options.end());
  for (const Option& option : options) {
    EXPECT_FALSE(option.doc.empty()) << option.name;
    EXPECT_TRUE(option.default_value.is_number()) << option.name;
    const std::string text = ", " + GetParam() + ": {" + option.name + ": ";
    const auto file = [&](const std::string& value) {
      return "{program: f, method: " + GetParam() + ", run_cap: 9, metric: {name: loss}" + text +
             value + "}, parameters: {x: {min: 1, max: 5}}}";
    };
    EXPECT_THAT(diagnostics(file(option.default_value.canonical())), testing::IsEmpty());
    EXPECT_THAT(diagnostics(file("-1")), testing::SizeIs(1)) << option.name;
    EXPECT_THAT(diagnostics(file("none")), testing::SizeIs(1)) << option.name;
  }
}

INSTANTIATE_TEST_SUITE_P(SearchMethods, LearningMethod, testing::ValuesIn(names_that_learn()),
                         name_of_method);

}  // namespace
}  // namespace thalweg::jobspec
