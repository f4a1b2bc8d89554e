// Population based training on a model of training: the best learning rate falls from generation to
// generation, as in Jaderberg et al. 2017, so that no constant one is best.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include "jobspec/search/generations.h"
#include "jobspec/search/search.h"
#include "jobspec/suggest.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t id = 7, size = 8;

std::string file(const std::string& method, std::int64_t run_cap, const std::string& more = "",
                 const std::string& epochs = "2") {
  return "method: " + method + "\nrun_cap: " + std::to_string(run_cap) + "\n" + more +
         "metric: {name: val/loss, goal: minimize}\n"
         "parameters:\n"
         "  optimizer.lr: {distribution: log_uniform_values, min: 0.0001, max: 1}\n"
         "  optimizer.momentum: {values: [0, 0.5, 0.9]}\n"
         "train:\n  model: {name: mlp}\n  data: {name: fashion-mnist}\n"
         "  batch: {global: 128}\n  optimizer: {name: momentum}\n  epochs: " +
         epochs + "\n";
}

Sweep sweep_of(const std::string& method, std::int64_t run_cap, std::uint64_t seed) {
  Sweep sweep = parse(file(method, run_cap));
  sweep.seed = seed;
  return sweep;
}

/// The loss after one more generation. The best rate falls a hundredfold in eight of them.
double trained(double loss, std::int64_t generation, const Value& parameters) {
  const double rate = std::log10(parameters.find("optimizer.lr")->as_double());
  const double off = rate + 1 + static_cast<double>(generation) / 4;
  return loss * std::min(1.5, 0.2 + 0.4 * off * off);
}

struct Member {
  ExpandedTrial trial;
  std::string reason;
  std::optional<std::int64_t> from{};
  double loss = 0;
  bool failed = false;
};

/// A sweep of `generations`; `fails` says of a trial's number whether it fails.
std::vector<Member> run_through(const Sweep& sweep,
                                const std::function<bool(std::int64_t)>& fails) {
  std::vector<Member> members;
  std::vector<Observed> observed;
  std::set<std::string> taken;
  for (const ExpandedTrial& trial : expand(sweep, test_schema()).trials) {
    Member member{trial, ""};
    if (trial.number > sweep.learning->drawn_trials()) {
      const auto next = suggest(sweep, test_schema(), observed, taken, trial.configuration, id);
      if (next) member = {next->trial, next->reason};
      member.trial.number = trial.number;
    }
    double loss = 1;
    if (const Value* from = member.trial.train.find("init_from.trial")) {
      const auto named = Id::parse(from->as_string());
      EXPECT_EQ(named->sweep, id);
      EXPECT_EQ(member.trial.train.find("init_from.state")->as_string(), "all");
      member.from = named->trial;
      loss = members[static_cast<std::size_t>(named->trial - 1)].loss;
    }
    member.loss =
        trained(loss, generation_of(*sweep.learning, trial.number), member.trial.parameters);
    member.failed = fails(trial.number);
    taken.insert(member.trial.hash);
    Observed one{member.trial.parameters, Observed::State::ended, member.loss};
    one.configuration = trial.number;
    if (member.failed) {
      one.state = Observed::State::failed;
      one.value.reset();
    }
    observed.push_back(one);
    members.push_back(member);
  }
  return members;
}

double best_of_last(const std::vector<Member>& members) {
  double best = 1e9;
  for (std::size_t i = members.size() - size; i < members.size(); ++i)
    best = std::min(best, members[i].loss);
  return best;
}

bool never(std::int64_t) {
  return false;
}

TEST(Generations, TrainOnFromTheOneBefore) {
  const auto members = run_through(sweep_of("pbt", 40, 1), never);
  ASSERT_EQ(members.size(), 40u);
  int copies = 0;
  for (const Member& member : members) {
    const std::int64_t generation = (member.trial.number - 1) / size;
    EXPECT_EQ(member.trial.train.find("epochs")->as_int(), 2 * (generation + 1));
    EXPECT_EQ(member.from.has_value(), generation > 0);
    if (!member.from) continue;
    EXPECT_EQ((*member.from - 1) / size, generation - 1);
    const Member& parent = members[static_cast<std::size_t>(*member.from - 1)];
    const bool goes_on = *member.from == member.trial.number - size;
    copies += goes_on ? 0 : 1;
    if (member.reason.starts_with("continues")) {
      EXPECT_EQ(member.trial.parameters, parent.trial.parameters);
    }
    int better = 0;  // than the parent
    for (std::int64_t i = 0; i < size; ++i)
      better +=
          members[static_cast<std::size_t>((generation - 1) * size + i)].loss < parent.loss ? 1 : 0;
    EXPECT_LT(better, goes_on ? 6 : 2) << member.trial.number;
  }
  EXPECT_EQ(copies, 4 * 2);  // a quarter of each generation but the first
}

TEST(Generations, AreTheSameFromTheSameResults) {
  const auto texts = [](std::uint64_t seed) {
    std::string all;
    for (const Member& member : run_through(sweep_of("pbt", 24, seed), never))
      all += member.trial.hash;
    return all;
  };
  EXPECT_EQ(texts(3), texts(3));
  EXPECT_NE(texts(3), texts(4));
}

TEST(Generations, NobodyGoesOnFromATrialThatFailed) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto fails = [seed](std::int64_t number) {
      return (static_cast<std::uint64_t>(number) * 2654435761U + seed * 40503U) % 3 == 0;
    };
    const auto members = run_through(sweep_of("pbt", 40, seed), fails);
    for (const Member& member : members) {
      if (!member.from) continue;
      EXPECT_FALSE(members[static_cast<std::size_t>(*member.from - 1)].failed);
    }
  }
}

TEST(Generations, BeginAnewWhereAllFailed) {
  const auto first = [](std::int64_t number) { return number <= size; };
  for (const Member& member : run_through(sweep_of("pbt", 16, 1), first))
    EXPECT_FALSE(member.from) << member.trial.number;
}

TEST(Generations, FindAScheduleThatNoConstantRateReaches) {
  int better = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    double constant = 1e9;
    for (const ExpandedTrial& trial :
         expand(sweep_of("random", size, seed), test_schema()).trials) {
      double loss = 1;
      for (std::int64_t generation = 0; generation < 8; ++generation)
        loss = trained(loss, generation, trial.parameters);
      constant = std::min(constant, loss);
    }
    better += best_of_last(run_through(sweep_of("pbt", 8 * size, seed), never)) < constant;
  }
  EXPECT_GE(better, 17);
}

TEST(Generations, OptionsAreReadAndOthersRefused) {
  for (const Option& option : search_methods().at("pbt").options) {
    const auto with = [&](const std::string& value) {
      return diagnostics(file("pbt", 40, "pbt: {" + option.name + ": " + value + "}\n"));
    };
    EXPECT_THAT(with(option.default_value.canonical()), testing::IsEmpty()) << option.name;
    EXPECT_THAT(with("-1"), testing::Not(testing::IsEmpty())) << option.name;
    EXPECT_THAT(with("none"), testing::Not(testing::IsEmpty())) << option.name;
  }
}

}  // namespace
}  // namespace thalweg::jobspec
