// The messages between thalwegd and the Slurm agent: what one side writes, the other reads, and
// protocol.md names all of it.
#include "daemon/slurm_agent/messages.h"

#include <gtest/gtest.h>

#include <regex>

#include "tests/support/process.h"

namespace thalweg::slurm_agent {
namespace {

using daemon::api::Reading;
using nlohmann::json;

TEST(AgentMessages, AnswersSurvive) {
  Poll::Answer sent{7, {}, {{}}};
  JobFacts& job = sent.jobs->emplace_back();
  job = {17, "t", "n", "RUNNING", "r", "n1", "/a", true, false, true, 1, 2, 3, 4, 5};
  const json line = json::parse(answer_json<Poll::Answer>(sent).dump());
  const auto got = read_answer<Poll::Answer>(line, Reading::strict);
  EXPECT_EQ(std::get<Poll::Answer>(got).stamp, 7u);
  EXPECT_EQ(*std::get<Poll::Answer>(got).jobs, *sent.jobs);
  EXPECT_FALSE(line.contains("unchanged"));
}

TEST(AgentMessages, FailuresSurvive) {
  const json line = answer_json<Nothing>(Failure{2000, Outcome::refused, "no"});
  EXPECT_EQ(line, json({{"ok", false}, {"code", 2000}, {"outcome", "refused"}, {"message", "no"}}));
  const auto got = std::get<Failure>(read_answer<Nothing>(line, Reading::strict));
  EXPECT_EQ(got.outcome, Outcome::refused);
  EXPECT_EQ(got.code, 2000);
  const json later{{"ok", false}, {"outcome", "a word of the future"}, {"message", "no"}};
  EXPECT_EQ(std::get<Failure>(read_answer<Nothing>(later, Reading::strict)).outcome,
            Outcome::unknown);
}

TEST(AgentMessages, QuestionsAreReadStrictly) {
  Cancel asked;
  asked.job = 9;
  asked.token = "t";
  json line = question_json(asked);
  EXPECT_EQ(line.at("verb"), "cancel");
  EXPECT_EQ(read_question<Cancel>(line).signal, "KILL");
  line.erase("signal");
  line.erase("folder");
  EXPECT_EQ(read_question<Cancel>(line).signal, "KILL");
  line["token"] = 3;
  EXPECT_THROW(read_question<Cancel>(line), BadQuestion);
  EXPECT_THROW(read_question<Submit>({{"verb", "submit"}}), BadQuestion);
}

/// Of a struct: `name`, `name: ...`, "name", or in a list of names.
template <class T>
void expect_named(const std::string& text, T value) {
  T::each_field(value, [&]<class V>(const char* name, const V&, Field = Field::usual) {
    const std::regex written("[`\"]" + std::string(name) + "[`\":]|\\b" + name + "(, | \\()");
    EXPECT_TRUE(std::regex_search(text, written)) << "protocol.md does not say " << name;
  });
}

TEST(AgentMessages, TheProtocolIsWrittenDown) {
  const std::string text =
      test::read_file(std::string(THALWEG_SOURCE_DIR) + "/daemon/slurm_agent/protocol.md");
  each_question([&]<class Question>() {
    EXPECT_NE(text.find("| `" + std::string(Question::verb) + "` |"), std::string::npos)
        << Question::verb;
    expect_named(text, Question());
    expect_named(text, typename Question::Answer());
  });
  expect_named(text, JobFacts());
  expect_named(text, PartitionMessage());
  expect_named(text, Failure());
  for (const std::string_view outcome : jobspec::EnumNames<Outcome>::names)
    EXPECT_NE(text.find("| `" + std::string(outcome) + "` |"), std::string::npos) << outcome;
}

}  // namespace
}  // namespace thalweg::slurm_agent
