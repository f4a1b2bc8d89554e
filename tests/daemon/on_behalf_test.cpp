// Sweeps of several users in one controller: each attempt is made, run and ended on behalf of the
// sweep's owner, and somebody else's job with its token is none of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "daemon/api/file.h"
#include "daemon/controller/folder.h"
#include "daemon/state/events.h"
#include "tests/daemon/world.h"
#include "tests/support/fuzz.h"

namespace thalweg::daemon {
namespace {

using test::World;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Owner alice{1001, 1001, "alice", "alices-grant"}, bob{1002, 1002, "bob", "bobs-grant"};

struct OnBehalf : testing::Test {
  World world;
  std::unique_ptr<World::Life> life;

  void SetUp() override {
    world.cluster.script = "#!/bin/sh\n";
    begin();
  }
  void begin() {
    life.reset();
    life = std::make_unique<World::Life>(world);
  }
  std::int64_t submitted(const Owner& owner, int trials = 1) {
    return test::submit(*life->controller, test::sweep_of(trials), owner);
  }
  SweepPhase phase(std::int64_t sweep) const {
    return life->controller->state().sweeps.at(sweep).phase;
  }
  bool ended(std::int64_t sweep) {
    return life->run_until([&] { return phase(sweep) != SweepPhase::active; });
  }
  std::filesystem::path runs() const { return world.home().runs(); }
};

TEST_F(OnBehalf, EachAttemptIsItsOwners) {
  const auto hers = submitted(alice), his = submitted(bob);
  ASSERT_TRUE(ended(hers));
  ASSERT_TRUE(ended(his));
  EXPECT_EQ(phase(hers), SweepPhase::finished);
  std::map<std::string, std::vector<std::string>> asked;
  for (const std::string& line : world.cluster.on_behalf)
    asked[line.substr(line.find(' ') + 1)].push_back(line.substr(0, line.find(' ')));
  EXPECT_THAT(asked["1001 alices-grant"], ElementsAre("prepare", "submit", "release"));
  EXPECT_THAT(asked["1002 bobs-grant"], ElementsAre("prepare", "submit", "release"));
  EXPECT_EQ(asked.size(), 2u);
  const auto folder = runs() / std::to_string(hers) / "1";
  for (const auto& one : {folder, folder.parent_path()}) {
    struct stat info {};
    ASSERT_EQ(stat(one.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777, 02771u) << one;
  }
  EXPECT_THAT(test::read_file(folder / "1/trial.yaml"), HasSubstr("push_secret"));
  EXPECT_EQ(test::read_file(folder / "1/batch.sh"), "#!/bin/sh\n");
}

TEST_F(OnBehalf, SurvivesTheController) {
  const auto hers = submitted(alice);
  world.cluster.steps = 1'000'000;
  ASSERT_TRUE(life->run_until([&] { return world.cluster.jobs.size() == 1; }));
  begin();
  EXPECT_EQ(life->controller->state().sweeps.at(hers).owner.value().user, "alice");
  world.cluster.on_behalf.clear();
  life->controller->cancel({hers, 0, 0}, "an operator");
  ASSERT_TRUE(ended(hers));
  // Whoever asked for it: it is done as the owner.
  EXPECT_THAT(world.cluster.on_behalf, Contains("cancel 1001 alices-grant"));
  EXPECT_THAT(world.cluster.on_behalf, Each(HasSubstr(" 1001 alices-grant")));
}

TEST_F(OnBehalf, AFolderThatCannotBeMadeIsTriedAgainOrRefused) {
  int tries = 0;
  world.cluster.on_prepare = [&](const LaunchRequest&) {
    return ++tries == 1 ? Preparation{false, true, "disk full"} : Preparation{true, false, ""};
  };
  const auto later = submitted(alice);
  ASSERT_TRUE(ended(later));
  EXPECT_EQ(phase(later), SweepPhase::finished);
  EXPECT_EQ(tries, 2);
  world.cluster.on_prepare = [](const LaunchRequest&) {
    return Preparation{false, false, "the grant has expired"};
  };
  const std::size_t before = world.cluster.jobs.size();
  const auto refused = submitted(bob);
  ASSERT_TRUE(ended(refused));
  EXPECT_EQ(phase(refused), SweepPhase::failed);
  EXPECT_EQ(world.cluster.jobs.size(), before) << "a job without its folder";
  const auto row = life->store->attempt({refused, 1, 1});
  ASSERT_TRUE(row);
  EXPECT_EQ(row->reason, "the grant has expired");
}

// Between intent and handle an attempt is known by its token alone, which anybody can read.
TEST_F(OnBehalf, AForgedJobIsNeitherAdoptedNorEnded) {
  world.cluster.steps = 3;
  std::string token;
  world.cluster.on_submit = [&](const LaunchRequest& request) {
    token = request.token;
    test::FakeJob& forged = world.cluster.jobs["7"];
    forged.handle = "7";
    forged.token = token;
    forged.folder = world.dir.path() / "elsewhere";
    forged.id = request.id;
    forged.user = 1666;
    return token.empty() ? SubmitOutcome::refused : SubmitOutcome::unknown;
  };
  const auto hers = submitted(alice);
  ASSERT_TRUE(ended(hers));
  EXPECT_EQ(phase(hers), SweepPhase::finished);
  EXPECT_EQ(life->store->attempt({hers, 1, 1})->handle, "100");
  const test::FakeJob& forged = world.cluster.jobs.at("7");
  EXPECT_EQ(forged.phase, JobPhase::held);
  EXPECT_EQ(forged.runs, 0);
  EXPECT_EQ(forged.cancels, 0);
}

TEST_F(OnBehalf, TheGrantIsNotShownAndIsTakenBackWithTheSweep) {
  const auto hers = submitted(alice);
  ASSERT_TRUE(ended(hers));
  const auto shown =
      life->store->query("SELECT data FROM events WHERE kind = 'submitted'", 10, 10, {});
  ASSERT_EQ(shown.rows.size(), 1u);
  EXPECT_THAT(shown.rows[0][0].as_string(),
              AllOf(HasSubstr("\"user\":\"alice\""), Not(HasSubstr("alices-grant"))));
  life->controller->remove(hers, "alice");
  EXPECT_TRUE(life->run_until([&] { return life->controller->state().sweeps.count(hers) == 0; }));
  EXPECT_EQ(world.cluster.on_behalf.back(), "revoke alices-grant");
}

// What is in an attempt's folder is its user's; what it leads to may be another one's.
TEST_F(OnBehalf, LinksAndPipesInAnAttemptsFolderAreNotFollowed) {
  const auto hers = submitted(alice), his = submitted(bob);
  world.cluster.steps = 1'000'000;
  ASSERT_TRUE(life->run_until([&] {
    return life->controller->state().sweeps.at(hers).live.count(1) != 0 &&
           std::filesystem::exists(runs() / std::to_string(hers) / "1/1/trial.yaml") &&
           std::filesystem::exists(runs() / std::to_string(his) / "1/1/journal.jsonl");
  }));
  life.reset();
  const auto folder = runs() / std::to_string(hers) / "1/1";
  const auto secret = world.dir.path() / "secret";
  test::write_file(secret, R"({"reason": "secret", "rank": 0, "time": 1})"
                           "\n");
  std::filesystem::remove(folder / "journal.jsonl");
  std::filesystem::create_symlink(runs() / std::to_string(his) / "1/1/journal.jsonl",
                                  folder / "journal.jsonl");
  std::filesystem::create_symlink(secret, folder / "failure.rank-0.json");
  std::filesystem::create_symlink(secret, folder / "stderr.log");
  EXPECT_EQ(stderr_words(folder).last, "");
  EXPECT_TRUE(read_failures(folder).empty());
  EXPECT_FALSE(api::open_regular(folder / "journal.jsonl"));
  EXPECT_TRUE(api::open_regular(secret));
  const auto pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_FALSE(api::open_regular(pipe));  // and does not wait
  EXPECT_FALSE(api::open_regular(folder));
  // Bob's measurements do not become hers.
  world.cluster.job_of(std::to_string(hers) + ".1.1")->phase = JobPhase::held;
  begin();
  const auto points = [&](std::int64_t sweep) {
    return life->store->query("SELECT count(*) FROM metrics WHERE sweep = ?", 1, 10, {sweep})
        .rows.at(0)
        .at(0)
        .as_int();
  };
  const auto before = points(hers), others = points(his);
  ASSERT_TRUE(life->run_until([&] { return points(his) > others + 10; }));
  EXPECT_EQ(points(hers), before);
}

/// Alice stops the processes that work as her.
TEST_F(OnBehalf, AUserWhoseCallsHangKeepsNobodyElseWaiting) {
  world.options = [](ControllerOptions& options) { options.calls_s = 0.02; };
  world.cluster.call_s = [](std::uint32_t uid) { return uid == alice.uid ? 3600.0 : 0; };
  begin();
  const auto hers = submitted(alice, 3), his = submitted(bob, 3);
  ASSERT_TRUE(ended(his));
  EXPECT_EQ(phase(his), SweepPhase::finished);
  const auto later = submitted(bob);
  ASSERT_TRUE(ended(later));
  EXPECT_EQ(phase(hers), SweepPhase::active);
  EXPECT_EQ(std::count_if(world.cluster.on_behalf.begin(), world.cluster.on_behalf.end(),
                          [](const std::string& line) { return line.find("1001") != line.npos; }),
            1)
      << "one call at a time";
  // With the next controller, as after their time limit.
  world.cluster.call_s = {};
  begin();
  ASSERT_TRUE(ended(hers));
  EXPECT_EQ(phase(hers), SweepPhase::finished);
}

/// Calls of several users that take any time and end in any way, looks while they are under way,
/// cancels and controllers that end: nothing runs twice, and nothing is left.
TEST_F(OnBehalf, HoweverLongCallsTakeEachAttemptRunsOnce) {
  test::fuzz(6, [&](int, std::mt19937& random) {
    World one;
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const double patience = below(2) == 0 ? 0.001 : 0.01;
    one.options = [&](ControllerOptions& options) {
      options.calls_s = patience;
      options.ingest_s = 0.002;
    };
    one.cluster.call_s = [&](std::uint32_t) { return below(3) == 0 ? 0 : 0.001 * below(20); };
    one.cluster.on_submit = [&](const LaunchRequest&) {
      const auto dice = below(8);
      return dice == 0   ? SubmitOutcome::unknown
             : dice == 1 ? SubmitOutcome::retry_later
                         : SubmitOutcome::accepted;
    };
    const Owner users[] = {alice, bob, {1003, 1003, "carol", "carols-grant"}};
    auto running = std::make_unique<World::Life>(one);
    std::vector<std::int64_t> sweeps;
    for (int i = 1 + below(4); i > 0; --i)
      sweeps.push_back(test::submit(*running->controller, test::sweep_of(1 + below(3)),
                                    test::one_of(users, random)));
    const auto all_ended = [&] {
      return std::all_of(sweeps.begin(), sweeps.end(), [&](std::int64_t id) {
        return running->controller->state().sweeps.at(id).phase != SweepPhase::active;
      });
    };
    for (int turns = below(6); turns > 0; --turns) {
      const int looks = one.cluster.looks + below(12);
      running->run_until([&] { return one.cluster.looks > looks || all_ended(); });
      if (below(2) == 0)
        running->controller->cancel({test::one_of(sweeps, random), below(2), 0}, "me");
      if (below(3) != 0) continue;
      running.reset();
      one.cluster.calling.clear();
      running = std::make_unique<World::Life>(one);
    }
    one.cluster.on_submit = {};
    ASSERT_TRUE(running->run_until(all_ended));
    const auto left = [&] {
      return std::any_of(one.cluster.jobs.begin(), one.cluster.jobs.end(), [](const auto& job) {
        return !job.second.token.empty() && job.second.phase != JobPhase::ended;
      });
    };
    EXPECT_TRUE(running->run_until([&] { return !left(); })) << "a job of nobody's";
    EXPECT_LE(one.cluster.max_calling, 1);
    std::set<std::string> ran;
    for (const auto& [handle, job] : one.cluster.jobs) {
      EXPECT_LE(job.runs, 1) << handle;
      if (job.runs > 0) {
        EXPECT_TRUE(ran.insert(job.id.to_string()).second) << job.id.to_string() << " ran twice";
      }
    }
    for (const std::int64_t id : sweeps)
      for (const auto& row : running->store->trials(id))
        if (row.state == TrialPhase::finished) {
          EXPECT_EQ(row.attempts, 1) << row.id.to_string();
        }
  });
}

TEST_F(OnBehalf, WithoutAnOwnerNothingIsAskedForAnybody) {
  const auto own = test::submit(*life->controller, test::sweep_of(1));
  ASSERT_TRUE(ended(own));
  EXPECT_EQ(phase(own), SweepPhase::finished);
  EXPECT_THAT(world.cluster.on_behalf, ElementsAre());
}

}  // namespace
}  // namespace thalweg::daemon
