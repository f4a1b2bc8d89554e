// English that users read: sentences of README, handbook and manual pages have at most 30 words,
// and wordings that were replaced do not come back. `thalweg COMMAND --help` is looked at by
// CliManPages, messages in the sources by messages_test.cpp, spelling by spelling.sh.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/layering/sentences.h"
#include "tests/layering/sources.h"
#include "tests/layering/wordings.h"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> pages() {
  std::vector<fs::path> found = files_under({"packaging/handbook/pages"}, {".md"});
  found.push_back(kRoot / "README.md");
  return found;
}

std::vector<fs::path> manuals() {
  return files_under({"packaging/man"}, {".1", ".5", ".8"});
}

/// Paragraphs, items and cells apart by empty lines; no blocks, code or addresses.
std::string prose_of_markdown(const std::string& text) {
  std::istringstream lines(std::regex_replace(text, std::regex("<!--[^>]*-->|<[^>]*>"), ""));
  std::string prose;
  bool block = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) block = !block;
    if (block || line.starts_with("```")) {
      prose += "\n";
      continue;
    }
    line = std::regex_replace(line, std::regex("`[^`]*`"), "X");
    line = std::regex_replace(line, std::regex(R"re(\]\([^)]*\))re"), "]");
    if (line.starts_with("|")) {
      std::replace(line.begin(), line.end(), '|', '\v');
      line = std::regex_replace(line, std::regex("\v"), "\n\n");
    }
    if (std::regex_search(line, std::regex(R"(^(#+|[-*]|\d+\.) )"))) prose += "\n";
    prose += line + (line.starts_with("#") ? "\n\n" : "\n");
  }
  return prose;
}

/// Without macros; what they set is part of the sentence.
std::string prose_of_manual(const std::string& page) {
  std::istringstream lines(page);
  std::string prose;
  bool block = false, tag = false;  // the line below .TP is what is described
  for (std::string line; std::getline(lines, line);) {
    if (line == ".nf" || line == ".fi") block = line == ".nf";
    if (block) continue;
    const std::string macro = line.starts_with(".") ? line.substr(0, line.find(' ')) : "";
    if (macro == ".TP" || macro == ".PP" || macro == ".IP" || macro == ".SH" || macro == ".SS" ||
        macro == ".RS" || macro == ".RE" || macro == ".TH" || macro == ".nf" || macro == ".fi") {
      prose += "\n\n";
      tag = macro == ".TP";
      continue;
    }
    if (!macro.empty()) {
      line.erase(0, macro.size());
      line = std::regex_replace(line, std::regex("\" ?\"|\" | \"|\""), "");
    }
    prose +=
        std::regex_replace(line, std::regex(R"re(\\f.|\\\(..|\\)re"), "") + (tag ? "\n\n" : "\n");
    tag = false;
  }
  return prose;
}

void expect_short(const fs::path& file, const std::string& prose, const char* ends, int* seen) {
  for (const std::string& sentence : sentences(prose, ends)) {
    ++*seen;
    EXPECT_TRUE(short_enough(sentence)) << fs::relative(file, kRoot) << ": " << sentence;
  }
}

TEST(Texts, SentencesAreShort) {
  int seen = 0;
  for (const fs::path& file : pages())
    expect_short(file, prose_of_markdown(text_of(file)), ".!?", &seen);
  EXPECT_GT(seen, 300);
}

// In a manual page what follows a colon is a sentence of its own: values after a key.
TEST(Texts, SentencesOfManualsAreShort) {
  int seen = 0;
  for (const fs::path& file : manuals())
    expect_short(file, prose_of_manual(text_of(file)), ".!?:", &seen);
  EXPECT_GT(seen, 600);
}

TEST(Texts, TheTestsFindWhatIsTooLong) {
  std::string words;
  for (int i = 0; i < 31; ++i)
    words += "word ";
  int seen = 0;
  EXPECT_FALSE(short_enough(words));
  EXPECT_TRUE(short_enough(words.substr(5)));
  EXPECT_EQ(sentences(prose_of_markdown("- one two\n- three. Four\n\n| a | b |\n"), ".!?").size(),
            5u);
  expect_short(kRoot / "x", prose_of_manual(".TP\n.B name\nof a thing.\n"), ".!?", &seen);
  EXPECT_EQ(seen, 2) << "the tag, and what it is";
}

TEST(Texts, WordingsThatWereReplacedStayAway) {
  std::vector<fs::path> files = pages();
  for (const fs::path& file : manuals())
    files.push_back(file);
  for (const fs::path& file : files) {
    if (file.filename() == "contributing.md") continue;  // which lists them
    const std::string text = std::regex_replace(text_of(file), std::regex("\"?\\s+\"?"), " ");
    expect_no_wording(fs::relative(file, kRoot), text, replaced_wordings());
  }
}

}  // namespace
