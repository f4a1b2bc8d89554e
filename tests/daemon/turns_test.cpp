// One user floods the controller; the others are answered all the same. Told by turns and answers
// alone, since the machine may be as slow as it likes.
#include "daemon/server/turns.h"

#include <gmock/gmock.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <random>
#include <set>

#include "daemon/server/submission.h"
#include "tests/daemon/site_fixture.h"
#include "tests/support/fuzz.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;

/// Somebody who asks once, from joining the line to the end of his turn.
struct Asker {
  uid_t user = 0;
  std::map<uid_t, int> turns_before;  ///< of each other user, that began while he waited
  int own_before = 0;                 ///< of his own, the same
  bool waits = false;
};

struct TurnsTest : testing::Test {
  boost::asio::io_context io{1};
  Turns turns{io.get_executor(), 1000};
  std::vector<std::shared_ptr<Asker>> askers;
  std::size_t served = 0;

  boost::asio::awaitable<void> ask(std::shared_ptr<Asker> asker, int steps) {
    asker->waits = true;
    const auto turn = co_await turns.take(asker->user);
    asker->waits = false;
    ++served;
    for (const auto& other : askers) {
      if (!other->waits) continue;
      if (other->user == asker->user)
        ++other->own_before;
      else
        ++other->turns_before[asker->user];
    }
    for (int i = 0; i < steps; ++i)
      co_await boost::asio::post(io, boost::asio::use_awaitable);
  }
  void begin(uid_t user, int steps = 1) {
    askers.push_back(std::make_shared<Asker>(Asker{user, {}, 0, false}));
    boost::asio::co_spawn(io, ask(askers.back(), steps), boost::asio::detached);
  }
};

TEST_F(TurnsTest, WorkInTheBackgroundLetsTheControllerGoFirst) {
  Worker normal(io.get_executor()), background(io.get_executor(), Worker::Priority::background);
  const auto priority = [&](Worker& worker) {
    int found = -1;
    auto ask = [] { return getpriority(PRIO_PROCESS, 0); };
    auto all = [&]() -> boost::asio::awaitable<void> { found = co_await worker.run(ask); };
    boost::asio::co_spawn(io, all, boost::asio::detached);
    io.restart();
    io.run();
    return found;
  };
  const int own = getpriority(PRIO_PROCESS, 0);
  EXPECT_EQ(priority(normal), own);
  EXPECT_EQ(priority(background), std::max(own, 10));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), own);
}

TEST_F(TurnsTest, NobodyIsServedTwiceBeforeAnother) {
  test::fuzz(200, [&](int, std::mt19937& random) {
    askers.clear();
    const uid_t users = 2 + random() % 4;
    for (int i = 0; i < 60; ++i) {
      // One of them asks far more than all others.
      begin(random() % 3 == 0 ? static_cast<uid_t>(random() % users) : 0,
            static_cast<int>(random() % 3));
      for (std::size_t some = random() % 4; some > 0; --some)
        io.poll_one();
      io.restart();
    }
    io.run();
    io.restart();
    EXPECT_EQ(std::exchange(served, 0), askers.size());
    for (const auto& asker : askers) {
      for (const auto& [other, count] : asker->turns_before)
        EXPECT_LE(count, asker->own_before + 2) << "of user " << other;  // one is under way
    }
    EXPECT_EQ(turns.waiting(), 0u);
  });
}

TEST_F(TurnsTest, AnEndThatIsAnExceptionIsAnEnd) {
  const auto fails = [&]() -> boost::asio::awaitable<void> {
    const auto turn = co_await turns.take(1);
    throw std::runtime_error("no");
  };
  for (int i = 0; i < 2; ++i)
    boost::asio::co_spawn(io, fails, [](std::exception_ptr thrown) { EXPECT_TRUE(thrown); });
  io.run();
  EXPECT_EQ(turns.begun(), 2);
}

TEST(TurnsTime, IsOverOnlyWhereOthersWait) {
  boost::asio::io_context io{1};
  Turns turns(io.get_executor(), 0);
  std::vector<bool> over;
  const auto work = [&](uid_t user) -> boost::asio::awaitable<void> {
    const auto turn = co_await turns.take(user);
    for (int i = 0; i < 3; ++i)
      co_await boost::asio::post(io, boost::asio::use_awaitable);
    over.push_back(turn->time()->over());
  };
  const auto end = [&](std::initializer_list<uid_t> users) {
    for (const uid_t user : users)
      boost::asio::co_spawn(io, work(user), boost::asio::detached);
    io.run();
    io.restart();
    return std::exchange(over, {});
  };
  EXPECT_EQ(end({1}), (std::vector<bool>{false}));
  EXPECT_EQ(end({1, 1, 1}), (std::vector<bool>{false, false, false})) << "his own do not hurry him";
  EXPECT_EQ(end({1, 2}), (std::vector<bool>{true, false}));
  EXPECT_EQ(end({1, 1, 2}), (std::vector<bool>{true, true, false}));
}

class FloodTest : public SiteTest {
 protected:
  static constexpr uid_t mallory = 61666;

  boost::asio::awaitable<Answer> one_of_flood(Request request) {
    Answer answer = co_await answer_to(running->app(), std::move(request));
    ++answered;
    co_return answer;
  }
  /// Asks all at once, before any is begun with.
  void flood(int count, const std::string& method, const std::string& target,
             const json& body = {}) {
    running->there([&] {
      for (int i = 0; i < count; ++i)
        flooded.push_back(boost::asio::co_spawn(
            running->executor(), one_of_flood(request_of(mallory, method, target, body)),
            boost::asio::use_future));
      return 0;
    });
    // What a thread posts to itself may come after what others post in the same moment.
    running->there([] { return 0; });
  }
  struct Served {
    Answer answer;
    int flood_answered = 0;  ///< of the flood, before it
    std::int64_t turns = 0;  ///< of anybody that began on the way to it
  };
  /// The question of somebody else after the flood.
  template <class Shared>
  Served served(const Shared& shared, const std::string& method, const std::string& target,
                const json& body = {}) {
    const auto one = [&](Request request) -> boost::asio::awaitable<Served> {
      const std::int64_t before = shared.turns().begun();
      Served result;
      result.answer = co_await answer_to(running->app(), std::move(request));
      result.flood_answered = answered;
      result.turns = shared.turns().begun() - before;
      co_return result;
    };
    Served result =
        boost::asio::co_spawn(running->executor(), one(request_of(bob, method, target, body)),
                              boost::asio::use_future)
            .get();
    EXPECT_EQ(result.answer.status, 200) << result.answer.text;
    return result;
  }
  void all_are_answered() {
    for (auto& answer : flooded)
      EXPECT_EQ(answer.get().status, 200);
  }

  int answered = 0;  ///< of the flood; used on the controller's thread
  std::vector<std::future<Answer>> flooded;

  static json dry_run_of(int trials) {
    const std::string text = "name: many\nmethod: grid\nseeds: " + std::to_string(trials) +
                             "\nparameters:\n  optimizer.lr: {values: [0.1]}\ntrain: {steps: 4}\n";
    return {{"text", text}, {"file_name", "s.yaml"}, {"dry_run", true}, {"checked", true}};
  }
};

TEST_F(FloodTest, DryRunsOfOneUserHoldUpNobody) {
  flood(40, "POST", "/v1/sweeps", dry_run_of(500));
  const Served his_own = served(running->app().parsing, "POST", "/v1/sweeps", dry_run_of(2));
  EXPECT_LE(his_own.turns, 12) << "of more than 80";
  EXPECT_LE(his_own.flood_answered, 4);
  all_are_answered();
}

TEST_F(FloodTest, ListsOfOneUserHoldUpNobody) {
  flood(300, "GET", "/v1/sweeps");
  const Served his_own = served(running->app().reader, "GET", "/v1/sweeps");
  EXPECT_LE(his_own.turns, 3);
  EXPECT_LE(his_own.flood_answered, 3);
  all_are_answered();
}

TEST_F(FloodTest, ImportsOfOneUserHoldUpNobody) {
  const json part{{"name", "old"},
                  {"metric", "loss"},
                  {"trials", {{{"parameters", {{"lr", 0.1}}}}}},
                  {"curves", {{{"trial", 1}, {"metric", "loss"}, {"points", {{1, 0.5, 0}}}}}}};
  flood(40, "POST", "/v1/import", part);
  const Served his_own = served(running->app().parsing, "POST", "/v1/import", part);
  EXPECT_LE(his_own.turns, 3);
  EXPECT_LE(his_own.flood_answered, 3);
  all_are_answered();
}

/// It would take as long as it may, and does not while others wait.
TEST_F(FloodTest, AnEndlessQueryIsStoppedWhenOthersWait) {
  running->there([&] { return running->config().query_s = 90; });
  const json endless{{"sql",
                      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                      "SELECT count(*) FROM n"}};
  flood(1, "POST", "/v1/query", endless);
  served(running->app().queries, "POST", "/v1/query", {{"sql", "SELECT count(*) FROM sweeps"}});
  const Answer stopped = flooded.front().get();
  EXPECT_EQ(stopped.status, 503);
  EXPECT_THAT(stopped.text, HasSubstr("since others wait"));
  EXPECT_THAT(stopped.text, testing::Not(HasSubstr("after 90")));
}

TEST_F(FloodTest, AnEndlessGridIsGivenUpWhenOthersWait) {
  std::string text = "name: endless\nmethod: grid\nparameters:\n  optimizer.lr: {values: [";
  for (int i = 1; i <= 3000; ++i)
    text += std::to_string(i) + "e-6, ";
  text += "1]}\n  steps: {distribution: int_uniform, min: 1, max: 3000}\n";
  text += "constraint: optimizer.lr";
  for (int i = 0; i < 100; ++i)
    text += " + optimizer.lr * steps";
  text += " == -1\ntrain: {steps: 4}\n";
  json body = dry_run_of(1);
  body["text"] = text;
  flood(2, "POST", "/v1/sweeps", body);
  served(running->app().parsing, "POST", "/v1/sweeps", dry_run_of(2));
  const Answer given_up = flooded.front().get();
  EXPECT_EQ(given_up.status, 503) << given_up.text;
  EXPECT_THAT(given_up.text, HasSubstr("other users are waiting"));
}

TEST(ParseInTime, IsGivenUpOnceTheTimeIsOver) {
  const auto schema = jobspec::Schema::from_json(
      test::read_file(std::string(THALWEG_SOURCE_DIR) + "/tests/daemon/support/schema.json"));
  const auto parse = [&](int values) {
    std::string text = "name: x\nmethod: grid\nparameters: {optimizer.lr: {values: [";
    for (int i = 1; i <= values; ++i)
      text += std::to_string(i) + "e-6, ";
    text += "1]}}\ntrain: {steps: 4}\n";
    ParsedSweep parsed;
    parsed.sweep = jobspec::parse_sweep(text, "s.yaml", schema, {});
    parsed.expansion = jobspec::expand(parsed.sweep, schema);
    return parsed;
  };
  Turns::Time time(0);
  const auto trials = [&](int values) {
    return parse_in_time(time, [&] { return parse(values); }).expansion.trials.size();
  };
  EXPECT_EQ(trials(2000), 2001u);
  time.others_wait();
  EXPECT_EQ(trials(5), 6u) << "what is quick is done";
  try {
    trials(2000);
    ADD_FAILURE();
  } catch (const HttpError& error) {
    EXPECT_EQ(error.status, 503);
  }
  EXPECT_EQ(parse(2000).expansion.trials.size(), 2001u) << "outside of it nobody asks";
}

}  // namespace
}  // namespace thalweg::daemon
