// English of messages: errors, notes under tables, advice, descriptions of options and what else
// the sources print. Sentences have at most 30 words, wordings that were replaced do not come back,
// and no two spaces part words.
#include "tests/layering/messages.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/layering/sentences.h"
#include "tests/layering/sources.h"
#include "tests/layering/wordings.h"

namespace {

namespace fs = std::filesystem;

/// These hold scripts, pages and templates of files rather than sentences.
const std::vector<std::string> kNoProse = {"cli/completion_scripts.cpp", "cli/output/html.cpp",
                                           "cli/commands/sweep_template.cpp", "cli/manual.cpp",
                                           "engine/train/option_manual.cpp"};

/// Wordings that only messages avoid; longer texts have room for some of them.
const std::vector<Wording>& replaced_in_messages() {
  static const std::vector<Wording> wordings = {
      {" on", std::regex(R"(\b(goes|go) on\b)"), "continues"},
      {"that ", std::regex(R"(\bthat there (is|are)\b|\bthose that are there\b)"), "existing"},
      {"want", std::regex(R"(\bwants?\b)"), "needs, requires"},
      {"body", std::regex(R"(\b(no|some)body\b)"), "who or what is meant"},
      {"whoever", std::regex("whoever"), "who or what is meant"},
      {"stand", std::regex(R"(\bstands? (in|at|below|beside|above|twice|under)\b)"), "is"},
      {"lies", std::regex(R"(\blies\b)"), "is"},
      {"get", std::regex(R"(\bgets? there\b)"), "reaches the target"},
      {"be had", std::regex(R"(\bbe had\b)"), "be available"},
      {"in its place", std::regex("in its place"), "instead"},
      {"any more", std::regex(R"(\bany more\b)"), "no longer"},
  };
  return wordings;
}

/// Lines that a terminal shows one below the other are texts of their own: options of a help, for
/// example, whose second lines are indented further.
std::string prose_of(const std::string& text) {
  static const std::regex line(R"(\n( {1,8}(?=\S)))"), code("`[^`\n]*`");
  std::string prose = text;
  if (text.find('\n') != text.npos) prose = std::regex_replace(prose, line, "\n\n");
  if (text.find('`') != text.npos) prose = std::regex_replace(prose, code, "X");
  return prose;
}

struct Text {
  std::string place;
  std::string text;
};

std::vector<Text> texts() {
  std::vector<Text> found;
  for (const fs::path& file :
       files_under({"base", "cli", "daemon", "db", "engine", "jobspec"}, {".cpp", ".h", ".cu"})) {
    const std::string name = fs::relative(file, kRoot).string();
    if (std::find(kNoProse.begin(), kNoProse.end(), name) != kNoProse.end()) continue;
    for (Message& message : messages_of(text_of(file)))
      if (message.text.find(' ') != std::string::npos)
        found.push_back({name + ":" + std::to_string(message.line), std::move(message.text)});
  }
  return found;
}

TEST(Texts, MessagesAreShortAndIdiomatic) {
  const std::vector<Text> all = texts();
  EXPECT_GT(all.size(), 3000u);
  const std::vector<Wording> spaces{{"  ", std::regex(R"([a-z,;:.)]  +[A-Za-z(])"), "one space"}};
  for (const Text& text : all) {
    expect_no_wording(text.place, text.text, replaced_wordings());
    expect_no_wording(text.place, text.text, replaced_in_messages());
    if (!is_prose(text.text)) continue;
    for (const std::string& sentence : sentences(prose_of(text.text), ".!?"))
      EXPECT_TRUE(short_enough(sentence)) << text.place << ": " << sentence;
    // In several lines columns are aligned by spaces.
    if (text.text.find('\n') == std::string::npos) expect_no_wording(text.place, text.text, spaces);
  }
}

TEST(Texts, LiteralsAreJoinedToMessages) {
  const auto texts_in = [](const std::string& source) {
    std::vector<std::string> found;
    for (const Message& message : messages_of(source))
      found.push_back(message.text);
    return found;
  };
  using testing::ElementsAre;
  EXPECT_THAT(texts_in(R"(#include "a.h"
    f("one " /* "no" */ "two\n", 'x');  // "no")"),
              ElementsAre("one two\n"));
  EXPECT_THAT(texts_in(R"(f("open " + name(a, "key") + " of " "x" + y, "other"))"),
              ElementsAre("open X of xX", "key", "other"));
  EXPECT_THAT(texts_in(R"(out << "left " << n << " of 7\"\n"; g("{:.2g} s and {}"))"),
              ElementsAre("left X of 7\"\n", "X s and X"));
  EXPECT_THAT(texts_in("h(R\"x(raw \"text\")x\", 1'000, '\"', \"end\")"),
              ElementsAre("raw \"text\"", "end"));
  EXPECT_TRUE(is_prose("cannot read the file"));
  EXPECT_FALSE(is_prose("cannot read"));
  EXPECT_FALSE(is_prose("SELECT id, name FROM trials ORDER BY id"));
}

TEST(Texts, AMessageThatIsTooLongIsFound) {
  std::string words;
  for (int i = 0; i < 31; ++i)
    words += "word ";
  const std::vector<Message> found = messages_of("f(\"" + words + "\");");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_FALSE(short_enough(sentences(prose_of(found[0].text), ".!?")[0]));
  EXPECT_EQ(
      sentences(prose_of("usage: x\n  --a  one\n            two\n  --b  three\n"), ".!?").size(),
      3u);
}

}  // namespace
