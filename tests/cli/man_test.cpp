// The man pages say what the program does.
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "tests/cli/command_fixture.h"
#include "tests/layering/sentences.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

class CliManPages : public CommandTest {};

std::string plain_dashes(std::string text) {
  for (std::size_t at; (at = text.find("\\-")) != std::string::npos;)
    text.replace(at, 2, "-");
  return text;
}

std::string manual(const std::string& name) {
  return plain_dashes(read_file(std::string(THALWEG_SOURCE_DIR) + "/packaging/man/" + name));
}

TEST_F(CliManPages, NameEveryCommandAndOption) {
  const std::string page = manual("thalweg.1") + plain_dashes(thalweg({"--studies-manual"}).out);
  std::istringstream commands(thalweg({"--help"}).out);
  int found = 0;
  for (std::string line; std::getline(commands, line);) {
    if (!line.starts_with("  ") || line[2] < 'a' || line[2] > 'z') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const auto start = page.find("\n.BR " + name + " ");
    if (name == "thalweg") continue;  // the example
    ASSERT_NE(start, std::string::npos) << name;
    const std::string paragraph = page.substr(start, page.find("\n.TP", start) - start);
    std::istringstream help(thalweg({name, "--help"}).out);
    for (std::string option; std::getline(help, option);) {
      const auto at = option.find(" --");
      if (!option.starts_with("  ") || at == std::string::npos || at > 6) continue;
      const std::string word = option.substr(at + 1, option.find(' ', at + 1) - at - 1);
      if (word == "--help") continue;
      EXPECT_THAT(paragraph, HasSubstr(word)) << name;
      ++found;
    }
  }
  EXPECT_GT(found, 35);
}

/// Two columns: names, and behind them all texts from one column on.
void expect_columns(const std::string& block, const std::string& where) {
  std::istringstream lines(block);
  std::set<std::size_t> starts;
  for (std::string line; std::getline(lines, line);) {
    const auto name = line.find_first_not_of(' ');
    const auto gap = line.find("  ", name);
    if (name > 7) {  // goes on in the second column
      starts.insert(name);
      continue;
    }
    ASSERT_NE(gap, line.npos) << where << " breaks its column: " << line;
    starts.insert(line.find_first_not_of(' ', gap));
  }
  EXPECT_EQ(starts.size(), 1u) << where << ":\n" << block;
}

TEST_F(CliManPages, HelpKeepsItsColumnsAndWidth) {
  const std::string all = thalweg({"--help"}).out;
  std::vector<std::string> names, groups;
  std::istringstream lines(all.substr(all.find("\nStart:") + 1));
  std::string block;
  for (std::string line; std::getline(lines, line) && !line.starts_with("`");) {
    if (line.ends_with(":")) {
      groups.push_back(line);
    } else if (!line.empty()) {
      names.push_back(line.substr(2, line.find(' ', 2) - 2));
      block += line + "\n";
    }
  }
  expect_columns(block, "thalweg --help");
  EXPECT_THAT(groups, testing::ElementsAre("Start:", "Watch:", "Compare:", "Study:", "Share:",
                                           "Keep:", "Administrate:"));
  EXPECT_GT(names.size(), 40u);
  EXPECT_EQ(std::count(block.begin(), block.end(), '\n'), static_cast<long>(names.size()))
      << "a summary takes one line";
  for (const std::string& name : names) {
    const std::string help = thalweg({name, "--help"}).out;
    const auto begin = help.find("\nArguments:\n") + 12;
    expect_columns(help.substr(begin, help.find("\n\n", begin) + 1 - begin), name);
    const auto details = help.find("\n\n") + 2;
    if (const auto usage = help.find("\nUsage:"); details < usage) {
      for (const std::string& sentence : sentences(help.substr(details, usage - details), ".!?"))
        EXPECT_TRUE(short_enough(sentence)) << name << ": " << sentence;
    }
    std::istringstream help_lines(help.substr(0, help.find("\nExample:")));
    for (std::string line; std::getline(help_lines, line);)
      EXPECT_LE(line.size(), 80u) << name << ": " << line;
  }
}

TEST_F(CliManPages, NameEveryExitCode) {
  const std::string page = manual("thalweg.1");
  std::istringstream help(thalweg({"--help"}).out);
  std::string line;
  while (std::getline(help, line) && line != "Exit codes:") {
  }
  int codes = 0;
  while (std::getline(help, line) && !line.empty()) {
    std::string meaning = line.substr(7);
    EXPECT_THAT(page,
                HasSubstr(".B " + std::to_string(std::stoi(line)) + "\n" + meaning.substr(0, 15)));
    ++codes;
  }
  EXPECT_EQ(codes, 6);
}

TEST_F(CliManPages, FormatWithoutWarnings) {
  if (run({"/bin/sh", "-c", "command -v groff"}, options()).code != 0)
    GTEST_SKIP() << "groff is not installed";
  int pages = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(THALWEG_SOURCE_DIR) + "/packaging/man")) {
    const Outcome outcome =
        run({"groff", "-man", "-ww", "-z", "-Tutf8", entry.path().string()}, options());
    EXPECT_EQ(outcome.code, 0) << entry.path();
    EXPECT_THAT(outcome.err, IsEmpty()) << entry.path();
    ++pages;
  }
  EXPECT_GE(pages, 7);
}

}  // namespace
}  // namespace thalweg::test
