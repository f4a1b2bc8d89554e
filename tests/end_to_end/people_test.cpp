// Sweep files as people write them, with what `thalweg validate` answers.
// tests/jobspec/people/README.md says how a file is made. The real programs, so that what only the
// engine finds is in it, too.
#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/process.h"

namespace thalweg::test {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const fs::path kFolder = fs::path(THALWEG_SOURCE_DIR) / "tests/jobspec/people";

struct Expected {
  bool note = false;
  std::string line, text;
};

/// "# expect: 3: text", "# engine: 3: text" and "# note: 3: text" at the start of a file.
std::vector<Expected> headers(const std::string& text) {
  std::vector<Expected> found;
  std::istringstream stream(text);
  for (std::string row; std::getline(stream, row);) {
    const bool note = row.rfind("# note: ", 0) == 0;
    const bool mistake = row.rfind("# expect: ", 0) == 0 || row.rfind("# engine: ", 0) == 0;
    if (!note && !mistake) break;
    row.erase(0, row.find(": ") + 2);
    const std::size_t colon = row.find(": ");
    found.push_back({note, row.substr(0, colon), row.substr(colon + 2)});
  }
  return found;
}

std::vector<fs::path> files() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(kFolder))
    if (entry.path().extension() == ".yaml") found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

/// The parts between " ... " stand in it, in their order.
bool holds(const std::string& text, const std::string& pattern) {
  const std::string gap = " ... ";
  std::size_t at = 0;
  for (std::size_t from = 0; from <= pattern.size();) {
    const std::size_t end = std::min(pattern.find(gap, from), pattern.size());
    const std::string part = pattern.substr(from, end - from);
    at = text.find(part, at);
    if (at == text.npos) return false;
    at += part.size();
    from = end + gap.size();
  }
  return true;
}

void compare(const json& answer, const std::vector<Expected>& expected) {
  std::vector<std::pair<std::string, std::string>> said;  // line and text
  for (const json& d : answer["diagnostics"]) {
    const std::string hint = d["hint"];
    said.emplace_back(d["line"].dump(), d["key"].get<std::string>() + ": " +
                                            d["message"].get<std::string>() +
                                            (hint.empty() ? "" : " (" + hint + ")"));
  }
  std::vector<std::string> notes = answer.value("notes", std::vector<std::string>{});
  std::string all;
  for (const auto& [line, text] : said)
    all += line + ": " + text + "\n";
  for (const std::string& note : notes)
    all += "note " + note + "\n";
  std::size_t mistakes = 0, noted = 0;
  for (const Expected& e : expected) {
    if (e.note) {
      ASSERT_LT(noted, notes.size()) << all;
      EXPECT_THAT(notes[noted], testing::HasSubstr(".yaml:" + e.line + ": ")) << all;
      EXPECT_TRUE(holds(notes[noted++], e.text)) << e.text << "\n" << all;
    } else {
      ASSERT_LT(mistakes, said.size()) << all;
      EXPECT_EQ(said[mistakes].first, e.line) << all;
      EXPECT_TRUE(holds(said[mistakes++].second, e.text)) << e.text << "\n" << all;
    }
  }
  EXPECT_EQ(mistakes, said.size()) << all;
  EXPECT_EQ(noted, notes.size()) << all;
  EXPECT_EQ(answer["ok"].get<bool>(), mistakes == 0) << all;
}

TEST(People, GetTheAnswersThatWereReviewed) {
  const std::vector<fs::path> all = files();
  EXPECT_GE(all.size(), 100u);
  TempDir home;
  RunOptions options;
  options.env["THALWEG_HOME"] = home.path().string();
  std::vector<std::string> words{"thalweg", "validate", "--json"};
  for (const fs::path& file : all)
    words.push_back(file.string());
  const Outcome outcome = run(words, options);
  const json answers = json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(answers.is_discarded()) << outcome.out << outcome.err;
  ASSERT_EQ(answers["files"].size(), all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i].filename().string());
    const std::vector<Expected> expected = headers(read_file(all[i]));
    EXPECT_FALSE(expected.empty()) << "the file should start with '# expect: LINE: TEXT'";
    compare(answers["files"][i], expected);
  }
}

}  // namespace
}  // namespace thalweg::test
