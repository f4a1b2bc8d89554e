// Looks at seeds in the controller: who gets more, that a look is taken once whatever ends the
// controller, and what people are told.
#include "daemon/state/seed_looks.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "daemon/controller/fault.h"
#include "daemon/state/actions.h"
#include "daemon/state/events.h"
#include "db/analysis/compare.h"
#include "jobspec/record_text.h"
#include "tests/daemon/events.h"
#include "tests/daemon/world.h"

namespace thalweg::daemon {
namespace {

using test::FakeJob;
using test::Killed;
using test::World;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = Action::Kind;

nlohmann::json shape_of(int count) {
  nlohmann::json shape = resources_json(jobspec::Resources());
  shape["count"] = count;
  return shape;
}

struct LookLog {
  test::Log log;

  LookLog() {
    log("submitted", "1",
        {{"backend", "fake"},
         {"limits", {{"max_nodes_in_flight", 64}, {"node_hours", 0}, {"max_retries", 2}}},
         {"seed_plan", {{"looks", {2, 3, 4}}, {"rows", 3}}},
         {"shapes", {shape_of(6)}}});
  }
  const SweepState& sweep() const { return log.state.sweeps.at(1); }
  void finish(int first, int last) {
    for (int trial = first; trial <= last; ++trial) {
      log.running(fmt::format("1.{}.1", trial)).ended(fmt::format("1.{}.1", trial), "finished", 9);
      log("trial_ended", fmt::format("1.{}", trial), {{"state", "finished"}});
    }
  }
  void look(int number, const nlohmann::json& closed, const std::string& over, int added) {
    nlohmann::json data{{"look", number}, {"closed", closed}, {"over", over}};
    if (added > 0) data["shapes"] = {shape_of(added)};
    log("seed_look", "1", data);
  }
  std::vector<Action> plan() const { return actions(log.state, Facts{2000, {}}).actions; }
};

const nlohmann::json kSecondIsWorse = nlohmann::json::array(
    {{{"configuration", 2}, {"best", 1}, {"p", 0.001}, {"reason", "configuration 2 is worse"}}});

TEST(SeedLooksState, ALookIsDueWhenAllHaveEndedAndTheSweepGoesOn) {
  LookLog looks;
  looks.finish(1, 5);
  EXPECT_FALSE(due_look(looks.sweep()));
  EXPECT_EQ(max_trials(looks.sweep()), 12);
  looks.finish(6, 6);
  EXPECT_EQ(due_look(looks.sweep()), 1);
  ASSERT_THAT(looks.plan(), SizeIs(1));
  EXPECT_EQ(looks.plan()[0].kind, Kind::look) << "and the sweep does not end";
  looks.look(1, kSecondIsWorse, "", 2);
  EXPECT_FALSE(due_look(looks.sweep()));
  EXPECT_EQ(looks.plan()[0].kind, Kind::launch);
  EXPECT_EQ(max_trials(looks.sweep()), 10) << "two configurations, one seed more at most";
  EXPECT_THAT(describe_looks(looks.sweep()),
              ElementsAre("1 of 3 looks taken, 1 of 3 configurations closed; the next "
                          "when all have 3 seeds; 10 trials at most",
                          "configuration 2 is worse"));
  looks.finish(7, 8);
  looks.look(2, nlohmann::json::array(), "that was the last", 0);
  EXPECT_EQ(looks.plan()[0].kind, Kind::end_sweep);
  EXPECT_EQ(max_trials(looks.sweep()), 8);
}

TEST(SeedLooksState, ACancelledSweepTakesNoneAndOneThatIsTriedAgainDoes) {
  LookLog looks;
  looks.finish(1, 5);
  looks.log("cancel_requested", "1");
  looks.log("trial_ended", "1.6", {{"state", "cancelled"}});
  EXPECT_FALSE(due_look(looks.sweep()));
  EXPECT_EQ(looks.plan()[0].kind, Kind::end_sweep);
  looks.log("sweep_ended", "1", {{"state", "cancelled"}});
  EXPECT_THAT(describe_looks(looks.sweep())[0], HasSubstr("the sweep ended before the next"));
  looks.log("retry_requested", "1.6");
  looks.finish(6, 6);
  EXPECT_EQ(due_look(looks.sweep()), 1);
}

TEST(SeedLooksState, ALookThatIsNotDueCannotBeInTheLog) {
  LookLog looks;
  EXPECT_THROW(looks.look(1, nlohmann::json::array(), "", 0), std::runtime_error);
  looks.finish(1, 6);
  EXPECT_THROW(looks.look(2, nlohmann::json::array(), "", 0), std::runtime_error);
}

/// Three configurations whose programs say 1, 1.05 and 2, plus what the seed adds.
struct LookWorld {
  World world;
  double worst = 2;
  double later = 0;  ///< what the first two lose after seed 6
  jobspec::SeedPlan plan{{6, 8, 10}, 3};
  std::int64_t id = 0;

  LookWorld() {
    world.cluster.steps = 1;
    world.cluster.on_step = [this](FakeJob& job) { report(job); };
  }
  void report(FakeJob& job) const {
    const jobspec::Trial trial = jobspec::read_trial(job.folder / "trial.yaml");
    const double row = trial.train.find("row")->as_double();
    const auto seed = static_cast<double>(trial.seed);
    // No order of seeds, and none is like another.
    const double noise = 0.1 * std::sin(7 * seed + 3 * row);
    test::write_line(
        job, fmt::format("\"type\":\"metrics\",\"points\":[[\"score\",{},{}]]", job.step,
                         (row < 3 ? 1 + 0.01 * row + (seed > 6 ? later : 0) : worst) + noise));
  }
  jobspec::Expansion expansion() const {
    jobspec::Expansion all;
    all.seed_plan = plan;
    for (int row = 1; row <= 3; ++row)
      for (std::uint64_t seed = 1; seed <= 6; ++seed) {
        jobspec::ExpandedTrial trial;
        trial.number = static_cast<std::int64_t>(all.trials.size()) + 1;
        trial.configuration = row;
        trial.seed = seed;
        trial.train = jobspec::Map{{"steps", 1}, {"row", 1.0 * row}};
        trial.parameters = jobspec::Map{{"row", row}};
        trial.hash = fmt::format("{:032}", row);
        all.trials.push_back(trial);
      }
    return all;
  }
  void submit() {
    jobspec::Sweep sweep = test::sweep_of(6, 1);
    sweep.metric.name = "score";
    World::Life life(world);
    id = life.controller->submit(sweep, expansion(), "name: test", "test.yaml", "fake", "me").id;
  }
  /// "1:10" for configuration 1 with 10 seeds.
  std::vector<std::string> seeds() {
    World::Life life(world);
    std::map<std::int64_t, std::set<std::uint64_t>> found;
    for (const db::TrialRow& row : life.store->trials(id)) {
      EXPECT_EQ(row.state, TrialPhase::finished) << row.id.to_string();
      EXPECT_TRUE(found[row.configuration].insert(row.seed).second) << row.id.to_string();
    }
    std::vector<std::string> text;
    for (const auto& [configuration, of_it] : found)
      text.push_back(fmt::format("{}:{}", configuration, of_it.size()));
    return text;
  }
  std::vector<event::SeedLook> looks() {
    World::Life life(world);
    std::vector<event::SeedLook> found;
    for (const db::Event& event : life.store->events_of({id, 0, 0}))
      if (is<event::SeedLook>(event))
        found.push_back(from_json<event::SeedLook>(nlohmann::json::parse(event.data)));
    return found;
  }
};

TEST(SeedLooksController, OnlyWhatMayStillBeTheBestGetsMoreSeeds) {
  LookWorld looks;
  looks.submit();
  ASSERT_TRUE(looks.world.run_to_the_end());
  EXPECT_THAT(looks.seeds(), ElementsAre("1:10", "2:10", "3:6"));
  const auto taken = looks.looks();
  ASSERT_THAT(taken, SizeIs(3));
  ASSERT_THAT(taken[0].closed, SizeIs(1));
  EXPECT_THAT(taken[0].closed[0].reason,
              AllOf(HasSubstr("configuration 3 (row=3) got no more seeds after look 1 of 3 (6 "
                              "seeds): worse than configuration"),
                    HasSubstr("in score, p=0.0022 (at most 0.0056)")));
  EXPECT_EQ(taken[2].over, "that was the last");
  World::Life life(looks.world);
  const auto comparison = db::analysis::compare(*life.store, looks.id);
  ASSERT_THAT(comparison.rows, SizeIs(3));
  EXPECT_EQ(comparison.rows[2].verdict, "worse (p=0.019)") << "2 / 924 times 9";
  EXPECT_THAT(comparison.rows[1].verdict, HasSubstr("no clear difference"));
  EXPECT_THAT(comparison.notes,
              Contains(HasSubstr("at the looks after 6, 8 and 10 seeds (3 of 3 taken)")));
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("configuration 3 (row=3) got no more seeds")));
  const SweepView view = life.controller->view(looks.id);
  EXPECT_THAT(view.looks[0], HasSubstr("3 of 3 looks taken, 1 of 3 configurations"));
}

TEST(SeedLooksController, WhatWasClosedComesLastWhateverItsMedian) {
  LookWorld looks;
  looks.plan.looks = {6, 8, 14};
  looks.later = 5;
  looks.submit();
  ASSERT_TRUE(looks.world.run_to_the_end());
  EXPECT_THAT(looks.seeds(), ElementsAre("1:14", "2:14", "3:6"));
  World::Life life(looks.world);
  const auto comparison = db::analysis::compare(*life.store, looks.id);
  ASSERT_THAT(comparison.rows, SizeIs(3));
  EXPECT_LT(comparison.rows[2].best.median, comparison.rows[0].best.median);
  EXPECT_EQ(comparison.rows[2].rank, 3);
  EXPECT_EQ(comparison.rows[2].verdict, "worse (p=0.019)");
}

TEST(SeedLooksController, OfRowsOfSeveralConfigurationsTheFirstSeedsCount) {
  LookWorld looks;
  looks.submit();
  ASSERT_TRUE(looks.world.run_to_the_end());
  World::Life life(looks.world);
  db::analysis::CompareOptions options;
  options.best_over = {"row"};
  const auto comparison = db::analysis::compare(*life.store, looks.id, options);
  EXPECT_THAT(comparison.notes, Contains(HasSubstr("only the seeds 1 to 6 count")));
  ASSERT_THAT(comparison.rows, SizeIs(1));
  EXPECT_THAT(comparison.choosing, ElementsAre(1, 2));
  EXPECT_THAT(comparison.judging, ElementsAre(3, 4, 5, 6));
}

TEST(SeedLooksController, OneThatIsLeftEndsTheSweep) {
  LookWorld looks;
  looks.world.cluster.on_step = [&](FakeJob& job) {
    const jobspec::Trial trial = jobspec::read_trial(job.folder / "trial.yaml");
    test::write_line(
        job,
        fmt::format("\"type\":\"metrics\",\"points\":[[\"score\",{},{}]]", job.step,
                    10 * trial.train.find("row")->as_double() + static_cast<double>(trial.seed)));
  };
  looks.submit();
  ASSERT_TRUE(looks.world.run_to_the_end());
  EXPECT_THAT(looks.seeds(), ElementsAre("1:6", "2:6", "3:6"));
  EXPECT_EQ(looks.looks().at(0).over, "at most one configuration is left");
}

TEST(SeedLooksController, SeedsThatChangeNothingGetNoMore) {
  LookWorld looks;
  looks.world.cluster.on_step = [](FakeJob& job) {
    test::write_line(job, "\"type\":\"metrics\",\"points\":[[\"score\",1,0.5]]");
  };
  looks.submit();
  ASSERT_TRUE(looks.world.run_to_the_end());
  EXPECT_THAT(looks.seeds(), ElementsAre("1:6", "2:6", "3:6"));
  EXPECT_THAT(looks.looks().at(0).over, HasSubstr("repetitions of one run"));
  EXPECT_THAT(looks.looks().at(0).closed, IsEmpty());
}

class SeedLookKilledAt : public testing::TestWithParam<std::string> {};

/// The controller dies at the first two looks; what trials said changes meanwhile, and a look that
/// is in the record stays as it is.
TEST_P(SeedLookKilledAt, ALookIsTakenOnce) {
  LookWorld looks;
  looks.submit();
  int kills = 0;
  fault::set_handler([&](std::string_view point) {
    if (point != GetParam() || kills >= 2) return;
    ++kills;
    if (GetParam() == "after_look") looks.worst = 0;  // of seeds that nobody runs
    throw Killed{};
  });
  const bool ended = looks.world.run_to_the_end();
  fault::set_handler({});
  ASSERT_TRUE(ended);
  EXPECT_EQ(kills, 2);
  EXPECT_THAT(looks.seeds(), ElementsAre("1:10", "2:10", "3:6"));
  const auto taken = looks.looks();
  ASSERT_THAT(taken, SizeIs(3));
  for (std::size_t i = 0; i < taken.size(); ++i)
    EXPECT_EQ(taken[i].look, static_cast<std::int64_t>(i + 1));
}

INSTANTIATE_TEST_SUITE_P(Points, SeedLookKilledAt, testing::Values("in_look", "after_look"),
                         [](const auto& test) { return test.param; });

TEST(SeedLooksController, ARetryAfterALookChangesNoLook) {
  LookWorld looks;
  looks.submit();
  ASSERT_TRUE(looks.world.run_to_the_end());
  {
    World::Life life(looks.world);
    looks.worst = 0;
    life.controller->retry({looks.id, 13, 0}, {TrialPhase::finished}, "me");
  }
  ASSERT_TRUE(looks.world.run_to_the_end());
  EXPECT_THAT(looks.seeds(), ElementsAre("1:10", "2:10", "3:6"));
  EXPECT_THAT(looks.looks(), SizeIs(3));
}

}  // namespace
}  // namespace thalweg::daemon
