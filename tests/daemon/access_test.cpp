// One controller, several users: what somebody may not see is not there for him, whatever he asks.
#include "daemon/server/access.h"
#include "base/clock.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <random>
#include <set>

#include "daemon/controller/log.h"
#include "daemon/server/user_limits.h"
#include "tests/daemon/site_fixture.h"
#include "tests/support/fuzz.h"

namespace thalweg::daemon {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class AccessTest : public SiteTest {
 protected:
  /// Every endpoint that takes a sweep, a trial or an attempt, asked about this sweep.
  std::vector<std::tuple<std::string, std::string, json>> questions(std::int64_t sweep) {
    const std::string id = std::to_string(sweep), own = std::to_string(his);
    return {{"GET", "/v1/sweeps/" + id, {}},
            {"GET", "/v1/sweeps/" + id + "/compare", {}},
            {"GET", "/v1/sweeps/" + own + "/compare?also=" + id, {}},
            {"GET", "/v1/sweeps/" + id + "/curves", {}},
            {"GET", "/v1/sweeps/" + own + "/curves?trials=" + "9", {}},
            {"GET", "/v1/studies/importance?sweeps=" + id, {}},
            {"GET", "/v1/sweeps/" + id + "/size", {}},
            {"GET", "/v1/sparklines?sweeps=" + own + "," + id, {}},
            {"GET", "/v1/warnings?sweeps=" + own + "," + id, {}},
            {"GET", "/v1/trials/" + id + ".1", {}},
            {"GET", "/v1/trials/" + id + ".1/curve", {}},
            {"GET", "/v1/studies/timeline?trials=" + id + ".1", {}},
            {"GET", "/v1/attempts/" + id + ".1.1", {}},
            {"GET", "/v1/attempts/" + id + ".1.1/log", {}},
            {"GET", "/v1/studies/batch?sweeps=" + id, {}},
            {"GET", "/v1/studies/scaling?sweeps=" + id, {}},
            {"GET", "/v1/studies/predict?nodes=1&trials=" + id, {}},
            {"GET", "/v1/studies/predict?nodes=1&trials=" + id + ".1", {}},
            {"GET", "/v1/studies/pareto?sweeps=" + id, {}},
            {"GET", "/v1/studies/rcp?sweeps=" + own + "," + id, {}},
            {"GET", "/v1/studies/tuneability?by=optimizer.lr&sweeps=" + own + "," + id, {}},
            {"GET", "/v1/studies/profile?sweeps=" + own + "," + id, {}},
            {"GET", "/v1/studies/regret?sweeps=" + own + "," + id, {}},
            {"GET", "/v1/watch?id=" + id, {}},
            {"POST", "/v1/cancel", {{"id", id}}},
            {"POST", "/v1/cancel", {{"id", id + ".1"}}},
            {"POST", "/v1/retry", {{"id", id}}},
            {"POST", "/v1/label", {{"id", id}, {"name", "mine"}}},
            {"POST", "/v1/share", {{"id", id}, {"add_groups", {"daemon"}}}},
            {"POST", "/v1/archive", {{"id", id}}},
            {"POST", "/v1/archive", {{"id", id}, {"on", false}}},
            {"POST", "/v1/prune", {{"id", id}, {"keep", "none"}}},
            {"POST", "/v1/prune", {{"id", id + ".1"}, {"points", 100}}},
            {"POST", "/v1/remove", {{"id", id}}},
            {"POST", "/v1/sizes", {{"ids", {own, id}}}},
            {"POST", "/v1/extend", {{"id", id}, {"text", sweep_text}, {"changes", json::array()}}}};
  }
};

TEST_F(AccessTest, AForeignSweepIsAnsweredAsOneThatIsNotThere) {
  const std::int64_t none = 99;
  const auto foreign = questions(hers), missing = questions(none);
  for (std::size_t i = 0; i < foreign.size(); ++i) {
    const auto& [method, target, body] = foreign[i];
    const Answer answer = ask(bob, method, target, body);
    EXPECT_EQ(answer.status, 404) << target << body << answer.text;
    std::string expected = ask(bob, method, std::get<1>(missing[i]), std::get<2>(missing[i])).text;
    if (const auto at = expected.find("99"); at != std::string::npos)
      expected.replace(at, 2, std::to_string(hers));
    EXPECT_EQ(answer.text, expected) << target << body;
  }
  // Nothing of it happened.
  const json after = json::parse(ask(alice, "GET", "/v1/sweeps/" + std::to_string(hers)).text);
  EXPECT_NE(after.at("name"), "mine");
  EXPECT_NE(after.at("state"), "cancelled");
}

TEST_F(AccessTest, EveryEndpointIsAsked) {
  // One that is added says for whom it is; one for owners must stand among the questions, or in
  // this list of those that show what is the asker's, which the other cases look at.
  const std::set<std::string> lists = {"/v1/sweeps",       "/v1/query",   "/v1/experience",
                                       "/v1/measurements", "/v1/resolve", "/metrics"};
  std::set<const Endpoint*> asked;
  for (const auto& [method, target, body] : questions(hers)) {
    Request request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    asked.insert(&find_endpoint(request, false));
  }
  for (const Endpoint& endpoint : endpoints())
    if ((endpoint.audience == Audience::owners || endpoint.audience == Audience::readers) &&
        lists.count(std::string(endpoint.pattern)) == 0) {
      EXPECT_EQ(asked.count(&endpoint), 1u) << endpoint.method << endpoint.pattern;
    }
}

TEST_F(AccessTest, TheOwnerAndOperatorsSeeWhatIsThere) {
  for (const uid_t user : {bob, uid_t{0}})
    for (const char* target : {"/v1/sweeps/", "/v1/trials/"}) {
      const std::string id =
          std::to_string(his) + (std::string(target) == "/v1/trials/" ? ".1" : "");
      EXPECT_EQ(ask(user, "GET", target + id).status, 200) << user << target;
    }
  EXPECT_EQ(ask(alice, "GET", "/v1/sweeps/" + std::to_string(his)).status, 404);
  EXPECT_EQ(ask(0, "POST", "/v1/cancel", {{"id", std::to_string(hers)}}).status, 200);
  EXPECT_EQ(ask(bob, "POST", "/v1/cancel", {{"id", std::to_string(his)}}).status, 200);
}

TEST_F(AccessTest, ANameIsOneOfTheAskersSweeps) {
  const auto named = [&](uid_t user, const char* how) {
    return json::parse(ask(user, "GET", std::string("/v1/resolve?name=ours") + how).text);
  };
  for (const auto& [user, id] : {std::pair{alice, hers}, std::pair{bob, his}})
    ask(user, "POST", "/v1/label", {{"id", std::to_string(id)}, {"name", "ours"}});
  for (const char* how : {"&acts=0", "&acts=1"}) {
    EXPECT_EQ(named(alice, how)["id"], std::to_string(hers));
    EXPECT_EQ(named(bob, how)["id"], std::to_string(his));
  }
  EXPECT_EQ(named(0, "&acts=0")["id"], std::to_string(std::max(hers, his)));
  EXPECT_EQ(named(0, "&acts=1")["id"], "") << "an operator may end both";
  EXPECT_EQ(named(61003, "&acts=0")["id"], "");
  // Who only looks at a sweep is told that he cannot change it, not that there is none.
  ask(0, "POST", "/v1/share", {{"id", std::to_string(hers)}, {"add_groups", {"daemon"}}});
  EXPECT_EQ(named(1, "&acts=1")["id"], std::to_string(hers));
}

// daemon:x:1:1, user and group, is on every Linux.
TEST_F(AccessTest, AGroupLooksAndChangesNothing) {
  constexpr uid_t member = 1;
  const std::string id = std::to_string(hers);
  const auto share = [&](uid_t user, const json& body) {
    json request{{"id", id}};
    request.update(body);
    return ask(user, "POST", "/v1/share", request);
  };
  EXPECT_EQ(ask(member, "GET", "/v1/sweeps/" + id).status, 404);
  EXPECT_EQ(share(member, {{"add_groups", {"daemon"}}}).status, 404);
  EXPECT_EQ(share(alice, {{"add_groups", {"daemon"}}}).status, 403) << "she is not in it";
  EXPECT_EQ(share(alice, {{"add_groups", {"no-such-group"}}}).status, 400);
  EXPECT_EQ(share(alice, {{"remove_groups", {"daemon"}}}).status, 409);
  EXPECT_EQ(share(alice, {{"add_groups", 7}}).status, 400);
  ASSERT_EQ(share(0, {{"add_groups", {"daemon"}}}).status, 200);

  his = hers;  // so that all questions are about this one
  int looked = 0, refused = 0;
  for (const auto& [method, target, body] : questions(hers)) {
    Request request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    const bool looks = find_endpoint(request, false).audience == Audience::readers;
    const Answer answer = ask(member, method, target, body);
    if (looks && target.find("trials=9") == std::string::npos) {
      EXPECT_NE(answer.status, 404) << target << answer.text;
      EXPECT_NE(answer.status, 403) << target << answer.text;
      ++looked;
    } else if (!looks) {
      EXPECT_EQ(answer.status, 403) << target << body << answer.text;
      EXPECT_THAT(answer.text, HasSubstr("shared with you to look at"));
      ++refused;
    }
    EXPECT_EQ(ask(bob, method, target, body).status, 404) << target;
  }
  EXPECT_GE(looked, 15);
  EXPECT_GE(refused, 10);
  const json listed = json::parse(ask(member, "GET", "/v1/sweeps").text).at("sweeps");
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].at("id"), id);
  const json sql{{"sql", "SELECT count(*) FROM trials"}};
  EXPECT_EQ(json::parse(ask(member, "POST", "/v1/query", sql).text).at("rows"), json({{2}}));
  // Weights are not shared by that.
  const std::string with =
      "name: x\nmethod: grid\nparameters:\n  optimizer.lr: {values: [0.1]}\n"
      "train: {steps: 4, init_from: {trial: '" +
      id + ".1'}}\n";
  EXPECT_THAT(ask(member, "POST", "/v1/sweeps",
                  {{"text", with}, {"file_name", "s.yaml"}, {"dry_run", true}, {"checked", true}})
                  .text,
              HasSubstr("there is no trial " + id + ".1"));

  const json shown = json::parse(ask(alice, "GET", "/v1/sweeps/" + id).text);
  EXPECT_EQ(shown.at("groups"), json({"daemon"}));
  EXPECT_EQ(json::parse(share(alice, {{"remove_groups", {"daemon"}}}).text).at("groups"),
            json::array());
  EXPECT_EQ(ask(member, "GET", "/v1/sweeps/" + id).status, 404);
}

TEST_F(AccessTest, MembersShareAndItSurvivesARestart) {
  constexpr uid_t member = 1;
  std::int64_t own = 0;
  running->there([&] { return own = submitted(member, "daemon"); });
  const json body{{"id", std::to_string(own)}, {"add_groups", {"daemon", "daemon"}}};
  const Answer answer = ask(member, "POST", "/v1/share", body);
  ASSERT_EQ(answer.status, 200) << answer.text;
  EXPECT_EQ(json::parse(answer.text).at("groups"), json({"daemon"}));
  start();
  EXPECT_EQ(running->there([&] { return running->controller().state().sweeps.at(own).groups; }),
            std::vector<std::string>{"daemon"});
  // A controller of one user shares nothing.
  EXPECT_EQ(ask(0, "POST", "/v1/share", body).status, 409);
}

TEST_F(AccessTest, ANumberThatWentToSomebodyElseOwnsNothing) {
  std::int64_t old = 0;
  running->there([&] { return old = submitted(alice, "ann"); });
  EXPECT_EQ(ask(alice, "GET", "/v1/sweeps/" + std::to_string(old)).status, 404);
  EXPECT_EQ(ask(0, "GET", "/v1/sweeps/" + std::to_string(old)).status, 200);
}

TEST_F(AccessTest, OnlyTheOwnerSaysWhatElseRunsUnderHisName) {
  const json body{{"id", std::to_string(hers)}, {"text", sweep_text}, {"changes", json::array()}};
  const Answer answer = ask(0, "POST", "/v1/extend", body);
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.text, HasSubstr("by its owner alone"));
}

TEST_F(AccessTest, OneQueryOfAUserAtATime) {
  running->there([&] { return running->app().querying.insert(alice).second; });
  const json sql{{"sql", "SELECT 1"}};
  EXPECT_EQ(ask(alice, "POST", "/v1/query", sql).status, 429);
  EXPECT_EQ(ask(bob, "POST", "/v1/query", sql).status, 200);
  EXPECT_EQ(ask(bob, "POST", "/v1/query", sql).status, 200);  // the one before has ended
  EXPECT_EQ(ask(bob, "POST", "/v1/query", {{"sql", "SELEC"}}).status, 400);
  EXPECT_EQ(ask(bob, "POST", "/v1/query", sql).status, 200);
  EXPECT_EQ(ask(0, "POST", "/v1/query", sql).status, 200);
}

TEST_F(AccessTest, ListsShowWhatIsTheAskers) {
  const auto seen = [&](uid_t user) {
    std::vector<std::string> ids;
    const json list = json::parse(ask(user, "GET", "/v1/sweeps").text);
    for (const json& sweep : list.at("sweeps"))
      ids.push_back(sweep.at("id"));
    return ids;
  };
  EXPECT_THAT(seen(alice), testing::ElementsAre(std::to_string(hers)));
  EXPECT_THAT(seen(bob), testing::ElementsAre(std::to_string(his)));
  EXPECT_THAT(seen(0), SizeIs(2));
  EXPECT_THAT(seen(61003), SizeIs(0));
  const auto count = [&](uid_t user, const std::string& sql) {
    const json rows = json::parse(ask(user, "POST", "/v1/query", {{"sql", sql}}).text);
    return rows.at("rows").at(0).at(0).get<int>();
  };
  for (const char* view : {"sweeps", "trials", "events"}) {
    const std::string sql = std::string("SELECT count(DISTINCT sweep) FROM ") + view;
    EXPECT_EQ(count(alice, sql), 1) << view;
    EXPECT_EQ(count(61003, sql), 0) << view;
    EXPECT_EQ(count(0, sql), 2) << view;  // also after the others asked
    EXPECT_EQ(count(alice, "SELECT max(sweep) FROM " + std::string(view)), hers);
  }
  EXPECT_EQ(ask(bob, "POST", "/v1/query", {{"sql", "SELECT * FROM main.sweeps"}}).status, 400);
  for (const char* target : {"/v1/experience?models=mlp&data=synthetic", "/v1/measurements?of=step",
                             "/v1/studies/predict?of=step"})
    EXPECT_THAT(ask(61003, "GET", target).text, Not(HasSubstr("\"" + std::to_string(hers) + ".")))
        << target;
  const auto counts = [&](uid_t user) { return ask(user, "GET", "/metrics").text; };
  EXPECT_THAT(counts(0), HasSubstr("thalweg_events_total "));
  EXPECT_THAT(counts(alice), Not(HasSubstr("thalweg_events_total ")));
  const auto active = [&](uid_t user) {
    std::istringstream lines(counts(user));
    double sum = 0;
    for (std::string line; std::getline(lines, line);)
      if (line.starts_with("thalweg_sweeps{") && line.find("\"active\"") != line.npos)
        sum += std::stod(line.substr(line.find("} ") + 2));
    return sum;
  };
  EXPECT_EQ(active(alice), 1);
  EXPECT_EQ(active(0), 2);
  EXPECT_EQ(active(61003), 0);
  EXPECT_EQ(json::parse(ask(61003, "GET", "/v1/ping").text).at("active_sweeps"), 0);
  EXPECT_EQ(json::parse(ask(61003, "GET", "/v1/ping").text).at("site").at("operator"), false);
  EXPECT_EQ(json::parse(ask(0, "GET", "/v1/ping").text).at("active_sweeps"), 2);
}

TEST_F(AccessTest, SomeThingsAreForOperators) {
  int found = 0;
  for (const Endpoint& endpoint : endpoints()) {
    if (endpoint.audience != Audience::operators) continue;
    ++found;
    const Answer answer = ask(alice, std::string(endpoint.method), std::string(endpoint.pattern),
                              {{"from", "/a"}, {"to", "/b"}, {"file", "/tmp/x"}});
    EXPECT_EQ(answer.status, 403) << endpoint.pattern << answer.text;
    EXPECT_THAT(answer.text, HasSubstr("operators"));
  }
  EXPECT_GE(found, 4);
}

TEST_F(AccessTest, OperatorsAreNamedByUserAndByGroup) {
  Config config;
  config.site.enabled = true;
  EXPECT_TRUE(is_operator(config, 0));
  EXPECT_TRUE(is_operator(config, geteuid()));
  const uid_t daemon_uid = 1;  // daemon:x:1:1, on every Linux
  EXPECT_FALSE(is_operator(config, daemon_uid));
  config.site.operator_users = {"nobody-of-that-name", "daemon"};
  EXPECT_TRUE(is_operator(config, daemon_uid));
  EXPECT_FALSE(is_operator(config, alice));
  config.site.operator_users.clear();
  config.site.operator_groups = {"no-group-of-that-name", "daemon"};
  EXPECT_TRUE(is_operator(config, daemon_uid));
  EXPECT_FALSE(is_operator(config, alice));
  config.site.enabled = false;  // then nobody is, who is named
  EXPECT_FALSE(is_operator(config, daemon_uid));
  EXPECT_FALSE(may_ask(config, daemon_uid));
}

TEST_F(AccessTest, NobodyBeginsWithAnothersWeights) {
  const auto dry = [&](uid_t user, std::int64_t sweep) {
    const std::string with =
        "name: x\nmethod: grid\nparameters:\n  optimizer.lr: {values: [0.1]}\n"
        "train: {steps: 4, init_from: {trial: '" +
        std::to_string(sweep) + ".1'}}\n";
    return ask(user, "POST", "/v1/sweeps",
               {{"text", with}, {"file_name", "s.yaml"}, {"dry_run", true}, {"checked", true}});
  };
  EXPECT_THAT(dry(bob, hers).text, HasSubstr("there is no trial " + std::to_string(hers) + ".1"));
  EXPECT_THAT(dry(bob, 99).text, HasSubstr("there is no trial 99.1"));
  EXPECT_THAT(dry(bob, his).text, Not(HasSubstr("there is no trial")));
}

TEST_F(AccessTest, ASweepNeedsItsUsersWord) {
  const auto submit = [&](uid_t user, const json& credential) {
    json body{{"text", sweep_text}, {"file_name", "s.yaml"}};
    if (!credential.is_null()) body["credential"] = credential;
    return ask(user, "POST", "/v1/sweeps", body);
  };
  EXPECT_EQ(submit(alice, {}).status, 400);
  EXPECT_THAT(submit(alice, {}).text, HasSubstr("MUNGE credential"));
  world.cluster.words = {{"hers", {alice, "g1"}}, {"his", {bob, "g2"}}};
  EXPECT_EQ(submit(alice, "nonsense").status, 403);
  const Answer taken = submit(alice, "hers");
  ASSERT_EQ(taken.status, 200) << taken.text;
  const std::string id = json::parse(taken.text).at("id");
  EXPECT_EQ(ask(alice, "GET", "/v1/sweeps/" + id).status, 200);
  EXPECT_EQ(ask(bob, "GET", "/v1/sweeps/" + id).status, 404);
  // Another's word, come by somehow: refused, and it serves no more.
  EXPECT_EQ(submit(alice, "his").status, 403);
  EXPECT_THAT(world.cluster.on_behalf, testing::Contains("revoke g2"));
}

TEST_F(AccessTest, AJobOfMoreNodesThanAUserMayHaveIsRefused) {
  world.cluster.words = {{"hers", {alice, "g1"}}};
  running->there([&] { return running->config().policy.quotas.user.max_nodes = 2; });
  const Answer answer = ask(alice, "POST", "/v1/sweeps",
                            {{"text", sweep_text + std::string("resources: {nodes: 3}\n")},
                             {"file_name", "s.yaml"},
                             {"credential", "hers"}});
  EXPECT_EQ(answer.status, 400);
  EXPECT_THAT(answer.text, HasSubstr("site.quotas.user.max_nodes"));
  EXPECT_THAT(world.cluster.words, SizeIs(1)) << "her word was used";
}

TEST_F(AccessTest, OpenTrialsOfAUserAreLimited) {
  running->there([&] { return running->config().policy.quotas.user.trials = 5; });
  world.cluster.words = {{"one", {alice, "g1"}}, {"two", {alice, "g2"}}, {"three", {alice, "g3"}}};
  const auto body = [](int trials) {
    return json{{"text", sweep_text + fmt::format("seeds: {}\n", trials) + "run_cap: 1\n"},
                {"file_name", "s.yaml"}};
  };
  const auto dry = [&](uid_t user, int trials) {
    json look = body(trials);
    look["dry_run"] = look["checked"] = true;
    return ask(user, "POST", "/v1/sweeps", look);
  };
  const auto submit = [&](int trials, const std::string& word) {
    json with = body(trials);
    with["credential"] = word;
    return ask(alice, "POST", "/v1/sweeps", with);
  };
  const auto refused = [&](const Answer& answer, int open) {
    EXPECT_EQ(answer.status, 400) << answer.text;
    const std::string why =
        fmt::format("site.quotas.user.trials = 5, of which {} has {} open", alice, open);
    EXPECT_THAT(answer.text, HasSubstr(why));
    EXPECT_THAT(answer.text, HasSubstr("thalweg cancel"));
  };
  // She has two, of the first sweep.
  refused(dry(alice, 4), 2);
  refused(submit(4, "one"), 2);
  EXPECT_THAT(world.cluster.words, SizeIs(3)) << "her word was used";
  EXPECT_EQ(dry(alice, 3).status, 200);
  EXPECT_EQ(dry(bob, 3).status, 200);
  const Answer taken = submit(3, "one");
  ASSERT_EQ(taken.status, 200) << taken.text;
  const std::string id = json::parse(taken.text).at("id");
  refused(submit(1, "two"), 5);
  refused(dry(alice, 1), 5);
  refused(ask(alice, "POST", "/v1/extend",
              {{"id", id}, {"text", body(4).at("text")}, {"changes", json::array()}}),
          5);
  const json quota = json::parse(ask(alice, "GET", "/v1/ping").text).at("site").at("quota");
  EXPECT_EQ(quota.at("open_trials"), 5);
  EXPECT_EQ(quota.at("trials"), 5);
  running->there([&] { return running->config().policy.quotas.user.trials = 6; });
  EXPECT_EQ(ask(alice, "POST", "/v1/extend",
                {{"id", id}, {"text", body(4).at("text")}, {"changes", json::array()}})
                .status,
            200);
  running->there([&] { return running->config().policy.quotas.user.trials = 0; });
  EXPECT_EQ(submit(100, "two").status, 200) << "no limit";
}

TEST_F(AccessTest, TrialsThatAreRunAgainCount) {
  const std::string id = std::to_string(hers);
  ASSERT_EQ(ask(alice, "POST", "/v1/cancel", {{"id", id}}).status, 200);
  ASSERT_TRUE(test::eventually(
      [&] {
        return running->there([&] {
          return running->controller().state().sweeps.at(hers).phase != SweepPhase::active;
        });
      },
      std::chrono::seconds(20)));
  running->there([&] { return running->config().policy.quotas.user.trials = 1; });
  const auto retry = [&](uid_t user, const std::string& which) {
    return ask(user, "POST", "/v1/retry",
               {{"id", which}, {"states", {"failed", "cancelled", "finished"}}});
  };
  // Of two, one is too many; whoever asks, they would be hers.
  for (const uid_t user : {alice, uid_t{0}}) {
    const Answer refused = retry(user, id);
    EXPECT_EQ(refused.status, 400) << refused.text;
    EXPECT_THAT(refused.text, HasSubstr("site.quotas.user.trials = 1"));
  }
  const Answer one = retry(alice, id + ".1");
  EXPECT_EQ(one.status, 200) << one.text;
  EXPECT_EQ(retry(alice, id + ".2").status, 400);
}

/// Both were within it when they were looked at.
TEST_F(AccessTest, TwoSweepsAtOnceDoNotPassTheLimit) {
  running->there([&] { return running->config().policy.quotas.user.trials = 5; });
  world.cluster.words = {{"one", {alice, "g1"}}, {"two", {alice, "g2"}}};
  std::vector<std::future<Answer>> answers;
  for (const char* word : {"one", "two"})
    answers.push_back(boost::asio::co_spawn(
        running->executor(),
        answer_to(
            running->app(),
            request_of(alice, "POST", "/v1/sweeps",
                       {{"text", sweep_text}, {"file_name", "s.yaml"}, {"credential", word}})),
        boost::asio::use_future));
  std::multiset<int> statuses;
  for (auto& answer : answers)
    statuses.insert(answer.get().status);
  EXPECT_EQ(statuses, (std::multiset<int>{200, 400}));
  const auto open = running->there([&] {
    std::int64_t count = 0;
    for (const auto& [id, sweep] : running->controller().state().sweeps)
      if (sweep.owner->uid == alice) count += sweep.open;
    return count;
  });
  EXPECT_EQ(open, 4);
}

TEST_F(AccessTest, TheSubmittersEnvironmentIsNotKeptButForTheSitesNames) {
  world.cluster.words = {{"hers", {alice, "g1"}}};
  const Answer taken =
      ask(alice, "POST", "/v1/sweeps",
          {{"text", sweep_text + std::string("env: {WANTED: \"1\"}\n")},
           {"file_name", "s.yaml"},
           {"credential", "hers"},
           {"environment",
            {"PATH=/usr/bin", "AWS_SECRET_ACCESS_KEY=s3cret", "LC_ALL=C", "THALWEG_DATA=/d"}}});
  ASSERT_EQ(taken.status, 200) << taken.text;
  const std::int64_t id = std::stoll(json::parse(taken.text).at("id").get<std::string>());
  const auto store = db::ReadStore::open(world.home().database());
  const std::string kept = store->environment(id).value_or("");
  EXPECT_THAT(kept, HasSubstr("PATH=/usr/bin"));
  EXPECT_THAT(kept, HasSubstr("LC_ALL=C"));
  EXPECT_THAT(kept, HasSubstr("WANTED=1"));
  EXPECT_THAT(kept, Not(HasSubstr("s3cret")));
}

TEST_F(AccessTest, ImportedRunsAreTheAskers) {
  const json body{{"name", "old"},
                  {"metric", "loss"},
                  {"trials", {{{"parameters", {{"lr", 0.1}}}}}},
                  {"curves", {{{"trial", 1}, {"metric", "loss"}, {"points", {{1, 0.5, 0}}}}}}};
  json first = body;
  first["more"] = true;
  const json upload = json::parse(ask(bob, "POST", "/v1/import", first).text).at("upload");
  EXPECT_EQ(ask(alice, "POST", "/v1/import", {{"upload", upload}}).status, 404);
  const Answer taken = ask(bob, "POST", "/v1/import", {{"upload", upload}});
  ASSERT_EQ(taken.status, 200) << taken.text;
  hers = std::stoll(json::parse(taken.text).at("id").get<std::string>());
  for (const auto& [method, target, about] : questions(hers))
    EXPECT_EQ(ask(alice, method, target, about).status, 404) << target;
  const std::string id = std::to_string(hers);
  const json seen = json::parse(ask(bob, "GET", "/v1/sweeps/" + id).text);
  EXPECT_EQ(seen.at("owner"), std::to_string(bob));
  EXPECT_EQ(ask(bob, "POST", "/v1/label", {{"id", id}, {"name", "mine"}}).status, 200);
  EXPECT_EQ(ask(0, "POST", "/v1/share", {{"id", id}, {"add_groups", {"daemon"}}}).status, 200);
  EXPECT_EQ(ask(1, "GET", "/v1/sweeps/" + id).status, 200);
  EXPECT_EQ(ask(bob, "POST", "/v1/remove", {{"id", id}}).status, 200);
}

TEST_F(AccessTest, WhatIsInTheWayOfARemovalIsForItsUser) {
  ASSERT_TRUE(test::eventually(
      [&] {
        return running->there([&] {
          const LiveAttempt* const first = running->controller().state().live({his, 1, 1});
          return first != nullptr && first->phase == AttemptPhase::running;
        });
      },
      std::chrono::seconds(20)));
  running->there([&] {
    running->controller().cancel({his, 0, 0}, "bob");
    return 0;
  });
  ASSERT_TRUE(test::eventually(
      [&] {
        return running->there([&] {
          return running->controller().state().sweeps.at(his).phase != SweepPhase::active;
        });
      },
      std::chrono::seconds(20)));
  // A file where his trial's folder was: nothing is found in it, nor can it be said to be gone.
  const auto folder = world.home().runs() / std::to_string(his) / "1";
  std::filesystem::remove_all(folder);
  test::write_file(folder, "");
  EXPECT_EQ(ask(bob, "POST", "/v1/remove", {{"id", std::to_string(his)}}).status, 200);
  const auto told = [&](uid_t user) {
    return json::parse(ask(user, "GET", "/v1/ping").text).at("troubles").dump();
  };
  ASSERT_TRUE(test::eventually([&] { return told(0) != "[]"; }, std::chrono::seconds(20)));
  for (const uid_t user : {uid_t{0}, bob})
    EXPECT_THAT(told(user), HasSubstr(folder.string()));
  EXPECT_EQ(told(alice), R"(["1 sweep of other users cannot be removed or pruned yet"])");
}

/// One site twice, with everything of alice's alike and bob's as it comes: nothing that she asks
/// tells her which of them it is.
class TwoWorlds : public AccessTest {
 protected:
  void SetUp() override {}

  /// Hers have ended before he does anything.
  void make(World& site) {
    site.cluster.steps = 4;
    site.options = [tokens = 0](ControllerOptions& options) mutable {
      options.now = [] { return 1'800'000'000.0; };
      options.token = [tokens]() mutable { return fmt::format("token{}", ++tokens); };
    };
    running = std::make_unique<Running>(site, ServerLimits());
    running->there([&] {
      running->config().site.enabled = true;
      hers = his = submitted(alice);
      return 0;
    });
    wait_until([&] { return phase(hers) != SweepPhase::active; });
  }
  SweepPhase phase(std::int64_t sweep) {
    return running->there([&] { return running->controller().state().sweeps.at(sweep).phase; });
  }
  static void wait_until(const std::function<bool()>& condition) {
    ASSERT_TRUE(test::eventually(condition, std::chrono::seconds(20)));
  }

  void do_something(Controller& controller, std::mt19937& random, std::vector<std::int64_t>& ids) {
    const auto id = ids[random() % ids.size()];
    const std::string text = fmt::format("secret {}", random() % 1000);
    const auto number = static_cast<std::int64_t>(random() % 3);
    switch (random() % 6) {
      case 0:
        ids.push_back(submitted(bob));
        break;
      case 1:
        controller.label(id, {text, text, {"tag"}, {}}, text);
        break;
      case 2:
        controller.cancel({id, number, 0}, text);
        break;
      case 3:
        controller.share(id, {"daemon"}, text);
        break;
      case 4:
        controller.archive(id, number == 0, text);
        break;
      default:
        controller.retry({id, number, 0}, {TrialPhase::cancelled, TrialPhase::failed}, text);
    }
  }
  void let_bob_work(unsigned seed) {
    std::mt19937 random(seed);
    std::vector<std::int64_t> ids;
    running->there([&] {
      ids.push_back(submitted(bob));
      return 0;
    });
    for (int i = 0; i < 8; ++i)
      running->there([&] {
        do_something(running->controller(), random, ids);
        return 0;
      });
    for (const auto id : ids)
      wait_until([&] { return phase(id) != SweepPhase::active; });
  }

  /// All that she can ask, with the answers.
  std::map<std::string, std::string> answers(const World& site) {
    auto asked = questions(hers);
    std::erase_if(asked, [](const auto& one) { return std::get<0>(one) != "GET"; });
    for (const char* target : {"/v1/sweeps", "/v1/sweeps?archived=true", "/v1/ping",
                               "/v1/resolve?name=test", "/v1/experience?models=mlp&data=synthetic",
                               "/v1/measurements?of=step", "/v1/studies/predict?of=step"})
      asked.emplace_back("GET", target, json());
    for (const char* view : {"sweeps", "trials", "attempts", "starts", "ranks", "hyperparameters",
                             "metrics", "replaced_metrics", "latest_metrics", "events"})
      for (const char* what : {"*", "count(*)", "max(rowid)"})
        asked.emplace_back("POST", "/v1/query",
                           json{{"sql", fmt::format("SELECT {} FROM {}", what, view)}});
    std::map<std::string, std::string> result;
    for (const auto& [method, target, body] : asked) {
      std::string text = ask(alice, method, target, body).text;
      const std::string home = site.home().directory.string();
      for (std::size_t at; (at = text.find(home)) != std::string::npos;)
        text.replace(at, home.size(), "HOME");
      result[target + (body.is_null() ? "" : body.dump())] = text;
    }
    return result;
  }
};

TEST_F(TwoWorlds, NobodySeesWhatOthersDo) {
  std::map<std::string, std::string> alone;
  {
    World site;
    make(site);
    alone = answers(site);
    running.reset();
  }
  int answered = 0;
  for (const auto& [question, answer] : alone)
    answered += answer.find("\"error\"") == std::string::npos && answer.size() > 2 ? 1 : 0;
  EXPECT_GT(answered, 40);
  const auto range = test::fuzz_range(6);
  for (int seed = range.first; seed < range.end(); ++seed) {
    World site;
    make(site);
    let_bob_work(static_cast<unsigned>(seed));
    for (const auto& [question, answer] : answers(site))
      EXPECT_EQ(answer, alone.at(question)) << question << ", seed " << seed;
    running.reset();
  }
}

TEST(UserLimits, ConnectionsOfOneUserAreCounted) {
  Config config;
  config.site.enabled = true;
  config.site.max_connections = 2;
  UserLimits limits(config);
  {
    const UserLimits::Connection a = limits.connect(alice), b = limits.connect(alice);
    EXPECT_TRUE(a);
    EXPECT_TRUE(b);
    const UserLimits::Connection c = limits.connect(alice);
    EXPECT_FALSE(c);
    const UserLimits::Connection other = limits.connect(bob), root = limits.connect(0);
    EXPECT_TRUE(other);
    EXPECT_TRUE(root);
  }
  const UserLimits::Connection again = limits.connect(alice);
  EXPECT_TRUE(again);
}

TEST(UserLimits, AFloodOfConnectionsIsOneLineInTheLog) {
  const test::TempDir dir;
  log::open(dir.path() / "log", false);
  Config config;
  config.site.enabled = true;
  config.site.max_connections = 1;
  constexpr uid_t alice = 61001;
  double now = 100;
  UserLimits limits(config, [&] { return now; });
  const UserLimits::Connection held = limits.connect(alice);
  const auto lines = [&] {
    const std::string text = test::read_file(dir.path() / "log");
    return std::count(text.begin(), text.end(), '\n');
  };
  for (int i = 0; i < 1000; ++i)
    EXPECT_FALSE(limits.connect(alice));
  EXPECT_EQ(lines(), 1);
  now += 11;
  EXPECT_FALSE(limits.connect(alice));
  EXPECT_EQ(lines(), 2);
  EXPECT_THAT(test::read_file(dir.path() / "log"), HasSubstr("; 999 more before it"));
}

/// Stands still but for what a test adds.
struct StoppedClock : Clock::Source {
  using duration = Clock::duration;
  duration time = std::chrono::hours(1);
  StoppedClock() { Clock::set_source(this); }
  ~StoppedClock() override { Clock::set_source(nullptr); }
  duration steady() override { return time; }
  double unix_s() override { return 0; }
  duration sleep(duration left) override { return left; }
};

TEST(Log, WhoIsRefusedAgainAndAgainFillsNoLog) {
  const test::TempDir dir;
  log::open(dir.path() / "log", false);
  StoppedClock clock;
  const auto text = [&] { return test::read_file(dir.path() / "log"); };
  const auto lines = [&] {
    const std::string all = text();
    return std::count(all.begin(), all.end(), '\n');
  };
  for (int i = 0; i < 1000; ++i)
    log::refused("mallory", "a credential of mallory");
  log::refused("eve", "a credential of eve");
  EXPECT_EQ(lines(), 2);
  clock.time += std::chrono::seconds(61);
  log::refused("mallory", "a credential of mallory");
  EXPECT_EQ(lines(), 3);
  EXPECT_THAT(text(), HasSubstr("refused: a credential of mallory (999 more like it before)"));
  // Whoever takes new names all the time has a line for each of the first ones.
  for (int i = 0; i < 5000; ++i)
    log::refused("sybil " + std::to_string(i), "sybil");
  EXPECT_LE(lines(), 1003);
  EXPECT_GT(lines(), 900);
}

TEST(UserLimits, RequestsOfOneUserAreCounted) {
  Config config;
  config.site.enabled = true;
  config.site.requests_per_s = 2;
  double now = 100;
  UserLimits limits(config, [&] { return now; });
  const auto taken = [&](uid_t user) {
    int count = 0;
    while (count < 1000 && !limits.too_many_requests(user))
      ++count;
    return count;
  };
  EXPECT_EQ(taken(alice), 20);  // ten seconds' worth at once
  const auto refused = limits.too_many_requests(alice);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.at("Retry-After"), "1");
  EXPECT_EQ(taken(bob), 20);
  EXPECT_EQ(taken(0), 1000);
  now += 3;
  EXPECT_EQ(taken(alice), 6);
  config.site.enabled = false;
  EXPECT_EQ(taken(alice), 1000);
}

}  // namespace
}  // namespace thalweg::daemon
