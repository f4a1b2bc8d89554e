// The line to the agent, against an agent that misbehaves in every way we know.
#include "daemon/backend/slurm_agent_link.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "tests/daemon/slurm/fake.h"
#include "tests/daemon/slurm/waiting.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr auto patient = seconds(60);

class AgentLinkTest : public testing::Test {
 protected:
  AgentLink::Reply ask(const char* verb, Clock::duration limit = patient) {
    return test::wait(context_, link_->ask(json{{"verb", verb}}, limit));
  }
  // Until an agent runs again and answers.
  AgentLink::Reply ask_until_answered(const char* verb) {
    AgentLink::Reply reply;
    test::eventually([&] { return (reply = ask(verb)).answer.has_value(); });
    return reply;
  }
  static bool is_alive(pid_t pid) { return ::kill(pid, 0) == 0; }

  test::FakeAgent fake_;
  boost::asio::io_context context_;
  std::shared_ptr<AgentLink> link_ = std::make_shared<AgentLink>(
      context_.get_executor(), std::vector<std::string>{test::FakeAgent::program()});
};

TEST_F(AgentLinkTest, AnswersAndKeepsTheAgent) {
  const auto first = ask("one");
  ASSERT_TRUE(first.answer) << first.problem;
  EXPECT_EQ(first.answer->at("echo").at("verb"), "one");
  ask("two");
  EXPECT_EQ(fake_.starts().size(), 1u);
  EXPECT_EQ(link_->pid(), fake_.starts().at(0));
}

TEST_F(AgentLinkTest, AnswersInAnyOrderFindTheirQuestions) {
  fake_.answers({{"slow", {{{"_hold", true}, {"word", "slow"}}}}, {"fast", {{{"word", "fast"}}}}});
  auto both = [](std::shared_ptr<AgentLink> link) -> boost::asio::awaitable<std::string> {
    json question{{"verb", "fast"}};
    const auto reply = co_await link->ask(std::move(question), patient);
    co_return reply.answer->at("word").get<std::string>();
  };
  json question{{"verb", "slow"}};
  auto slow = test::start_work(context_, link_->ask(question, patient));
  EXPECT_EQ(test::wait(context_, both(link_)), "fast");
  test::eventually([&] {
    context_.restart();
    context_.poll();
    return slow.wait_for(seconds(0)) == std::future_status::ready;
  });
  EXPECT_EQ(slow.get().answer->at("word"), "slow");
}

TEST_F(AgentLinkTest, ManyQuestionsAtOnce) {
  std::vector<std::future<AgentLink::Reply>> replies;
  for (int i = 0; i < 500; ++i) {
    json question{{"verb", "n"}, {"n", i}, {"text", std::string(5000, 'x')}};
    replies.push_back(test::start_work(context_, link_->ask(question, patient)));
  }
  const auto last = ask("last");
  ASSERT_TRUE(last.answer);
  for (int i = 0; i < 500; ++i) {
    ASSERT_EQ(replies[i].wait_for(seconds(0)), std::future_status::ready) << i;
    EXPECT_EQ(replies[i].get().answer->at("echo").at("n"), i);
  }
}

TEST_F(AgentLinkTest, DeathInTheMiddleIsAnAnswerlessQuestionAndANewAgent) {
  fake_.answers({{"deadly", {{{"_die", true}}}}});
  const auto reply = ask("deadly");
  EXPECT_FALSE(reply.answer);
  EXPECT_TRUE(reply.sent);
  EXPECT_THAT(reply.problem, HasSubstr("ended"));
  EXPECT_TRUE(ask_until_answered("harmless").answer);
  EXPECT_EQ(fake_.starts().size(), 2u);
}

TEST_F(AgentLinkTest, AnAgentThatAlwaysDiesIsNotStartedAllTheTime) {
  fake_.answers({{"deadly", {{{"_die", true}}}}});
  int unsent = 0;
  for (int i = 0; i < 50; ++i) {
    const auto reply = ask("deadly");
    EXPECT_FALSE(reply.answer);
    unsent += reply.sent ? 0 : 1;
  }
  EXPECT_GT(unsent, 40);  // at once the answer "not now"
}

TEST_F(AgentLinkTest, KilledWhileIdle) {
  ask("one");
  ::kill(link_->pid(), SIGKILL);
  EXPECT_TRUE(ask_until_answered("two").answer);
}

TEST_F(AgentLinkTest, TimeLimit) {
  fake_.answers({{"never", {{{"_silent", true}}}}});
  const auto reply = ask("never", std::chrono::milliseconds(50));
  EXPECT_FALSE(reply.answer);
  EXPECT_TRUE(reply.sent);
  EXPECT_THAT(reply.problem, HasSubstr("in time"));
  EXPECT_TRUE(ask("still here").answer);
  EXPECT_EQ(fake_.starts().size(), 1u);
}

TEST_F(AgentLinkTest, AStuckAgentIsReplaced) {
  ask("one");
  const pid_t stuck = link_->pid();
  ::kill(stuck, SIGSTOP);
  for (int i = 0; i < 3; ++i)
    EXPECT_FALSE(ask("x", std::chrono::milliseconds(50)).answer);
  EXPECT_TRUE(ask_until_answered("two").answer);
  EXPECT_EQ(fake_.starts().size(), 2u);
  EXPECT_TRUE(test::eventually([&] {
    context_.restart();
    context_.run_one_for(std::chrono::milliseconds(10));
    return !is_alive(stuck);
  }));
}

TEST_F(AgentLinkTest, NoiseBetweenAnswersIsIgnored) {
  fake_.answers({{"noisy",
                  {{{"_raw", "sl: error: what\n\n[1,2]\n{\"id\": \"x\"}\n{\"id\": 99}\n{}\n"},
                    {"word", "yes"}}}}});
  const auto reply = ask("noisy");
  ASSERT_TRUE(reply.answer) << reply.problem;
  EXPECT_EQ(reply.answer->at("word"), "yes");
}

TEST_F(AgentLinkTest, BigAnswers) {
  fake_.answers({{"big", {{{"text", std::string(8'000'000, 'y')}}}}});
  const auto reply = ask("big");
  ASSERT_TRUE(reply.answer) << reply.problem;
  EXPECT_EQ(reply.answer->at("text").get<std::string>().size(), 8'000'000u);
}

TEST_F(AgentLinkTest, ProgramThatIsNotThere) {
  link_ = std::make_shared<AgentLink>(context_.get_executor(),
                                      std::vector<std::string>{"/nonexistent/agent"});
  const auto reply = ask("x");
  EXPECT_FALSE(reply.sent);
  EXPECT_THAT(reply.problem, HasSubstr("cannot start /nonexistent/agent: No such file"));
}

TEST_F(AgentLinkTest, CloseEndsTheAgentAndWhoWaits) {
  fake_.answers({{"never", {{{"_silent", true}}}}});
  ask("one");
  const pid_t agent = link_->pid();
  json question{{"verb", "never"}};
  auto reply = test::start_work(context_, link_->ask(question, patient));
  context_.restart();
  context_.run_one();
  link_->close();
  EXPECT_FALSE(is_alive(agent));  // and reaped
  const auto after = ask("after");
  EXPECT_FALSE(after.sent);
  ASSERT_EQ(reply.wait_for(seconds(0)), std::future_status::ready);
  EXPECT_FALSE(reply.get().answer);
}

class ServiceLinkTest : public AgentLinkTest {
 protected:
  ServiceLinkTest() {
    link_ = std::make_shared<AgentLink>(context_.get_executor(),
                                        AgentLink::Service{(folder_.path() / "socket").string()});
  }
  test::TempDir folder_;
};

TEST_F(ServiceLinkTest, ConnectsAndKeepsTheConnection) {
  const test::FakeService service(folder_.path() / "socket");
  EXPECT_EQ(ask("one").answer.value().at("echo").at("verb"), "one");
  EXPECT_TRUE(ask("two").answer);
  EXPECT_EQ(fake_.starts().size(), 1u);
  EXPECT_EQ(link_->pid(), -1);
  link_->close();
  EXPECT_FALSE(ask("three").sent);
}

TEST_F(ServiceLinkTest, FindsAServiceThatWasStartedAgain) {
  test::FakeService service(folder_.path() / "socket");
  fake_.answers({{"slow", {{{"_silent", true}}}}});
  ASSERT_TRUE(ask("one").answer);
  json question{{"verb", "slow"}};
  auto slow = test::start_work(context_, link_->ask(question, patient));
  test::eventually([&] {
    context_.restart();
    context_.run_one_for(std::chrono::milliseconds(10));
    return fake_.requests().size() == 2;
  });
  service.end();
  const auto lost = test::wait(context_, std::move(slow));
  EXPECT_TRUE(lost.sent);  // it may have been done
  EXPECT_FALSE(lost.answer);
  const auto away = ask("two");
  EXPECT_FALSE(away.sent);
  EXPECT_THAT(away.problem, testing::AnyOf(HasSubstr("cannot reach the Slurm agent at"),
                                           HasSubstr("out of reach")));
  service.begin();
  EXPECT_TRUE(ask_until_answered("three").answer);
}

TEST_F(ServiceLinkTest, SaysWhatIsWrongWithTheSocket) {
  EXPECT_THAT(ask("x").problem, testing::AllOf(HasSubstr((folder_.path() / "socket").string()),
                                               HasSubstr("No such file")));
  link_ = std::make_shared<AgentLink>(context_.get_executor(),
                                      AgentLink::Service{"/" + std::string(200, 'x')});
  EXPECT_THAT(ask("x").problem, HasSubstr("too long"));
}

}  // namespace
}  // namespace thalweg::daemon
